"""From columns to a table of numbers and a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ravine.arguments import FloatArray, Refusal
from ravine.tables.columns import Column, ColumnKind, is_row_number, names_rows, read_column
from ravine.tables.finding import Finding, listed
from ravine.tables.limits import Limits
from ravine.tables.table import Table
from ravine.tables.target import TargetKind, infer_target, pick, target_kind

OTHER = "other"
"""Name of the group of levels that are too rare for their own column."""
_MOSTLY_MISSING = 0.5
"""Share of missing values at which a column is left out, and of rows that may be lost."""
_BLOCK = 4096
"""Rows that are written at a time: their columns fit into the processor's cache."""


class Missing(StrEnum):
    """What is done with missing values."""

    DROP_ROWS = "drop-rows"
    FILL = "fill"
    REFUSE = "refuse"


@dataclass(frozen=True)
class Options:
    """What the user asked of a table.

    Attributes
    ----------
    target, drop, weights
        Columns by name or number.
    missing
        What is done with missing values.
    levels
        Levels of a text column that get their own column.
    limits
        How large the table may be.
    tidy
        Whether row numbers and constant columns are left out, and codes such as -999 recognised.
    """

    target: str | int | None = None
    drop: tuple[str | int, ...] = ()
    weights: str | int | None = None
    missing: Missing = Missing.DROP_ROWS
    levels: int = 20
    limits: Limits = field(default_factory=Limits)
    tidy: bool = True


def make_table(
    frame: pd.DataFrame,
    options: Options,
    *,
    name: str,
    y: pd.Series | None = None,
    weights: pd.Series | None = None,
    comma: bool = False,
    levels: set[str] | None = None,
    findings: Sequence[Finding] = (),
) -> Table:
    """A table of numbers from a frame; ``y`` and ``weights`` if they are not among its columns.

    ``comma`` for decimal commas in texts. ``levels`` are the columns whose texts are levels even
    if they spell numbers; all categorical ones if None.
    """
    notes = list(findings)

    def read(series: pd.Series, label: str) -> Column:
        declared = isinstance(series.dtype, pd.CategoricalDtype)
        declared = declared and (levels is None or label in levels)
        column, said = read_column(series, label, comma=comma, levels=declared, codes=options.tidy)
        notes.extend(said)
        return column

    _check_size(len(frame), frame.shape[1], y is None)
    names = _distinct([_joined(name) for name in frame.columns])
    dropped = {pick(names, wanted, "drop") for wanted in options.drop}
    left = [k for k in range(len(names)) if k not in dropped]
    columns = [read(frame.iloc[:, k], names[k]) for k in left]
    target = None if y is None else read(y, str(y.name))
    weight = None if weights is None else read(weights, str(weights.name))

    names = [column.name for column in columns]
    taken: set[int] = set()
    if options.weights is not None:
        taken.add(pick(names, options.weights, "weights"))
        weight = columns[min(taken)]

    if target is None and options.target is not None:
        at = pick(names, options.target, "target")
        if at in taken:
            value = repr(options.target)
            raise Refusal("target", "another column than the weights", value, "choose one")
        target = columns[at]
        taken.add(at)
    elif target is None:
        at, why = infer_target(columns, taken, options.limits.classes)
        target = columns[at]
        taken.add(at)
        notes.append(why)

    inputs = [column for k, column in enumerate(columns) if k not in taken]
    inputs = _useful(inputs, options.tidy, notes)
    return _finish(inputs, target, weight, options, name, notes)


def _joined(name: Any) -> str:
    return " ".join(str(part) for part in name) if isinstance(name, tuple) else str(name)


