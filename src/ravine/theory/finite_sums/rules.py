"""What depends on the sampling rule: the draws, and the gaps between visits to one term.

To add a rule, add it to ``ravine.sampling`` with its traits, to the engine's draws, and to the
table ``RULES`` at the end of this file. What the traits decide needs no entry: the draws, and the
operator on second moments (:mod:`ravine.theory.finite_sums.mean_square`).
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.sampling import Sampling
from ravine.theory.finite_sums.terms import Sense

Indices = npt.NDArray[np.intp]

_ZETA_PRIME_MINUS_ONE = -0.16542114370045092921391966024278
"""ζ'(-1), the constant in the expansion of Barnes' function."""
_BARNES_FROM = 16
"""Argument above which four terms of the expansion are right to the last digit."""
_BARNES_TAIL = (-1 / 240, 1 / 1008, -1 / 1440, 1 / 1056)
"""B_{2k+2} / (4k(k+1)), k = 1 to 4, with Bernoulli's numbers."""


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


# Gaps between two visits to the inconsistent term of the paper's example, see
# :func:`ravine.counterexample_growth`, where N = n - 1. A gap of k steps multiplies the third
# coordinate by k rho^(k+1); each of these gives the logarithm of the growth per step at rho = 1.


def _cyclic_gaps(n: FloatArray, sense: Sense) -> FloatArray:
    """Every gap is N."""
    return np.asarray(sense.power * np.log(n - 1.0) / n)


def _iid_gaps(n: FloatArray, sense: Sense) -> FloatArray:
    """Geometric gaps from 0 on: two visits in a row, which almost every path makes, end at 0."""
    if sense is Sense.ALMOST_SURE:
        return np.full(n.shape, -np.inf)

    return np.log(renewal(1.0 - 1.0 / n, (n - 1.0) / n**2, sense))


def _iid_no_repeat_gaps(n: FloatArray, sense: Sense) -> FloatArray:
    """Geometric gaps from 1 on, with success probability 1/N."""
    p = 1.0 / (n - 1.0)
    if sense is Sense.ALMOST_SURE:
        return np.asarray(mean_log_geometric(p) / n)

    return np.log(renewal(1.0 - p, p, sense))


def _reshuffle_gaps(n: FloatArray, sense: Sense) -> FloatArray:
    """Two visits in a row, at the end of an epoch and at the start of the next, end at 0."""
    if sense is Sense.ALMOST_SURE:
        return np.full(n.shape, -np.inf)

    return np.log(reshuffle_radius(n, sense)) / n


def _reshuffle_no_repeat_gaps(n: FloatArray, sense: Sense) -> FloatArray:
    """Gaps from 1 to 2N."""
    if sense is Sense.ALMOST_SURE:
        return np.asarray(mean_log_gap_no_repeat(n) / n)

    return np.log(reshuffle_no_repeat_radius(n, sense)) / n


def renewal(w: FloatArray, a: FloatArray, kind: Sense) -> FloatArray:
    """Growth g with E[k^p g^-(k+1)] = 1 over the gaps, p the power of the norm."""
    if kind is Sense.MEAN:
        return w + np.sqrt(a)

    # Cardano for the one positive root of u³ = a(u + 2w); w is 0 or the discriminant is positive.
    c = np.cbrt(a * (w + np.sqrt(np.maximum(w**2 - a / 27.0, 0.0))))
    u = np.where(w > 0.0, c + a / (3.0 * np.where(w > 0.0, c, 1.0)), np.sqrt(a))
    return w + u


def mean_log_geometric(p: FloatArray) -> FloatArray:
    """E ln K for P(K = k) = p (1 - p)^(k-1), k >= 1.

    ln k = ∫ (e^-t - e^-kt)/t dt, so E ln K = ∫ w e^-t (1 - e^-t) / (1 - w e^-t) dt/t, w = 1 - p. In
    ln t the integrand is analytic for |Im| < π/2 and decays at both ends: the trapezoidal rule at
    spacing h errs by e^(-π²/h).
    """
    h = 0.2  # e^(-π²/h) is 4e-22
    w = (1.0 - p)[..., None]
    # The ends at which the integrand is below 1e-16 of its largest value.
    low = np.log(p.min()) - 38.0
    high = np.log(40.0)
    t = np.exp(low + h * np.arange(np.ceil((high - low) / h) + 1.0))
    fallen = -np.expm1(-t)
    return np.asarray(h * np.sum(w * np.exp(-t) * fallen / (p[..., None] + w * fallen), axis=-1))


def mean_log_gap_no_repeat(n: FloatArray) -> FloatArray:
    """E ln k of a gap when no epoch begins with the term that ended the last one.

    f_n is uniform over the n positions. After an epoch that it ends, k is uniform on 1, ..., N.
    After any other, with m = N - i uniform on 1, ..., N: k = m with probability 1/N, else m + j
    with j uniform.
    """
    from scipy.special import gammaln

    N = n - 1.0
    single = gammaln(n)
    double = _log_barnes(2.0 * N + 1.0) - 2.0 * _log_barnes(N + 1.0)
    return np.asarray((2.0 * single / N + (n - 2.0) / N**2 * double) / n)


