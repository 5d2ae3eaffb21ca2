"""The data and the options of a diagnosis: checked once, with defaults that depend on the data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import (
    LEAST,
    MOST,
    FloatArray,
    Refusal,
    known_name,
    one_number,
    seed_number,
    whole,
)
from ravine.diagnosis.columns import column_sizes
from ravine.problems.data import checked_l2
from ravine.problems.linear_model import Drawn, Indices, LinearModel
from ravine.problems.losses import make_loss
from ravine.problems.spectrum import is_sparse
from ravine.sampling import Sampling
from ravine.tables import Finding, Table, TargetKind, target_kind
from ravine.theory.finite_sums.rules import Draws

USUAL_BATCH = 32
"""Default number of rows in a batch."""
_LARGEST_TARGET = 1e150
"""Largest target of a squared loss: the squares of larger numbers overflow."""


@dataclass(frozen=True, eq=False)
class Batching:
    """How rows are split into mini-batches, and in which order the batches come.

    Attributes
    ----------
    rows, batch_size
        Number of rows, and rows per batch; the last batch of an epoch may be shorter.
    fixed
        Whether the batches stay the same. Otherwise every epoch has new ones, as with a shuffling
        data loader.
    sampling
        The order of the batches. With new batches, ``iid`` means that each is a draw of rows with
        replacement, and ``reshuffle`` that an epoch visits each row once.
    order
        The rows in the order of the first epoch.
    """

    rows: int
    batch_size: int
    fixed: bool
    sampling: Sampling
    order: Indices

    @property
    def replaced(self) -> bool:
        """Whether batches are rows drawn with replacement."""
        return not self.fixed and self.sampling is Sampling.IID

    @property
    def steps_per_epoch(self) -> int:
        """Batches in an epoch."""
        return -(-self.rows // self.batch_size)

    @property
    def sizes(self) -> Indices:
        """Rows in each batch of an epoch, shape (n,)."""
        sizes = np.full(self.steps_per_epoch, self.batch_size, dtype=np.intp)
        if not self.replaced:
            sizes[-1] -= sizes.sum() - self.rows

        return sizes

    @property
    def variance_factor(self) -> float:
        """Variance of a batch mean over that of a single row, averaged over the batches.

        Without replacement 1/m becomes (n - m)/(m (n - 1)).
        """
        sizes = self.sizes.astype(np.float64)
        if self.sampling is Sampling.IID:
            return float((1.0 / sizes).mean())

        return float(((self.rows - sizes) / (sizes * max(self.rows - 1, 1))).mean())

    def batch(self, b: int) -> Indices:
        """Rows of batch b of the first epoch."""
        return self.order[b * self.batch_size : (b + 1) * self.batch_size]

    def draws(self, seeds: int, rng: np.random.Generator) -> Iterator[Drawn]:
        """Yield the rows of every seed's batch, step after step, without end."""
        n, m = self.steps_per_epoch, self.batch_size
        if self.fixed:
            # What a shorter last batch lacks are rows of weight zero.
            sizes = self.sizes[:, None]
            rows, weights = np.resize(self.order, (n, m)), (np.arange(m) < sizes) / sizes
            order = Draws(n, self.sampling, seeds, rng)
            while True:
                drawn = order.next()
                yield Drawn(rows[drawn], weights[drawn])

        every = np.tile(np.arange(self.rows, dtype=np.intp), (seeds, 1))
        while True:
            if self.replaced:
                parts = [rng.integers(self.rows, size=(seeds, m))]
            else:
                parts = np.split(rng.permuted(every, axis=1), range(m, self.rows, m), axis=1)

            for part in parts:
                yield Drawn(part, np.full((1, part.shape[1]), 1.0 / part.shape[1]))


