"""The target: which column it is, and whether its values are numbers or labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api import types

from ravine.arguments import Refusal, in_words
from ravine.tables.columns import counts, is_number, is_row_number, is_text, names_rows
from ravine.tables.table import Finding

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


def pick(names: Sequence[str], wanted: str | int, option: str) -> str:
    """The column with a name, or with a number counted from 0 or backwards."""
    text = str(wanted)
    same = [name for name in names if name.lower() == text.lower()]
    if text in names:
        return text
    if len(same) == 1:
        return same[0]
    if text.lstrip("-").isdigit() and -len(names) <= int(text) < len(names):
        return names[int(text)]

    shown = ", ".join(f"{name:.40}" for name in names[:8]) + (", ..." if len(names) > 8 else "")
    raise Refusal(option, f"one of the columns {shown}", in_words(wanted), "choose one")


def infer_target(columns: Mapping[str, pd.Series], most_classes: int) -> tuple[str, Finding]:
    """The target if none was given: a column with a common name, else the last that can be one."""
    if not columns:
        raise Refusal("DATA", "two columns or more", 1, "a target is needed")

    names = list(columns)
    folded = {name.strip().lower(): name for name in reversed(names)}
    if {"x", "y", "z"} <= folded.keys():
        # Here y is a coordinate.
        del folded["y"]

    # If no column can be a target, the last one is taken, and checked later.
    likely = [
        name
        for k, (name, column) in enumerate(columns.items())
        if _can_be_target(name, column, k, most_classes)
    ] or names[-1:]
    # What is called a target is meant, whatever is wrong with it: that is said later.
    meant = [folded[x] for x in NAMES if x in folded and (x in _PLAIN_NAMES or folded[x] in likely)]
    if meant:
        target, why = meant[0], "guessed from its name"
    else:
        target = ([name for name in likely if name.strip().lower() not in _ASIDE] or likely)[-1]
        why = "the last column" if target == names[-1] else "the last column that can be one"

    what = f"the target is {target!r:.60} ({why})"
    return target, Finding("target", what, "use --target to change it", (target,))


def _can_be_target(name: str, column: pd.Series, position: int, most_classes: int) -> bool:
    if not (is_text(column) or is_number(column) or types.is_bool_dtype(column.dtype)):
        return False
    if column.isna().mean() > 0.5 or names_rows(column) or is_row_number(name, column, position):
        return False
    if is_text(column):
        return bool(2 <= np.count_nonzero(counts(column)) <= most_classes)

    return bool(column.min() < column.max())
