"""The target: which column it is, and whether its values are numbers or labels."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import Refusal, in_words
from ravine.tables.column import Column, ColumnKind
from ravine.tables.finding import Finding
from ravine.tables.row_names import is_row_number, names_rows

NAMES = (
    "target", "y", "label", "labels", "class", "outcome", "response", "survived", "species",
    "diagnosis", "price", "saleprice", "medv", "quality", "default", "churn", "charges", "salary",
)  # fmt: skip
"""Names, in lower case, that a target usually has, in the order in which they are looked for."""
_PLAIN_NAMES = ("target", "y", "label", "labels", "class")
"""Names that can mean nothing else."""
MOST_LABELS = 20
"""Whole numbers with more values than this are numbers."""
ASIDE = frozenset(
    {"year", "date", "time", "month", "quarter", "day", "week", "hour", "period", "id", "subject",
     "index", "group", "case", "weight", "weights"}
)  # fmt: skip
"""Names of columns that say when, or for whom, which is not what is asked for."""
ROWS_PER_LABEL = 5
"""Whole numbers are labels if every value has this many rows: a class that is rarer cannot be
learned."""


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
        present = values[np.isfinite(values)]
        # Most targets show in their first rows that they are not whole.
        for part in (present[:1000], present):
            if (part != np.floor(part)).any():
                return TargetKind.NUMBERS

        values = present

    different, rows = np.unique(values, return_counts=True)
    count = len(different)
    if count <= 2:
        return TargetKind.LABELS

    codes = different[0] in (0, 1) and different[-1] - different[0] == count - 1
    if codes and count <= MOST_LABELS and rows.min() >= ROWS_PER_LABEL:
        return TargetKind.LABELS

    return TargetKind.NUMBERS


def pick(names: Sequence[str], wished: str | int, option: str) -> int:
    """The number of the column that is meant by a name, or by a number counted from 0 or back."""
    text = str(wished)
    if text in names:
        return names.index(text)

    folded = [name.lower() for name in names]
    if folded.count(text.lower()) == 1:
        return folded.index(text.lower())
    if text.lstrip("-").isdigit() and -len(names) <= int(text) < len(names):
        return int(text) % len(names)

    shown = ", ".join(f"{name:.40}" for name in names[:8]) + (", ..." if len(names) > 8 else "")
    raise Refusal(option, f"one of the columns {shown}", in_words(wished), "pick one")


def usual_target(columns: Sequence[Column], taken: set[int], most_classes: int) -> tuple[int, Any]:
    """The target of a table that none was named for: a usual name, else the last fit column."""
    free = [k for k in range(len(columns)) if k not in taken]
    if not free:
        raise Refusal("DATA", "two columns or more", len(columns), "a target is needed")

    fit = [k for k in free if _is_fit(columns[k], k, most_classes)]
    if not fit:
        # Nothing fits: the last column is taken, and what is wrong with it is said later.
        fit = free[-1:]

    folded = _without_coordinates({columns[k].name.strip().lower(): k for k in reversed(free)})
    for name in NAMES:
        # What is called a target is meant, whatever is wrong with it: that is said later.
        if name in folded and (folded[name] in fit or name in _PLAIN_NAMES):
            return folded[name], _finding(columns[folded[name]].name, "by its name")

    meant = [k for k in fit if columns[k].name.strip().lower() not in ASIDE]
    fit = meant or fit
    last = fit[-1] == free[-1]
    why = "the last column" if last else "the last column that can be one"

    return fit[-1], _finding(columns[fit[-1]].name, why)


def _without_coordinates(folded: dict[str, int]) -> dict[str, int]:
    """The names without y where it stands between x and z: there it is a length."""
    if {"x", "y", "z"} <= folded.keys():
        return {name: k for name, k in folded.items() if name != "y"}

    return folded


def _finding(name: str, why: str) -> Finding:
    remedy = "name another with --target if it is not"
    return Finding("target", f"the target is {name!r:.60}, {why}", remedy, (name,))


def _is_fit(column: Column, position: int, most_classes: int) -> bool:
    if column.kind in (ColumnKind.NESTED, ColumnKind.NAMES, ColumnKind.DATES):
        return False

    missing = column.missing
    if missing.sum() > 0.5 * column.rows:
        return False
    if column.is_text:
        used = len(np.unique(column.codes[~missing]))
        return 2 <= used <= most_classes and not names_rows(column)

    present = column.numbers[~missing]
    varied = present.size > 0 and (present != present[0]).any()
    return bool(varied) and not is_row_number(column, position)
