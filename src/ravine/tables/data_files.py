"""Files that are not plain text: NPY, NPZ, LIBSVM, JSON, Parquet and Feather.

Sizes in headers are checked before any memory is allocated; nothing is unpickled.
"""

from __future__ import annotations

import json
import math
import re
import zipfile
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.lib import format as npy

from ravine.arguments import needed
from ravine.tables.columns import as_series
from ravine.tables.source import ZIP, Limits, Source
from ravine.tables.table import Raw

_NAMES = (
    "X y, X_train y_train, x_train y_train, x y, data target, features labels, "
    "train_images train_labels, images labels, data labels, data label, X Y, inputs targets, "
    "arr_0 arr_1"
)
"""Names of the arrays with data and target, in the order in which they are looked for."""
_TARGETS = ("y", "target", "label", "labels", "Y", "y_train")
_SPARSE = {"data", "indices", "indptr", "shape"}
_HEADER = 1_000_000
"""Bytes of a header: it names fields, and Python's parser is slow on longer ones."""
_NUMBER = rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_ROW = re.compile(rb"\s*" + _NUMBER + rb"(?P<pairs>(?:\s+(?:qid|\d+):\S+)*)\s*(?:#.*)?")


def read_npy(source: Source) -> Raw:
    """A table whose last column is the target, or a structured array with named columns."""
    packed = source.size if source.unpack else None
    with source.open() as stream:
        _check_header(stream, source.limits, packed)
    with source.open() as stream:
        return _table(npy.read_array(stream, allow_pickle=False))


def read_npz(source: Source) -> Raw:
    """Arrays ``X`` and ``y``, or with other common names, or a sparse matrix with ``y``."""
    with source.raw() as raw, zipfile.ZipFile(raw) as archive:
        members = {Path(info.filename).stem: info for info in archive.infolist()}
        chosen = _choose(set(members))
        for info in (members[key] for key in chosen):
            packed = info.compress_size if info.compress_type else None
            with archive.open(info) as stream:
                _check_header(stream, source.limits, packed)

    with source.raw() as raw, np.load(raw, allow_pickle=False) as arrays:
        loaded = {key: arrays[key] for key in chosen}

    if len(chosen) == 1:
        return _table(loaded[chosen[0]])

    data = loaded[chosen[0]] if len(chosen) == 2 else _sparse(loaded)
    return Raw(data, as_series(loaded[chosen[-1]], chosen[-1], data.shape[:1]))


def _choose(names: set[str]) -> list[str]:
    """The names of the arrays that are loaded, the target last."""
    pairs = [pair.split() for pair in _NAMES.split(", ")]
    if names >= _SPARSE:
        pairs = [[*sorted(_SPARSE | (names & {"format"})), target] for target in _TARGETS]

    chosen = next((pair for pair in pairs if names >= set(pair)), None)
    if chosen is None and len(names) != 1:
        raise ValueError(f"no X and y among the arrays {', '.join(sorted(names)[:8])}")

    return chosen or list(names)


def _check_header(stream: IO[bytes], limits: Limits, packed: int | None) -> None:
    """Refuse an array that is too large, by its header, before any memory is allocated."""
    version = npy.read_magic(stream)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(stream, max_header_size=_HEADER)
    if dtype.hasobject:
        raise ValueError("Python objects, which are never unpickled")

    # Numbers of any type become float64.
    size = math.prod(shape) * max(8, dtype.itemsize)
    limits.check(bytes=size, packed=packed)
    limits.check(rows=shape[0] if shape else 0, columns=math.prod(shape[1:]))


def _table(array: npt.NDArray[Any]) -> Raw:
    """A table whose target is one of its columns."""
    if array.ndim != (1 if array.dtype.names else 2):
        raise ValueError(f"{array.ndim} dimensions of {array.dtype} are not a table")
    if array.dtype.names:
        return Raw(pd.DataFrame({name: array[name] for name in array.dtype.names}))

    return Raw(pd.DataFrame(array).add_prefix("column "))


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
    rows = [_ROW.fullmatch(line) for line in whole]
    return all(rows) and any(row["pairs"] for row in rows if row)


def read_libsvm(source: Source) -> Raw:
    """The rows as a CSR matrix, and the labels; indices count from 1, or from 0 if one is 0."""
    with source.open(lines=True) as stream:
        X, y = needed("sklearn.datasets").load_svmlight_file(stream)

    # Every stored number has an index beside it; the shape costs nothing yet.
    source.limits.check(rows=X.shape[0], columns=X.shape[1], bytes=8 * X.shape[0])
    names = [f"x{j + 1}" for j in range(X.shape[1])]
    return Raw(X, pd.Series(y, name="target"), names)


_ROWS = 65_536
"""Records decoded at a time."""
_DOCUMENT = 128 * 2**20
"""Bytes of a JSON document that is not in lines: its Python objects take several times that."""


