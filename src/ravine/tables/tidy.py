"""From columns as they are read to a table of numbers and a target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal
from ravine.tables.column import Column, ColumnKind
from ravine.tables.finding import Finding, listed
from ravine.tables.gaps import Missing, complete_rows, mostly_filled, without_infinities
from ravine.tables.levels import Levels, encode_levels
from ravine.tables.limits import Limits
from ravine.tables.row_names import is_row_number, names_rows
from ravine.tables.spelling import spelled_out
from ravine.tables.table import Table
from ravine.tables.target import TargetKind, pick, target_kind, usual_target

_BLOCK = 4096
"""Rows that are written at a time: their columns fit into the processor's cache."""


@dataclass(frozen=True)
class Wishes:
    """What the user asked of a table.

    Attributes
    ----------
    target, drop, weights
        Columns by name or number.
    missing
        What becomes of missing values.
    levels
        Levels of a text column that are kept apart.
    limits
        How large the table may be.
    tidy
        Whether row numbers and constant columns are left out.
    """

    target: str | int | None = None
    drop: tuple[str | int, ...] = ()
    weights: str | int | None = None
    missing: Missing = Missing.DROP_ROWS
    levels: int = 20
    limits: Limits = field(default_factory=Limits)
    tidy: bool = True


def make_table(
    columns: Sequence[Column],
    wishes: Wishes,
    *,
    name: str,
    y: Column | None = None,
    weights: Column | None = None,
    comma: bool = False,
    findings: Sequence[Finding] = (),
) -> Table:
    """A table of numbers from columns; ``y`` and ``weights`` where they are not among these."""
    notes = list(findings)
    columns = _named_apart(columns)
    _check_size(columns, y is None)
    columns = _without(columns, wishes.drop)
    understood = []

    for column in [*columns, *([y] if y is not None else [])]:
        plain, said = spelled_out(column, comma)
        understood.append(plain)
        notes.extend(said)

    target = understood.pop() if y is not None else None
    columns, told = without_infinities(understood)
    notes.extend(told)
    taken: set[int] = set()
    weight = weights

    if wishes.weights is not None:
        at = pick([column.name for column in columns], wishes.weights, "weights")
        taken.add(at)
        weight = columns[at]

    if target is None:
        at, why = _find_target(columns, wishes, taken)
        taken.add(at)
        target = columns[at]
        notes.extend([why] if why else [])

    inputs = [column for k, column in enumerate(columns) if k not in taken]
    inputs, told = _useful(inputs, wishes.tidy)
    notes.extend(told)

    return _finish(inputs, target, weight, wishes, name, notes)


def _finish(
    inputs: list[Column],
    target: Column,
    weight: Column | None,
    wishes: Wishes,
    name: str,
    notes: list[Finding],
) -> Table:
    """Leave out what is missing, encode, write."""
    _check_target(target)
    if not inputs:
        raise _nothing_left(notes)

    needed = [column.missing for column in (target, weight) if column is not None]
    kept, keep, told = complete_rows(
        inputs, needed, wishes.missing, target.codes if target.is_text else target.numbers
    )
    notes.extend(told)
    if keep is not None:
        target = target.take(keep)
        weight = None if weight is None else weight.take(keep)

    if target.rows < 2:
        remedy = "there is nothing to average over"
        raise Refusal("DATA", "two rows or more without missing values", target.rows, remedy)
    if wishes.tidy:
        kept, told = _varying(kept)
        notes.extend(told)
    if not kept:
        raise _nothing_left(notes)

    y, told = _target_values(target, wishes.limits)
    notes.extend(told)
    X, names, told = _written(kept, wishes)
    notes.extend(told)

    return Table(
        X, y, names, target.name, name, tuple(notes),
        weights=None if weight is None else _checked_weights(weight),
        rows=None if keep is None else np.flatnonzero(keep), limits=wishes.limits,
    )  # fmt: skip


def _check_size(columns: Sequence[Column], with_target: bool) -> None:
    needed = 2 if with_target else 1
    if len(columns) < needed:
        remedy = "a target and at least one other column are needed"
        if with_target:
            remedy += "; if they are there, give --sep"

        rule = "two columns or more" if with_target else "one column or more"
        raise Refusal("DATA", rule, len(columns), remedy)

    if columns[0].rows < 2:
        raise Refusal(
            "DATA", "two rows or more", columns[0].rows, "there is nothing to average over"
        )


def _named_apart(columns: Sequence[Column]) -> list[Column]:
    """The columns, those of equal names numbered."""
    seen: dict[str, int] = {}
    result = []

    for column in columns:
        times = seen[column.name] = seen.get(column.name, 0) + 1
        name = column.name if times == 1 else f"{column.name} ({times})"
        result.append(replace(column, name=name))

    return result


def _without(columns: list[Column], drop: tuple[str | int, ...]) -> list[Column]:
    names = [column.name for column in columns]
    gone = {pick(names, wished, "drop") for wished in drop}
    return [column for k, column in enumerate(columns) if k not in gone]


def _find_target(
    columns: list[Column], wishes: Wishes, taken: set[int]
) -> tuple[int, Finding | None]:
    if wishes.target is None:
        return usual_target(columns, taken, wishes.limits.classes)

    at = pick([column.name for column in columns], wishes.target, "target")
    if at in taken:
        raise Refusal("target", "another column than the weights", repr(wishes.target), "pick one")

    return at, None


