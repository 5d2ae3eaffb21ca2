"""From a frame to a table of numbers and a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from ravine.arguments import FloatArray, Refusal
from ravine.tables.columns import (
    counts,
    is_nested,
    is_number,
    is_row_number,
    is_text,
    names_rows,
    plain,
    read_column,
)
from ravine.tables.record_files import TEXTS
from ravine.tables.source import Limits
from ravine.tables.table import Finding, Table, listed
from ravine.tables.target import TargetKind, infer_target, pick, target_kind

OTHER = "other"
"""Name of the group of levels that are too rare for their own column."""
_MOSTLY_MISSING = 0.5
"""Share of missing values at which a column is left out, and of rows that may be lost."""
_REASONS = {
    "index": "it only numbers the rows",
    "names": "nearly every row has its own text",
    "nested": "it holds lists or records",
    "missing": "more than half of the values are missing",
    "constant": "all rows have the same value",
}
"""Why a column is left out, by the kind of the finding."""

Columns: TypeAlias = dict[str, pd.Series]


@dataclass(frozen=True)
class Options:
    """What the user asked of a table.

    Attributes
    ----------
    target, drop, weights
        Columns by name or number.
    missing
        What is done with missing values: "drop-rows", "fill" or "refuse".
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
    missing: str = "drop-rows"
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
    findings: Sequence[Finding] = (),
) -> Table:
    """A table of numbers from a frame; ``y`` and ``weights`` if they are not among its columns.

    ``comma`` for decimal commas in texts.
    """
    notes = list(findings)
    _check_size(len(frame), frame.shape[1], y is None)
    undeclared = frame.attrs.get(TEXTS, ())

    def read(series: pd.Series, label: str) -> pd.Series:
        levels = isinstance(series.dtype, pd.CategoricalDtype) and label not in undeclared
        column, said = read_column(
            series.reset_index(drop=True), label, comma=comma, levels=levels, codes=options.tidy
        )
        notes.extend(said)
        return column

    names = _distinct(frame.columns)
    dropped = {pick(names, wanted, "drop") for wanted in options.drop}
    columns = {
        label: read(frame.iloc[:, k], label)
        for k, label in enumerate(names)
        if label not in dropped
    }
    target, goal = "", None
    if y is not None:
        target, goal = str(y.name), read(y, str(y.name))

    weight = None if weights is None else read(weights, str(weights.name))
    names = list(columns)
    if options.weights is not None:
        weight = columns.pop(pick(names, options.weights, "weights"))
    if goal is None:
        target = _chosen_target(columns, names, options, notes)
        goal = columns.pop(target)

    _check_target(target, goal)
    inputs = _useful(columns, options.tidy, notes)
    present = goal.notna() if weight is None else goal.notna() & weight.notna()
    inputs, keep = _complete_rows(inputs, present.to_numpy(), goal, options.missing, notes)
    rows = None if keep.all() else np.flatnonzero(keep)
    if rows is not None:
        inputs = {label: column.iloc[rows] for label, column in inputs.items()}
        goal = goal.iloc[rows]
        weight = None if weight is None else weight.iloc[rows]

    if len(goal) < 2:
        rule = "two rows or more without missing values"
        raise Refusal("DATA", rule, len(goal), "one row is not enough")
    if options.tidy:
        inputs = _varying(inputs, notes)
    if not inputs:
        why = "; ".join(note.message for note in notes if note.kind in _REASONS)
        remedy = "a target and at least one other column are needed"
        raise Refusal("DATA", "a table with a useful column", why or "none", remedy)

    values = _target_values(goal, options.limits, notes)
    checked = None if weight is None else _checked_weights(weight)
    X, encoded = _encoded(inputs, options, notes)
    return Table(X, values, encoded, target, name, tuple(notes), checked, rows, options.limits)


def _check_size(rows: int, columns: int, with_target: bool) -> None:
    if columns < 1 + with_target:
        rule = "two columns or more" if with_target else "one column or more"
        remedy = "a target and at least one other column are needed"
        if with_target:
            remedy += "; give --sep if they are there"

        raise Refusal("DATA", rule, columns, remedy)

    if rows < 2:
        raise Refusal("DATA", "two rows or more", rows, "one row is not enough")


def _distinct(names: Sequence[Any]) -> list[str]:
    """The names as texts, repeated ones numbered."""
    texts = [" ".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in names]
    times = pd.Series(texts, dtype=object).groupby(texts).cumcount() + 1
    return [text if n == 1 else f"{text} ({n})" for text, n in zip(texts, times, strict=True)]


