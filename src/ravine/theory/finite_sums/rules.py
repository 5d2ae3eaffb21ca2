"""All that depends on the sampling rule: the draws, the operator on second moments, the gaps.

To add a rule, add it to ``ravine.sampling`` with its traits, to the engine's draws, and to the
table ``RULES`` at the end of this file. What the traits decide needs no entry: the draws, and the
operator on second moments.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums import gap_laws
from ravine.theory.finite_sums.mean_problem import mean_resolvent
from ravine.theory.finite_sums.moments import carry, constant_step, symmetric
from ravine.theory.finite_sums.positive_map import Operator, Resolvent
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.finite_sums.terms import Scalars, Sense, Terms

Indices = npt.NDArray[np.intp]

_EPOCH_STATES = 4096
"""Multisets of visited terms up to which an epoch is averaged exactly: all orders of 12 terms."""
_EPOCH_FLOPS = 5e8
"""Multiplications of one product with the operator of an epoch: a second of one core."""


@dataclass(frozen=True, eq=False)
class MomentMap:
    """A positive linear map on second moments whose spectral radius is a mean-square growth.

    Attributes
    ----------
    apply
        The map on moments (..., *shape).
    shape
        (2d, 2d), or (m, 2d, 2d) where the last term visited is remembered.
    steps
        Steps of the method in one application.
    resolvent
        Roughly (σ - apply)⁻¹, from the mean Hessian alone; right where the terms hardly differ.
    """

    apply: Operator
    shape: tuple[int, ...]
    steps: int
    resolvent: Resolvent


def moment_map(terms: Terms, method: Scalars, sampling: Sampling) -> MomentMap | None:
    """The operator on second moments, or None where an epoch is too long to average exactly.

    It acts in the eigenvectors of the mean Hessian. A fixed order has no operator on moments of its
    own: its growth is that of one product.
    """
    traits = sampling.traits
    if not traits.random or (traits.by_epoch and not epoch_is_small(terms)):
        return None

    values, turn = np.linalg.eigh(np.tensordot(terms.weights, terms.hessians, axes=1))
    turned = Terms(turn.T @ terms.hessians @ turn, terms.counts, terms.order)
    one = Method(*method)
    size = 2 * len(values)
    steps = terms.n if traits.by_epoch else 1
    # Moments are kept for every last term where the next draw depends on it.
    lifted = not traits.may_repeat
    resolvent = mean_resolvent(values, one, steps=steps, shares=terms.weights if lifted else None)
    if traits.by_epoch:
        apply = _epoch(turned, method, lifted=lifted)
    elif lifted:
        apply = last_term_map(turned, method)
    else:
        apply = SecondMoments(values, turned.hessians - np.diag(values), terms.weights).operator(
            method
        )

    shape = (terms.counts.size, size, size) if lifted else (size, size)
    return MomentMap(apply, shape, steps, resolvent)


def last_term_map(terms: Terms, method: Scalars) -> Operator:
    """Markov-jump lift: X_j, the moment on the event that j came last, from the sum over i ≠ j.

    Equal terms share one X_j, the sum of theirs.
    """
    counts = terms.counts[:, None, None]
    step = constant_step(method)

    def apply(X: FloatArray) -> FloatArray:
        X = symmetric(X)
        entering = (counts * X.sum(axis=-3, keepdims=True) - X) / (terms.n - 1.0)
        return carry(entering, terms.hessians, step)

    return apply


def epoch_is_small(terms: Terms) -> bool:
    """Whether the sets of visited terms are few enough to average over all orders of an epoch."""
    # A product of whole numbers, which cannot overflow however many terms there are.
    states = math.prod(int(count) + 1 for count in terms.counts)
    if states > _EPOCH_STATES:
        return False

    d = terms.hessians.shape[-1]
    return bool(states * terms.counts.size * 6.0 * d**3 <= _EPOCH_FLOPS)


def _epoch(terms: Terms, method: Scalars, *, lifted: bool) -> Operator:
    """Mean of P X Pᵀ over the orders of an epoch, by the multiset of terms that were visited.

    Lifted, an epoch must not begin with the term that ended the last one: moments are then kept for
    every last term, as in the lift of iid sampling without repeat.
    """
    n = terms.n
    counts = terms.counts.astype(int)
    H = terms.hessians
    step = constant_step(method)
    visited = np.stack([grid.ravel() for grid in np.indices(tuple(counts + 1))], axis=1)
    strides = np.array([math.prod(counts[c + 1 :] + 1) for c in range(counts.size)])
    size = visited.sum(axis=1)
    rows_of = [
        [np.flatnonzero((size == layer) & (visited[:, c] > 0)) for c in range(counts.size)]
        for layer in range(n + 1)
    ]

    def visit(Z: FloatArray, c: int, rows: Indices) -> FloatArray:
        before = visited[rows, c] - 1
        chance = (counts[c] - before) / (n - size[rows] + 1.0)
        came = Z[rows - strides[c]] * chance.reshape(-1, *[1] * (Z.ndim - 1))
        return carry(came, H[c], step)

    def apply(X: FloatArray) -> FloatArray:
        X = symmetric(X)
        one = X[..., 0, :, :] if lifted else X
        Z = np.zeros((len(visited), *one.shape))
        Z[0] = one
        last = np.zeros_like(X)
        for layer in range(1, n + 1):
            for c in range(counts.size):
                rows = rows_of[layer][c]
                if lifted and layer == 1:
                    entering = counts[c] * X.sum(axis=-3) - X[..., c, :, :]
                    moved = carry(entering / (n - 1.0), H[c], step)[None]
                elif rows.size:
                    moved = visit(Z, c, rows)
                else:
                    continue

                Z[rows] += moved
                if lifted and layer == n:
                    last[..., c, :, :] = moved[0]

        return last if lifted else Z[-1]

    return apply


class Draws:
    """The next term of many independent walkers under one sampling rule.

    Parameters
    ----------
    n
        Number of terms.
    sampling
        The rule. In the fixed order every walker visits 0, 1, ..., n - 1.
    walkers
        How many.
    rng
        Source of the draws.
    """

    def __init__(self, n: int, sampling: Sampling, walkers: int, rng: np.random.Generator) -> None:
        self.n = n
        self.traits = sampling.traits
        self.rng = rng
        self.last = np.full(walkers, -1, dtype=np.intp)
        self.position = 0
        self.orders = np.tile(np.arange(n, dtype=np.intp), (walkers, 1))

    def next(self) -> Indices:
        """Draw one term for every walker."""
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
        """Replace walkers by copies of ``parents``, each free to go on in its own way."""
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
