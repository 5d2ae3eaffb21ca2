"""How rows are cut into mini-batches, and in which order the batches come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ravine.arguments import Refusal
from ravine.choices import Choice
from ravine.problems.row_model import Drawn as Drawn
from ravine.problems.row_model import Indices as Indices
from ravine.sampling import Sampling
from ravine.theory.finite_sums.rules import Draws


class BatchRule(Choice):
    """Whether batches are reshuffled every epoch or stay the same.

    Examples
    --------
    >>> BatchRule("recut").sentence
    'every epoch cuts the rows into new batches, as a shuffling data loader does'
    """

    RECUT = (
        "recut",
        "every epoch cuts the rows into new batches, as a shuffling data loader does",
    )
    FIXED = "fixed", "the rows are cut once, and the batches stay the same"


@dataclass(frozen=True, eq=False)
class Batching:
    """The mini-batches of a training run.

    Attributes
    ----------
    rows, batch_size
        Rows of the data, and rows in a batch; the last batch of an epoch may be shorter.
    batches
        Whether they are reshuffled every epoch.
    sampling
        In which order they come. Reshuffled, ``iid`` means that each batch is a new draw of rows
        with replacement, and ``reshuffle`` that an epoch visits each row once.
    order
        The rows in the order in which a fixed cut takes them.
    """

    rows: int
    batch_size: int
    batches: BatchRule
    sampling: Sampling
    order: Indices

    @property
    def recut(self) -> bool:
        """Whether the rows are reshuffled into new batches every epoch."""
        return self.batches is BatchRule.RECUT

    @property
    def sizes(self) -> Indices:
        """Rows in each batch of an epoch, shape (n,)."""
        if self.recut and self.sampling is Sampling.IID:
            return np.full(self.steps_per_epoch, self.batch_size, dtype=np.intp)

        return np.diff(self.edges)

    @property
    def edges(self) -> Indices:
        """Where batches begin and end in ``order``, shape (n + 1,)."""
        return np.append(np.arange(0, self.rows, self.batch_size), self.rows).astype(np.intp)

    @property
    def steps_per_epoch(self) -> int:
        """Batches in an epoch."""
        return -(-self.rows // self.batch_size)

    @property
    def phrase(self) -> str:
        """The rule in words that follow "batches"."""
        if not self.recut:
            return self.sampling.traits.phrase
        if self.sampling is Sampling.IID:
            return "of rows drawn with replacement"

        return "reshuffled every epoch"

    @property
    def variance_factor(self) -> float:
        """Variance of a batch mean over that of a single row, averaged over the batches.

        Without replacement 1/m becomes (n - m)/(m (n - 1)).
        """
        sizes = self.sizes.astype(np.float64)
        if self.sampling is Sampling.IID:
            return float((1.0 / sizes).mean())

        left = max(self.rows - 1, 1)
        return float(((self.rows - sizes) / (sizes * left)).mean())

    def batch(self, b: int) -> Indices:
        """Rows of batch b of the fixed cut, or of the first epoch."""
        return self.order[self.edges[b] : self.edges[b + 1]]

    def draws(self, seeds: int, rng: np.random.Generator) -> Iterator[Drawn]:
        """The rows of every seed's batch, step after step, without end."""
        if not self.recut:
            return self._fixed(seeds, rng)
        if self.sampling is Sampling.IID:
            return self._fresh(seeds, rng)

        return self._recut(seeds, rng)

    def _recut(self, seeds: int, rng: np.random.Generator) -> Iterator[Drawn]:
        every = np.tile(np.arange(self.rows, dtype=np.intp), (seeds, 1))
        while True:
            shuffled = rng.permuted(every, axis=1)
            for first in range(0, self.rows, self.batch_size):
                rows = shuffled[:, first : first + self.batch_size]
                yield Drawn(rows, np.full((1, rows.shape[1]), 1.0 / rows.shape[1]))

    def _fresh(self, seeds: int, rng: np.random.Generator) -> Iterator[Drawn]:
        even = np.full((1, self.batch_size), 1.0 / self.batch_size)
        while True:
            yield Drawn(rng.integers(self.rows, size=(seeds, self.batch_size)), even)

    def _fixed(self, seeds: int, rng: np.random.Generator) -> Iterator[Drawn]:
        n = self.steps_per_epoch
        padded = np.zeros((n, self.batch_size), dtype=np.intp)
        parts = np.zeros((n, self.batch_size))

        for b, size in enumerate(self.sizes):
            padded[b, :size] = self.batch(b)
            parts[b, :size] = 1.0 / size

        for drawn in batch_order(n, self.sampling, seeds, rng):
            yield Drawn(padded[drawn], parts[drawn])


def make_batching(
    rows: int,
    batch_size: int,
    batches: BatchRule | str | None,
    sampling: Sampling,
    shuffle: int | None,
) -> Batching:
    """The cut that was asked for; by default anew each epoch, where the order allows it."""
    free = sampling in (Sampling.IID, Sampling.RESHUFFLE)
    if batches is None:
        rule = BatchRule.RECUT if free and shuffle is not None else BatchRule.FIXED
    else:
        rule = BatchRule.parse(batches, "batches")

    if rule is BatchRule.RECUT and not free:
        remedy = "use batches='fixed', or sampling='reshuffle'"
        raise Refusal("batches", f"fixed for {sampling.value} order", "recut", remedy)
    if batch_size == rows:
        # One batch of all rows is the same however it is cut.
        rule, sampling = BatchRule.FIXED, Sampling.CYCLIC

    order = np.arange(rows, dtype=np.intp)
    if shuffle is not None:
        order = np.random.default_rng(shuffle).permutation(rows)

    return Batching(rows, batch_size, rule, sampling, order)


def batch_order(
    batches: int, sampling: Sampling, seeds: int, rng: np.random.Generator
) -> Iterator[Indices]:
    """The batch of every seed, step after step."""
    draws = Draws(batches, sampling, seeds, rng)
    while True:
        yield draws.next()
