"""Largest powers of B(lambda) over every eigenvalue in [mu, L]: upper bounds, and the peak.

An entry of B(lambda)^j is a polynomial of degree j in lambda. A polynomial p of degree n on an
interval, sampled at the N + 1 points c + w cos(i π/N), satisfies max |p| <= max_i |p_i| / cos(n π /
2N) for n < N: near its maximum a trigonometric polynomial of degree n falls no faster than cos(n
φ), and some sample is within π/2N of the maximum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, overflow_allowed
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.blocks import block, noise_gain_vector, norms_of_entries, spectral_norms
from ravine.theory.ladder.rates import check_shapes, stable
from ravine.values import Value

_LENGTHS = (256, 2048)
"""Powers J to scan: a short scan, then a long one if the powers have not decayed."""
_POINTS_PER_POWER = 4
"""Samples N = 4J: the bounds exceed the true values by at most 1/cos²(π/8), 17 %, at the last
power."""
_POINTS_FOR_LAST = 32
"""More samples for the last power, because the continuation raises it to powers: 0.24 %."""
_NEGLIGIBLE = 1e-9
"""‖B^J‖ at which later powers no longer matter."""
_SCALINGS = np.logspace(-6, 6, 49)
"""Candidates for τ: four per decade, over the range of common step sizes."""
_LONGEST_SEARCH = 2**20
"""Maximum power of one block in the search, which takes a few seconds."""
_SAMPLES = 256
"""Chebyshev points of the spectrum, and as many in geometric progression."""
_SHARPENED = 8
"""Number of best samples whose eigenvalue is then refined to the maximum."""


@dataclass(frozen=True)
class WorstPowers:
    """Upper bounds, for j = 0, ..., J-1, of maxima over lambda in [mu, L].

    Norms are spectral norms in the state (r, τv), in which B and g = (1+gamma, τ) are given too.
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
        """Bound of the infinite sum of w ((B^j g)_1)²; infinite if ‖B^J‖ is not below 1."""
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

    With ``scaled``, the norms are those of the state (r, τv), with a τ for which they decay early.
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
    """The degree + 1 extrema of the Chebyshev polynomial on [mu, L], with exact ends."""
    mu, L = curvature.mu, curvature.L
    middle, half = 0.5 * (L + mu), 0.5 * (L - mu)
    lam: FloatArray = middle - half * np.cos(np.arange(degree + 1) * np.pi / degree)
    lam[[0, -1]] = mu, L
    return lam


def _scaling(curvature: Curvature, method: Method, length: int) -> float:
    """Choose τ for a small continuation past ``length``; any τ gives a valid bound."""
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
    """Compute the powers of B at the Chebyshev points, in the state (r, τv)."""
    points = _POINTS_PER_POWER * length
    lam = chebyshev(curvature, points)
    weight = 0.5 * lam if objective else np.ones_like(lam)
    gain = noise_gain_vector(method) * np.array([1.0, tau])

    norm2: list[float] = []
    start2: list[float] = []
    noise2: list[float] = []
    blocks = block(lam, method) * _rescaled(tau)
    for j, (p, q, s, t) in enumerate(islice(powers(blocks), length + 1)):
        # An entry of B^j has degree j, so between two samples its square is larger by at most this.
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
        # Entry by entry, because a stacked product of 2x2 matrices is slower.
        p, q, s, t = p * a + q * c, p * b + q * d, s * a + t * c, s * b + t * d


def _largest_block(curvature: Curvature, method: Method, length: int, tau: float) -> float:
    """Bound of ‖B^J‖² from more samples, because the continuation past J depends on it."""
    points = _POINTS_FOR_LAST * length
    lam = chebyshev(curvature, points)
    power = np.linalg.matrix_power(block(lam, method), length)
    excess = 1.0 / np.cos(np.pi * length / (2 * points)) ** 2
    return float(np.max(spectral_norms(power * _rescaled(tau))) ** 2 * excess)


@dataclass(frozen=True, eq=False, repr=False)
class TransientPeak(Value):
    """The largest norm of a power of A, and where it is attained."""

    norm: npt.NDArray[np.float64] | np.float64
    """sup_k ‖A^k‖ over every Hessian with the given curvature; infinite if unstable."""
    step: npt.NDArray[np.int64] | np.int64
    """The k that attains it; -1 if unstable."""
    eigenvalue: npt.NDArray[np.float64] | np.float64
    """The eigenvalue that attains it; NaN if unstable."""


