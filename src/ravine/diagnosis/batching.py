"""How rows are split into mini-batches, and in which order the batches come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ravine.problems.row_model import Drawn, Indices
from ravine.sampling import Sampling
from ravine.theory.finite_sums.rules import Draws

FREE_ORDERS = (Sampling.IID, Sampling.RESHUFFLE)
"""Orders in which every epoch may have new batches."""


@dataclass(frozen=True, eq=False)
class Batching:
    """The mini-batches of a training run.

    Attributes
    ----------
    rows, batch_size
        Rows of the data, and rows in a batch; the last batch of an epoch may be shorter.
    fixed
        Whether the batches stay the same. Otherwise every epoch has new ones, as those of a
        shuffling data loader.
    sampling
        In which order they come. With new batches ``iid`` means that each is a draw of rows with
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
    def phrase(self) -> str:
        """The rule in words that follow "batches"."""
        if self.fixed:
            return self.sampling.traits.phrase

        return "of rows drawn with replacement" if self.replaced else "reshuffled every epoch"

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
        """The rows of every seed's batch, step after step, without end."""
        if self.fixed:
            return self._fixed(seeds, rng)

        return self._with_replacement(seeds, rng) if self.replaced else self._shuffled(seeds, rng)

    def _shuffled(self, seeds: int, rng: np.random.Generator) -> Iterator[Drawn]:
        every = np.tile(np.arange(self.rows, dtype=np.intp), (seeds, 1))
        while True:
            shuffled = rng.permuted(every, axis=1)
            for first in range(0, self.rows, self.batch_size):
                yield _equal(shuffled[:, first : first + self.batch_size])

    def _with_replacement(self, seeds: int, rng: np.random.Generator) -> Iterator[Drawn]:
        while True:
            yield _equal(rng.integers(self.rows, size=(seeds, self.batch_size)))

    def _fixed(self, seeds: int, rng: np.random.Generator) -> Iterator[Drawn]:
        n = self.steps_per_epoch
        rows = np.zeros((n, self.batch_size), dtype=np.intp)
        weights = np.zeros((n, self.batch_size))
        for b, size in enumerate(self.sizes):
            rows[b, :size] = self.batch(b)
            weights[b, :size] = 1.0 / size

        order = Draws(n, self.sampling, seeds, rng)
        while True:
            drawn = order.next()
            yield Drawn(rows[drawn], weights[drawn])


def _equal(rows: Indices) -> Drawn:
    """Rows that weigh the same."""
    m = rows.shape[1]
    return Drawn(rows, np.full((1, m), 1.0 / m))
