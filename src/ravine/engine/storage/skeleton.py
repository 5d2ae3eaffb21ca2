"""A store without tiles: its metadata, attributes and coordinates, made and mended."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.arguments import Refusal
from ravine.engine.dataset import new_dataset, variable_dtype
from ravine.engine.storage.lock import locked
from ravine.engine.storage.plain_files import sum_of
from ravine.engine.storage.seal import RECORDS, SEAL, Seal

if TYPE_CHECKING:
    from ravine.engine.spec import Spec

MENDING = ".mending"
"""Folder of a store in which its files are written again."""


def create_store(path: Path, spec: Spec, seal: Seal) -> None:
    """Write a store without tiles under another name, then give it its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    workshop = _workshop(path)
    workshop.mkdir(exist_ok=True)

    with locked(workshop, path):
        try:
            # Another run may have made it while this one came for the lock.
            if not path.exists():
                new = workshop / "store"
                shutil.rmtree(new, ignore_errors=True)
                _write(new, spec, seal)
                new.rename(path)
        finally:
            shutil.rmtree(workshop, ignore_errors=True)


def mend_store(path: Path, spec: Spec, seal: Seal) -> Seal:
    """Write everything but the tiles of a store again; the seal comes last.

    The files are a function of the sweep and its tiles alone: what was damaged is as before.
    """
    new = path / MENDING
    shutil.rmtree(new, ignore_errors=True)
    try:
        mended = _write(new, spec, seal)
        for name in (*mended.files, SEAL):
            clear_place(path, name)
            (new / name).replace(path / name)
    finally:
        shutil.rmtree(new, ignore_errors=True)

    return mended


def clear_leftovers(path: Path) -> None:
    """Remove what runs that were killed have left in a store and beside it."""
    for leftover in (*path.rglob("*.partial"), *path.rglob(".*.part*")):
        if not leftover.is_dir():
            leftover.unlink(missing_ok=True)

    shutil.rmtree(path / MENDING, ignore_errors=True)
    shutil.rmtree(_workshop(path), ignore_errors=True)


def _workshop(path: Path) -> Path:
    """Folder beside a store in which it is made."""
    return path.with_name(f".{path.name}.new")


def clear_place(store: Path, name: str) -> None:
    """Make room for a file of a store: folders above it, and nothing in its place.

    A link that leads back into the store, or nowhere, goes: writing through it would change another
    file. A link to another disk stays, and so does a folder with something in it.
    """
    folder = store
    for part in name.split("/")[:-1]:
        folder = folder / part
        if folder.is_symlink() and _leads_astray(folder, store):
            folder.unlink()
        if os.path.lexists(folder) and not folder.is_dir():
            folder.unlink()
        folder.mkdir(exist_ok=True)

    file = store / name
    if file.is_dir() and not file.is_symlink():
        try:
            file.rmdir()
        except OSError:
            shown = f"{store}, where {name} is a folder with something in it"
            remedy = "move that away, then --resume mends the store"
            raise Refusal("store", "whole", shown, remedy) from None
    else:
        file.unlink(missing_ok=True)


def _leads_astray(link: Path, store: Path) -> bool:
    """Whether a link leads back into its own store, or to no folder at all."""
    target = Path(os.path.realpath(link))
    return not target.is_dir() or target.is_relative_to(os.path.realpath(store))


def _write(new: Path, spec: Spec, seal: Seal) -> Seal:
    """Write a store without tiles; return its seal with the sums of its files."""
    import zarr

    blank: dict[str, Any] = {}
    for name in seal.variables:
        blank[name] = np.broadcast_to(_fill(name), seal.shape)

    data = new_dataset(spec, blank)
    encoding = {name: _variable_encoding(name, seal) for name in seal.variables}
    # NaN as the filling: Zarr leaves out a chunk of nothing else, and no coordinate is NaN.
    encoding |= {str(name): {"fill_value": np.nan, "_FillValue": None} for name in data.coords}

    data.to_zarr(new, mode="w", zarr_format=3, consolidated=False, encoding=encoding)
    zarr.open_group(new, mode="r+").create_group(RECORDS, attributes=seal.attributes())

    with warnings.catch_warnings():
        # All versions of zarr-python and xarray that we support read it.
        warnings.filterwarnings("ignore", message="Consolidated metadata is currently not")
        zarr.consolidate_metadata(new)

    _sort_metadata(new / "zarr.json", [str(name) for name in data.variables])

    files = sorted(file for file in new.rglob("*") if file.is_file())
    sealed = replace(seal, files={file.relative_to(new).as_posix(): sum_of(file) for file in files})
    sealed.write(new)
    return sealed


def _fill(name: str) -> Any:
    """What a variable holds where nothing is computed yet."""
    dtype = variable_dtype(name)
    return dtype.type(np.nan if dtype.kind == "f" else -1)


def _variable_encoding(name: str, seal: Seal) -> dict[str, Any]:
    from zarr.codecs import ZstdCodec

    # No _FillValue: xarray would put its own NaN in the place of every other.
    return {
        "chunks": seal.chunk,
        "compressors": (ZstdCodec(level=1, checksum=True),),
        "fill_value": _fill(name).item(),
        "_FillValue": None,
    }


def _sort_metadata(file: Path, names: list[str]) -> None:
    """Put variables in their own order: Zarr lists them in the order the disk answers."""
    content = json.loads(file.read_text(encoding="utf-8"))
    listed = content["consolidated_metadata"]["metadata"]
    order = {name: listed[name] for name in (*names, RECORDS)}
    content["consolidated_metadata"]["metadata"] = order

    file.write_text(json.dumps(content, indent=2), encoding="utf-8")