def looks_like_json(head: bytes) -> bool:
    """Whether a text begins like a record or a list of them."""
    start = head[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()
    return start[:1] == b"{" or (start[:1] == b"[" and start[1:].lstrip()[:1] in (b"{", b"["))


def read_json(source: Source) -> Raw:
    """The columns of JSON lines or of a JSON document."""
    frame = _lines(source) if _is_in_lines(source.head) else _document(source)
    return Raw(frame.rename(columns=lambda key: key if isinstance(key, str) else f"column {key}"))


def _is_in_lines(head: bytes) -> bool:
    """Whether each line is a record: the first one is, and another follows."""
    first, _, rest = head.lstrip().partition(b"\n")
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False

    return rest.lstrip()[:1] in (b"{", b"[")


def _lines(source: Source) -> pd.DataFrame:
    parts = []
    with source.open(lines=True) as stream:
        records = (json.loads(line) for line in stream if line.strip())
        # As few Python objects at a time as possible.
        while batch := list(islice(records, _ROWS)):
            parts.append(pd.DataFrame(batch))

    return pd.concat(parts, ignore_index=True)


def _document(source: Source) -> pd.DataFrame:
    """The records of a document: a list, one list inside a record, or a list for each column."""
    with source.open() as stream:
        text = stream.read(_DOCUMENT + 1)

    if len(text) > _DOCUMENT:
        raise ValueError("over 128 MiB in one document; write one record on each line (.jsonl)")

    content = json.loads(text.decode("utf-8-sig"))
    if isinstance(content, dict):
        if {"columns", "data"} <= content.keys():
            return pd.DataFrame(content["data"], columns=content["columns"])

        lists = [value for value in content.values() if isinstance(value, list)]
        tables = [value for value in lists if value and isinstance(value[0], dict)]
        content = tables[0] if len(tables) == 1 else content

    return pd.DataFrame(content)


def read_parquet(source: Source) -> Raw:
    """The columns of a Parquet file, whose metadata is checked first."""
    parquet = needed("pyarrow.parquet")
    _refuse_packed(source)
    with source.raw() as raw, parquet.ParquetFile(raw) as file:
        about, schema = file.metadata, file.schema_arrow
        source.limits.check(rows=about.num_rows, columns=about.num_columns, packed=source.size)
        unpacked = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        source.limits.check(bytes=unpacked, packed=source.size)

    # Texts stay codes of a dictionary: a long text that is repeated is kept once.
    texts = [field.name for field in schema if str(field.type) in ("string", "large_string")]
    with source.raw() as raw, parquet.ParquetFile(raw, read_dictionary=texts) as file:
        return Raw(arrow_frame(file.read()), texts=texts)


def read_feather(source: Source) -> Raw:
    """The columns of a Feather (Arrow) file, whose metadata is checked first."""
    pa = needed("pyarrow")
    dataset = needed("pyarrow.dataset")
    _refuse_packed(source)
    # Memory-mapped, so that uncompressed numbers are not copied.
    in_memory = isinstance(source.file, bytes)
    file = pa.BufferReader(source.file) if in_memory else pa.memory_map(str(source.file))
    reader = pa.ipc.open_file(file)
    # Counted from the metadata of the batches, before any of them is decoded.
    rows = dataset.IpcFileFormat().make_fragment(file).count_rows()
    source.limits.check(rows=rows, columns=len(reader.schema), packed=source.size)
    return Raw(arrow_frame(reader.read_all()))


def _refuse_packed(source: Source) -> None:
    if source.unpack:
        raise ValueError("it is compressed twice; decompress it")


def arrow_frame(table: Any) -> pd.DataFrame:
    """An Arrow table as a pandas frame; decimals and times become numbers."""
    import pyarrow as pa

    # Arrow does not check offsets and codes, and would read out of bounds.
    table.validate(full=True)
    for k, field in enumerate(table.schema):
        values = table.column(k)
        if pa.types.is_time(field.type):
            values = values.cast(pa.int64() if field.type.bit_width == 64 else pa.int32())
        if pa.types.is_time(field.type) or pa.types.is_decimal(field.type):
            table = table.set_column(k, field.name, values.cast(pa.float64(), safe=False))

    return table.to_pandas(ignore_metadata=True, date_as_object=False, split_blocks=True)


READERS: tuple[tuple[str, Callable[[bytes], bool], Callable[[Source], Raw]], ...] = (
    ("NPZ", lambda head: head.startswith(ZIP), read_npz),
    ("NPY", lambda head: head.startswith(b"\x93NUMPY"), read_npy),
    ("Parquet", lambda head: head.startswith(b"PAR1"), read_parquet),
    ("Feather", lambda head: head.startswith(b"ARROW1"), read_feather),
    ("JSON", looks_like_json, read_json),
    ("LIBSVM", looks_like_libsvm, read_libsvm),
)
"""The formats recognised by the first bytes of a file; all others are text."""
