"""The exact worst-case rate over every finite sum and every sampling order."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Real, overflow_allowed
from ravine.curvature import Curvature
from ravine.linear_method import LinearMethod
from ravine.methods import Method
from ravine.theory.blocks import coupling
from ravine.theory.chunks import by_chunks
from ravine.theory.ladder.mean_square_kernel import discriminant_form
from ravine.theory.ladder.rates import block_radius, check_shapes
from ravine.theory.ladder.transfer import circle_rate

Where: TypeAlias = npt.NDArray[np.bool_]


@overflow_allowed
def worst_case_rate(curvature: Curvature, method: Method | LinearMethod) -> Real:
    """Exact rate r* over all finite sums of L-smooth, mu-strongly convex functions, in any order.

    The best quadratic Lyapunov function of the two extreme blocks B(mu), B(L) works for every
    Hessian between them, and quadratics in the plane with axes that turn by a fixed angle attain
    its rate, so no other argument can improve it. With traces t_i and determinants d_i of the two
    blocks, D = alpha (L - mu), c = beta(1 + gamma) - gamma, and w² = 2 (d₁ + d₂)(2 (d₁ + d₂) - t₁
    t₂), the candidate is

        r² = (w² + 2 w D √c + (1 + gamma)(beta - gamma) D²)/(8 (d₁ + d₂) - (t₁ + t₂)²).

    It applies if it is real, r exceeds the spectral radius, and the turning angle exists; otherwise
    r* is the spectral radius. For gamma = beta, c is beta².

    For a method of any memory, given by its transfer function as a ``LinearMethod``, the rate comes
    from the circle theorem instead, for single values of mu and L.

    Returns
    -------
    Growth per step. Below 1: convergence on every such sum with every sampling. Above 1: some sum
    in two dimensions, in some order, diverges at exactly this rate.

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(1, 32)
    >>> round(float(worst_case_rate(c, nesterov(c))), 9)
    1.164213562
    """
    if isinstance(method, LinearMethod):
        return np.float64(circle_rate(curvature, method).upper)

    return _solve(curvature, method)[0][()]


@overflow_allowed
def turning_angle(curvature: Curvature, method: Method) -> Real:
    """Angle ω in radians by which the axes of the worst finite sum turn per step; 0 if they do not.

    Quadratics in R² with eigenvalues mu and L whose axes turn by ω grow at exactly
    :func:`worst_case_rate`. With traces t_i, determinants d_i and r = r*, cos ω = ((r + d₁/r) t₂ +
    (r + d₂/r) t₁)/(4(d₁ + d₂)). If the rate is the spectral radius, one fixed quadratic is the
    worst case, and ω = 0.

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(1, 32)
    >>> round(float(np.degrees(turning_angle(c, nesterov(c)))), 6)
    45.0
    """
    return _solve(curvature, method)[1][()]


def _solve(curvature: Curvature, method: Method) -> tuple[FloatArray, ...]:
    shape = check_shapes(curvature, method)
    parameters = method.parameters.values()
    return by_chunks(_rate_and_angle, shape, curvature.mu, curvature.L, *parameters)


def _rate_and_angle(mu: Real, L: Real, alpha: Real, beta: Real, gamma: Real) -> tuple[Real, Real]:
    radius = np.maximum(block_radius(mu, alpha, beta, gamma), block_radius(L, alpha, beta, gamma))
    r, cosine, real = _candidate(alpha * mu, alpha * L, beta, gamma)
    counts = real & np.isfinite(r) & (r > radius) & (np.abs(cosine) < 1.0)

    rate = np.where(counts, r, radius)
    return rate, np.where(counts, np.arccos(np.where(counts, cosine, 1.0)), 0.0)


def _candidate(low: Real, high: Real, beta: Real, gamma: Real) -> tuple[Real, Real, Where]:
    """The candidate r, the cosine of its angle and whether it is real.

    Differences use ``discriminant_form``, which avoids cancellation near h = 1 or beta = 1: (t₁ +
    t₂)² - 8(d₁ + d₂) is the form of q₁ + q₂ and h₁ + h₂.
    """
    a, b, c = discriminant_form(beta, gamma)
    q1, q2 = 1.0 - low, 1.0 - high
    lag1, lag2 = low * (gamma - beta), high * (gamma - beta)
    t1, t2 = (1.0 + beta) * q1 - lag1, (1.0 + beta) * q2 - lag2
    d1, d2 = beta * q1 - lag1, beta * q2 - lag2
    q, h, width = q1 + q2, low + high, high - low
    both = d1 + d2
    mixed = b * (q1 * high + low * q2) - a * q1 * q2 - c * low * high
    denominator = q * (2.0 * b * h - a * q) - c * h * h
    drive = coupling(beta, gamma)
    real = np.asarray((mixed > 0.0) & (both > 0.0) & (drive >= 0.0))
    w = np.sqrt(np.where(real, 2.0 * both * mixed, 0.0))
    numerator = w * (w + 2.0 * width * np.sqrt(np.maximum(drive, 0.0)))
    numerator = numerator + (1.0 + gamma) * (beta - gamma) * width**2
    r = np.sqrt(numerator / denominator)
    cosine = ((r + d1 / r) * t2 + (r + d2 / r) * t1) / (4.0 * both)
    return r, cosine, real