@overflow_allowed
def transient_peak(curvature: Curvature, method: Method) -> TransientPeak:
    """Transient growth of the deterministic method: sup_k ‖A^k‖₂ in the state (r, v).

    ‖A^k‖ is the largest ‖B(λ)^k‖ over the spectrum, so the supremum is taken over k >= 0 and every
    λ in [mu, L]. For Nesterov's method, no parameters are known for which a λ inside exceeds both
    ends; at the standard parameters mu attains it, near k = √Q, and the peak grows like √Q/e. Heavy
    ball near resonance peaks inside.

    Parameters
    ----------
    curvature, method
        Arrays broadcast; the search runs once for every element.

    Returns
    -------
    TransientPeak
        At least 1 (k = 0), and attained at the returned eigenvalue and step. At both ends of the
        curvature, the search ends with a proof that no later k is larger, or after 2²⁰ steps for
        very slow methods. Inside, the best samples of λ are refined; a peak that all samples miss
        is possible, but must be narrower than their spacing.

    Examples
    --------
    >>> from ravine.methods import nesterov
    >>> c = Curvature(1, 512)
    >>> peak = transient_peak(c, nesterov(c))
    >>> round(float(peak.norm), 6), int(peak.step), float(peak.eigenvalue)
    (7.170203, 22, 1.0)

    Heavy ball near resonance, where the ends alone would give 3.86:

    >>> peak = transient_peak(Curvature(1 / 11.7, 1), Method(2.997, 0.9985, 0))
    >>> round(float(peak.norm), 3), int(peak.step), round(float(peak.eigenvalue), 3)
    (4.214, 28, 0.99)
    """
    check_shapes(curvature, method)

    def highest(settled: bool, mu: float, L: float, *one: float) -> tuple[float, int, float]:
        return _highest(Curvature(mu, L), Method(*one)) if settled else (np.inf, -1, np.nan)

    every = np.vectorize(highest, otypes=[np.float64, np.int64, np.float64])
    parameters = method.parameters.values()
    peaks = every(stable(curvature, method), curvature.mu, curvature.L, *parameters)
    return TransientPeak(*(values[()] for values in peaks))


def _highest(curvature: Curvature, method: Method) -> tuple[float, int, float]:
    """Largest norm, its power and its eigenvalue, over [mu, L]."""
    # Entries of B^k are polynomials of degree k in λ, for which Chebyshev points are best; the flat
    # directions of an ill-conditioned problem are closer together than these points.
    points = chebyshev(curvature, _SAMPLES - 1)
    lam = np.sort(np.concatenate([points, np.geomspace(points[0], points[-1], _SAMPLES)[1:-1]]))
    peaks = [(*_peak(B), float(at)) for B, at in zip(block(lam, method), lam, strict=True)]
    # an end wins a tie
    top = max(peaks[0], peaks[-1], (1.0, 0, float(lam[0])), key=lambda peak: peak[0])

    for j in np.argsort([-peak[0] for peak in peaks], kind="stable")[:_SHARPENED]:
        power = peaks[j][1]
        # The end itself has been examined, so a sample next to it is bracketed on its other side.
        if 0 < j < len(lam) - 1 and power > 0:
            size, place = _sharpened(lam[j - 1], lam[j + 1], power, method)
            # larger than rounding, so that a peak at an end does not move inside
            if size > top[0] * (1.0 + 1e-12):
                top = (size, power, place)

    return top


def _peak(B: FloatArray) -> tuple[float, int]:
    """Largest ‖B^k‖ over k >= 0, and its k.

    The search ends at the first k >= 1 with ‖B^k‖ <= 1, because then ‖B^{k+j}‖ <= ‖B^j‖.
    """
    powers = np.eye(2)[None]
    step = B
    best = 1.0
    at = 0
    while len(powers) < _LONGEST_SEARCH:
        # the powers k = n, ..., 2n - 1, from those below n and B^n
        fresh = powers @ step
        norms = spectral_norms(fresh)
        if norms.max() > best:
            best = float(norms.max())
            at = len(powers) + int(norms.argmax())
        if norms.min() <= 1.0:
            break
        powers = np.concatenate([powers, fresh])
        step = step @ step

    return best, at


def _sharpened(low: float, high: float, power: int, method: Method) -> tuple[float, float]:
    """Largest ‖B(λ)^power‖ between two samples, and its λ."""
    from scipy.optimize import minimize_scalar

    def size(lam: float) -> float:
        return float(spectral_norms(np.linalg.matrix_power(block(lam, method), power)))

    # The norm is flat at its maximum: λ to 1e-8 of the interval gives it to 1e-16.
    options = {"xatol": 1e-8 * (high - low)}
    top = minimize_scalar(lambda x: -size(x), bounds=(low, high), method="bounded", options=options)
    return size(float(top.x)), float(top.x)