def _chosen_target(
    columns: Columns, names: Sequence[str], options: Options, notes: list[Finding]
) -> str:
    """The name of the target: the one that was given, or the likeliest."""
    if options.target is None:
        target, why = infer_target(columns, options.limits.classes)
        notes.append(why)
        return target

    target = pick(names, options.target, "target")
    if target not in columns:
        value = repr(options.target)
        raise Refusal("target", "another column than the weights", value, "choose one")

    return target


def _check_target(name: str, target: pd.Series) -> None:
    value = ""
    if is_nested(target):
        value = "lists or records"
    elif names_rows(target):
        value = f"{np.count_nonzero(counts(target))} different texts in {len(target)} rows"
    elif target.isna().all():
        value = "no value at all"
    if value:
        remedy = "choose another with --target"
        raise Refusal(f"target {name!r:.60}", "numbers or a few labels", value, remedy)


def _useful(columns: Columns, tidy: bool, notes: list[Finding]) -> Columns:
    """The columns that carry information, as numbers or texts."""
    reasons: dict[str, list[str]] = {kind: [] for kind in _REASONS}
    for k, (name, column) in enumerate(columns.items()):
        if is_nested(column):
            reasons["nested"].append(name)
        elif names_rows(column):
            reasons["names"].append(name)
        elif tidy and is_row_number(name, column, k):
            reasons["index"].append(name)
        elif column.isna().mean() > _MOSTLY_MISSING:
            reasons["missing"].append(name)

    numbering = reasons["index"]
    if numbering and sum(map(len, reasons.values())) == len(columns):
        # A series of one variable: its row numbers are the time.
        what = f"{listed(numbering)}: kept, because no other column is left"
        notes.append(Finding("index", f"{what}; it only numbers the rows", "", tuple(numbering)))
        reasons["index"] = []

    for kind, names in reasons.items():
        columns = _leave_out(columns, names, kind, notes)

    return {
        name: column if is_text(column) else pd.Series(plain(column), copy=False)
        for name, column in columns.items()
    }


def _varying(columns: Columns, notes: list[Finding]) -> Columns:
    """The columns that vary, and the first column of ones, which serves as an intercept."""
    fixed = [name for name, column in columns.items() if not _varies(column)]
    ones = [name for name in fixed if columns[name].iloc[0] == 1.0]
    return _leave_out(columns, [name for name in fixed if name not in ones[:1]], "constant", notes)


def _leave_out(columns: Columns, names: list[str], kind: str, notes: list[Finding]) -> Columns:
    if names:
        what = f"{listed(names)}: left out, because {_REASONS[kind]}"
        notes.append(Finding(kind, what, "", tuple(names)))

    return {name: column for name, column in columns.items() if name not in names}


def _complete_rows(
    columns: Columns,
    keep: npt.NDArray[np.bool_],
    target: pd.Series,
    missing: str,
    notes: list[Finding],
) -> tuple[Columns, npt.NDArray[np.bool_]]:
    """Fill missing values or choose columns and rows without; ``keep`` are the rows with a target.

    With ``drop-rows``, rows with any missing value are left out; if that would cost more than half
    of the rows, or leave a single value of the target, the columns with the most missing values
    are left out first.
    """
    gaps = {name: column.isna().to_numpy() for name, column in columns.items()}
    gaps = {name: gap for name, gap in gaps.items() if gap.any()}
    if missing == "refuse" and gaps:
        name, gap = next(iter(gaps.items()))
        value = f"{gap.sum()} missing, the first in row {gap.argmax()}"
        remedy = "fill them in, or use --missing drop-rows or fill"
        raise Refusal(f"column {name!r:.60}", "without missing values", value, remedy)

    if missing == "fill" and gaps:
        columns = {n: _filled(column) if n in gaps else column for n, column in columns.items()}
        count = sum(int(gap.sum()) for gap in gaps.values())
        what = f"{listed(tuple(gaps))}: {count} missing values were replaced by the median"
        notes.append(Finding("imputed", f"{what} or the most frequent text", "", tuple(gaps)))
        gaps = {}

    dropped: list[str] = []
    enough = (1.0 - _MOSTLY_MISSING) * np.count_nonzero(keep)
    whole = keep
    while gaps:
        whole = keep & ~np.any(list(gaps.values()), axis=0)
        if np.count_nonzero(whole) >= enough and _varies(target[whole]):
            break

        dropped.append(max(gaps, key=lambda name: np.count_nonzero(gaps[name])))
        del gaps[dropped[-1]]
        whole = keep

    if dropped:
        what = f"{listed(dropped)}: left out, because its missing values would cost too many rows"
        notes.append(Finding("missing", what, "--missing fill keeps them", tuple(dropped)))
    if not whole.all():
        where = listed(tuple(gaps)) if gaps else "the target or the weights"
        lost = np.count_nonzero(~whole)
        what = f"{lost} of {len(whole)} rows were left out because of missing values in {where}"
        remedy = "--missing fill keeps them" if gaps else ""
        notes.append(Finding("missing", what, remedy, tuple(gaps)))

    return {name: column for name, column in columns.items() if name not in dropped}, whole


