"""Store the tiles of a sweep in a Zarr store, so that a killed run can be resumed.

A store is a Zarr group (format 3) that ``xarray.open_zarr`` opens as the dataset of the sweep. A
tile is one chunk of every variable. Chunks have the checksum of Zarr's ``crc32c`` codec, so that
any reader detects damage.

The chunks of a tile are written first and its record last, each under a temporary name: whenever a
run is killed, a tile either has its record or does not count. A run that resumes a store computes
the tiles without a record or with a wrong checksum, and rewrites damaged metadata, which depend
only on the specification.
"""

from __future__ import annotations

import json
import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from ravine.arguments import Refusal, needed
from ravine.engine.dataset import new_dataset, variable_dtype
from ravine.engine.repeats import variable_names
from ravine.engine.spec import Spec
from ravine.engine.storage.fingerprint import fingerprint
from ravine.engine.storage.header import (
    LOCK,
    NEW,
    TILES,
    Header,
    file_digests,
    is_new,
    read_header,
    record_name,
    tile_shape,
)
from ravine.engine.tiles import Part, Tile
from ravine.files import written_whole


@dataclass(frozen=True)
class StoreStatus:
    """The state of a store: all tiles, finished tiles, and a sentence on each damage."""

    total: int
    done: int
    damages: tuple[str, ...]
    made_with: dict[str, str]

    @property
    def is_complete(self) -> bool:
        """Whether every tile exists and nothing is damaged."""
        return self.done == self.total and not self.damages


@contextmanager
def tile_store(path: str | os.PathLike[str], spec: Spec, pixels: int) -> Iterator[TileStore]:
    """Create or resume the store of a sweep; it is locked while it is open.

    ``pixels`` is the approximate size of a tile; a resumed store keeps its own tiles.
    """
    _require_zarr()
    place = Path(path)
    variables = tuple(variable_names(spec.measures, spec.repeats))
    wanted = Header(spec.shape, tile_shape(spec.shape, pixels), variables, fingerprint(spec))
    if not is_new(place):
        _refuse_other(place, read_header(place), wanted)

    with _locked(place):
        # Remains of killed runs.
        for leftover in (*place.rglob("*.partial"), *place.glob(f"{TILES}/.*.part.json")):
            leftover.unlink()

        new = is_new(place)
        header = wanted if new else read_header(place)
        if new or header.damages(place):
            header = _write_metadata(place, spec, header)

        shutil.rmtree(place / NEW, ignore_errors=True)
        yield TileStore(place, header)


class TileStore:
    """The store of a sweep, to which finished tiles are written."""

    def __init__(self, path: Path, header: Header) -> None:
        import zarr

        self.path = path
        self.total = len(header.boxes)
        self._header = header
        self._numbers = {header.tile(number): number for number in range(self.total)}
        # Otherwise a chunk with only the fill value would not be written.
        with zarr.config.set({"array.write_empty_chunks": True}):
            group: Any = zarr.open_group(path, mode="r+", zarr_format=3)
            self._arrays = {name: group[name] for name in header.variables}

    def missing(self) -> list[Tile]:
        """Tiles that are missing or damaged."""
        return [
            tile
            for tile, number in self._numbers.items()
            if self._header.tile_damage(self.path, number)
        ]

    def keep(self, tile: Tile, part: Part) -> None:
        """Write a finished tile: its variables, then its record."""
        number = self._numbers[tile]
        box = self._header.boxes[number]
        for variable in self._header.variables:
            # Zarr would read a damaged chunk before writing a part of it.
            chunk = self.path / self._header.chunk_name(variable, number)
            chunk.unlink(missing_ok=True)
            values = part[variable].astype(variable_dtype(variable), copy=False)
            self._arrays[variable][box] = values.reshape([side.stop - side.start for side in box])
            with chunk.open("rb") as stream:
                os.fsync(stream.fileno())

        with written_whole(self.path / record_name(number), flush=True) as record:
            record.write_bytes(self._header.record(self.path, number))

    def dataset(self) -> xr.Dataset:
        """Open the dataset of the sweep; values are read when they are used."""
        return _opened(self.path)


def store_status(path: str | os.PathLike[str]) -> StoreStatus:
    """Return the state of the store of a sweep, after comparing all files with their checksums.

    Raises
    ------
    Refusal
        If there is no store, or its header is damaged.
    """
    place = Path(path)
    header = read_header(place)
    recorded = [n for n in range(len(header.boxes)) if os.path.lexists(place / record_name(n))]
    reasons = [header.tile_damage(place, number) for number in recorded]
    damages = [reason for reason in reasons if reason is not None]
    done = len(recorded) - len(damages)

    return StoreStatus(
        len(header.boxes), done, (*header.damages(place), *damages), header.made_with
    )


