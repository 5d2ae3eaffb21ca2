"""Files of arrays: NPY and NPZ, with headers first and never a pickle, and LIBSVM's sparse text."""

from __future__ import annotations

import math
import re
import zipfile
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from ravine.arguments import Refusal
from ravine.tables.source import UNPACKING_ERRORS, Limits, Source, broken, needed, readable

_PAIRS = (
    ("X", "y"), ("X_train", "y_train"), ("x_train", "y_train"), ("x", "y"), ("data", "target"),
    ("features", "labels"), ("train_images", "train_labels"), ("images", "labels"),
    ("data", "labels"), ("data", "label"), ("X", "Y"), ("inputs", "targets"), ("arr_0", "arr_1"),
)  # fmt: skip
"""Names of the arrays with data and target, in the order in which they are looked for."""
_TARGETS = ("y", "target", "label", "labels", "Y", "y_train")
_SPARSE = {"data", "indices", "indptr", "shape"}
_BAD = (*UNPACKING_ERRORS, SyntaxError, KeyError, TypeError, IndexError, OverflowError)
_HEADER = 1_000_000
"""Bytes of a header: it names fields, and Python's parser is slow on longer ones."""
_NUMBER = rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_ROW = re.compile(rb"\s*" + _NUMBER + rb"(?:\s+(?:qid|\d+):\S+)+\s*(?:#.*)?")
_LABEL = re.compile(rb"\s*" + _NUMBER + rb"\s*(?:#.*)?")

Arrays: TypeAlias = tuple[Any, npt.NDArray[Any] | None, str]
"""Data, the target, and its name; the target is None where it is a column of the data."""


def read_npy(source: Source) -> Arrays:
    """A table whose last column is the target, or a structured array with named columns."""
    packed = source.size if source.packing else None
    with readable(source.label, "NPY", *_BAD):
        with source.open() as stream:
            _check_header(stream, source.limits, source.label, packed)
        with source.open() as stream:
            array = npy.read_array(stream, allow_pickle=False)

    return _checked_table(array), None, "y"


def read_npz(source: Source) -> Arrays:
    """Arrays ``X`` and ``y``, or with other common names, or a sparse matrix with ``y``."""
    name = source.label
    with readable(name, "NPZ", *_BAD):
        with source.raw() as raw, zipfile.ZipFile(raw) as archive:
            members = {Path(info.filename).stem: info for info in archive.infolist()}
            chosen = _choose(set(members), name)
            for info in (members[key] for key in chosen):
                packed = info.compress_size if info.compress_type else None
                with archive.open(info) as stream:
                    _check_header(stream, source.limits, f"{info.filename} in {name}", packed)

        with source.raw() as raw, np.load(raw, allow_pickle=False) as arrays:
            loaded = {key: arrays[key] for key in chosen}

        target = chosen[-1]
        if len(chosen) > 2:
            return _sparse(loaded), loaded[target], target

    if len(chosen) == 1:
        return _checked_table(loaded[target]), None, "y"

    return loaded[chosen[0]], loaded[target], target


def _choose(names: set[str], file: str) -> list[str]:
    """The names of the arrays that are loaded, the target last."""
    target = next((key for key in _TARGETS if key in names), None)
    if names >= _SPARSE and target is not None:
        return [*sorted(_SPARSE | (names & {"format"})), target]

    for pair in _PAIRS:
        if names >= set(pair) and not names >= _SPARSE:
            return list(pair)

    if len(names) == 1:
        return list(names)

    value = f"{', '.join(sorted(names)[:8]) or 'nothing':.80} in {file}"
    raise Refusal("DATA", "an NPZ file with arrays X and y", value, "rename them")


def _check_header(stream: IO[bytes], limits: Limits, name: str, packed: int | None) -> None:
    """Refuse an array that is too large, by its header and before any memory is taken."""
    version = npy.read_magic(stream)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(stream, max_header_size=_HEADER)
    if dtype.hasobject:
        remedy = "save numbers: objects are never unpickled"
        value = f"Python objects in {name}"
        raise Refusal("DATA", "an array of numbers or texts", value, remedy)
    if any(length < 0 for length in shape):
        raise broken(name, "NPY", f"a shape of {shape}")

    # Numbers of any type become float64.
    size = math.prod(shape) * max(8, dtype.itemsize)
    limits.check_bytes(size, packed=packed, what="of numbers")
    limits.check_shape(shape[0] if shape else 0, math.prod(shape[1:]))


def _checked_table(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if array.ndim != (1 if array.dtype.names else 2):
        value = f"{array.dtype}, {array.ndim} dimensions"
        raise Refusal("DATA", "a table of numbers", value, "save a 2-d array")

    return array


def _sparse(arrays: dict[str, Any]) -> Any:
    """The CSR or CSC matrix that the arrays describe; its indices are checked."""
    from scipy.sparse import csc_matrix, csr_matrix

    kind = csc_matrix if "csc" in str(arrays.get("format")) else csr_matrix
    parts = (arrays["data"], arrays["indices"], arrays["indptr"])
    matrix = kind(parts, shape=tuple(int(n) for n in arrays["shape"].ravel()))
    matrix.check_format(full_check=True)

    return matrix.tocsr()


def looks_like_libsvm(head: bytes) -> bool:
    """Whether the first lines are all a label with pairs, or a label alone."""
    lines = [line for line in head[:65_536].splitlines()[:50] if line.strip()]
    whole = lines[:-1] if len(lines) > 1 and len(head) >= 65_536 else lines
    pairs = sum(_ROW.fullmatch(line) is not None for line in whole)
    alone = sum(_LABEL.fullmatch(line) is not None for line in whole)

    return pairs > 0 and pairs + alone == len(whole)


def read_libsvm(source: Source) -> Arrays:
    """The rows as a CSR matrix, and the labels; indices count from 1, or from 0 if one is 0."""
    datasets = needed("sklearn.datasets")
    with (
        readable(source.name, "LIBSVM", ValueError, OverflowError),
        source.open(lines=True) as stream,
    ):
        X, y = datasets.load_svmlight_file(stream)

    # Every stored number has an index beside it; the shape costs nothing yet.
    source.limits.check_shape(0, X.shape[1])
    source.limits.check_shape(X.shape[0], 1)
    return X, y, "target"
