"""How far the powers of the method's matrix rise before they fall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, overflow_allowed
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.blocks import block, spectral_norms
from ravine.theory.ladder.rates import check_shapes, stable
from ravine.theory.noise.worst_direction import chebyshev
from ravine.values import Value

_LONGEST_SEARCH = 2**20
"""Powers of one block that are tried before the search gives up: some seconds."""
_SAMPLES = 256
"""Chebyshev points of the spectrum, and as many in geometric progression."""
_SHARPENED = 8
"""Best samples whose eigenvalue is then moved to the very top."""


@dataclass(frozen=True, eq=False, repr=False)
class TransientPeak(Value):
    """The largest norm of a power of A, and where it is reached."""

    norm: npt.NDArray[np.float64] | np.float64
    """sup_k ‖A^k‖ over every Hessian with the given curvature; infinite when unstable."""
    step: npt.NDArray[np.int64] | np.int64
    """The k that reaches it; -1 when unstable."""
    eigenvalue: npt.NDArray[np.float64] | np.float64
    """The eigenvalue that reaches it; NaN when unstable."""


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
        steps when the method is that slow. Inside, the best samples of λ are sharpened:
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
    parameters = (curvature.mu, curvature.L, method.alpha, method.beta, method.gamma)
    mu, L, alpha, beta, gamma = (np.broadcast_to(p, shape) for p in parameters)

    norm = np.full(shape, np.inf)
    step = np.full(shape, -1, np.int64)
    where = np.full(shape, np.nan)
    for i in np.ndindex(shape):
        if settled[i]:
            one = Method(alpha[i], beta[i], gamma[i])
            norm[i], step[i], where[i] = _highest(Curvature(mu[i], L[i]), one)

    return TransientPeak(norm[()], step[()], where[()])


def _highest(curvature: Curvature, method: Method) -> tuple[float, int, float]:
    """Largest norm, its power and its eigenvalue, over [mu, L]."""
    # Entries of B^k are polynomials of degree k in λ, for which Chebyshev's points are best; the
    # flat directions of an ill-conditioned problem are closer together than they can see.
    points = chebyshev(curvature, _SAMPLES - 1)
    lam = np.sort(np.concatenate([points, np.geomspace(points[0], points[-1], _SAMPLES)[1:-1]]))
    peaks = [(*_peak(B), float(at)) for B, at in zip(block(lam, method), lam, strict=True)]
    # an end wins a tie
    top = max(peaks[0], peaks[-1], (1.0, 0, float(lam[0])), key=lambda peak: peak[0])

    for j in np.argsort([-peak[0] for peak in peaks], kind="stable")[:_SHARPENED]:
        power = peaks[j][1]
        # A sample next to an end is left of or right of it: the end itself has been seen.
        if 0 < j < len(lam) - 1 and power > 0:
            size, place = _sharpened(lam[j - 1], lam[j + 1], power, method)
            # not by rounding: a peak at an end is not to be moved inside
            if size > top[0] * (1.0 + 1e-12):
                top = (size, power, place)

    return top


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
