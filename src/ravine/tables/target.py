"""The target: which column it is, and whether its values are numbers or labels."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from ravine.arguments import Refusal, in_words
from ravine.tables.columns import Column, ColumnKind, is_row_number, names_rows
from ravine.tables.finding import Finding

_PLAIN_NAMES = ("target", "y", "label", "labels", "class")
"""Names that can mean nothing else."""
NAMES = (
    *_PLAIN_NAMES, "outcome", "response", "survived", "species", "diagnosis", "price", "saleprice",
    "medv", "quality", "default", "churn", "charges", "salary",
)  # fmt: skip
"""Names, in lower case, of columns that are often the target, in the order they are looked for."""
MOST_LABELS = 20
"""Whole numbers with more values than this are numbers."""
_ASIDE = frozenset(
    {"year", "date", "time", "month", "quarter", "day", "week", "hour", "period", "id", "subject",
     "index", "group", "case", "weight", "weights"}
)  # fmt: skip
"""Names of columns that say when, or for whom, and are rarely the target."""
ROWS_PER_LABEL = 5
"""Whole numbers are labels only if every value has this many rows: a class that is rarer cannot
be learned."""


class TargetKind(StrEnum):
    """What the values of a target are."""

    NUMBERS = "numbers"
    LABELS = "labels"


def target_kind(y: npt.ArrayLike) -> TargetKind:
    """Say whether a target has numbers, for a regression, or labels, for a classification.

    Texts and truth values are labels. Numbers are labels if they are whole and either there are
    two of them, or they are codes: at most 20 values without a gap between the least (0 or 1) and
    the largest, each in five rows or more. Counts have rare large values, so they stay numbers.

    Parameters
    ----------
    y
        The target, one value for each row.

    Returns
    -------
    TargetKind
        ``"numbers"`` or ``"labels"``.

    Examples
    --------
    >>> target_kind(["a", "b", "a"]).value, target_kind([0, 1, 1]).value
    ('labels', 'labels')
    >>> target_kind([0.5, 1.5]).value, target_kind([1947, 1948, 1949]).value
    ('numbers', 'numbers')
    """
    values = np.asarray(y)
    if values.dtype.kind not in "fiu":
        return TargetKind.LABELS

    if values.dtype.kind == "f":
        values = values[np.isfinite(values)]
        # Most targets show in their first rows that they are not whole.
        for part in (values[:1000], values):
            if (part != np.floor(part)).any():
                return TargetKind.NUMBERS

    different, rows = np.unique(values, return_counts=True)
    count = len(different)
    if count <= 2:
        return TargetKind.LABELS

    codes = different[0] in (0, 1) and different[-1] - different[0] == count - 1
    if codes and count <= MOST_LABELS and rows.min() >= ROWS_PER_LABEL:
        return TargetKind.LABELS

    return TargetKind.NUMBERS


def pick(names: Sequence[str], wanted: str | int, option: str) -> int:
    """The position of the column with a name, or with a number counted from 0 or backwards."""
    text = str(wanted)
    if text in names:
        return names.index(text)

    folded = [name.lower() for name in names]
    if folded.count(text.lower()) == 1:
        return folded.index(text.lower())
    if text.lstrip("-").isdigit() and -len(names) <= int(text) < len(names):
        return int(text) % len(names)

    shown = ", ".join(f"{name:.40}" for name in names[:8]) + (", ..." if len(names) > 8 else "")
    raise Refusal(option, f"one of the columns {shown}", in_words(wanted), "choose one")


def infer_target(
    columns: Sequence[Column], taken: set[int], most_classes: int
) -> tuple[int, Finding]:
    """The target if none was given: a column with a common name, else the last that can be one."""
    free = [k for k in range(len(columns)) if k not in taken]
    if not free:
        raise Refusal("DATA", "two columns or more", len(columns), "a target is needed")

    # If no column can be a target, the last one is taken, and checked later.
    possible = [k for k in free if _can_be_target(columns[k], k, most_classes)] or free[-1:]
    folded = {columns[k].name.strip().lower(): k for k in reversed(free)}
    if {"x", "y", "z"} <= folded.keys():
        # Here y is a coordinate.
        del folded["y"]

    for name in NAMES:
        # What is called a target is meant, whatever is wrong with it: that is said later.
        if name in folded and (folded[name] in possible or name in _PLAIN_NAMES):
            return folded[name], _finding(columns[folded[name]].name, "guessed from its name")

    meant = [k for k in possible if columns[k].name.strip().lower() not in _ASIDE] or possible
    last = meant[-1] == free[-1]
    why = "the last column" if last else "the last column that can be one"

    return meant[-1], _finding(columns[meant[-1]].name, why)


def _finding(name: str, why: str) -> Finding:
    return Finding(
        "target", f"the target is {name!r:.60} ({why})", "use --target to change it", (name,)
    )


def _can_be_target(column: Column, position: int, most_classes: int) -> bool:
    if column.kind in (ColumnKind.NESTED, ColumnKind.DATES):
        return False

    missing = column.missing
    if missing.sum() > 0.5 * column.rows:
        return False
    if column.is_text:
        used = np.count_nonzero(column.counts)
        return bool(2 <= used <= most_classes) and not names_rows(column)

    present = column.values[~missing]
    varied = present.size > 0 and (present != present[0]).any()
    return bool(varied) and not is_row_number(column, position)
