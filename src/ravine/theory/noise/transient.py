"""How far the powers of the method's matrix rise before they fall."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, overflow_allowed
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.blocks import block
from ravine.theory.ladder.rates import check_shapes, stable
from ravine.values import Value

_LONGEST_SEARCH = 2**20
"""Powers of one block that are tried before the search gives up: some seconds."""
_SAMPLES = 512
"""Eigenvalues that are followed together, a second-level cache full of blocks."""
_TOGETHER = 128
"""Powers for which they are: on N samples a power up to N/4 is seen to 1/cos(π/8), 8 %."""
_SLOW = 8
"""Eigenvalues that are followed alone when they have not settled by then, the highest first."""
_SHARPENED = 8
"""Best pairs of eigenvalue and power whose eigenvalue is then moved to the very top."""


@dataclass(frozen=True, eq=False, repr=False)
class TransientPeak(Value):
    """The largest norm of a power of A, and where it is reached."""

    norm: npt.NDArray[np.float64] | np.float64
    """sup_k ‖A^k‖ over every Hessian with the given curvature; infinite when unstable."""
    step: npt.NDArray[np.int64] | np.int64
    """The k that reaches it; -1 when unstable."""
    eigenvalue: npt.NDArray[np.float64] | np.float64
    """The eigenvalue that reaches it; NaN when unstable."""


def spectral_norms(matrices: FloatArray) -> FloatArray:
    """Spectral norms of a stack of 2x2 matrices, free of cancellation."""
    top, bottom = matrices[..., 0, :], matrices[..., 1, :]
    return norms_of_entries(top[..., 0], top[..., 1], bottom[..., 0], bottom[..., 1])


def norms_of_entries(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> FloatArray:
    """The same of the matrices [[a, b], [c, d]]."""
    norms: FloatArray = 0.5 * (np.hypot(a + d, b - c) + np.hypot(a - d, b + c))
    return norms


def powers(blocks: FloatArray) -> Iterator[tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
    """The entries of B^0, B^1, B^2, ..., row by row, of each block of a stack (N, 2, 2)."""
    a, b, c, d = np.ascontiguousarray(blocks.reshape(-1, 4).T)
    p, q, s, t = np.repeat([1.0, 0.0, 0.0, 1.0], len(blocks)).reshape(4, -1)
    while True:
        yield p, q, s, t
        # Entry by entry: a stacked product of 2x2 matrices is slower.
        p, q, s, t = p * a + q * c, p * b + q * d, s * a + t * c, s * b + t * d


@overflow_allowed
def transient_peak(curvature: Curvature, method: Method) -> TransientPeak:
    """Transient growth of the deterministic method: sup_k ‖A^k‖₂ in the state (r, v).

    ‖A^k‖ is the largest ‖B(λ)^k‖ over the spectrum, so the supremum is taken over k >= 0 and
    every λ in [mu, L]. For Nesterov's method no parameters are known for which a λ inside beats
    both ends; at the standard ones mu attains it, near k = √Q, and the peak grows like √Q/e. Heavy
    ball near resonance peaks inside.

    Parameters
    ----------
    curvature, method
        Arrays broadcast; the search runs once for every element.

    Returns
    -------
    TransientPeak
        At least 1 (k = 0), and attained at the eigenvalue and step that come with it. At both
        ends of the curvature the search ends with a proof that no later k is larger, or after 2²⁰
        steps when the method is that slow. Inside, the best of 512 samples of λ are sharpened:
        a peak that all of them miss is not excluded, but must be narrower than their spacing.

    Examples
    --------
    >>> from ravine.methods import nesterov
    >>> c = Curvature(1, 512)
    >>> peak = transient_peak(c, nesterov(c))
    >>> round(float(peak.norm), 6), int(peak.step), float(peak.eigenvalue)
    (7.170203, 22, 1.0)

    Heavy ball near resonance, where the ends alone would say 3.86:

    >>> peak = transient_peak(Curvature(1 / 11.7, 1), Method(2.997, 0.9985, 0))
    >>> round(float(peak.norm), 3), int(peak.step), round(float(peak.eigenvalue), 3)
    (4.214, 28, 0.99)
    """
    shape = check_shapes(curvature, method)
    settled = np.broadcast_to(stable(curvature, method), shape)
    mu = np.broadcast_to(curvature.mu, shape)
    L = np.broadcast_to(curvature.L, shape)
    alpha = np.broadcast_to(method.alpha, shape)
    beta = np.broadcast_to(method.beta, shape)
    gamma = np.broadcast_to(method.gamma, shape)

    norm = np.full(shape, np.inf)
    step = np.full(shape, -1, np.int64)
    where = np.full(shape, np.nan)
    for i in np.ndindex(shape):
        if settled[i]:
            one = Method(alpha[i], beta[i], gamma[i])
            norm[i], step[i], where[i] = _highest(float(mu[i]), float(L[i]), one)

    return TransientPeak(norm[()], step[()], where[()])


def _highest(mu: float, L: float, method: Method) -> tuple[float, int, float]:
    """Largest norm, its power and its eigenvalue, over [mu, L]."""
    top = (1.0, 0, mu)
    for end in (mu, L):
        size, power = _peak(block(end, method))
        if size > top[0]:
            top = (size, power, end)

    lam = _samples(mu, L)
    sizes, powers, unsettled = _scan(block(lam, method))
    order = np.argsort(-sizes, kind="stable")
    for j in order[unsettled[order]][:_SLOW]:
        sizes[j], powers[j] = _peak(block(lam[j], method))

    for j in np.argsort(-sizes, kind="stable")[:_SHARPENED]:
        inside = 0 < j < len(lam) - 1
        # A sample next to an end is left of or right of it: the end itself has been seen.
        if inside and powers[j] > 0:
            size, place = _sharpened(lam[j - 1], lam[j + 1], int(powers[j]), method)
            # not by rounding: a peak at an end is not to be moved inside
            if size > top[0] * (1.0 + 1e-12):
                top = (size, int(powers[j]), place)

    return top


def _samples(mu: float, L: float) -> FloatArray:
    """Both ends and Chebyshev's points between, mixed with as many in geometric progression.

    Entries of B^k are polynomials of degree k in λ, for which Chebyshev's points are best; the
    flat directions of an ill-conditioned problem are closer together than they can see.
    """
    half = _SAMPLES // 2
    polynomial = chebyshev(Curvature(mu, L), half - 1)
    inner = np.concatenate([polynomial[1:-1], np.geomspace(mu, L, half)[1:-1]])
    return np.concatenate([[mu], np.sort(np.clip(inner, mu, L)), [L]])


def chebyshev(curvature: Curvature, degree: int) -> FloatArray:
    """The degree + 1 extrema of Chebyshev's polynomial on [mu, L], both ends without rounding."""
    mu, L = curvature.mu, curvature.L
    middle, half = 0.5 * (L + mu), 0.5 * (L - mu)
    lam: FloatArray = middle - half * np.cos(np.arange(degree + 1) * np.pi / degree)
    lam[[0, -1]] = mu, L
    return lam


def _scan(blocks: FloatArray) -> tuple[FloatArray, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Largest norm of the first powers of each block, its power, and which are not yet below 1."""
    best = np.ones(len(blocks))
    at = np.zeros(len(blocks), np.int64)
    unsettled = np.ones(len(blocks), np.bool_)
    for k, entries in enumerate(islice(powers(blocks), 1, _TOGETHER + 1), start=1):
        norms = norms_of_entries(*entries)
        higher = norms > best
        best = np.where(higher, norms, best)
        at = np.where(higher, k, at)
        unsettled &= norms > 1.0
        if not unsettled.any():
            break

    return best, at, unsettled


def _peak(B: FloatArray) -> tuple[float, int]:
    """Largest ‖B^k‖ over k >= 0, and its k.

    Once some k >= 1 has ‖B^k‖ <= 1 the search ends: ‖B^{k+j}‖ <= ‖B^j‖ was seen before.
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

    # The norm is flat at its top: λ to 1e-8 of the interval gives it to 1e-16.
    options = {"xatol": 1e-8 * (high - low)}
    top = minimize_scalar(lambda x: -size(x), bounds=(low, high), method="bounded", options=options)
    return size(float(top.x)), float(top.x)