@dataclass(frozen=True, eq=False)
class Setup:
    """The data and options of a diagnosis; remedies change one option at a time.

    Attributes
    ----------
    X, y, columns
        The table, its target, and the names of its columns. Rows of fixed batches are in the order
        of the batches.
    loss, l2
        The objective: mean loss + l2/2 ‖W‖².
    batch_size, fixed, sampling, shuffle
        How rows are split into batches and in which order they come.
    weights
        Weight of each row, with mean one, or None if all are equal. For the squared loss, X and y
        already contain the weights.
    source_rows
        The number of each row in the source.
    held_out
        Held-out rows, without the regulariser, or None.
    target
        The name of the target, empty if there is none.
    standardise, intercept, weighted
        How the columns were treated, and whether rows have weights.
    seed
        Of the runs.
    """

    X: Any
    y: npt.NDArray[Any]
    columns: tuple[str, ...]
    loss: str
    l2: float
    batch_size: int
    fixed: bool
    sampling: Sampling
    shuffle: int | None
    weights: FloatArray | None
    source_rows: Indices
    held_out: LinearModel | None = None
    target: str = ""
    standardise: bool = False
    intercept: bool = False
    weighted: bool = False
    seed: int = 0

    @property
    def features(self) -> int:
        """Number of columns without the intercept."""
        return int(self.X.shape[1]) - self.intercept

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    def in_source(self, rows: tuple[int, ...]) -> tuple[int, ...]:
        """The numbers of rows in the source."""
        return tuple(int(self.source_rows[r]) for r in rows)

    @cached_property
    def batching(self) -> Batching:
        """How the rows are split into batches."""
        order = np.arange(self.rows, dtype=np.intp)
        if self.batch_size == self.rows:
            # One batch of all rows is the same in every epoch.
            return Batching(self.rows, self.batch_size, True, Sampling.CYCLIC, order)
        if not self.fixed and self.shuffle is not None:
            order = np.random.default_rng(self.shuffle).permutation(self.rows)

        return Batching(self.rows, self.batch_size, self.fixed, self.sampling, order)

    @cached_property
    def model(self) -> LinearModel:
        """The objective: all rows count the same; if batches are fixed, all batches do."""
        size = self.batch_size if self.batching.fixed else self.rows
        loss = make_loss(self.loss, self.y, self.weights)

        return LinearModel(self.X, loss, l2=self.l2, batch_size=size)

    def taking(self, rows: Indices) -> Setup:
        """The same setup with some of the rows, or with all of them in another order."""
        return replace(
            self,
            X=self.X[rows],
            y=self.y[rows],
            weights=None if self.weights is None else self.weights[rows],
            source_rows=self.source_rows[rows],
            batch_size=min(self.batch_size, len(rows)),
        )

    def shuffled(self, seed: int) -> Setup:
        """Fixed batches of rows in a random order."""
        order = np.random.default_rng(seed).permutation(self.rows)
        return replace(self.taking(order), shuffle=seed, fixed=True)


def make_setup(
    table: Table,
    *,
    loss: str | None = None,
    l2: float | None = None,
    batch_size: int | None = None,
    batches: str | None = None,
    sampling: Sampling | str = Sampling.RESHUFFLE,
    shuffle: int | None = 0,
    standardise: bool = False,
    intercept: bool = False,
    validation: float | None = None,
    seed: int = 0,
) -> tuple[Setup, list[Finding]]:
    """Check the options against the table, choose defaults, and note each choice."""
    X, y, weights, columns = table.X, table.y, table.weights, table.columns
    rows = X.shape[0]
    rule = Sampling.parse(sampling)
    fixed = _is_fixed(batches, rule, shuffle)

    size = min(USUAL_BATCH, rows) if batch_size is None else batch_size
    size = whole("batch_size", size, 1, remedy="e.g. 32", maximum=rows)
    notes = []
    if loss is None:
        loss = usual_loss(y)
        notes.append(Finding("loss", f"inferred the {loss} loss from the values of the target"))

    chosen = make_loss(loss, y)
    table.limits.check(classes=chosen.outputs)
    if l2 is None and not chosen.quadratic:
        l2 = 1.0 / rows
        notes.append(Finding("l2", f"used l2 = 1/rows = {l2:.3g}, because none was given"))

    _check_size(X, y if chosen.quadratic else None)
    if standardise:
        X = standardised(X)

    # A column of ones is already an intercept.
    intercept = intercept and (is_sparse(X) or not (X == 1.0).all(axis=0).any())
    if intercept:
        X, columns = with_intercept(X), (*columns, "intercept")

    if weights is not None:
        weights = weights / weights.mean()
        if chosen.quadratic:
            # w (z - y)² is a squared loss of rows times √w.
            X, y, weights = scaled_rows(X, np.sqrt(weights)), y * np.sqrt(weights), None

    setup = Setup(
        X, y, columns, loss, checked_l2(l2 or 0.0, chosen), size, fixed, rule, shuffle, weights,
        np.arange(rows) if table.rows is None else table.rows, target=table.target,
        standardise=standardise, intercept=intercept, weighted=table.weights is not None,
        seed=seed_number("seed", seed),
    )  # fmt: skip
    if validation is not None:
        setup = _set_aside(setup, validation)

    if fixed and shuffle is not None:
        setup = setup.shuffled(shuffle)

    return setup, notes