def _log_barnes(z: FloatArray) -> FloatArray:
    """Barnes' ln G(1 + z) for whole z >= 1: the sum of ln (j!) over j < z."""
    from scipy.special import gammaln

    first = np.concatenate([[0.0], np.cumsum(gammaln(np.arange(1.0, _BARNES_FROM + 1.0)))])
    small = first[np.minimum(z, _BARNES_FROM).astype(np.intp)]
    tail = sum(c / z ** (2 * k) for k, c in enumerate(_BARNES_TAIL, start=1))
    large = (
        z**2 * (0.5 * np.log(z) - 0.75)
        + 0.5 * z * np.log(2.0 * np.pi)
        - np.log(z) / 12.0
        + _ZETA_PRIME_MINUS_ONE
        + tail
    )

    return np.where(z <= _BARNES_FROM, small, large)


def reshuffle_radius(n: FloatArray, kind: Sense) -> FloatArray:
    """Spectral radius of E (N - t + u)^p over centred positions t, u, on polynomials in t/N."""
    N = n - 1.0
    if kind is Sense.MEAN:
        return 0.5 * (N + np.sqrt(N * (2.0 * n - 4.0) / 3.0))

    second = (n**2 - 1.0) / 12.0 / N**2
    fourth = (n**2 - 1.0) * (3.0 * n**2 - 7.0) / 240.0 / N**4
    M = np.zeros((*n.shape, 3, 3))
    M[..., 0, 0] = 1.0 + second
    M[..., 0, 1] = 2.0 * second
    M[..., 0, 2] = second + fourth
    M[..., 1, 0] = -2.0
    M[..., 1, 1] = -2.0 * second
    M[..., 1, 2] = -2.0 * second
    M[..., 2, 0] = 1.0
    M[..., 2, 2] = second
    # At n = 2 the kernel is triangular with a double eigenvalue, 1/2.
    return np.where(n == 2.0, 0.5, N**2 * _largest_real_eigenvalue(M))


def reshuffle_no_repeat_radius(n: FloatArray, kind: Sense) -> FloatArray:
    """The same without repeat, on polynomials in x = i/N plus one free value at the last position.

    P(j | i) is 1/N at j = 0 and (n-2)/N² elsewhere for i < N; it is 0 at j = 0 and 1/N elsewhere
    for i = N. The value at i = N exceeds the polynomial's by Σ_j (j/N)^p f(j) / N².
    """
    N = n - 1.0
    p = kind.power
    sums = [
        N,
        (N + 1.0) / 2.0,
        (N + 1.0) * (2.0 * N + 1.0) / (6.0 * N),
        (N + 1.0) ** 2 / (4.0 * N),
        (N + 1.0) * (2.0 * N + 1.0) * (3.0 * N**2 + 3.0 * N - 1.0) / (30.0 * N**3),
    ]

    size = p + 2
    inner = (n - 2.0) / N**2
    M = np.zeros((*n.shape, size, size))
    for column in range(size):
        # Σ_{j >= 1} (j/N)^power f(j) for f = x^column, or for the indicator of the last position.
        over = [sums[power + column] if column <= p else np.ones_like(n) for power in range(p + 1)]
        for power in range(p + 1):
            moment = inner * over[power] + (1.0 / N if power + column == 0 else 0.0)
            for degree in range(p - power + 1):
                # (1 - x + y)^p: the coefficient of x^degree y^power
                ways = comb(p, power) * comb(p - power, degree) * (-1) ** degree
                M[..., degree, column] += ways * moment

        M[..., p + 1, column] += over[p] / N**2

    # At n = 2 the terms alternate and every gap is 1.
    return np.where(n == 2.0, 1.0, N**p * _largest_real_eigenvalue(M))


def _largest_real_eigenvalue(matrices: FloatArray) -> FloatArray:
    """Perron root: the kernels are positive, so the spectral radius is itself an eigenvalue."""
    return np.asarray(np.linalg.eigvals(matrices).real.max(axis=-1))


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
        gaps=_iid_gaps,
    ),
    Sampling.IID_NO_REPEAT: Rule(
        places=lambda n: (Places(1.0 / (n - 1.0), 0.0, 0.0), Places(0.0, 0.0, 0.0)),
        gaps=_iid_no_repeat_gaps,
    ),
    Sampling.CYCLIC: Rule(
        places=lambda n: (Places(0.0, 0.0, 1.0),) * 2,
        gaps=_cyclic_gaps,
    ),
    Sampling.RESHUFFLE: Rule(
        places=lambda n: (Places(1.0 / n, 1.0 / n, 1.0 / n),) * 2,
        gaps=_reshuffle_gaps,
    ),
    Sampling.RESHUFFLE_NO_REPEAT: Rule(
        places=_without_repeat,
        gaps=_reshuffle_no_repeat_gaps,
    ),
}
"""Every sampling rule; nothing else in the theory names one."""
