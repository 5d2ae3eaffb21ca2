"""Columns of texts that spell numbers or dates."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.tables.column import Column, ColumnKind
from ravine.tables.finding import Finding
from ravine.tables.words import (
    MISSING_AMONG_NUMBERS,
    dates_in,
    is_missing,
    numbers_in,
    packed_dates,
)

_STRANGE = 0.1
"""Share of rows with words that a column of numbers may have; they count as missing."""


def spelled_out(column: Column, comma: bool) -> tuple[Column, list[Finding]]:
    """The column as numbers or days if its texts spell those, and what had to be decided."""
    if column.kind is ColumnKind.DATES:
        return _since_first(column), [_dates(column.name)]
    if not column.is_text:
        return _with_packed_dates(column)

    column = _without_missing_words(column)
    if not column.spelled or not column.texts:
        return column, []

    values = numbers_in(column.texts, comma=comma)
    counts = np.bincount(column.codes[column.codes >= 0], minlength=len(values))
    spells = ~np.isnan(values)
    blank = np.array([text.lower() in MISSING_AMONG_NUMBERS for text in column.texts])
    strange = ~spells & ~blank & (counts > 0)
    numeric = int(counts[spells].sum())
    others = int(counts[strange].sum())

    if numeric and others <= _STRANGE * (numeric + others):
        numbers = _looked_up(values, column.codes)
        plain = Column(column.name, ColumnKind.NUMBERS, column.rows, numbers=numbers)
        return plain, _strange_words(column, strange, others)

    dates = dates_in([column.texts[k] for k in np.flatnonzero(counts > 0)])
    if dates is None:
        return column, []

    days = np.full(len(column.texts), np.nan)
    days[counts > 0] = dates[0]
    found = Column(
        column.name, ColumnKind.DATES, column.rows, numbers=_looked_up(days, column.codes)
    )

    return _since_first(found), [_dates(column.name, dates[1])]


def _with_packed_dates(column: Column) -> tuple[Column, list[Finding]]:
    """Numbers as they are, unless the name speaks of a date and they are all like 19991231."""
    days = packed_dates(column.numbers) if "date" in column.name.lower() else None
    if days is None:
        return column, []

    found = Column(column.name, ColumnKind.DATES, column.rows, numbers=days)
    return _since_first(found), [_dates(column.name, "yyyymmdd")]


def _looked_up(
    values: npt.NDArray[np.float64], codes: npt.NDArray[np.int32]
) -> npt.NDArray[np.float64]:
    # The code -1 of a missing value points to the last entry.
    return np.append(values, np.nan)[codes]


def _without_missing_words(column: Column) -> Column:
    missing = np.array([is_missing(text) for text in column.texts], dtype=bool)
    if not missing.any():
        return column

    kept = np.flatnonzero(~missing)
    table = np.full(len(column.texts) + 1, -1, dtype=np.int32)
    table[kept] = np.arange(len(kept), dtype=np.int32)

    return Column(
        column.name, column.kind, column.rows,
        codes=table[column.codes], texts=tuple(column.texts[k] for k in kept),
        spelled=column.spelled,
    )  # fmt: skip


def _strange_words(column: Column, strange: npt.NDArray[np.bool_], rows: int) -> list[Finding]:
    if not rows:
        return []

    shown = ", ".join(f"{column.texts[k]!r:.20}" for k in np.flatnonzero(strange)[:3])
    what = (
        f"column {column.name!r:.60}: {rows} entries are no numbers and count as missing ({shown})"
    )
    return [Finding("missing", what, "correct them if they are not", (column.name,))]


def _since_first(column: Column) -> Column:
    present = column.numbers[~np.isnan(column.numbers)]
    first = present.min() if present.size else 0.0
    return Column(column.name, column.kind, column.rows, numbers=column.numbers - first)


def _dates(name: str, form: str = "") -> Finding:
    read = f" (read as {form})" if form else ""
    what = f"column {name!r:.60} has dates: they became days since the first{read}"
    return Finding("dates", what, "", (name,))
