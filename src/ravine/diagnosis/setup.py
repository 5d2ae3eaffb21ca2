"""The data and the options of a diagnosis, checked once, with what was left open chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import LEAST, MOST, FloatArray, Refusal, one_number, seed_number, whole
from ravine.diagnosis.batching import Batching, BatchRule, Indices, make_batching
from ravine.diagnosis.columns import column_sizes
from ravine.problems import LinearModel
from ravine.problems.losses import make_loss
from ravine.problems.row_model import RowModel
from ravine.problems.spectrum import is_sparse
from ravine.sampling import Sampling
from ravine.tables import Finding, Table, TargetKind, target_kind

_LARGEST_TARGET = 1e150
"""Of a squared loss: the squares of larger numbers overflow."""
USUAL_BATCH = 32
"""Rows in a batch unless told otherwise."""


@dataclass(frozen=True, eq=False)
class Setup:
    """What is diagnosed: to be changed one option at a time.

    Attributes
    ----------
    X, y, columns
        The table, its target, and the names of its columns.
    loss, l2
        The objective: mean loss + l2/2 ‖W‖².
    batch_size, batches, sampling, shuffle
        How rows are cut into batches and in which order they come.
    weights
        Weight of each row, one in the mean, or None where all weigh the same. Those of a squared
        loss are in X and y already.
    held_out
        Rows that were set aside, as (X, y, weights), or None.
    source_rows
        The row of the source that each row is, or None where they are the same.
    target
        The name of the target, empty where there is none.
    standardise, intercept, weighted
        What was done with the columns, and whether rows have weights.
    """

    X: Any
    y: npt.NDArray[Any]
    columns: tuple[str, ...]
    loss: str
    l2: float
    batch_size: int
    batches: BatchRule | str | None
    sampling: Sampling
    shuffle: int | None
    weights: FloatArray | None = None
    held_out: tuple[Any, npt.NDArray[Any], FloatArray | None] | None = None
    source_rows: Indices | None = None
    target: str = ""
    standardise: bool = False
    intercept: bool = False
    weighted: bool = False

    @property
    def features(self) -> int:
        """Number of columns without the intercept."""
        return int(self.X.shape[1]) - self.intercept

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def in_source(self, rows: tuple[int, ...]) -> tuple[int, ...]:
        """Rows as they are counted in the source."""
        if self.source_rows is None:
            return rows

        return tuple(int(self.source_rows[r]) for r in rows)

    def cut(self) -> Batching:
        """How the rows are cut into batches."""
        return make_batching(self.rows, self.batch_size, self.batches, self.sampling, self.shuffle)

    def problem(self) -> tuple[LinearModel, Batching, Indices | None]:
        """The model, the cut of its rows, and the row of the data that each of its rows is.

        Batches that are reshuffled weigh all rows alike: the objective is one batch of all of them.
        A fixed cut weighs all batches alike, and its rows are put into the order of the cut.
        """
        cut = self.cut()
        if cut.recut:
            return self._model(None, None), cut, None

        order = cut.order
        if self.shuffle is None:
            return self._model(None, self.batch_size), cut, None

        model = self._model(order, self.batch_size)
        return model, replace(cut, order=np.arange(self.rows, dtype=np.intp)), order

    def taking(self, rows: Indices) -> Setup:
        """The same with some of the rows, or with all of them in another order."""
        return replace(
            self, X=self.X[rows], y=self.y[rows],
            weights=None if self.weights is None else self.weights[rows],
            batch_size=min(self.batch_size, len(rows)),
        )  # fmt: skip

    def aside(self) -> RowModel | None:
        """The rows that were set aside, without the regulariser."""
        if self.held_out is None:
            return None

        X, y, weights = self.held_out
        return RowModel(X, make_loss(self.loss, y, weights), 0.0)

    def _model(self, order: Indices | None, batch_size: int | None) -> LinearModel:
        here = self if order is None else self.taking(order)
        loss = make_loss(self.loss, here.y, here.weights)
        return LinearModel(
            here.X, loss, l2=self.l2, batch_size=batch_size or here.rows, name="data",
            parameters={},
        )  # fmt: skip


def make_setup(
    table: Table,
    *,
    loss: str | None,
    l2: float | None,
    batch_size: int | None,
    batches: BatchRule | str | None,
    sampling: Sampling | str,
    shuffle: int | None,
    standardise: bool,
    intercept: bool,
    validation: float | None,
    seed: int,
) -> tuple[Setup, list[Finding]]:
    """Check the options against the table, choose what was left open, and say what was chosen."""
    notes: list[Finding] = []
    rule = Sampling.parse(sampling)
    if batches is not None:
        batches = BatchRule.parse(batches, "batches")

    if shuffle is not None:
        shuffle = seed_number("shuffle", shuffle)

    rows = table.X.shape[0]
    if rows < 2:
        raise Refusal("X", "two rows or more", rows, "nothing to average")

    size = min(USUAL_BATCH, rows) if batch_size is None else _batch_size(batch_size, rows)
    if (table.y == table.y[0]).all():
        given = f"{table.y[0]!r:.40} in every row"
        raise Refusal("the target", "more than one value", given, "pick another column")

    kind = loss
    if kind is None:
        kind = usual_loss(table.y)
        notes.append(Finding("loss", f"the {kind} loss was chosen by the target"))

    chosen = make_loss(kind, table.y)
    if chosen.quadratic:
        largest = float(np.abs(table.y).max())
        if largest > _LARGEST_TARGET:
            allowed = f"at most {_LARGEST_TARGET:g} in size"
            raise Refusal("the target", allowed, f"{largest:.3g}", "measure it in another unit")
    table.limits.check_classes(chosen.outputs)
    quadratic = chosen.quadratic
    if l2 is None:
        weight = 0.0 if quadratic else 1.0 / rows
        if weight:
            notes.append(Finding("l2", f"l2 = 1/rows = {weight:.3g} was chosen, as none was given"))
    else:
        weight = one_number("l2", l2, "nonnegative", remedy="give a weight, e.g. l2=1e-3")

    if weight == 0.0 and not quadratic:
        allowed = f"positive for the {chosen.name} loss"
        raise Refusal("l2", allowed, "0", "add some, e.g. l2=1e-3")

    X = table.X
    y = table.y
    names = table.columns
    _check_size(X)

    if standardise:
        X = standardised(X)
    if intercept:
        X = with_intercept(X)
        names = (*names, "intercept")

    weights = None
    if table.weights is not None:
        weights = table.weights / table.weights.mean()
    if weights is not None and quadratic:
        X, y = _scaled(X, y, weights)
        weights = None

    setup = Setup(
        X, y, names, kind, weight, size, batches, rule, shuffle, weights, source_rows=table.rows,
        target=table.target, standardise=standardise, intercept=intercept,
        weighted=table.weights is not None,
    )  # fmt: skip
    setup.cut()
    if validation is not None:
        setup = _set_aside(setup, validation, seed)

    return setup, notes


def _check_size(X: Any) -> None:
    """Refuse numbers whose squares, or their inverses, would not be numbers any more."""
    entries = X.data if is_sparse(X) else X
    largest = max(float(entries.max(initial=0.0)), -float(entries.min(initial=0.0)))
    if largest == 0.0:
        raise Refusal("X", "other than zero somewhere", "0 in every row", "pick other columns")

    if not LEAST <= largest**2 <= MOST:
        rule = f"between {LEAST**0.5:g} and {MOST**0.5:g} at its largest"
        raise Refusal("X", rule, f"{largest:.3g}", "measure it in another unit")


def _scaled(X: Any, y: npt.NDArray[Any], weights: FloatArray) -> tuple[Any, npt.NDArray[Any]]:
    """Rows of a squared loss with weights: w (z - y)² is a squared loss of rows times √w."""
    roots = np.sqrt(weights)
    scaled = X.multiply(roots[:, None]).tocsr() if is_sparse(X) else X * roots[:, None]

    return scaled, y.astype(np.float64) * roots


def _batch_size(batch_size: int, rows: int) -> int:
    size = whole("batch_size", batch_size, 1, remedy="e.g. 32")
    if size > rows:
        raise Refusal("batch_size", f"at most the {rows} rows", size, "use a smaller batch")

    return size


def _set_aside(setup: Setup, share: float, seed: int) -> Setup:
    """Hold a share of the rows out, drawn at random."""
    part = one_number("validation", share, "positive", remedy="give a share, e.g. 0.2")
    count = round(part * setup.rows)
    if not 1 <= count <= setup.rows - 2:
        rule = "a share that leaves rows on both sides"
        raise Refusal("validation", rule, f"{part:g}", "give a share, e.g. 0.2")

    order = np.random.default_rng([seed, 1]).permutation(setup.rows)
    aside = np.sort(order[:count])
    kept = np.sort(order[count:])

    rest = setup.taking(aside)
    return replace(
        setup.taking(kept), held_out=(rest.X, rest.y, rest.weights),
        source_rows=kept if setup.source_rows is None else setup.source_rows[kept],
    )  # fmt: skip


def usual_loss(target: npt.NDArray[Any]) -> str:
    """The loss that a target asks for."""
    if target_kind(target) is TargetKind.NUMBERS:
        return "squared"

    return "logistic" if len(np.unique(target)) == 2 else "multinomial"


def with_intercept(table: Any) -> Any:
    """The table with a column of ones."""
    ones = np.ones((table.shape[0], 1))
    if is_sparse(table):
        from scipy.sparse import hstack

        return hstack([table, ones], format="csr")

    return np.concatenate([table, ones], axis=1)


def standardised(X: Any) -> Any:
    """Columns with mean 0 and variance 1; sparse ones keep their zeros, constant ones as is."""
    mean, spread = column_sizes(X)
    # A spread below 1e-12 of the mean is the rounding of a constant.
    varies = spread > 1e-12 * np.abs(mean)
    scale: FloatArray = np.where(varies, spread, 1.0)

    if is_sparse(X):
        return X.multiply(1.0 / scale[None, :]).tocsr()

    shift = np.where(varies, mean, 0.0)
    return (X - shift) / scale
