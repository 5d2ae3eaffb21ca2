"""Columns that name or number the rows, and say nothing else about them."""

from __future__ import annotations

import re

import numpy as np

from ravine.tables.column import Column, ColumnKind

_NUMBERING = frozenset(
    {"", "rownames", "row.names", "row_names", "rowname", "index", "row", "rowid", "row_id", "#"}
)
"""Names, in lower case, of columns that number the rows and nothing else."""
_IDENTIFIERS = frozenset(
    {"id", "obs", "observation", "no", "no.", "nr", "case", "caseno", "caseid", "sample", "serial",
     "sno", "s.no", "ident", "key", "idnum", "pid", "uid"}
)  # fmt: skip
"""Names of columns that are identifiers if no number comes twice."""
_ENDS_IN_ID = re.compile(r".*([_. ]id|[a-z]I[dD])|.*ID")
_TIMES = frozenset(
    {"t", "time", "trend", "year", "day", "week", "month", "quarter", "period", "date", "hour",
     "age", "x", "tt"}
)  # fmt: skip
"""Names of columns that may count 1, 2, 3, ... and mean it."""
_LONG = 10
"""Rows from which on 0, 1, 2, ... in a first column of any other name is taken for numbering."""
_FEW_TEXTS = 10
"""Different texts that are never too many for a category."""


def is_row_number(column: Column, position: int) -> bool:
    """Whether a column of numbers only numbers the rows.

    It does if it is whole and called so, or an identifier in which no number comes twice, or the
    first column and 0, 1, 2, ... or 1, 2, 3, ... in order.
    """
    if column.kind is not ColumnKind.NUMBERS or column.rows < 2:
        return False

    name = column.name.strip()
    label = name.lower()
    unnamed = label in _NUMBERING or label.startswith("unnamed: ")
    identifier = label in _IDENTIFIERS or _ENDS_IN_ID.fullmatch(name) is not None
    values = column.numbers
    counts = bool(values[0] in (0.0, 1.0) and (values[1:3] - values[:-1][:2] == 1.0).all())

    if not (unnamed or identifier or (position == 0 and counts)):
        return False

    with np.errstate(invalid="ignore"):
        if not (values == np.floor(values)).all():
            return False

    if unnamed:
        return True
    if identifier:
        return len(np.unique(values)) == column.rows

    in_order = counts and column.rows >= _LONG and bool((np.diff(values) == 1.0).all())
    return in_order and label not in _TIMES


def names_rows(column: Column) -> bool:
    """Whether a column of texts names the rows: nearly every row has a text of its own."""
    used = len(np.unique(column.codes[column.codes >= 0]))
    if used == column.rows and column.rows > 2:
        return True

    return used > _FEW_TEXTS and used > 0.5 * column.rows
