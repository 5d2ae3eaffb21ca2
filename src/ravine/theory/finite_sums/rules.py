"""All that depends on the sampling rule: the operator on second moments, the draws, the gaps.

To add a rule, add it to ``ravine.sampling``, to the engine's draws, and here: every choice below is
exhaustive, so that the type checker names the ones that are missing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import assert_never

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.sampling import Sampling
from ravine.theory.finite_sums import gap_laws
from ravine.theory.finite_sums.moment_step import advance, apply_term, constant_step, symmetric
from ravine.theory.finite_sums.pairs import mean_resolvent
from ravine.theory.finite_sums.positive_map import Operator, Resolvent
from ravine.theory.finite_sums.sense import Sense
from ravine.theory.finite_sums.terms import Scalars, Terms

Indices = npt.NDArray[np.intp]

_CHUNK = 64
"""Terms whose products are formed at a time."""
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
        (3, d, d), or (m, 3, d, d) where the last term visited is remembered.
    steps
        Steps of the method in one application.
    resolvent
        Roughly (σ - apply)⁻¹, from the mean Hessian alone; right where the terms hardly differ.
    """

    apply: Operator
    shape: tuple[int, ...]
    steps: int
    resolvent: Resolvent


def moment_map(
    terms: Terms, eigenvalues: FloatArray, method: Scalars, sampling: Sampling
) -> MomentMap | None:
    """The operator on second moments, or None where an epoch is too long to average exactly.

    The terms are given in the eigenvectors of their mean, with its ``eigenvalues``. A fixed order
    has no operator on moments of its own: its growth is that of one product.
    """
    m = terms.counts.size
    n = terms.n
    d = terms.hessians.shape[-1]
    plain = (3, d, d)
    lifted = (m, 3, d, d)
    shares = terms.weights

    match sampling:
        case Sampling.IID:
            resolvent = mean_resolvent(eigenvalues, method)
            return MomentMap(_iid(terms, method), plain, 1, resolvent)
        case Sampling.IID_NO_REPEAT:
            resolvent = mean_resolvent(eigenvalues, method, shares=shares)
            return MomentMap(_no_repeat(terms, method), lifted, 1, resolvent)
        case Sampling.RESHUFFLE:
            if not epoch_is_small(terms):
                return None
            resolvent = mean_resolvent(eigenvalues, method, steps=n)
            return MomentMap(_epoch(terms, method, lifted=False), plain, n, resolvent)
        case Sampling.RESHUFFLE_NO_REPEAT:
            if not epoch_is_small(terms):
                return None
            resolvent = mean_resolvent(eigenvalues, method, steps=n, shares=shares)
            return MomentMap(_epoch(terms, method, lifted=True), lifted, n, resolvent)
        case Sampling.CYCLIC:
            return None
        case _:
            assert_never(sampling)


def last_term_map(terms: Terms, method: Scalars, sampling: Sampling) -> Operator | None:
    """The map on moments kept for every last term, where the draws are a Markov chain on terms.

    None where they are not. Independent draws need no such lift.
    """
    match sampling:
        case Sampling.IID_NO_REPEAT:
            return _no_repeat(terms, method)
        case Sampling.IID | Sampling.CYCLIC | Sampling.RESHUFFLE | Sampling.RESHUFFLE_NO_REPEAT:
            return None
        case _:
            assert_never(sampling)


def _iid(terms: Terms, method: Scalars) -> Operator:
    """Map X to the mean of A_b X A_bᵀ, in 2 n d³ multiplications."""
    H = terms.hessians
    weights = terms.weights
    mean = np.tensordot(weights, H, axes=1)
    step = constant_step(method)

    def apply(X: FloatArray) -> FloatArray:
        X = symmetric(X)
        gg = np.zeros_like(X[..., 0, :, :])
        for first in range(0, len(H), _CHUNK):
            part = H[first : first + _CHUNK]
            pulled = weights[first : first + _CHUNK, None, None] * (part @ X[..., None, 0, :, :])
            gg += np.tensordot(pulled, part, axes=([-3, -1], [0, 1]))

        return advance(X, mean @ X[..., 0, :, :], mean @ X[..., 1, :, :], gg, step)

    return apply


