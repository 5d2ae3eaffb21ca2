"""Parts that depend on the sampling rule: draws, and gaps between visits to one term.

To add a rule, add it to ``ravine.sampling`` with its traits, to the engine's draws, and to the
table ``RULES`` at the end of this file. The draws here and the operator on second moments
(:mod:`ravine.theory.finite_sums.mean_square`) follow from the traits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.sampling import Sampling
from ravine.theory.finite_sums.terms import Sense

Indices = npt.NDArray[np.intp]

_SPACING = 0.2
"""Spacing h of the trapezoidal rule for E ln K, whose error is e^(-π²/h): 4e-22."""
_ENDS = 38.0, 40.0
"""-ln of the smallest t times the longest gap, and the largest t; the rest of the integral is
1e-16."""


class Draws:
    """The next term of many independent paths under one sampling rule.

    Parameters
    ----------
    n
        Number of terms.
    sampling
        The rule. In the fixed order, every path visits 0, 1, ..., n - 1.
    paths
        Number of paths.
    rng
        Random generator.
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
        """Replace paths by copies of ``parents``, which continue independently."""
        self.last = self.last[parents]
        if not (self.traits.by_epoch and self.traits.random):
            return

        self.orders = self.orders[parents]
        if self.position:
            rest = self.rng.permuted(self.orders[:, self.position :], axis=1)
            self.orders[:, self.position :] = rest


# Gaps K between two visits to the inconsistent term of the paper's example, see
# :func:`ravine.counterexample_growth`, where N = n - 1. A gap of k steps multiplies the third
# coordinate by k rho^(k+1). Each function returns the logarithm of the growth per step at rho = 1.


def _iid_no_repeat_gaps(n: FloatArray, sense: Sense) -> FloatArray:
    """Geometric gaps from 1 on, with success probability 1/N."""
    p = 1.0 / (n - 1.0)
    if sense is Sense.ALMOST_SURE:
        return np.asarray(mean_log_geometric(p) / n)

    return np.log(renewal(1.0 - p, p, sense))


def _reshuffle_no_repeat_gaps(n: FloatArray, sense: Sense) -> FloatArray:
    """Gaps from 1 to 2N."""
    if sense is Sense.ALMOST_SURE:
        return np.asarray(mean_log_gap_no_repeat(n) / n)

    return np.log(reshuffle_radius(n, sense, may_repeat=False)) / n


def renewal(w: FloatArray, a: FloatArray, sense: Sense) -> FloatArray:
    """Growth g with E[k^p g^-(k+1)] = 1 over the gaps, p the power of the norm."""
    if sense is Sense.MEAN:
        return w + np.sqrt(a)

    # Cardano for the one positive root of u³ = a(u + 2w); w is 0 or the discriminant is positive.
    c = np.cbrt(a * (w + np.sqrt(np.maximum(w**2 - a / 27.0, 0.0))))
    u = np.where(w > 0.0, c + a / (3.0 * np.where(w > 0.0, c, 1.0)), np.sqrt(a))
    return w + u


def mean_log_geometric(p: FloatArray) -> FloatArray:
    """E ln K for P(K = k) = p (1 - p)^(k-1), k >= 1."""

    def fallen(t: FloatArray) -> FloatArray:
        single = -np.expm1(-t)
        return np.asarray(single / (p[..., None] * np.exp(-t) + single))

    return _mean_log(fallen, float(1.0 / p.min()))


def mean_log_gap_no_repeat(n: FloatArray) -> FloatArray:
    """E ln K of a gap if no epoch begins with the term that ended the last one.

    f_n is uniform over the n positions. After an epoch that ends with it, K is uniform on 1, ...,
    N. Otherwise, with m = N - i uniform on 1, ..., N, K = m with probability 1/N, else m + j with j
    uniform.
    """
    N = n[..., None] - 1.0

    def fallen(t: FloatArray) -> FloatArray:
        # With u = E e^-tm of a uniform m, E e^-tK is (2u + (n - 2)u²)/n.
        u = np.exp(-t) * np.expm1(-N * t) / (N * np.expm1(-t))
        return np.asarray((1.0 - u) * (1.0 + u - 2.0 * u / (N + 1.0)))

    return _mean_log(fallen, 2.0 * float(n.max()))


def _mean_log(fallen: Callable[[FloatArray], FloatArray], longest: float) -> FloatArray:
    """E ln K for gaps K >= 1 about as long as ``longest``, from 1 - E e^-tK.

    ln k = ∫ (e^-t - e^-kt) dt/t, so E ln K = ∫ (1 - E e^-tK - (1 - e^-t)) dt/t. In ln t the
    integrand is analytic for |Im| < π/2 and decays at both ends, so the trapezoidal rule is exact
    to rounding.
    """
    low = -math.log(longest) - _ENDS[0]
    t = np.exp(low + _SPACING * np.arange(np.ceil((math.log(_ENDS[1]) - low) / _SPACING) + 1.0))
    return np.asarray(_SPACING * np.sum(fallen(t) + np.expm1(-t), axis=-1))


