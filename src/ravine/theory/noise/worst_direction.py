"""Largest powers of B(lambda) over every eigenvalue in [mu, L], as guaranteed upper bounds.

An entry of B(lambda)^j is a polynomial of degree j in lambda. A polynomial p of degree n on an
interval, sampled at the N + 1 points c + w cos(i π/N), obeys
max |p| <= max_i |p_i| / cos(n π / 2N) for n < N: near its largest value a trigonometric
polynomial of degree n falls no faster than cos(n φ), and some sample is within π/2N of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.blocks import block, noise_gain_vector, norms_of_entries, spectral_norms
from ravine.theory.ladder.rates import stable

_LENGTHS = (256, 2048)
"""Powers J to scan: a short scan, then a long one where the powers have not decayed by then."""
_POINTS_PER_POWER = 4
"""Samples N = 4J: the bounds exceed the truth by at most 1/cos²(π/8), 17 %, at the last power."""
_POINTS_FOR_LAST = 32
"""More samples for the last power, which the continuation raises to powers: 0.24 %."""
_NEGLIGIBLE = 1e-9
"""‖B^J‖ at which what comes after J no longer matters."""
_SCALINGS = np.logspace(-6, 6, 49)
"""Candidates for τ: four a decade, over the range of the step sizes that people use."""


@dataclass(frozen=True)
class WorstPowers:
    """Upper bounds, for j = 0, ..., J-1, of maxima over lambda in [mu, L].

    Norms are spectral ones in the state (r, τv), where B and g = (1+gamma, τ) are taken too.
    """

    norm2: FloatArray
    """max ‖B^j‖²"""
    start2: FloatArray
    """max w(lambda) ((B^j)_{11})², with weight w = 1 or lambda/2"""
    noise2: FloatArray
    """max w(lambda) ((B^j g)_1)²"""
    block2: float
    """max ‖B^J‖²"""
    weight: float
    """max w(lambda)"""
    gain2: float
    """‖g‖²"""

    def start(self, steps: int) -> FloatArray:
        """Bounds of w ((B^k)_{11})² for k = 0, ..., steps."""
        return self._extended(self.start2, self.weight, steps + 1)

    def noise(self, steps: int) -> FloatArray:
        """Bounds of sum_{j<k} w ((B^j g)_1)² for k = 0, ..., steps."""
        terms = self._extended(self.noise2, self.weight * self.gain2, steps)
        return np.concatenate([[0.0], np.cumsum(terms)])

    def norms(self, steps: int) -> FloatArray:
        """Bounds of ‖B^k‖² for k = 0, ..., steps."""
        return self._extended(self.norm2, 1.0, steps + 1)

    def noise_limit(self) -> float:
        """Bound of the whole sum of w ((B^j g)_1)²; infinite if ‖B^J‖ does not fall below 1."""
        if not self.block2 < 1.0:
            return np.inf

        later = self.block2 / (1.0 - self.block2) * float(np.sum(self.norm2))
        return float(np.sum(self.noise2)) + self.weight * self.gain2 * later

    def _extended(self, first: FloatArray, scale: float, count: int) -> FloatArray:
        """Continue past J by ‖B^{qJ+i}‖ <= ‖B^J‖^q ‖B^i‖."""
        J = len(first)
        out = np.empty(count)
        out[:J] = first[:count]
        if count > J:
            q, i = np.divmod(np.arange(J, count), J)
            out[J:] = scale * np.float64(self.block2) ** q * self.norm2[i]

        return np.where(np.isnan(out), np.inf, out)


def worst_powers(
    curvature: Curvature, method: Method, *, objective: bool, scaled: bool = True
) -> WorstPowers:
    """Scan the powers of B over [mu, L]; weight lambda/2 if ``objective``, else 1.

    With ``scaled`` the norms are those of the state (r, τv), for a τ that makes them decay early.
    """
    settles = bool(stable(curvature, method))
    with np.errstate(all="ignore"):
        for length in _LENGTHS:
            tau = _scaling(curvature, method, length) if scaled else 1.0
            worst = _scan(curvature, method, objective, length, tau)
            if worst.block2 <= _NEGLIGIBLE**2 or not settles:
                break

    return worst


def chebyshev(curvature: Curvature, degree: int) -> FloatArray:
    """The degree + 1 extrema of Chebyshev's polynomial on [mu, L], both ends without rounding."""
    mu, L = curvature.mu, curvature.L
    middle, half = 0.5 * (L + mu), 0.5 * (L - mu)
    lam: FloatArray = middle - half * np.cos(np.arange(degree + 1) * np.pi / degree)
    lam[[0, -1]] = mu, L
    return lam


