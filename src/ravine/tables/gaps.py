"""Missing values: columns and rows left out, or filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import Refusal
from ravine.tables.column import Column
from ravine.tables.finding import Finding, listed

_MOSTLY_MISSING = 0.5
"""Share of rows that may be missing in a column, and that may be left out for missing values."""


class Missing(StrEnum):
    """What becomes of missing values."""

    DROP_ROWS = "drop-rows"
    FILL = "fill"
    REFUSE = "refuse"


def without_infinities(columns: list[Column]) -> tuple[list[Column], list[Finding]]:
    """Infinite numbers count as missing."""
    findings = []
    result = []

    for column in columns:
        infinite = np.isinf(column.numbers)
        count = int(infinite.sum())
        if count:
            numbers = np.where(infinite, np.nan, column.numbers)
            column = replace(column, numbers=numbers)
            what = f"column {column.name!r:.60}: {count} infinite values count as missing"
            findings.append(Finding("missing", what, "", (column.name,)))

        result.append(column)

    return result, findings


def mostly_filled(columns: Sequence[Column]) -> tuple[list[Column], list[Finding]]:
    """The columns of which at least half is there."""
    kept: list[Column] = []
    dropped: list[Column] = []

    for column in columns:
        # The sum tells of a missing number without an array of marks.
        whole = not column.is_text and np.isfinite(column.numbers.sum())
        few = whole or np.count_nonzero(column.missing) <= _MOSTLY_MISSING * column.rows
        (kept if few else dropped).append(column)

    if not dropped:
        return kept, []

    names = tuple(column.name for column in dropped)
    what = f"{listed(names)}: left out, as more than half of the values are missing"
    return kept, [Finding("missing", what, "", names)]


def complete_rows(
    columns: list[Column],
    needed: Sequence[npt.NDArray[np.bool_]],
    missing: Missing,
    goal: npt.NDArray[Any],
) -> tuple[list[Column], npt.NDArray[np.bool_] | None, list[Finding]]:
    """The columns without missing values, the rows that are kept (None: all), and what was done.

    Rows with a missing target or weight (``needed``) always go. With ``drop-rows`` those with any
    missing value go; if that would leave less than half, or the same target (``goal``) in all, the
    columns with the most missing values go first.
    """
    rows = columns[0].rows
    keep = np.ones(rows, dtype=bool)

    for absent in needed:
        keep &= ~absent

    marks = {column.name: column.missing for column in columns}
    marks = {name: mark for name, mark in marks.items() if mark.any()}
    findings: list[Finding] = []
    if missing is Missing.REFUSE and marks:
        name, mark = next(iter(marks.items()))
        value = f"{int(mark.sum())} missing, the first in row {int(mark.argmax())}"
        remedy = "fill them in, or choose --missing drop-rows or fill"
        raise Refusal(f"column {name!r:.60}", "without missing values", value, remedy)

    if missing is Missing.FILL:
        columns, findings = _filled(columns, marks)
        marks = {}

    dropped: list[str] = []
    while marks:
        lost = np.any(list(marks.values()), axis=0)
        left = keep & ~lost
        enough = np.count_nonzero(left) >= (1.0 - _MOSTLY_MISSING) * np.count_nonzero(keep)
        if enough and _varies(goal[left]):
            keep = left
            break

        worst = max(marks, key=lambda name: int(marks[name].sum()))
        del marks[worst]
        dropped.append(worst)

    if dropped:
        what = f"{listed(dropped)}: left out, as their missing values would cost too many rows"
        findings.append(Finding("missing", what, "--missing fill keeps them", tuple(dropped)))
        columns = [column for column in columns if column.name not in dropped]

    lost_rows = int(rows - np.count_nonzero(keep))
    if not lost_rows:
        return columns, None, findings

    where = listed(tuple(marks)) if marks else "the target or the weights"
    what = f"{lost_rows} of {rows} rows were left out, as values are missing there ({where})"
    remedy = "--missing fill keeps them" if marks else ""
    findings.append(Finding("missing", what, remedy, tuple(marks)))

    return [column.take(keep) for column in columns], keep, findings


def _varies(values: npt.NDArray[Any]) -> bool:
    return bool(values.size) and bool((values != values[0]).any())


def _filled(
    columns: list[Column], marks: dict[str, npt.NDArray[np.bool_]]
) -> tuple[list[Column], list[Finding]]:
    """The median for missing numbers, the most frequent text for missing texts."""
    result = []
    for column in columns:
        mark = marks.get(column.name)
        if mark is None:
            result.append(column)
        elif column.is_text:
            common = np.bincount(column.codes[~mark]).argmax()
            result.append(replace(column, codes=np.where(mark, common, column.codes)))
        else:
            middle = np.median(column.numbers[~mark])
            result.append(replace(column, numbers=np.where(mark, middle, column.numbers)))

    if not marks:
        return result, []

    count = sum(int(mark.sum()) for mark in marks.values())
    names = tuple(marks)
    what = f"{listed(names)}: {count} missing values became the median or the most frequent text"

    return result, [Finding("imputed", what, "", names)]
