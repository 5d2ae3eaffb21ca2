"""Tables of JSON records, and Parquet and Feather (Arrow) files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from itertools import islice
from typing import Any

import pandas as pd

from ravine.arguments import Refusal
from ravine.tables.source import Source, needed, readable

PARQUET, FEATHER = b"PAR1", b"ARROW1"
"""First bytes of the two formats."""
TEXTS = "texts"
"""Attribute of a frame: its categorical columns that are texts, not declared to be levels."""
_ROWS = 65_536
"""Rows that are decoded at a time."""
_DOCUMENT = 128 * 2**20
"""Bytes of a JSON document that is not in lines: its Python objects take several times that."""


def looks_like_json(head: bytes) -> bool:
    """Whether a text begins like a record or a list of them."""
    start = head[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()
    return start[:1] == b"{" or (start[:1] == b"[" and start[1:].lstrip()[:1] in (b"{", b"["))


def read_json(source: Source) -> pd.DataFrame:
    """The columns of JSON lines or of a JSON document."""
    with readable(source.name, "JSON", ValueError, TypeError, AttributeError, RecursionError):
        frame = _lines(source) if _is_in_lines(source.head) else _document(source)

    source.limits.check_shape(*frame.shape)
    return frame.rename(columns=lambda key: key if isinstance(key, str) else f"column {key}")


def _is_in_lines(head: bytes) -> bool:
    """Whether each line is a record: the first one is, and another or nothing follows."""
    first, _, rest = head.lstrip().partition(b"\n")
    try:
        record = json.loads(first)
    except (ValueError, RecursionError):
        return False

    if isinstance(record, dict):
        flat = not any(isinstance(value, list | dict) for value in record.values())
        return flat or rest.lstrip().startswith(b"{")

    return rest.lstrip().startswith(b"[")


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
        rule = "at most 128 MiB as one JSON document"
        raise Refusal("DATA", rule, "more", "write one record on each line (.jsonl)")

    content = json.loads(text.decode("utf-8-sig"))
    if isinstance(content, dict):
        if {"columns", "data"} <= content.keys():
            return pd.DataFrame(content["data"], columns=content["columns"])

        lists = [value for value in content.values() if isinstance(value, list)]
        tables = [value for value in lists if value and isinstance(value[0], dict)]
        content = tables[0] if len(tables) == 1 else content

    return pd.DataFrame(content)


def read_arrow(source: Source) -> pd.DataFrame:
    """The columns of a Parquet or Feather file."""
    pa = needed("pyarrow")
    if source.packing:
        rule = "a Parquet or Feather file that is not packed again"
        raise Refusal("DATA", rule, source.label, "unpack it")

    is_parquet = source.head.startswith(PARQUET)
    kind = "Parquet" if is_parquet else "Feather"
    with readable(source.label, kind, pa.ArrowException, OSError, ValueError):
        return _parquet(source) if is_parquet else _feather(source)


def _parquet(source: Source) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    with source.raw() as raw, parquet.ParquetFile(raw) as file:
        about, schema = file.metadata, file.schema_arrow
        source.limits.check_shape(about.num_rows, about.num_columns, packed=source.size)
        unpacked = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        source.limits.check_bytes(unpacked, packed=source.size)

    # Texts stay codes of a dictionary: a long text that is repeated is kept once.
    texts = [field.name for field in schema if field.type in (pa.string(), pa.large_string())]
    with source.raw() as raw, parquet.ParquetFile(raw, read_dictionary=texts) as file:
        frame = arrow_frame(file.iter_batches(batch_size=_ROWS), schema)

    frame.attrs[TEXTS] = texts
    return frame


def _feather(source: Source) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.dataset as dataset

    # Mapped, so that numbers that are not packed are not copied.
    in_memory = isinstance(source.file, bytes)
    file = pa.BufferReader(source.file) if in_memory else pa.memory_map(str(source.file))
    reader = pa.ipc.open_file(file)
    # Counted in the descriptions of the batches, before one of them is decoded.
    rows = dataset.IpcFileFormat().make_fragment(file).count_rows()
    source.limits.check_shape(rows, len(reader.schema), packed=source.size)
    batches = (reader.get_batch(k) for k in range(reader.num_record_batches))

    return arrow_frame(batches, reader.schema)


def arrow_frame(batches: Iterable[Any], schema: Any) -> pd.DataFrame:
    """Record batches as a pandas frame; decimals and times become numbers."""
    pa = needed("pyarrow")
    checked = []
    for batch in batches:
        # Arrow trusts offsets and codes, and would read beyond the memory.
        batch.validate(full=True)
        checked.append(batch)

    table = pa.Table.from_batches(checked) if checked else schema.empty_table()
    for k, field in enumerate(table.schema):
        values = table.column(k)
        if pa.types.is_time(field.type):
            values = values.cast(pa.int64() if field.type.bit_width == 64 else pa.int32())
        if pa.types.is_time(field.type) or pa.types.is_decimal(field.type):
            table = table.set_column(k, field.name, values.cast(pa.float64(), safe=False))

    return table.to_pandas(ignore_metadata=True, date_as_object=False, split_blocks=True)