def _scaling(curvature: Curvature, method: Method, length: int) -> float:
    """Pick τ for a small continuation past ``length``; any τ gives a valid bound."""
    lam = np.geomspace(curvature.mu, curvature.L, 65)
    power = np.linalg.matrix_power(block(lam, method), length)
    g = noise_gain_vector(method)
    costs = []
    for tau in _SCALINGS:
        norm2 = float(np.max(spectral_norms(power * _rescaled(tau))) ** 2)
        gain2 = g[0] ** 2 + (tau * g[1]) ** 2
        costs.append(gain2 * norm2 / (1.0 - norm2) if norm2 < 1.0 else np.inf)

    best = int(np.argmin(costs))
    return float(_SCALINGS[best]) if np.isfinite(costs[best]) else 1.0


def _rescaled(tau: float) -> FloatArray:
    """Factors of the entries of a block in the state (r, τv)."""
    return np.array([[1.0, 1.0 / tau], [tau, 1.0]])


def _scan(
    curvature: Curvature, method: Method, objective: bool, length: int, tau: float
) -> WorstPowers:
    """Follow the powers of B at Chebyshev's points, in the state (r, τv)."""
    points = _POINTS_PER_POWER * length
    lam = chebyshev(curvature, points)
    weight = 0.5 * lam if objective else np.ones_like(lam)
    gain = noise_gain_vector(method) * np.array([1.0, tau])

    norm2: list[float] = []
    start2: list[float] = []
    noise2: list[float] = []
    blocks = block(lam, method) * _rescaled(tau)
    for j, (p, q, s, t) in enumerate(islice(powers(blocks), length + 1)):
        # An entry of B^j has degree j, so between two samples its square is at most this larger.
        angle = j * np.pi / (2 * points)
        excess = 1.0 / np.cos(angle) ** 2
        # lambda p² has degree 2j + 1, one more than p²
        weighted = 1.0 / np.cos(2 * angle + np.pi / (2 * points)) if objective else excess

        norm2.append(excess * float(np.max(norms_of_entries(p, q, s, t)) ** 2))
        start2.append(weighted * float(np.max(weight * p * p)))
        noise2.append(weighted * float(np.max(weight * (gain[0] * p + gain[1] * q) ** 2)))
        if j and norm2[-1] <= _NEGLIGIBLE**2:
            break

    return WorstPowers(
        norm2=np.array(norm2[:-1]),
        start2=np.array(start2[:-1]),
        noise2=np.array(noise2[:-1]),
        block2=min(norm2[-1], _largest_block(curvature, method, len(norm2) - 1, tau)),
        weight=float(np.max(weight)),
        gain2=float(gain @ gain),
    )


def powers(blocks: FloatArray) -> Iterator[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
    """The entries of B^0, B^1, B^2, ..., row by row, of each block of a stack (N, 2, 2)."""
    a, b, c, d = np.ascontiguousarray(blocks.reshape(-1, 4).T)
    p, q, s, t = np.repeat([1.0, 0.0, 0.0, 1.0], len(blocks)).reshape(4, -1)
    while True:
        yield p, q, s, t
        # Entry by entry: a stacked product of 2x2 matrices is slower.
        p, q, s, t = p * a + q * c, p * b + q * d, s * a + t * c, s * b + t * d


def _largest_block(curvature: Curvature, method: Method, length: int, tau: float) -> float:
    """Bound of ‖B^J‖² from more samples: the continuation past J hangs on it."""
    points = _POINTS_FOR_LAST * length
    lam = chebyshev(curvature, points)
    power = np.linalg.matrix_power(block(lam, method), length)
    excess = 1.0 / np.cos(np.pi * length / (2 * points)) ** 2
    return float(np.max(spectral_norms(power * _rescaled(tau))) ** 2 * excess)