def open_store(path: str | os.PathLike[str]) -> tuple[xr.Dataset, npt.NDArray[np.bool_]]:
    """Read a store, finished or not, after comparing all files with their checksums.

    Returns
    -------
    dataset
        The dataset of the sweep.
    there
        Which of its pixels are computed.

    Raises
    ------
    Refusal
        If there is no store, or if anything in it is damaged.
    """
    _require_zarr()
    place = Path(path)
    damages = store_status(place).damages
    if damages:
        raise _damaged(place, damages)

    header = read_header(place)
    there = np.zeros(header.shape, dtype=bool)
    for number, box in enumerate(header.boxes):
        there[box] = (place / record_name(number)).exists()

    try:
        return _opened(place).load(), there
    except ValueError as error:
        # A truncated chunk without a record, from a crash of the machine.
        raise _damaged(place, (str(error),)) from None


def _opened(path: Path) -> xr.Dataset:
    data: xr.Dataset = xr.open_zarr(path, chunks=None, consolidated=True, zarr_format=3)
    return data


def _damaged(path: Path, sentences: tuple[str, ...]) -> Refusal:
    others = f" (and {len(sentences) - 1} more)" if len(sentences) > 1 else ""
    remedy = f"ravine sweep SPEC --out {path} --resume computes it again"
    return Refusal("store", "undamaged", f"{path}, where {sentences[0]}{others}", remedy)


def _locked(path: Path) -> Any:
    """Lock a store until the process ends in any way."""
    from filelock import FileLock, Timeout

    (path / TILES).mkdir(parents=True, exist_ok=True)
    lock = FileLock(path / LOCK)
    try:
        return lock.acquire(blocking=False)
    except Timeout:
        remedy = "wait for the other run to end"
        raise Refusal("store", "free", f"{path}, which a run writes to now", remedy) from None


def _write_metadata(path: Path, spec: Spec, header: Header) -> Header:
    """Write everything except the tiles, then the header; return it with the checksums."""
    blank = {name: np.broadcast_to(_fill(name), header.shape) for name in header.variables}
    data = new_dataset(spec, blank)
    encoding = {name: _variable_encoding(name, header) for name in header.variables}
    # The fill value is NaN: Zarr omits chunks of only the fill value, and no coordinate is NaN.
    encoding |= {str(name): {"fill_value": np.nan, "_FillValue": None} for name in data.coords}

    new = path / NEW
    with warnings.catch_warnings():
        # All supported versions of zarr-python and xarray read it.
        warnings.filterwarnings("ignore", message="Consolidated metadata is currently not")
        data.to_zarr(new, mode="w", zarr_format=3, consolidated=True, encoding=encoding)
    _sort_metadata(new / "zarr.json", [str(name) for name in data.variables])

    complete = replace(header, files=file_digests(new))
    for name in complete.files:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (new / name).replace(path / name)
    complete.write(path)
    shutil.rmtree(new)
    return complete


def _fill(name: str) -> Any:
    """Value of a variable for pixels that are not computed yet."""
    dtype = variable_dtype(name)
    return dtype.type(np.nan if dtype.kind == "f" else -1)


def _variable_encoding(name: str, header: Header) -> dict[str, Any]:
    from zarr.codecs import Crc32cCodec, ZstdCodec

    # No _FillValue, because xarray would replace it by NaN.
    return {
        "chunks": header.chunk,
        "compressors": (ZstdCodec(level=1), Crc32cCodec()),
        "fill_value": _fill(name).item(),
        "_FillValue": None,
    }


def _sort_metadata(file: Path, names: list[str]) -> None:
    """Sort the variables, because Zarr lists them in the order of the disk."""
    content = json.loads(file.read_text(encoding="utf-8"))
    listed = content["consolidated_metadata"]["metadata"]
    content["consolidated_metadata"]["metadata"] = {name: listed[name] for name in names}
    file.write_text(json.dumps(content, indent=2), encoding="utf-8")


def _require_zarr() -> None:
    for module in ("zarr", "filelock"):
        needed(module, "a store", "store")


def _refuse_other(path: Path, there: Header, wanted: Header) -> None:
    """Refuse a store of another sweep, and name the differences."""
    have, want = there.made_with, wanted.made_with
    names = [name for name in (*want, *have) if have.get(name) != want.get(name)]
    if names:
        shown = "; ".join(
            f"{name} {have.get(name, 'unknown')}, not {want.get(name, 'unknown')}"
            for name in dict.fromkeys(names)
        )
        remedy = "give the arguments and versions it was made with, or another path"
        raise Refusal("store", "of this very sweep", f"{path} made with {shown}", remedy)
