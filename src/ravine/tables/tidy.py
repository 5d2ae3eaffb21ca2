"""Convert a frame or an array to a table of numbers and a target."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from ravine.arguments import FloatArray, Refusal, in_words, known_name, whole
from ravine.digits import counted
from ravine.problems.spectrum import is_sparse
from ravine.tables.columns import Column, TargetKind, infer_target, pick, target_kind
from ravine.tables.source import Limits
from ravine.tables.table import Finding, Raw, Table, listed

OTHER = "other"
"""Name of the group of levels that are too rare for their own column."""
_MISSING = ("drop-rows", "fill", "refuse")
"""Ways to treat missing values."""
_MOSTLY_MISSING = 0.5
"""Share of the rows that may be lost to missing values."""
_REASONS = {
    "index": "it only numbers the rows",
    "names": "nearly every row has a different text",
    "nested": "it holds lists or records",
    "missing": "more than half of the values are missing",
    "constant": "all rows have the same value",
}
"""Why a column is dropped, by the kind of the finding."""

Marks: TypeAlias = npt.NDArray[np.bool_]
Which: TypeAlias = str | int | pd.Series
"""A column by its name or number, or separate values."""


def make_table(
    raw: Raw,
    name: str,
    limits: Limits,
    target: str | int | None,
    weights: Which | None,
    *,
    drop: str | int | Sequence[str | int],
    missing: str,
    levels: int,
) -> Table:
    """Make a table of numbers from what was read, with the options of :func:`ravine.read_table`.

    In a frame, row numbers and constants are dropped and codes such as -999 are recognised; an
    array or a sparse matrix is taken as it is.
    """
    known_name("missing", missing, _MISSING)
    most = whole("levels", levels, 2, remedy="give a count, e.g. 20")
    draft = _Draft(raw, limits, (drop,) if isinstance(drop, str | int) else drop)
    draft.choose(target if raw.target is None else raw.target, weights)
    draft.leave_out_useless()
    rows = draft.leave_out_rows(missing)
    if draft.tidy:
        draft.leave_out_constants()
    if not draft.columns and draft.X is None:
        why = "; ".join(note.message for note in draft.notes if note.kind in _REASONS)
        remedy = "a target and at least one other column are needed"
        raise Refusal("DATA", "a table with a useful column", why or "none", remedy)

    y = draft.target_values()
    weight = None if draft.weight is None else _checked_weights(draft.weight)
    X, names = draft.encoded(most)
    goal = draft.goal.name
    return Table(X, y, tuple(names), goal, name, tuple(draft.notes), weight, rows, limits)


class _Draft:
    """A table under construction.

    Attributes
    ----------
    columns
        The columns that were read and kept, by name.
    X, names
        An array or sparse matrix that is taken as it is, with the names of its columns, or None.
    goal, weight
        The target, and the weights of the rows.
    notes
        What was decided.
    """

    goal: Column
    weight: Column | None = None

    def __init__(self, raw: Raw, limits: Limits, drop: Sequence[str | int]) -> None:
        self.raw = raw
        self.limits = limits
        self.notes = list(raw.findings)
        self.tidy = isinstance(raw.data, pd.DataFrame)
        frame, self.X = raw.data, None
        if not self.tidy:
            frame, self.X, self.names = _untouched(raw, bool(drop), self.notes)

        rows, columns = frame.shape if self.X is None else self.X.shape
        least = 1 + (raw.target is None)
        if rows < 2 or columns < least:
            rule = f"a table of 2 rows and {counted(least, 'column')} or more"
            value = f"{counted(rows, 'row')} and {counted(columns, 'column')}"
            remedy = "if there are more in the file, give --sep or correct its first lines"
            raise Refusal("DATA", rule, value, remedy)

        limits.check(rows=rows, columns=columns)
        labels = _distinct(frame.columns)
        dropped = {pick(labels, one, "drop") for one in drop}
        self.columns = {
            label: self._read(frame.iloc[:, k], label)
            for k, label in enumerate(labels)
            if label not in dropped
        }

    def _read(self, series: pd.Series, label: str) -> Column:
        column = Column(label, series, self.raw)
        self.notes += column.notes
        return column

    def choose(self, target: Which | None, weights: Which | None) -> None:
        """Take the target and the weights out of the columns; each may be given separately."""
        names = list(self.columns)

        def taken(which: Which, option: str) -> Column:
            if isinstance(which, pd.Series):
                return self._read(which, str(which.name))
            label = pick(names, which, option)
            if label not in self.columns:
                rule = "another column than the weights"
                raise Refusal(option, rule, in_words(which), "choose one")
            return self.columns.pop(label)

        if weights is not None:
            self.weight = taken(weights, "weights")
        if target is None:
            target, why = infer_target(self.columns, self.limits.classes)
            self.notes.append(why)

        self.goal = taken(target, "target")
        kind = self.goal.flaw(len(names))
        if kind in ("nested", "names"):
            rule, remedy = "numbers or a few labels", "choose another with --target"
            raise Refusal(f"target {self.goal.name!r:.60}", rule, _REASONS[kind], remedy)

    def note(self, kind: str, names: Sequence[str], what: str, remedy: str = "") -> None:
        """Note a finding about some columns."""
        self.notes.append(Finding(kind, f"{listed(names)}: {what}", remedy, tuple(names)))

    def leave_out(self, names: Sequence[str], kind: str) -> None:
        """Drop columns for one of the ``_REASONS``."""
        if names:
            remedy = "if it holds numbers or dates, write them without units and in one format"
            remedy = remedy if kind == "names" else ""
            self.note(kind, names, f"dropped, because {_REASONS[kind]}", remedy)
            self.columns = {x: column for x, column in self.columns.items() if x not in names}

    def leave_out_useless(self) -> None:
        """Keep the columns that carry information, as numbers or texts."""
        flaws = {x: column.flaw(k) for k, (x, column) in enumerate(self.columns.items())}
        numbering = [name for name, kind in flaws.items() if kind == "index"]
        # In a time series of one variable the row numbers are the time.
        alone = bool(numbering) and all(flaws.values())
        if self.tidy and alone:
            what = "kept as the only column, although it only numbers the rows"
            self.note("index", numbering, what)
        for kind in _REASONS:
            if kind != "index" or (self.tidy and not alone):
                self.leave_out([name for name, its in flaws.items() if its == kind], kind)

    def leave_out_constants(self) -> None:
        """Keep the columns that vary, and the first column of ones: it serves as an intercept."""
        fixed = [column for column in self.columns.values() if not column.varies()]
        ones = [x.name for x in fixed if x.kind != "text" and x.values[0] == 1.0]
        self.leave_out([x.name for x in fixed if x.name not in ones[:1]], "constant")

    def leave_out_rows(self, missing: str) -> npt.NDArray[np.intp] | None:
        """Fill missing values, or keep the rows without; None where all rows are kept."""
        keep = ~np.isnan(self.goal.values)
        if self.weight is not None:
            keep &= ~np.isnan(self.weight.values)
        if is_sparse(self.X):
            keep &= _finite_rows(self.X, missing)

        missed = {name: np.isnan(column.values) for name, column in self.columns.items()}
        gaps = {name: gap for name, gap in missed.items() if gap.any()}
        if missing == "refuse" and gaps:
            name, gap = next(iter(gaps.items()))
            value = f"{gap.sum()} missing, the first in row {gap.argmax()}"
            remedy = "fill them in, or use --missing drop-rows or fill"
            raise Refusal(f"column {name!r:.60}", "without missing values", value, remedy)
        if missing == "fill" and gaps:
            for name in gaps:
                self.columns[name].fill()

            what = "missing values were replaced by the median or the most frequent text"
            self.note("imputed", list(gaps), f"{np.sum(list(gaps.values()))} {what}")
            gaps = {}

        keep = self._complete(keep, gaps)
        if np.count_nonzero(keep) < 2:
            rule = "two rows or more without missing values"
            raise Refusal("DATA", rule, np.count_nonzero(keep), "one row is not enough")
        if keep.all():
            return None

        rows = np.flatnonzero(keep)
        self.X = None if self.X is None else self.X[rows]
        for column in (*self.columns.values(), self.goal, self.weight):
            if column is not None:
                column.values = column.values[rows]

        return rows

    def _complete(self, keep: Marks, gaps: dict[str, Marks]) -> Marks:
        """The rows to ``keep`` without gaps.

        If they were less than half, or had a single value of the target, the columns with the most
        missing values are dropped first.
        """
        enough = (1.0 - _MOSTLY_MISSING) * np.count_nonzero(keep)
        dropped: list[str] = []
        while True:
            whole: Marks = keep & ~np.any(list(gaps.values()), axis=0)
            if not gaps or (np.count_nonzero(whole) >= enough and self.goal.varies(whole)):
                break

            dropped.append(max(gaps, key=lambda name: np.count_nonzero(gaps[name])))
            del gaps[dropped[-1]], self.columns[dropped[-1]]

        if dropped:
            what = "dropped, because its missing values would cost too many rows"
            self.note("missing", dropped, what, "use --missing fill to keep them")
        if not whole.all():
            beside = "the target" if self.weight is None else "the target or the weights"
            beside = f"the matrix, {beside}" if is_sparse(self.X) else beside
            where = listed(tuple(gaps)) if gaps else beside
            lost = np.count_nonzero(~whole)
            what = f"dropped {lost} of {len(whole)} rows, because values are missing in {where}"
            remedy = "use --missing fill to keep them" if gaps else ""
            self.notes.append(Finding("missing", what, remedy, tuple(gaps)))

        return whole

    def target_values(self) -> npt.NDArray[Any]:
        """Numbers, or labels as texts."""
        values = self.goal.values
        count = len(np.unique(values))
        if count < 2:
            first = bool(values[0]) if self.goal.kind == "truth" else float(values[0])
            shown = self.goal.texts[int(first)] if self.goal.kind == "text" else first
            value = f"{shown!r:.40} in every row"
            remedy = "choose another with --target"
            raise Refusal("the target", "more than one value", value, remedy)

        if self.goal.kind == "text":
            self.limits.check(classes=count)
            # NumPy keeps 4 bytes for each character of the longest text.
            texts = np.array(self.goal.texts, dtype=str)
            self.limits.check(bytes=texts.itemsize * len(values))
            return np.asarray(texts[values.astype(np.intp)])

        is_whole = self.goal.kind == "number" and (values == np.floor(values)).all()
        if is_whole and count <= self.limits.classes:
            kind = target_kind(values)
            labels = kind is TargetKind.LABELS
            what = f"the target has {count} different whole numbers, read as {kind.value}"
            other = "squared if they are numbers" if labels else "multinomial if they are labels"
            self.notes.append(Finding("labels", what, f"use --loss {other}"))

        return values

    def encoded(self, most: int) -> tuple[Any, Sequence[str]]:
        """The columns side by side with their names; texts are one-hot encoded."""
        if self.X is not None:
            return self.X, self.names

        # The name of each column of the result, the values, and the level that becomes a one.
        parts: list[tuple[str, npt.NDArray[Any], int | None]] = []
        for column in self.columns.values():
            if column.kind == "text":
                codes, labels = self._levels(column, most)
                parts += [(label, codes, k) for k, label in enumerate(labels)]
            else:
                parts.append((column.name, column.values, None))

        rows = len(self.goal.values)
        self.limits.check(rows=rows, columns=len(parts))
        X = np.empty((rows, len(parts)))
        for j, (_, values, level) in enumerate(parts):
            X[:, j] = values if level is None else values == level

        return X, [name for name, _, _ in parts]

    def _levels(self, column: Column, most: int) -> tuple[npt.NDArray[np.intp], list[str]]:
        """For each row, the column of its one, or -1 for none; and the names of the columns.

        With all k levels, the columns would add up to 1 in every row, and so depend on each other
        and on an intercept. The most frequent level is omitted; the others are relative to it. The
        rarest beyond ``most`` levels are one group.
        """
        name, often = column.name, column.counts
        # The most frequent first; ties go to the one that appears first.
        order = np.argsort(-often, kind="stable")[: np.count_nonzero(often)]
        kept = order if len(order) <= most else order[: most - 1]
        table = np.full(len(often), len(kept) - 1)
        table[kept] = np.arange(-1, len(kept) - 1)
        texts = [f"{column.texts[k]:.60}" for k in kept]
        grouped = len(order) - len(kept)
        remedy = "keep more with --levels, or drop it with --drop" if grouped else ""
        if grouped:
            how = f"the {len(kept)} most frequent are kept, {grouped} rarer ones became {OTHER!r}"
            texts.append(OTHER)
        else:
            how = f"encoded as {counted(len(kept) - 1, 'column')} relative to {texts[0]!r:.40}"

        what = f"column {name!r:.60} is text with {len(order)} levels: {how}"
        self.notes.append(Finding("encoded", what, remedy, (name,)))
        return table[column.values.astype(np.intp)], [f"{name:.60}={text}" for text in texts[1:]]


def _untouched(
    raw: Raw, dropping: bool, notes: list[Finding]
) -> tuple[pd.DataFrame, Any, Sequence[str]]:
    """A frame without columns and the array itself, or a frame if values are missing."""
    X = raw.data
    if not is_sparse(X) and X.ndim > 2:
        shape = "x".join(str(n) for n in X.shape[1:])
        X = X.reshape(len(X), -1)
        notes.append(Finding("shape", f"each row of shape {shape} was flattened"))

    if X.ndim != 2 or X.shape[1] == 0 or X.shape[0] < 2:
        value = f"an array of shape {X.shape}"
        raise Refusal("X", "a table with two rows or more", value, "one row for each sample")

    names = tuple(raw.names or (f"x{j}" for j in range(X.shape[1])))
    if len(names) != X.shape[1]:
        raise Refusal("columns", f"{X.shape[1]} names", len(names), "one for each column of X")

    nothing = pd.DataFrame(index=range(X.shape[0]))
    if is_sparse(X):
        return nothing, X.tocsr().astype(np.float64, copy=False), names
    # The sum reveals most bad values without an array as large as the data.
    finite = X.dtype.kind in "iubf" and (np.isfinite(X.sum()) or np.isfinite(X).all())
    if finite and not dropping:
        return nothing, np.ascontiguousarray(X, dtype=np.float64), names

    return pd.DataFrame(X).set_axis(list(names), axis=1), None, names


def _finite_rows(X: Any, missing: str) -> Marks:
    """The rows of a sparse matrix in which every value is finite."""
    bad = np.flatnonzero(~np.isfinite(X.data))
    if bad.size and missing != "drop-rows":
        remedy = "fill them in; entries that are not stored are zero"
        raise Refusal("X", "finite", "values that are not", remedy)

    finite: Marks = np.ones(X.shape[0], dtype=np.bool_)
    finite[np.searchsorted(X.indptr, bad, side="right") - 1] = False
    return finite


def _distinct(names: Iterable[Any]) -> list[str]:
    """The names as texts; repeated names are numbered."""
    words = [" ".join(map(str, x)) if isinstance(x, tuple) else str(x) for x in names]
    texts = pd.Series(words, dtype=object)
    # A numbered name may equal that of another column, which is then numbered too.
    while texts.duplicated().any():
        times = texts.groupby(texts).cumcount() + 1
        texts = texts.where(times == 1, texts + " (" + times.astype(str) + ")")

    return list(texts)


def _checked_weights(column: Column) -> FloatArray:
    if column.kind in ("text", "nested"):
        raise Refusal("weights", "a column of numbers", "texts or lists", "choose another column")

    values = column.values
    if values.min() < 0 or values.max() <= 0:
        value = f"{values.min():g} in row {values.argmin()}"
        raise Refusal("weights", "zero or more, and not zero everywhere", value, "correct them")

    return values
