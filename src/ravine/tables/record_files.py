"""Tables of JSON records, and Parquet and Feather (Arrow) files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pandas as pd

from ravine.arguments import Refusal
from ravine.tables.limits import Limits
from ravine.tables.source import Source, broken

PARQUET, FEATHER = b"PAR1", b"ARROW1"
"""First bytes of the two formats."""
_BATCH = 10_000
"""Records that are collected at a time."""
_ROWS = 65_536
"""Rows of a Parquet file that are decoded at a time."""
_DOCUMENT = 128 * 2**20
"""Bytes of a JSON document that is not in lines: its Python objects take several times that."""
_BAD = (json.JSONDecodeError, UnicodeDecodeError, RecursionError)


def looks_like_json(head: bytes) -> bool:
    """Whether a text begins like a record or a list of them."""
    start = head[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()
    return start[:1] == b"{" or (start[:1] == b"[" and start[1:].lstrip()[:1] in (b"{", b"["))


def read_json(source: Source, limits: Limits) -> pd.DataFrame:
    """The columns of JSON lines or of a JSON document."""
    try:
        if _in_lines(source.head):
            with source.open(limits, lines=True) as stream:
                return _frame((json.loads(line) for line in stream if line.strip()), limits, source)

        with source.open(limits) as stream:
            text = stream.read(_DOCUMENT + 1)

        if len(text) > _DOCUMENT:
            rule = "at most 128 MiB as one JSON document"
            raise Refusal("DATA", rule, "more", "write one record on each line (.jsonl)")

        return _frame(iter(_records(json.loads(text.decode("utf-8-sig")), source)), limits, source)
    except _BAD as error:
        raise broken(source.name, "JSON", error) from None


def _in_lines(head: bytes) -> bool:
    """Whether each line is a record: the first one is, and another or nothing follows."""
    first, _, rest = head.lstrip().partition(b"\n")
    try:
        record = json.loads(first)
    except _BAD:
        return False

    if isinstance(record, dict):
        flat = not any(isinstance(value, (list, dict)) for value in record.values())
        return flat or rest.lstrip().startswith(b"{")

    return rest.lstrip().startswith(b"[")


def _records(document: Any, source: Source) -> Iterable[Any]:
    """The records of a JSON document, however they are arranged."""
    if isinstance(document, list):
        return document

    columns, data = document.get("columns"), document.get("data")
    if isinstance(columns, list) and isinstance(data, list):
        return (
            dict(zip(map(str, columns), row, strict=False)) for row in data if isinstance(row, list)
        )

    lists = [list(v.values()) if isinstance(v, dict) else v for v in document.values()]
    tables = [v for v in lists if isinstance(v, list) and v and isinstance(v[0], dict)]
    if len(tables) == 1:
        return tables[0]
    if not lists or not all(isinstance(values, list) for values in lists):
        raise broken(source.name, "JSON", "neither records nor columns")
    if len({len(values) for values in lists}) > 1:
        raise broken(source.name, "JSON", "lists of different lengths")

    return (dict(zip(document, row, strict=True)) for row in zip(*lists, strict=True))


def _frame(records: Iterator[Any], limits: Limits, source: Source) -> pd.DataFrame:
    parts: list[pd.DataFrame] = []
    rows = 0
    while batch := list(islice(records, _BATCH)):
        for item in batch:
            if not isinstance(item, dict | list):
                reason = f"a {type(item).__name__} among the records"
                raise broken(source.name, "JSON", reason)

        rows += len(batch)
        parts.append(pd.DataFrame(batch))
        limits.check_shape(rows, max(part.shape[1] for part in parts))

    frame = pd.concat(parts, ignore_index=True)
    limits.check_shape(*frame.shape)
    return frame.rename(columns=lambda key: key if isinstance(key, str) else f"column {key}")


def read_arrow(source: Source, limits: Limits) -> tuple[pd.DataFrame, set[str]]:
    """The columns of a Parquet or Feather file, and the names of those declared to be levels."""
    pa = _arrow()
    if source.packing:
        rule = "a Parquet or Feather file that is not packed again"
        raise Refusal("DATA", rule, source.label, "unpack it")

    is_parquet = source.head.startswith(PARQUET)
    try:
        return (_read_parquet if is_parquet else _read_feather)(source, limits)
    except Refusal:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise broken(source.label, "Parquet" if is_parquet else "Feather", error) from None


def _read_parquet(source: Source, limits: Limits) -> tuple[pd.DataFrame, set[str]]:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    with source.raw() as raw, parquet.ParquetFile(raw) as file:
        about = file.metadata
        schema = file.schema_arrow
        limits.check_shape(about.num_rows, about.num_columns, packed=source.size)
        unpacked = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
        limits.check_bytes(unpacked, packed=source.size)

    # Texts stay codes of a dictionary: a long text that is repeated is kept once.
    is_text = (pa.types.is_string, pa.types.is_large_string)
    texts = [field.name for field in schema if any(test(field.type) for test in is_text)]
    with source.raw() as raw, parquet.ParquetFile(raw, read_dictionary=texts) as file:
        return arrow_frame(file.iter_batches(batch_size=_ROWS), schema)


def _read_feather(source: Source, limits: Limits) -> tuple[pd.DataFrame, set[str]]:
    import pyarrow as pa
    import pyarrow.dataset as dataset

    # Mapped, so that numbers that are not packed are not copied.
    in_memory = isinstance(source.file, bytes)
    file = pa.BufferReader(source.file) if in_memory else pa.memory_map(str(source.file))
    reader = pa.ipc.open_file(file)
    # Counted in the descriptions of the batches, before one of them is decoded.
    rows = dataset.IpcFileFormat().make_fragment(file).count_rows()
    limits.check_shape(rows, len(reader.schema), packed=source.size)
    batches = (reader.get_batch(k) for k in range(reader.num_record_batches))

    return arrow_frame(batches, reader.schema)


def arrow_frame(batches: Iterable[Any], schema: Any) -> tuple[pd.DataFrame, set[str]]:
    """Record batches as columns, and the names of those that are declared to be levels."""
    pa = _arrow()
    checked = []
    for batch in batches:
        # Arrow trusts offsets and codes, and would read beyond the memory.
        batch.validate(full=True)
        checked.append(batch)

    table = pa.Table.from_batches(checked) if checked else schema.empty_table()
    levels = {field.name for field in schema if pa.types.is_dictionary(field.type)}
    for k, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type) or pa.types.is_time(field.type):
            values = table.column(k)
            if pa.types.is_time(field.type):
                values = values.cast(pa.int64() if field.type.bit_width == 64 else pa.int32())

            table = table.set_column(k, field.name, values.cast(pa.float64(), safe=False))

    return table.to_pandas(ignore_metadata=True, date_as_object=False, split_blocks=True), levels


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError(
            "this format needs pyarrow, which is not installed: pip install 'ravine[data]'"
        ) from None

    return pyarrow