def _distinct(names: Sequence[str]) -> list[str]:
    """The names, repeated ones numbered."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        times = seen[name] = seen.get(name, 0) + 1
        result.append(name if times == 1 else f"{name} ({times})")

    return result


def _check_size(rows: int, columns: int, with_target: bool) -> None:
    if columns < 1 + with_target:
        rule = "two columns or more" if with_target else "one column or more"
        remedy = "a target and at least one other column are needed"
        if with_target:
            remedy += "; give --sep if they are there"

        raise Refusal("DATA", rule, columns, remedy)

    if rows < 2:
        raise Refusal("DATA", "two rows or more", rows, "one row is not enough")


def _finish(
    inputs: list[Column],
    target: Column,
    weight: Column | None,
    options: Options,
    name: str,
    notes: list[Finding],
) -> Table:
    """Leave out what is missing, encode, write."""
    _check_target(target)
    if not inputs:
        raise _nothing_left(notes)

    needed = [column.missing for column in (target, weight) if column is not None]
    inputs, keep = _complete_rows(inputs, np.any(needed, axis=0), options.missing, target, notes)
    if keep is not None:
        target = target.take(keep)
        weight = None if weight is None else weight.take(keep)

    if target.rows < 2:
        rule = "two rows or more without missing values"
        raise Refusal("DATA", rule, target.rows, "one row is not enough")
    if options.tidy:
        inputs = _varying(inputs, notes)
    if not inputs:
        raise _nothing_left(notes)

    y = _target_values(target, options.limits, notes)
    X, names = _written(inputs, options, notes)
    return Table(
        X, y, names, target.name, name, tuple(notes),
        weights=None if weight is None else _checked_weights(weight),
        rows=None if keep is None else np.flatnonzero(keep), limits=options.limits,
    )  # fmt: skip


def _useful(columns: list[Column], tidy: bool, notes: list[Finding]) -> list[Column]:
    """The columns that carry information: no row numbers, names, lists or mostly empty ones."""
    reasons: dict[str, list[str]] = {"index": [], "names": [], "nested": [], "missing": []}
    kept: list[Column] = []
    for k, column in enumerate(columns):
        if column.kind is ColumnKind.NESTED:
            reasons["nested"].append(column.name)
        elif column.is_text and names_rows(column):
            reasons["names"].append(column.name)
        elif tidy and is_row_number(column, k):
            reasons["index"].append(column.name)
        # The sum shows that no number is missing, without an array of marks.
        elif (column.is_text or np.isnan(column.values.sum())) and (
            np.count_nonzero(column.missing) > _MOSTLY_MISSING * column.rows
        ):
            reasons["missing"].append(column.name)
        else:
            kept.append(column)

    numbering = reasons["index"]
    if not kept and numbering:
        # A series of one variable: its row numbers are the time.
        kept = [column for column in columns if column.name in numbering]
        what = f"{listed(numbering)}: kept, because no other column is left"
        notes.append(Finding("index", f"{what}; it only numbers the rows", "", tuple(numbering)))
        reasons["index"] = []

    for kind, why in (
        ("index", "it only numbers the rows"),
        ("names", "nearly every row has its own text"),
        ("nested", "it holds lists or records"),
        ("missing", "more than half of the values are missing"),
    ):
        if reasons[kind]:
            what = f"{listed(reasons[kind])}: left out, because {why}"
            notes.append(Finding(kind, what, "", tuple(reasons[kind])))

    return kept


def _complete_rows(
    columns: list[Column],
    absent: npt.NDArray[np.bool_],
    missing: Missing,
    target: Column,
    notes: list[Finding],
) -> tuple[list[Column], npt.NDArray[np.bool_] | None]:
    """The columns without missing values, and which rows were kept (None: all).

    Rows without target or weight (``absent``) are always left out. With ``drop-rows``, so are
    those with any missing value; if that would cost more than half of the rows, or leave a single
    value of the target, the columns with the most missing values are left out first.
    """
    keep = ~absent
    marks = {column.name: column.missing for column in columns}
    marks = {name: mark for name, mark in marks.items() if mark.any()}
    if missing is Missing.REFUSE and marks:
        name, mark = next(iter(marks.items()))
        value = f"{mark.sum()} missing, the first in row {mark.argmax()}"
        remedy = "fill them in, or use --missing drop-rows or fill"
        raise Refusal(f"column {name!r:.60}", "without missing values", value, remedy)

    if missing is Missing.FILL and marks:
        columns = [_filled(column, marks.get(column.name)) for column in columns]
        count = sum(int(mark.sum()) for mark in marks.values())
        what = f"{listed(tuple(marks))}: {count} missing values were replaced by the median"
        notes.append(Finding("imputed", f"{what} or the most frequent text", "", tuple(marks)))
        marks = {}

    dropped: list[str] = []
    while marks:
        left = keep & ~np.any(list(marks.values()), axis=0)
        enough = np.count_nonzero(left) >= (1.0 - _MOSTLY_MISSING) * np.count_nonzero(keep)
        if enough and _varies(target.plain[left]):
            keep = left
            break

        worst = max(marks, key=lambda name: int(marks[name].sum()))
        del marks[worst]
        dropped.append(worst)

    if dropped:
        what = f"{listed(dropped)}: left out, because its missing values would cost too many rows"
        notes.append(Finding("missing", what, "--missing fill keeps them", tuple(dropped)))
        columns = [column for column in columns if column.name not in dropped]

    if keep.all():
        return columns, None

    where = listed(tuple(marks)) if marks else "the target or the weights"
    lost = len(keep) - np.count_nonzero(keep)
    what = f"{lost} of {len(keep)} rows were left out because of missing values in {where}"
    remedy = "--missing fill keeps them" if marks else ""
    notes.append(Finding("missing", what, remedy, tuple(marks)))

    return [column.take(keep) for column in columns], keep


def _varies(values: npt.NDArray[Any]) -> bool:
    # Most columns show in their first rows that they vary.
    return any((part != part[:1]).any() for part in (values[:100], values))


def _filled(column: Column, mark: npt.NDArray[np.bool_] | None) -> Column:
    """The median for missing numbers, the most frequent text for missing texts."""
    if mark is None:
        return column
    if not column.is_text:
        return replace(column, values=np.where(mark, np.nanmedian(column.values), column.values))

    codes = np.where(mark, column.counts.argmax(), column.plain)
    return replace(
        column, values=pd.Categorical.from_codes(codes, categories=column.values.categories)
    )


def _varying(columns: list[Column], notes: list[Finding]) -> list[Column]:
    """The columns that vary, and the first column of ones, which serves as an intercept."""
    fixed = {column.name for column in columns if not _varies(column.plain)}
    ones = [
        column.name
        for column in columns
        if column.name in fixed and not column.is_text and column.values[0] == 1.0
    ]
    fixed -= set(ones[:1])
    if fixed:
        names = tuple(column.name for column in columns if column.name in fixed)
        what = f"{listed(names)}: left out, because all rows have the same value"
        notes.append(Finding("constant", what, "", names))

    return [column for column in columns if column.name not in fixed]


def _nothing_left(notes: Sequence[Finding]) -> Refusal:
    kinds = ("index", "names", "nested", "missing", "constant")
    why = "; ".join(note.message for note in notes if note.kind in kinds)
    remedy = "a target and at least one other column are needed"

    return Refusal("DATA", "a table with a useful column", why or "none", remedy)


def _check_target(target: Column) -> None:
    name = f"target {target.name!r:.60}"
    remedy = "choose another with --target"
    if target.kind is ColumnKind.NESTED:
        raise Refusal(name, "numbers or labels", "lists or records", remedy)

    if target.is_text and names_rows(target):
        value = f"{np.count_nonzero(target.counts)} different texts in {target.rows} rows"
        raise Refusal(name, "numbers or a few labels", value, remedy)

    if target.missing.all():
        raise Refusal(name, "filled", "no value at all", remedy)


def _target_values(target: Column, limits: Limits, notes: list[Finding]) -> npt.NDArray[Any]:
    if not _varies(target.plain):
        value = f"{target.values.tolist()[0]!r:.40} in every row"
        raise Refusal("the target", "more than one value", value, "choose another with --target")

    if target.is_text:
        used = np.count_nonzero(target.counts)
        limits.check_classes(int(used))
        longest = max(len(text) for text in target.values.categories)
        # NumPy keeps 4 bytes for each character of the longest text.
        limits.check_bytes(4 * longest * target.rows, what="of labels")
        return np.asarray(np.array(target.values.categories, dtype=str)[target.plain])

    count = len(np.unique(target.values))
    whole = bool((target.values == np.floor(target.values)).all())
    if whole and target.kind is ColumnKind.NUMBERS and count <= limits.classes:
        kind = target_kind(target.values)
        loss = "squared" if kind is TargetKind.LABELS else "multinomial"
        what = f"the target has {count} whole numbers, read as {kind.value}"
        notes.append(Finding("labels", what, f"use --loss {loss} if they are not"))

    return np.asarray(target.values)


def _checked_weights(column: Column) -> FloatArray:
    if column.is_text or column.kind is ColumnKind.NESTED:
        value = f"text in {column.name!r:.60}"
        raise Refusal("weights", "a column of numbers", value, "choose another")

    values = np.asarray(column.values, dtype=np.float64)
    if (values < 0).any():
        value = f"{values[values < 0][0]:g} in row {np.flatnonzero(values < 0)[0]}"
        raise Refusal("weights", "zero or more", value, "correct that row")
    if not values.any():
        raise Refusal("weights", "positive somewhere", "0 in every row", "choose another column")

    return values


def _encoded(
    column: Column, most: int, notes: list[Finding]
) -> tuple[npt.NDArray[np.intp], list[str]]:
    """For each row the column that has its one, -1 for none; and the names of the columns.

    With all k levels the columns would add up to 1 in every row, and so depend on each other and
    on an intercept. The most frequent level is left out: the others are relative to it. The
    rarest beyond ``most`` levels are one group.
    """
    counts = column.counts
    # The most frequent first; of equals the one that was met first.
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    kept = order if len(order) <= most else order[: most - 1]
    table = np.full(len(counts), len(kept) - 1)
    table[kept] = np.arange(-1, len(kept) - 1)
    texts = [f"{column.values.categories[k]:.60}" for k in kept]
    what = f"column {column.name!r:.60} is text with {len(order)} levels: "
    remedy = ""

    if len(kept) < len(order):
        grouped = len(order) - len(kept)
        what += f"the {len(kept)} most frequent are kept, {grouped} rarer ones became {OTHER!r}"
        remedy = "keep more with --levels, or leave it out with --drop"
        texts.append(OTHER)
    else:
        plural = "s" if len(kept) > 2 else ""
        what += f"encoded as {len(kept) - 1} column{plural} relative to {texts[0]!r:.40}"

    notes.append(Finding("encoded", what, remedy, (column.name,)))
    return table[column.plain], [f"{column.name:.60}={text}" for text in texts[1:]]


def _written(
    columns: list[Column], options: Options, notes: list[Finding]
) -> tuple[FloatArray, tuple[str, ...]]:
    """The columns side by side; texts as zeros and ones."""
    parts: list[tuple[int, bool, npt.NDArray[Any]]] = []
    names: list[str] = []
    for column in columns:
        values, added = column.values, [column.name]
        if column.is_text:
            values, added = _encoded(column, options.levels, notes)

        parts.append((len(names), column.is_text, values))
        names.extend(added)

    rows = columns[0].rows
    options.limits.check_shape(rows, len(names))
    X = np.zeros((rows, len(names)))
    for start in range(0, rows, _BLOCK):
        block = X[start : start + _BLOCK]
        for at, is_text, values in parts:
            part = values[start : start + _BLOCK]
            if is_text:
                ones = np.flatnonzero(part >= 0)
                block[ones, at + part[ones]] = 1.0
            else:
                block[:, at] = part

    return X, tuple(names)
