"""NumPy's files, NPY and NPZ: headers first, never a pickle."""

from __future__ import annotations

import functools
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from ravine.arguments import Refusal
from ravine.tables.limits import Limits
from ravine.tables.source import UNPACKING_ERRORS, Source, broken

_PAIRS = (
    ("X", "y"), ("X_train", "y_train"), ("x_train", "y_train"), ("x", "y"), ("data", "target"),
    ("features", "labels"), ("train_images", "train_labels"), ("images", "labels"),
    ("data", "labels"), ("data", "label"), ("X", "Y"), ("inputs", "targets"), ("arr_0", "arr_1"),
)  # fmt: skip
"""Names of the arrays with data and target, in the order in which they are looked for."""
_TARGETS = ("y", "target", "label", "labels", "Y", "y_train")
_SPARSE = {"data", "indices", "indptr", "shape"}
_BAD = (*UNPACKING_ERRORS, ValueError, SyntaxError, KeyError, TypeError, TokenError)
_HEADER = 1_000_000
"""Bytes of a header: it names fields, and Python's parser is slow on longer ones."""


Arrays: TypeAlias = tuple[Any, npt.NDArray[Any] | None, str]
"""Data, the target, and its name; the target is None where it is a column of the data."""


def read_npy(source: Source, limits: Limits) -> Arrays:
    """A table whose last column is the target, or a structured array with named columns."""
    packed = source.size if source.packing else None
    array = _load(lambda: source.open(limits), source.label, "NPY", limits, packed)
    return _checked_table(array), None, "y"


def _checked_table(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.ndim != (1 if array.dtype.names else 2):
        value = f"{array.dtype}, {array.ndim} dimensions"
        raise Refusal("DATA", "a table of numbers", value, "save a 2-d array")

    return array


def read_npz(source: Source, limits: Limits) -> Arrays:
    """Arrays ``X`` and ``y``, or with other common names, or a sparse matrix with ``y``."""
    name = source.label
    with source.archive("NPZ") as archive:
        members = {
            Path(info.filename).stem: info
            for info in archive.infolist()
            if info.filename.endswith(".npy")
        }
        loaded = {}
        for key in _choose(members.keys(), name):
            info = members[key]
            packed = info.compress_size if info.compress_type != zipfile.ZIP_STORED else None
            member = f"{info.filename} in {name}"
            opened = functools.partial(archive.open, info)
            loaded[key] = _load(opened, member, "NPZ", limits, packed)

    if len(loaded) == 1:
        return _checked_table(next(iter(loaded.values()))), None, "y"
    if loaded.keys() >= _SPARSE:
        (target,) = loaded.keys() - _SPARSE - {"format"}
        return _sparse(loaded, name), loaded[target], target

    (_, X), (target, y) = loaded.items()
    return X, y, target


def _choose(names: Any, file: str) -> list[str]:
    """The names of the arrays that are loaded."""
    sparse = names >= _SPARSE
    target = next((key for key in _TARGETS if key in names), None)
    if sparse and target is not None:
        return [*sorted(_SPARSE | (names & {"format"})), target]

    for pair in _PAIRS:
        if names >= set(pair) and not sparse:
            return list(pair)

    if len(names) == 1:
        return list(names)

    value = f"{', '.join(list(names)[:8]) or 'nothing':.80} in {file}"
    raise Refusal("DATA", "an NPZ file with arrays X and y", value, "rename them")


def _load(
    opened: Callable[[], IO[bytes]], name: str, kind: str, limits: Limits, packed: int | None
) -> Any:
    """One array; its header says how much memory it takes before any is taken."""
    try:
        with opened() as stream:
            version = npy.read_magic(stream)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, _, dtype = read(stream, max_header_size=_HEADER)
            _check_header(name, shape, dtype, limits, packed)

        with opened() as stream:
            return npy.read_array(stream, allow_pickle=False)
    except Refusal:
        raise
    except _BAD as error:
        raise broken(name, kind, error) from None


def _check_header(
    name: str, shape: tuple[int, ...], dtype: np.dtype[Any], limits: Limits, packed: int | None
) -> None:
    if dtype.hasobject:
        rule = "an array of numbers or texts"
        remedy = "save numbers: objects are never unpickled"
        raise Refusal("DATA", rule, f"Python objects in {name}", remedy)
    if any(length < 0 for length in shape):
        raise broken(name, "NPY", f"a shape of {shape}")

    # Numbers of any type become float64.
    size = math.prod(shape) * max(8, dtype.itemsize)
    limits.check_bytes(size, packed=packed, what="of numbers")
    limits.check_shape(shape[0] if shape else 0, math.prod(shape[1:]))


def _sparse(loaded: dict[str, Any], name: str) -> Any:
    from scipy import sparse

    word = "csr"
    if "format" in loaded:
        word = loaded["format"].tobytes().replace(b"\0", b"").decode("ascii", "replace")

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