def _varies(column: pd.Series) -> bool:
    """Whether a column without missing values has two different ones."""
    values = plain(column)
    return bool(values.size and values.min() < values.max())


def _filled(column: pd.Series) -> pd.Series:
    """The median for missing numbers, the most frequent text for missing texts."""
    if is_text(column):
        return column.fillna(column.cat.categories[counts(column).argmax()])

    return column.fillna(column.median())


def _target_values(target: pd.Series, limits: Limits, notes: list[Finding]) -> npt.NDArray[Any]:
    values = plain(target)
    if not _varies(target):
        value = f"{target.tolist()[0]!r:.40} in every row"
        remedy = "choose another with --target"
        raise Refusal("the target", "more than one value", value, remedy)

    if is_text(target):
        limits.check_classes(int(np.count_nonzero(counts(target))))
        # NumPy keeps 4 bytes for each character of the longest text.
        texts = np.array(target.cat.categories, dtype=str)
        limits.check_bytes(texts.itemsize * len(target), what="of labels")
        return np.asarray(texts[values])

    count = len(np.unique(values))
    if is_number(target) and count <= limits.classes and (values == np.floor(values)).all():
        kind = target_kind(values)
        loss = "squared" if kind is TargetKind.LABELS else "multinomial"
        what = f"the target has {count} whole numbers, read as {kind.value}"
        notes.append(Finding("labels", what, f"use --loss {loss} if they are not"))

    return values


def _checked_weights(column: pd.Series) -> FloatArray:
    if is_text(column) or is_nested(column):
        raise Refusal("weights", "a column of numbers", "texts or lists", "choose another column")

    values = np.asarray(plain(column), dtype=np.float64)
    if (values < 0).any():
        value = f"{values[values < 0][0]:g} in row {np.flatnonzero(values < 0)[0]}"
        raise Refusal("weights", "zero or more", value, "correct that row")
    if not values.any():
        raise Refusal("weights", "positive somewhere", "0 in every row", "choose another column")

    return values


def _levels(
    name: str, column: pd.Series, most: int, notes: list[Finding]
) -> tuple[npt.NDArray[np.intp], list[str]]:
    """For each row the column that has its one, -1 for none; and the names of the columns.

    With all k levels the columns would add up to 1 in every row, and so depend on each other and
    on an intercept. The most frequent level is left out: the others are relative to it. The
    rarest beyond ``most`` levels are one group.
    """
    often = counts(column)
    # The most frequent first; of equals the one that was met first.
    order = np.argsort(-often, kind="stable")[: np.count_nonzero(often)]
    kept = order if len(order) <= most else order[: most - 1]
    table = np.full(len(often), len(kept) - 1)
    table[kept] = np.arange(-1, len(kept) - 1)
    texts = [f"{column.cat.categories[k]:.60}" for k in kept]
    what = f"column {name!r:.60} is text with {len(order)} levels: "
    remedy = ""

    if len(kept) < len(order):
        grouped = len(order) - len(kept)
        what += f"the {len(kept)} most frequent are kept, {grouped} rarer ones became {OTHER!r}"
        remedy = "keep more with --levels, or leave it out with --drop"
        texts.append(OTHER)
    else:
        plural = "s" if len(kept) > 2 else ""
        what += f"encoded as {len(kept) - 1} column{plural} relative to {texts[0]!r:.40}"

    notes.append(Finding("encoded", what, remedy, (name,)))
    return table[plain(column)], [f"{name:.60}={text}" for text in texts[1:]]


def _encoded(
    columns: Columns, options: Options, notes: list[Finding]
) -> tuple[FloatArray, tuple[str, ...]]:
    """The columns side by side; texts as zeros and ones."""
    parts: list[tuple[npt.NDArray[Any], list[str]]] = [
        _levels(name, column, options.levels, notes) if is_text(column) else (plain(column), [name])
        for name, column in columns.items()
    ]
    names = tuple(label for _, added in parts for label in added)
    rows = len(parts[0][0])
    options.limits.check_shape(rows, len(names))
    X = np.zeros((rows, len(names)))
    at = 0
    for column, (values, added) in zip(columns.values(), parts, strict=True):
        if is_text(column):
            ones = np.flatnonzero(values >= 0)
            X[ones, at + values[ones]] = 1.0
        else:
            X[:, at] = values
        at += len(added)

    return X, names
