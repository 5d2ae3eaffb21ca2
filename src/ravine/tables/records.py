"""JSON: one record on each line, a list of records, or a column for each key."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ravine.arguments import Refusal
from ravine.tables.column import Column, ColumnBuilder
from ravine.tables.limits import Limits
from ravine.tables.source import Source, broken, lines

_BATCH = 10_000
"""Records that become columns at a time."""
_WHOLE = 128 * 2**20
"""Bytes of a JSON document that is not in lines: its Python objects take several times that."""
_BAD = (json.JSONDecodeError, UnicodeDecodeError, RecursionError)


def looks_like_json(head: bytes) -> bool:
    """Whether a text begins like a record or a list of them."""
    start = head[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()
    return start[:1] == b"{" or (start[:1] == b"[" and start[1:].lstrip()[:1] in (b"{", b"["))


def read_json(source: Source, limits: Limits) -> list[Column]:
    """Columns of JSON lines or of a JSON document."""
    try:
        if _in_lines(source.head):
            with source.open(limits) as stream:
                loaded = (json.loads(line) for line in lines(stream, source.name) if line.strip())
                return _from_records(loaded, limits, source.name)

        with source.open(limits) as stream:
            text = stream.read(_WHOLE + 1)

        if len(text) > _WHOLE:
            rule = "at most 128 MiB as one JSON document"
            raise Refusal("DATA", rule, "more", "write one record on each line (.jsonl)")

        return _from_document(json.loads(text.decode("utf-8-sig")), limits, source.name)
    except _BAD as error:
        raise broken(source.name, "JSON", error) from None


def _in_lines(head: bytes) -> bool:
    first = head.lstrip().split(b"\n", 1)[0].strip()
    if not first.startswith((b"{", b"[")):
        return False

    try:
        record = json.loads(first)
    except _BAD:
        return False

    rest = head.lstrip().partition(b"\n")[2].lstrip()
    if isinstance(record, dict):
        flat = not any(isinstance(value, (list, dict)) for value in record.values())
        return rest.startswith(b"{") or flat

    return rest.startswith(b"[")


def _from_document(document: Any, limits: Limits, name: str) -> list[Column]:
    if isinstance(document, list):
        return _from_records(iter(document), limits, name)

    if isinstance(document, dict):
        columns, data = document.get("columns"), document.get("data")
        if isinstance(columns, list) and isinstance(data, list):
            keys = [str(key) for key in columns]
            records = (dict(zip(keys, row, strict=False)) for row in data if isinstance(row, list))
            return _from_records(records, limits, name)

        tables = [
            v for v in document.values() if isinstance(v, list) and v and isinstance(v[0], dict)
        ]
        if len(tables) == 1:
            return _from_records(iter(tables[0]), limits, name)

        listed = {
            str(k): list(v.values()) if isinstance(v, dict) else v for k, v in document.items()
        }
        if listed and all(isinstance(v, list) for v in listed.values()):
            if len({len(v) for v in listed.values()}) == 1:
                return _from_lists(listed, limits)

            raise broken(name, "JSON", "lists of different lengths")

    raise broken(name, "JSON", "neither records nor columns")


def _from_lists(listed: dict[str, list[Any]], limits: Limits) -> list[Column]:
    limits.check_columns(len(listed))
    finished = []
    for key, values in listed.items():
        builder = ColumnBuilder(key)
        builder.add(arrow_array(values))
        finished.append(builder.finish())

    return finished


def _from_records(records: Iterator[Any], limits: Limits, name: str) -> list[Column]:
    builders: dict[str, ColumnBuilder] = {}
    rows = 0
    while batch := list(islice(records, _BATCH)):
        dicts = [_record(item, name) for item in batch]
        for key in _keys(dicts):
            if key not in builders:
                limits.check_columns(len(builders) + 1)
                builders[key] = ColumnBuilder(key)
                if rows:
                    builders[key].add(arrow_array([None] * rows))

        for key, builder in builders.items():
            builder.add(arrow_array([item.get(key) for item in dicts]))

        rows += len(batch)
        limits.check_shape(rows, len(builders))

    return [builder.finish() for builder in builders.values()]


def _record(item: Any, name: str) -> dict[str, Any]:
    if isinstance(item, dict):
        return item
    if isinstance(item, list):
        return {f"column {j}": value for j, value in enumerate(item)}

    raise broken(name, "JSON", f"a {type(item).__name__} among the records")


def _keys(dicts: Iterable[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for item in dicts for key in item))


def arrow_array(values: list[Any]) -> Any:
    """Python values as an Arrow array; mixed ones as texts."""
    import pyarrow as pa

    try:
        return pa.array(values, from_pandas=True)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        pass

    if any(isinstance(value, (dict, list, tuple)) for value in values):
        return pa.array([[None]] * len(values))

    return pa.array([None if _absent(value) else str(value) for value in values])


def _absent(value: Any) -> bool:
    # NaN is the value that differs from itself.
    return value is None or (isinstance(value, float) and value != value)
