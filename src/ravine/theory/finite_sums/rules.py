"""What depends on the sampling rule: the draws, and the gaps between visits to one term.

To add a rule, add it to ``ravine.sampling`` with its traits, to the engine's draws, and to the
table ``RULES`` at the end of this file. What the traits decide needs no entry: the draws, and the
operator on second moments (:mod:`ravine.theory.finite_sums.mean_square`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.sampling import Sampling
from ravine.theory.finite_sums import gap_laws
from ravine.theory.finite_sums.terms import Sense

Indices = npt.NDArray[np.intp]


class Draws:
    """The next term of many independent paths under one sampling rule.

    Parameters
    ----------
    n
        Number of terms.
    sampling
        The rule. In the fixed order every path visits 0, 1, ..., n - 1.
    paths
        How many.
    rng
        Source of the draws.
    """

    def __init__(self, n: int, sampling: Sampling, paths: int, rng: np.random.Generator) -> None:
        self.n = n
        self.traits = sampling.traits
        self.rng = rng
        self.last = np.full(paths, -1, dtype=np.intp)
        self.position = 0
        self.orders = np.tile(np.arange(n, dtype=np.intp), (paths, 1))

    def next(self) -> Indices:
        """Draw one term for every path."""
        if self.traits.by_epoch:
            if self.position == 0:
                self._begin_epoch()
            self.last = self.orders[:, self.position].copy()
            self.position = (self.position + 1) % self.n
        elif self.traits.may_repeat:
            self.last = self.rng.integers(self.n, size=self.last.size)
        else:
            fresh = self.last[0] < 0
            jump = self.rng.integers(0 if fresh else 1, self.n, size=self.last.size)
            self.last = (np.maximum(self.last, 0) + jump) % self.n

        return self.last

    def _begin_epoch(self) -> None:
        if not self.traits.random:
            return

        self.orders = self.rng.permuted(self.orders, axis=1)
        if not self.traits.may_repeat:
            while (again := np.flatnonzero(self.orders[:, 0] == self.last)).size:
                self.orders[again] = self.rng.permuted(self.orders[again], axis=1)

    def keep(self, parents: Indices) -> None:
        """Replace paths by copies of ``parents``, each free to go on in its own way."""
        self.last = self.last[parents]
        if not (self.traits.by_epoch and self.traits.random):
            return

        self.orders = self.orders[parents]
        if self.position:
            rest = self.rng.permuted(self.orders[:, self.position :], axis=1)
            self.orders[:, self.position :] = rest


class Places(NamedTuple):
    """Probability that a given term comes first, at each place between, and last in a round.

    A round is an epoch, or a single step for rules without epochs; it then has a first place only.
    """

    first: float
    between: float
    last: float


class Rule(NamedTuple):
    """What the paper's example, with its one inconsistent term, needs to know of a rule."""

    places: Callable[[int], tuple[Places, Places]]
    """Of n terms: where one comes in a round, unless it ended the last round, and where it did."""
    gaps: Callable[[FloatArray, Sense], FloatArray]
    """Logarithm of the growth per step of the example with n terms at rho = 1."""


def _without_repeat(n: int) -> tuple[Places, Places]:
    p = 1.0 / (n - 1.0)
    later = (1.0 - p) * p
    return Places(p, later, later), Places(0.0, p, p)


RULES = {
    Sampling.IID: Rule(
        places=lambda n: (Places(1.0 / n, 0.0, 0.0),) * 2,
        gaps=gap_laws.iid,
    ),
    Sampling.IID_NO_REPEAT: Rule(
        places=lambda n: (Places(1.0 / (n - 1.0), 0.0, 0.0), Places(0.0, 0.0, 0.0)),
        gaps=gap_laws.iid_no_repeat,
    ),
    Sampling.CYCLIC: Rule(
        places=lambda n: (Places(0.0, 0.0, 1.0),) * 2,
        gaps=gap_laws.cyclic,
    ),
    Sampling.RESHUFFLE: Rule(
        places=lambda n: (Places(1.0 / n, 1.0 / n, 1.0 / n),) * 2,
        gaps=gap_laws.reshuffle,
    ),
    Sampling.RESHUFFLE_NO_REPEAT: Rule(
        places=_without_repeat,
        gaps=gap_laws.reshuffle_no_repeat,
    ),
}
"""Every sampling rule; nothing else in the theory names one."""