def reshuffle_radius(n: FloatArray, sense: Sense, *, may_repeat: bool) -> FloatArray:
    """Spectral radius of the kernel P(j | i) (N - i + j)^p on functions of the position i.

    P(j | i) is 1/n. Without repeat it is 1/N at j = 0 and (n-2)/N² elsewhere for i < N, and 0 at
    j = 0 and 1/N elsewhere for i = N. With x = i/N the kernel maps to polynomials of degree p::

        (1 - x + y)^p = Σ_q C(p, q) (1 - x)^(p-q) y^q

    so a matrix on (1 - x)^l, l = 0, ..., p, has its radius. Without repeat, the value at x = 1 is
    an additional function: it exceeds the polynomial's by Σ_j (j/N)^p f(j) / N².
    """
    N = n - 1.0
    p = sense.power
    # Σ_{j >= 1} (j/N)^k
    powers = [
        N,
        (N + 1.0) / 2.0,
        (N + 1.0) * (2.0 * N + 1.0) / (6.0 * N),
        (N + 1.0) ** 2 / (4.0 * N),
        (N + 1.0) * (2.0 * N + 1.0) * (3.0 * N**2 + 3.0 * N - 1.0) / (30.0 * N**3),
    ]

    def total(q: int, degree: int) -> FloatArray:
        """Σ_{j >= 1} y^q (1 - y)^degree."""
        parts = (comb(degree, i) * (-1) ** i * powers[q + i] for i in range(degree + 1))
        return np.asarray(sum(parts))

    first, later = (1.0 / n, 1.0 / n) if may_repeat else (1.0 / N, (n - 2.0) / N**2)
    M = np.zeros((*n.shape, p + 2, p + 2))
    for q in range(p + 1):
        ways = comb(p, q)
        for degree in range(p + 1):
            M[..., p - q, degree] = ways * (later * total(q, degree) + (0.0 if q else first))
        if not may_repeat:
            M[..., p - q, p + 1] = ways * later
            M[..., p + 1, q] = total(p, q) / N**2

    if not may_repeat:
        M[..., p + 1, p + 1] = 1.0 / N**2

    # The kernel is positive, so its spectral radius is an eigenvalue.
    radius = np.linalg.eigvals(M).real.max(axis=-1)
    # At n = 2 the kernel has a double eigenvalue, 1/2; without repeat every gap is 1.
    return np.where(n == 2.0, 0.5 if may_repeat else 1.0, N**p * radius)


class Places(NamedTuple):
    """Probability that a given term is first, at each place between, and last in a round.

    A round is an epoch, or a single step for rules without epochs, which has only a first place.
    """

    first: float
    between: float
    last: float


class Rule(NamedTuple):
    """Properties of a rule for the paper's example with one inconsistent term."""

    places: Callable[[int], tuple[Places, Places]]
    """Probabilities of the places of a term in a round of n: if it did not end the last round, and
    if it did."""
    gaps: Callable[[FloatArray, Sense], FloatArray]
    """Logarithm of the growth per step of the example with n terms at rho = 1.

    Not needed for almost every path if a term may be drawn twice in a row, because paths end at
    zero.
    """


def _without_repeat(n: int) -> tuple[Places, Places]:
    p = 1.0 / (n - 1.0)
    later = (1.0 - p) * p
    return Places(p, later, later), Places(0.0, p, p)


RULES = {
    Sampling.IID: Rule(
        places=lambda n: (Places(1.0 / n, 0.0, 0.0),) * 2,
        # geometric, from 0 on
        gaps=lambda n, sense: np.log(renewal(1.0 - 1.0 / n, (n - 1.0) / n**2, sense)),
    ),
    Sampling.IID_NO_REPEAT: Rule(
        places=lambda n: (Places(1.0 / (n - 1.0), 0.0, 0.0), Places(0.0, 0.0, 0.0)),
        gaps=_iid_no_repeat_gaps,
    ),
    Sampling.CYCLIC: Rule(
        places=lambda n: (Places(0.0, 0.0, 1.0),) * 2,
        # every gap is N
        gaps=lambda n, sense: np.asarray(sense.power * np.log(n - 1.0) / n),
    ),
    Sampling.RESHUFFLE: Rule(
        places=lambda n: (Places(1.0 / n, 1.0 / n, 1.0 / n),) * 2,
        # from 0, at the end of an epoch and at the start of the next, to 2N
        gaps=lambda n, sense: np.log(reshuffle_radius(n, sense, may_repeat=True)) / n,
    ),
    Sampling.RESHUFFLE_NO_REPEAT: Rule(places=_without_repeat, gaps=_reshuffle_no_repeat_gaps),
}
"""Every sampling rule; the rest of the theory does not name rules."""
