"""The data and the options of a diagnosis, checked once, with what was left open chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, one_number, whole
from ravine.diagnosis.columns import Finding, column_sizes
from ravine.diagnosis.cut import Batches, Cut, Indices, make_cut
from ravine.problems import LinearModel, from_data
from ravine.problems.extreme_eigenvalues import is_sparse
from ravine.problems.losses import make_loss
from ravine.sampling import Sampling

_LABELS = 20
"""Whole numbers with at most so many values are taken for labels ..."""
_ROWS_A_LABEL = 5
"""... if each of them has so many rows on average: 16 rows with 16 values are no classes."""


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
    held_out
        Rows that were set aside, as (X, y), or None.
    """

    X: Any
    y: npt.NDArray[Any]
    columns: tuple[str, ...]
    loss: str
    l2: float
    batch_size: int
    batches: Batches | str | None
    sampling: Sampling
    shuffle: int | None
    held_out: tuple[Any, npt.NDArray[Any]] | None = None

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def cut(self) -> Cut:
        """How the rows are cut into batches."""
        return make_cut(self.rows, self.batch_size, self.batches, self.sampling, self.shuffle)

    def problem(self) -> tuple[LinearModel, Cut, Indices | None]:
        """The model, the cut of its rows, and the row of the data that each of its rows is.

        Batches that are cut anew weigh all rows alike: the objective is one batch of all of them.
        A fixed cut weighs all batches alike, and its rows are put into the order of the cut.
        """
        cut = self.cut()
        if cut.recut:
            return self._model(self.X, self.y, None), cut, None
        order = cut.order
        if self.shuffle is None:
            return self._model(self.X, self.y, self.batch_size), cut, None
        model = self._model(self.X[order], self.y[order], self.batch_size)
        return model, replace(cut, order=np.arange(self.rows, dtype=np.intp)), order

    def _model(self, X: Any, y: npt.NDArray[Any], batch_size: int | None) -> LinearModel:
        return from_data(X, y, loss=self.loss, l2=self.l2, batch_size=batch_size)


def make_setup(
    X: Any,
    y: npt.ArrayLike,
    *,
    loss: str | None,
    l2: float | None,
    batch_size: int,
    batches: Batches | str | None,
    sampling: Sampling | str,
    shuffle: int | None,
    standardise: bool,
    intercept: bool,
    validation: float | None,
    columns: tuple[str, ...] | None,
    seed: int,
) -> tuple[Setup, list[Finding]]:
    """Check the data, choose what was left open, and say what was chosen."""
    notes: list[Finding] = []
    rule = Sampling.parse(sampling)
    if batches is not None:
        batches = Batches.parse(batches)
    if shuffle is not None:
        shuffle = whole("shuffle", shuffle, 0, remedy="give a seed, or None for the given order")
    target = _target(y)
    table = X if is_sparse(X) else np.asarray(X)
    if table.ndim != 2:
        found = f"an array of shape {table.shape}"
        raise Refusal("X", "a table with rows and columns", found, "one row a sample")
    rows = table.shape[0]
    if rows < 2:
        raise Refusal("X", "two rows or more", rows, "nothing to average")
    if target.shape != (rows,):
        found = f"an array of shape {target.shape}"
        raise Refusal("y", f"of shape ({rows},)", found, "one target for each row")
    size = _batch_size(batch_size, rows)
    if (target == target[0]).all():
        given = f"{target[0]!r:.40} in every row"
        raise Refusal("the target", "more than one value", given, "pick another column")
    kind = loss
    if kind is None:
        kind = usual_loss(target)
        notes.append(Finding("loss", f"the {kind} loss was chosen by the target"))
    make_loss(kind, target)
    if l2 is None:
        weight = 0.0 if kind == "squared" else 1.0 / rows
        if weight:
            notes.append(Finding("l2", f"l2 = 1/rows = {weight:.3g} was chosen, as none was given"))
    else:
        weight = one_number("l2", l2, "nonnegative", remedy="give a weight, e.g. l2=1e-3")
    names = columns or tuple(f"x{j}" for j in range(table.shape[1]))
    if len(names) != table.shape[1]:
        remedy = "one for each column of X"
        raise Refusal("columns", f"{table.shape[1]} names", len(names), remedy)

    # The one check of the values; what follows is arithmetic on a clean table.
    table = from_data(table, target, loss=kind, l2=weight).X
    if standardise:
        table = standardised(table)
    if intercept:
        table = with_intercept(table)
        names = (*names, "intercept")
    setup = Setup(table, target, names, kind, weight, size, batches, rule, shuffle)
    setup.cut()
    if validation is not None:
        setup = _set_aside(setup, validation, seed)
    return setup, notes


def _target(y: npt.ArrayLike) -> npt.NDArray[Any]:
    target = np.asarray(y)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.dtype.kind == "b":
        target = target.astype(np.int64)
    if target.dtype.kind == "O":
        target = target.astype(str)
    return target


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
    return replace(
        setup, X=setup.X[kept], y=setup.y[kept], held_out=(setup.X[aside], setup.y[aside]),
        batch_size=min(setup.batch_size, len(kept)),
    )  # fmt: skip


def usual_loss(target: npt.NDArray[Any]) -> str:
    """The loss that a target asks for: labels are told from numbers by how often each occurs."""
    numeric = target.dtype.kind in "fiu"
    labels = len(np.unique(target))
    if numeric:
        whole_numbers = bool((target == np.floor(target)).all())
        few = labels == 2 or (labels <= _LABELS and len(target) >= _ROWS_A_LABEL * labels)
        if not (whole_numbers and few):
            return "squared"
    return "logistic" if labels == 2 else "multinomial"


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