def _is_fixed(batches: str | None, sampling: Sampling, shuffle: int | None) -> bool:
    """Whether batches are fixed; by default they are new each epoch if the order allows it."""
    free = sampling in (Sampling.IID, Sampling.RESHUFFLE)
    if shuffle is not None:
        seed_number("shuffle", shuffle)

    if batches is None:
        return not free or shuffle is None

    known_name("batches", batches, ("new", "fixed"))
    if batches == "new" and not free:
        remedy = "use batches='fixed', or sampling='reshuffle'"
        raise Refusal("batches", f"fixed for {sampling.value} order", "new", remedy)

    return batches == "fixed"


def _check_size(X: Any, y: FloatArray | None) -> None:
    """Refuse numbers whose squares, or their inverses, would overflow."""
    entries = X.data if is_sparse(X) else X
    largest = max(float(entries.max(initial=0.0)), -float(entries.min(initial=0.0)))
    if largest == 0.0:
        raise Refusal("X", "nonzero somewhere", "0 in every row", "pick other columns")
    if not LEAST <= largest**2 <= MOST:
        rule = f"between {LEAST**0.5:g} and {MOST**0.5:g} in its largest entry"
        raise Refusal("X", rule, f"{largest:.3g}", "rescale it")
    if y is not None and np.abs(y).max() > _LARGEST_TARGET:
        rule = f"at most {_LARGEST_TARGET:g} in size"
        raise Refusal("the target", rule, f"{np.abs(y).max():.3g}", "rescale it")


def _set_aside(setup: Setup, share: float) -> Setup:
    """Hold out a random share of the rows."""
    part = one_number("validation", share, "positive", remedy="give a share, e.g. 0.2")
    count = round(part * setup.rows)
    if not 1 <= count <= setup.rows - 2:
        rule = "a share that leaves rows on both sides"
        raise Refusal("validation", rule, f"{part:g}", "give a share, e.g. 0.2")

    order = np.random.default_rng([setup.seed, 1]).permutation(setup.rows)
    rest = setup.taking(np.sort(order[:count]))
    kept = setup.taking(np.sort(order[count:]))
    held_out = LinearModel(rest.X, make_loss(setup.loss, rest.y, rest.weights), l2=0.0)

    if held_out.outputs != make_loss(setup.loss, kept.y).outputs:
        rule = "a share that leaves every label on both sides"
        given = f"{held_out.outputs} of the labels held out"
        raise Refusal("validation", rule, given, "hold more rows out")

    return replace(kept, held_out=held_out)


def usual_loss(target: npt.NDArray[Any]) -> str:
    """The default loss for a target."""
    if target_kind(target) is TargetKind.NUMBERS:
        return "squared"

    return "logistic" if len(np.unique(target)) == 2 else "multinomial"


def scaled_rows(X: Any, factors: FloatArray) -> Any:
    """The table with each row times its factor."""
    return X.multiply(factors[:, None]).tocsr() if is_sparse(X) else X * factors[:, None]


def with_intercept(table: Any) -> Any:
    """The table with a column of ones."""
    ones = np.ones((table.shape[0], 1))
    if is_sparse(table):
        from scipy.sparse import hstack

        return hstack([table, ones], format="csr")

    return np.concatenate([table, ones], axis=1)


def standardised(X: Any) -> Any:
    """Scale columns to mean 0 and variance 1; sparse ones keep their zeros, constant ones stay."""
    mean, deviation = column_sizes(X)
    scale: FloatArray = np.where(deviation > 0.0, deviation, 1.0)
    if is_sparse(X):
        return X.multiply(1.0 / scale[None, :]).tocsr()

    return (X - np.where(deviation > 0.0, mean, 0.0)) / scale