def _useful(columns: list[Column], tidy: bool) -> tuple[list[Column], list[Finding]]:
    """The columns that say something: no row numbers, names, lists or mostly empty ones."""
    kept: list[Column] = []
    numbering: list[str] = []
    naming: list[str] = []
    nested: list[str] = []

    for k, column in enumerate(columns):
        if column.kind is ColumnKind.NESTED:
            nested.append(column.name)
        elif column.kind is ColumnKind.NAMES or (column.is_text and names_rows(column)):
            naming.append(column.name)
        elif tidy and is_row_number(column, k):
            numbering.append(column.name)
        else:
            kept.append(column)

    findings = []
    if not kept and numbering:
        # A series of one variable: its rows are numbered in time, and that is all there is.
        kept = [column for column in columns if column.name in numbering]
        what = f"{listed(numbering)}: kept, though it only numbers the rows, as no other is left"
        findings.append(Finding("index", what, "", tuple(numbering)))
        numbering = []

    for names, kind, why in (
        (numbering, "index", "it only numbers the rows"),
        (naming, "names", "nearly every row has a text of its own"),
        (nested, "nested", "it holds lists or records"),
    ):
        if names:
            what = f"{listed(names)}: left out, as {why}"
            findings.append(Finding(kind, what, "", tuple(names)))

    kept, told = mostly_filled(kept)
    return kept, [*findings, *told]


def _varying(columns: list[Column]) -> tuple[list[Column], list[Finding]]:
    """The columns that vary, and one of ones, which serves as an intercept."""
    kept: list[Column] = []
    constant: list[str] = []
    ones = False

    for column in columns:
        values = column.codes if column.is_text else column.numbers
        # Most columns show in their first rows that they vary.
        fixed = (values[:100] == values[0]).all() and (values == values[0]).all()
        intercept = fixed and not ones and not column.is_text and values[0] == 1.0
        if fixed and not intercept:
            constant.append(column.name)
            continue

        ones = ones or bool(intercept)
        kept.append(column)

    if not constant:
        return kept, []

    what = f"{listed(constant)}: left out, as all rows have the same value"
    return kept, [Finding("constant", what, "", tuple(constant))]


def _nothing_left(notes: Sequence[Finding]) -> Refusal:
    kinds = ("index", "names", "nested", "missing", "constant")
    why = "; ".join(note.message for note in notes if note.kind in kinds)
    remedy = "a target and at least one other column are needed"

    return Refusal("DATA", "of use in one column at least", why or "none", remedy)


def _check_target(target: Column) -> None:
    name = f"target {target.name!r:.60}"
    if target.kind is ColumnKind.NESTED:
        raise Refusal(name, "numbers or labels", "lists or records", "pick another with --target")

    if target.kind is ColumnKind.NAMES or (target.is_text and names_rows(target)):
        used = len(target.texts) if target.is_text else "too many to count"
        value = f"{used} different texts in {target.rows} rows"
        raise Refusal(name, "numbers or a few labels", value, "pick another with --target")

    if target.missing.all():
        raise Refusal(name, "filled", "no value at all", "pick another with --target")


def _target_values(
    target: Column, limits: Limits
) -> tuple[npt.NDArray[np.float64] | npt.NDArray[np.str_], list[Finding]]:
    values = target.codes if target.is_text else target.numbers
    if (values == values[0]).all():
        shown = target.texts[values[0]] if target.is_text else float(values[0])
        value = f"{shown!r:.40} in every row"
        raise Refusal("the target", "more than one value", value, "pick another with --target")

    if target.is_text:
        used, codes = np.unique(target.codes, return_inverse=True)
        limits.check_classes(len(used))
        texts = np.array([target.texts[k] for k in used], dtype=str)
        limits.check_bytes(texts.itemsize * target.rows, what="of labels")

        return texts[codes], []

    kind = target_kind(target.numbers)
    whole = bool((target.numbers == np.floor(target.numbers)).all())
    if not whole or target.kind is not ColumnKind.NUMBERS:
        return target.numbers, []

    count = len(np.unique(target.numbers))
    if count > limits.classes:
        return target.numbers, []

    other = "--loss squared" if kind is TargetKind.LABELS else "--loss multinomial"
    what = f"the target has {count} whole numbers, taken as {kind.value}"
    return target.numbers, [Finding("labels", what, f"{other} takes them otherwise")]


def _checked_weights(column: Column) -> FloatArray:
    if column.is_text or column.kind is ColumnKind.NESTED:
        raise Refusal("weights", "a column of numbers", f"text in {column.name!r:.60}", "pick one")

    bad = np.flatnonzero(column.numbers < 0)
    if bad.size:
        value = f"{column.numbers[bad[0]]:g} in row {bad[0]}"
        raise Refusal("weights", "zero or more", value, "correct that row")
    if not column.numbers.any():
        raise Refusal("weights", "positive somewhere", "0 in every row", "pick another column")

    return column.numbers


def _written(
    columns: list[Column], wishes: Wishes
) -> tuple[FloatArray, tuple[str, ...], list[Finding]]:
    """The columns side by side; texts as levels."""
    parts: list[tuple[int, Column | Levels]] = []
    names: list[str] = []
    findings = []

    for column in columns:
        if column.is_text:
            levels = encode_levels(column, wishes.levels)
            parts.append((len(names), levels))
            names.extend(levels.names)
            findings.append(levels.finding)
        else:
            parts.append((len(names), column))
            names.append(column.name)

    rows = columns[0].rows
    wishes.limits.check_shape(rows, len(names))
    X = np.zeros((rows, len(names)))

    for start in range(0, rows, _BLOCK):
        block = X[start : start + _BLOCK]
        for at, part in parts:
            if isinstance(part, Levels):
                codes = part.codes[start : start + _BLOCK]
                ones = np.flatnonzero(codes >= 0)
                block[ones, at + codes[ones]] = 1.0
            else:
                block[:, at] = part.numbers[start : start + _BLOCK]

    return X, tuple(names), findings