def _no_repeat(terms: Terms, method: Scalars) -> Operator:
    """Markov-jump lift: X_j, the moment on the event that j came last, from the sum over i ≠ j.

    Equal terms share one X_j, the sum of theirs.
    """
    counts = terms.counts[:, None, None, None]
    step = constant_step(method)

    def apply(X: FloatArray) -> FloatArray:
        X = symmetric(X)
        entering = (counts * X.sum(axis=-4, keepdims=True) - X) / (terms.n - 1.0)
        return apply_term(entering, terms.hessians, step)

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
    coefficients = constant_step(method)
    visited = np.stack([grid.ravel() for grid in np.indices(tuple(counts + 1))], axis=1)
    strides = np.array([math.prod(counts[c + 1 :] + 1) for c in range(counts.size)])
    size = visited.sum(axis=1)
    rows_of = [
        [np.flatnonzero((size == layer) & (visited[:, c] > 0)) for c in range(counts.size)]
        for layer in range(n + 1)
    ]

    def step(Z: FloatArray, c: int, rows: Indices) -> FloatArray:
        before = visited[rows, c] - 1
        chance = (counts[c] - before) / (n - size[rows] + 1.0)
        came = Z[rows - strides[c]] * chance.reshape(-1, *[1] * (Z.ndim - 1))
        return apply_term(came, H[c], coefficients)

    def apply(X: FloatArray) -> FloatArray:
        X = symmetric(X)
        one = X[..., 0, :, :, :] if lifted else X
        Z = np.zeros((len(visited), *one.shape))
        Z[0] = one
        last = np.zeros_like(X)
        for layer in range(1, n + 1):
            for c in range(counts.size):
                rows = rows_of[layer][c]
                if lifted and layer == 1:
                    entering = counts[c] * X.sum(axis=-4) - X[..., c, :, :, :]
                    moved = apply_term(entering / (n - 1.0), H[c], coefficients)[None]
                elif rows.size:
                    moved = step(Z, c, rows)
                else:
                    continue

                Z[rows] += moved
                if lifted and layer == n:
                    last[..., c, :, :, :] = moved[0]

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
        self.sampling = sampling
        self.rng = rng
        self.last = np.full(walkers, -1, dtype=np.intp)
        self.position = 0
        self.orders = np.tile(np.arange(n, dtype=np.intp), (walkers, 1))

    def next(self) -> Indices:
        """Draw one term for every walker."""
        match self.sampling:
            case Sampling.IID:
                self.last = self.rng.integers(self.n, size=self.last.size)
            case Sampling.IID_NO_REPEAT:
                fresh = self.last[0] < 0
                jump = self.rng.integers(0 if fresh else 1, self.n, size=self.last.size)
                self.last = (np.maximum(self.last, 0) + jump) % self.n
            case Sampling.CYCLIC | Sampling.RESHUFFLE | Sampling.RESHUFFLE_NO_REPEAT:
                if self.position == 0:
                    self._begin_epoch()
                self.last = self.orders[:, self.position].copy()
                self.position = (self.position + 1) % self.n
            case _:
                assert_never(self.sampling)

        return self.last

    def _begin_epoch(self) -> None:
        if not self.sampling.traits.random:
            return

        self.orders = self.rng.permuted(self.orders, axis=1)
        if not self.sampling.traits.may_repeat:
            while (again := np.flatnonzero(self.orders[:, 0] == self.last)).size:
                self.orders[again] = self.rng.permuted(self.orders[again], axis=1)

    def keep(self, parents: Indices) -> None:
        """Replace walkers by copies of ``parents``, each free to go on in its own way."""
        self.last = self.last[parents]
        traits = self.sampling.traits
        if not (traits.by_epoch and traits.random):
            return

        self.orders = self.orders[parents]
        if self.position:
            rest = self.rng.permuted(self.orders[:, self.position :], axis=1)
            self.orders[:, self.position :] = rest


def counterexample_factor(n: FloatArray, sampling: Sampling, sense: Sense) -> FloatArray:
    """Logarithm of the growth a step of the paper's example at rho = 1, by the law of its gaps."""
    sure = sense is Sense.ALMOST_SURE
    nothing = np.full(n.shape, -np.inf)

    match sampling:
        case Sampling.CYCLIC:
            return np.asarray(sense.power * np.log(n - 1.0) / n)
        case Sampling.IID:
            return (
                nothing
                if sure
                else np.log(gap_laws.renewal(1.0 - 1.0 / n, (n - 1.0) / n**2, sense))
            )
        case Sampling.IID_NO_REPEAT:
            p = 1.0 / (n - 1.0)
            if sure:
                return np.asarray(gap_laws.mean_log_geometric(p) / n)
            return np.log(gap_laws.renewal(1.0 - p, p, sense))
        case Sampling.RESHUFFLE:
            return nothing if sure else np.log(gap_laws.reshuffle(n, sense)) / n
        case Sampling.RESHUFFLE_NO_REPEAT:
            if sure:
                return np.asarray(gap_laws.mean_log_gap_no_repeat(n) / n)
            return np.log(gap_laws.reshuffle_no_repeat(n, sense)) / n
        case _:
            assert_never(sampling)
