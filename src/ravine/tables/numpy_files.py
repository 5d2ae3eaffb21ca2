"""NumPy's files, NPY and NPZ: headers first, never a pickle."""

from __future__ import annotations

import math
import zipfile
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from ravine.arguments import Refusal
from ravine.tables.limits import MAX_FOOTER, Limits
from ravine.tables.source import UNPACKING_ERRORS, Source, broken, open_zip

_PAIRS = (
    ("X", "y"), ("X_train", "y_train"), ("x_train", "y_train"), ("x", "y"), ("data", "target"),
    ("features", "labels"), ("train_images", "train_labels"), ("images", "labels"),
    ("data", "labels"), ("data", "label"), ("X", "Y"), ("inputs", "targets"), ("arr_0", "arr_1"),
)  # fmt: skip
"""Names under which data and target are kept, in the order in which they are looked for."""
_TARGETS = ("y", "target", "label", "labels", "Y", "y_train")
_SPARSE = {"data", "indices", "indptr", "shape"}
_BAD = (*UNPACKING_ERRORS, ValueError, SyntaxError, KeyError, TypeError, TokenError)


@dataclass(frozen=True)
class Arrays:
    """Data and target of a file of arrays, as they are saved.

    ``y`` is None where the target is a column of ``X``; ``names`` are those of a structured array.
    """

    X: Any
    y: npt.NDArray[Any] | None
    target: str = "y"
    names: tuple[str, ...] | None = None


def read_npy(source: Source, limits: Limits) -> Arrays:
    """A table whose last column is the target, or a structured array with named columns."""
    name = source.path.name
    try:
        with source.open(limits) as stream:
            shape, kind = _header(stream)
            _check_array(name, shape, kind, limits, source.size if source.packing else None)

        with source.open(limits) as stream:
            array = npy.read_array(stream, allow_pickle=False)
    except Refusal:
        raise
    except _BAD as error:
        raise broken(name, "NPY", error) from None

    if array.dtype.names:
        return Arrays(array, None, names=array.dtype.names)
    if array.ndim != 2:
        value = f"{array.dtype}, {array.ndim} dimensions"
        raise Refusal("DATA", "a table of numbers", value, "save a 2-d array")

    return Arrays(array, None)


def read_npz(source: Source, limits: Limits) -> Arrays:
    """Arrays ``X`` and ``y``, or named in another usual way, or a sparse matrix with ``y``."""
    name = source.path.name
    with open_zip(source.path, "NPZ") as archive:
        members = {
            Path(info.filename).stem: info
            for info in archive.infolist()
            if info.filename.endswith(".npy")
        }
        taken = _choose(members, name)
        loaded = {key: _load(archive, members[key], limits, source) for key in taken}

    if len(taken) == 1:
        return Arrays(loaded[taken[0]], None)
    if loaded.keys() >= _SPARSE:
        (target,) = loaded.keys() - _SPARSE - {"format"}
        return Arrays(_sparse(loaded, name), loaded[target], target)

    return Arrays(loaded[taken[0]], loaded[taken[1]], taken[1])


def _choose(members: dict[str, zipfile.ZipInfo], name: str) -> list[str]:
    if members.keys() >= _SPARSE:
        target = next((key for key in _TARGETS if key in members), None)
        if target is not None:
            return [*sorted(_SPARSE), *(["format"] if "format" in members else []), target]

    for X, y in _PAIRS:
        if X in members and y in members and not members.keys() >= _SPARSE:
            return [X, y]

    if len(members) == 1:
        return list(members)

    shown = ", ".join(list(members)[:8]) or "nothing"
    rule = "an NPZ file with arrays X and y"
    raise Refusal("DATA", rule, f"{shown:.80} in {name}", "rename them")


def _load(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limits: Limits, source: Source) -> Any:
    """One array; its header says how much memory it takes before any is taken."""
    name = source.path.name
    packed = info.compress_size if info.compress_type != zipfile.ZIP_STORED else None

    try:
        with archive.open(info) as stream:
            shape, kind = _header(stream)
            _check_array(f"{info.filename} in {name}", shape, kind, limits, packed)

        with archive.open(info) as stream:
            return npy.read_array(stream, allow_pickle=False)
    except Refusal:
        raise
    except _BAD as error:
        raise broken(name, "NPZ", error) from None


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = npy.read_magic(stream)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    # A header names fields at most; Python's parser is slow and deep on what is longer.
    shape, _, kind = read(stream, max_header_size=min(MAX_FOOTER, 1_000_000))

    return shape, kind


def _check_array(
    name: str, shape: tuple[int, ...], kind: np.dtype[Any], limits: Limits, packed: int | None
) -> None:
    if kind.hasobject:
        rule = "an array of numbers or texts"
        raise Refusal("DATA", rule, f"Python objects in {name}", "save numbers: none is unpickled")
    if any(length < 0 for length in shape):
        raise broken(name, "NPY", f"a shape of {shape}")

    # Whatever its type, it will be float64 here.
    size = math.prod(shape) * max(8, kind.itemsize)
    limits.check_bytes(size, packed=packed, what="of numbers")
    if len(shape) > 1:
        limits.check_columns(math.prod(shape[1:]))
    if shape:
        limits.check_rows(shape[0])


def _sparse(loaded: dict[str, Any], name: str) -> Any:
    from scipy import sparse

    word = "csr"
    if "format" in loaded:
        word = bytes(loaded["format"].tobytes()).replace(b"\0", b"").decode("ascii", "replace")

    makers = {"csr": sparse.csr_matrix, "csc": sparse.csc_matrix}
    if word not in makers:
        raise Refusal("DATA", "a CSR or CSC matrix", f"{word!r:.20} in {name}", "convert it")

    try:
        shape = tuple(int(n) for n in loaded["shape"].ravel())
        parts = (loaded["data"], loaded["indices"], loaded["indptr"])
        matrix = makers[word](parts, shape=shape)
        matrix.check_format(full_check=True)

        return matrix.tocsr()
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise broken(name, "NPZ", error) from None
