"""Parquet and Feather (Arrow) files, their sizes taken from their own descriptions first."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

from ravine.tables.column import Column, columns_from
from ravine.tables.limits import MAX_FOOTER, Limits, amount
from ravine.tables.source import Source, broken

_BATCH = 65_536
"""Rows that are decoded at a time."""


def read_parquet(source: Source, limits: Limits) -> list[Column]:
    """Columns of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    _check_footer(source)

    try:
        with parquet.ParquetFile(source.path) as file:
            about = file.metadata
            schema = file.schema_arrow
            limits.check_shape(about.num_rows, about.num_columns, packed=source.size)
            unpacked = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
            limits.check_bytes(unpacked, packed=source.size)

        # Texts stay codes of a dictionary: a long text that is repeated is kept once.
        texts = [
            name
            for name, kind in zip(schema.names, schema.types, strict=True)
            if pa.types.is_string(kind) or pa.types.is_large_string(kind)
        ]
        with parquet.ParquetFile(source.path, read_dictionary=texts) as file:
            batches = _validated(file.iter_batches(batch_size=_BATCH))
            return columns_from(batches, schema.names, limits, levels=declared_levels(schema))
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise broken(source.path.name, "Parquet", error) from None


def _check_footer(source: Source) -> None:
    with source.path.open("rb") as file:
        file.seek(max(0, source.size - 8))
        tail = file.read(8)

    if len(tail) < 8 or tail[4:] != b"PAR1":
        raise broken(source.path.name, "Parquet", "it was cut short")

    (length,) = struct.unpack("<I", tail[:4])
    if length > MAX_FOOTER:
        raise broken(source.path.name, "Parquet", f"a description of {amount(length)}")


def read_feather(source: Source, limits: Limits) -> list[Column]:
    """Columns of a Feather or Arrow IPC file."""
    import pyarrow as pa

    try:
        # Mapped, so that what is not packed is not copied either; closed when nothing refers to it.
        file = pa.memory_map(str(source.path))
        _check_messages(source, file, limits)
        file.seek(0)
        reader = pa.ipc.open_file(file)
        schema = reader.schema
        batches = _validated(reader.get_batch(k) for k in range(reader.num_record_batches))

        return columns_from(batches, schema.names, limits, levels=declared_levels(schema))
    except (pa.ArrowException, OSError, struct.error, IndexError) as error:
        raise broken(source.path.name, "Feather", error) from None


def _validated(batches: Iterable[Any]) -> Iterator[Any]:
    """The batches, offsets and codes checked: Arrow trusts them, and would read beyond memory."""
    for batch in batches:
        batch.validate(full=True)
        yield batch


def declared_levels(schema: Any) -> set[int]:
    """The numbers of the columns that are declared to be levels (pandas' categories)."""
    import pyarrow as pa

    return {k for k, kind in enumerate(schema.types) if pa.types.is_dictionary(kind)}


def _check_messages(source: Source, file: Any, limits: Limits) -> None:
    """Add up the rows of all record batches, without decoding one."""
    import pyarrow as pa

    columns = len(pa.ipc.open_file(file).schema)
    limits.check_columns(columns)
    # An IPC file is "ARROW1", two bytes of padding, then a stream of messages.
    file.seek(8)
    rows = 0

    for message in pa.ipc.MessageReader.open_stream(file):
        if message.type == "record batch":
            rows += max(0, _batch_rows(message.metadata.to_pybytes()))
            limits.check_shape(rows, columns, packed=source.size)


def _batch_rows(message: bytes) -> int:
    """The field ``length`` of a record batch in Arrow's FlatBuffers metadata.

    A FlatBuffers table begins with the offset back to its vtable, which lists at 4 + 2k bytes
    where field k stands in the table, 0 if it is left out.
    """
    (table,) = struct.unpack_from("<I", message, 0)
    header = _field(message, table, 2)
    (offset,) = struct.unpack_from("<I", message, header)
    length = _field(message, header + offset, 0)
    (rows,) = struct.unpack_from("<q", message, length) if length else (0,)

    return int(rows)


def _field(message: bytes, table: int, k: int) -> int:
    (back,) = struct.unpack_from("<i", message, table)
    vtable = table - back
    (size,) = struct.unpack_from("<H", message, vtable)
    if 4 + 2 * k >= size:
        return 0

    (offset,) = struct.unpack_from("<H", message, vtable + 4 + 2 * k)
    return table + offset if offset else 0
