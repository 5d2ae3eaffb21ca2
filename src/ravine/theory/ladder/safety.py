"""Parameters that are certain to converge on every finite sum, in every order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Real, broadcast, real
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.ladder.worst_case import worst_case_rate

_SCAN = 512
"""Momenta tried to find the last safe interval before it is bisected."""


def safe_step(L: npt.ArrayLike, beta: npt.ArrayLike) -> Real:
    """Supremum of the step sizes that are safe for Nesterov's method at momentum beta, for any mu.

    The worst-case rate is below 1 for every mu in (0, L] iff (T7, verified numerically)
    alpha L < 2(1 - beta)²/(1 - beta + 2 beta²). At beta = 0 that is SGD's 2/L.

    Parameters
    ----------
    L
        Smoothness of every term, positive.
    beta
        Momentum, between -1 and 1; negative values allow a longer step.

    Returns
    -------
    The bound itself: every smaller positive step is safe.

    Examples
    --------
    >>> round(float(safe_step(1.0, 0.9)), 5)
    0.01163
    """
    smoothness = real("L", L, "positive", remedy="give the largest curvature, e.g. L=100")
    momentum = real("beta", beta, "inside (-1, 1)", remedy="no other momentum is safe for every mu")
    broadcast(L=smoothness, beta=momentum)
    return 2.0 * (1.0 - momentum) ** 2 / ((1.0 - momentum + 2.0 * momentum**2) * smoothness)


def safe_momentum(curvature: Curvature, alpha: npt.ArrayLike) -> Real:
    """Supremum of the momenta at which Nesterov's method is safe with step alpha.

    The largest beta up to which the worst-case rate of (alpha, beta) is below 1. At alpha = 1/L it
    is the larger root of 8 beta² q = 8 beta - (1 + beta)² q, with q = 1 - 1/Q; for Q < 3 it is
    above 1.

    Returns
    -------
    The bound, to rounding; NaN where no momentum makes the step safe, infinite where every one
    does (Q = 1 and alpha = 1/L).

    Examples
    --------
    >>> from ravine import Curvature
    >>> round(float(safe_momentum(Curvature(1, 32), 1 / 32)), 6)
    0.446481
    """
    step = real("alpha", alpha, "positive", remedy="give a step size, e.g. alpha=0.01")
    shape = broadcast(mu=curvature.mu, L=curvature.L, alpha=step)
    slope = np.maximum(np.abs(1.0 - step * curvature.mu), np.abs(1.0 - step * curvature.L))
    # A safe momentum is a stable one: |beta (1 - h)| < 1 at both ends of the curvature.
    reach = 1.0 / np.broadcast_to(np.maximum(slope, 1e-12), shape)
    scan = np.linspace(-1.0, 1.0, _SCAN + 1)[1:-1].reshape(-1, *(1,) * len(shape)) * reach
    safe = np.broadcast_to(_is_safe(curvature, step, scan), scan.shape)
    last = scan.shape[0] - 1 - np.argmax(safe[::-1], axis=0)
    low = np.take_along_axis(scan, last[None], axis=0)[0]
    high = low + 2.0 * reach / _SCAN
    for _ in range(54):
        middle = 0.5 * (low + high)
        inside = _is_safe(curvature, step, middle)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    bound = np.where(np.broadcast_to(slope, shape) > 0.0, low, np.inf)
    return np.where(safe.any(axis=0), bound, np.nan)[()]


def _is_safe(curvature: Curvature, step: Real, beta: FloatArray) -> npt.NDArray[np.bool_]:
    return np.asarray(worst_case_rate(curvature, Method(step, beta)) < 1.0)
