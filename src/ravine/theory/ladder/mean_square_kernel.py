"""The largest mean-square growth over an interval of curvatures, for one scalar problem.

A direction of mean curvature λ, with h = alpha λ, has a random h of variance w. The second moments
of its state (r, v) are mapped by the 3x3 matrix E[B(h)⊗B(h)] = B⊗B + w (g⊗g)(e₁⊗e₁)ᵀ with g = (1 +
gamma, 1), a rank-one change of the matrix without noise. Its characteristic polynomial is, with
trace t = 1 + beta - h(1 + gamma) and determinant d = beta - h gamma of B,

    F(z, h) = (z - d)((z + d)² - t² z) - w N(z, h),
    N(z, h) = ((1+gamma)² z + gamma²)(z + d) - 2 (1+gamma) gamma t z.

It preserves the cone of second moments, so its spectral radius is the largest real root z(h), and
F(z, h) >= 0 for a z above the spectrum of B⊗B means that z >= z(h).

Two facts make the maximum of z(h) over an interval of h cheap and certain. First, N is affine in h
and w is at most quadratic, so F is a cubic in h, and its minimum on an interval has a closed form.
Second, the step h → argmin F(z(h), ·) never decreases z; when it no longer increases z, F(z, ·) has
no negative values, so z is the maximum over the whole interval and not only a local one.

The functions here are plain arithmetic on floats. Python runs them for a few problems, and
``compiled_growth`` compiles them for maps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import Any, TypeAlias

from ravine.arguments import FloatArray

Number: TypeAlias = Any
"""A float, or an array of them."""

ROUNDING = 8.0 * 2.0**-52
"""A discriminant below this share of its terms is critical damping up to rounding."""
_HUGE = 1e30
"""Larger steps h are scaled by themselves, so that no product overflows."""
_MOST_CLIMBS = 60
"""Maximum number of steps of h; convergence is quadratic, and four to six are typical."""
_MOST_STEPS = 200
"""Newton steps of one root; each reduces the error by at least a third, and most square it."""
_SETTLED = 4e-16
"""Relative change, about two units in the last place, that ends Newton's method."""
_NEARLY = 1e-10
"""Relative rise of z at which h has converged: the next rise is its square, below rounding."""


def least_on_interval(c0: float, c1: float, c2: float, c3: float, low: float, high: float) -> float:
    """The minimiser of the cubic c0 + c1 h + c2 h² + c3 h³ on [low, high]."""
    best = low
    value = c0 + low * (c1 + low * (c2 + low * c3))
    end = c0 + high * (c1 + high * (c2 + high * c3))
    if end < value:
        best = high
        value = end

    discriminant = c2 * c2 - 3.0 * c3 * c1
    if discriminant > 0.0:
        # The stationary point with a positive second derivative, without cancellation.
        root = sqrt(discriminant)
        inner = low
        if c2 > 0.0:
            inner = -c1 / (c2 + root)
        elif c3 != 0.0:
            inner = (root - c2) / (3.0 * c3)

        if low < inner < high and c0 + inner * (c1 + inner * (c2 + inner * c3)) < value:
            best = inner

    return best


def discriminant_form(beta: Number, gamma: Number) -> tuple[Number, Number, Number]:
    """Coefficients (a, b, c) of the quadratic form that gives discriminants without cancellation.

    With q = 1 - h and e = gamma - beta, a block has t = (1+beta) q - e h and d = beta q - e h, and
    t² - 4d is a q² - 2b q h + c h². Two blocks have 2(d₁ + d₂) - t₁ t₂ =
    b (q₁ h₂ + h₁ q₂) - a q₁ q₂ - c h₁ h₂.
    """
    lean = gamma - beta
    return (1.0 - beta) ** 2, 2.0 * beta - (1.0 - beta) * lean, lean * (4.0 + lean)


def block_numbers(
    h: Number, unit: Number, beta: Number, gamma: Number
) -> tuple[Number, Number, Number, Number]:
    """Trace t and determinant d of a block, t² - 4d, and the size of the terms of this difference.

    In units of S, with ``unit`` 1/S and ``h`` alpha λ/S: t/S, d/S² and (t² - 4d)/S². If gamma is
    beta, the zeros at h = 1 and at critical damping are exact. Accepts numbers and arrays.
    """
    square, mixed, last = discriminant_form(beta, gamma)
    q = unit - h
    lag = (gamma - beta) * h
    trace = (1.0 + beta) * q - lag
    determinant = (beta * q - lag) * unit
    gap = q * (square * q - (2.0 * mixed) * h) + last * (h * h)
    size = abs(q) * (square * (unit + h) + (2.0 * abs(mixed)) * h)
    # With two rounded parameters the zeros are less exact; there t² is 4d.
    size = size + (gamma != beta) * (2.0 * trace * trace)
    return trace, determinant, gap, size


def polynomial_in_step(
    z: float, unit: float, beta: float, gamma: float, w0: float, w1: float, w2: float
) -> tuple[float, float, float, float]:
    """Coefficients of F(z, ·) in h, for the variance w = w0 + w1 h + w2 h².

    In the units of ``block_numbers``, with h divided by S, and z and w by S², F is divided by S⁶.
    """
    ahead = 1.0 + gamma
    gamma = gamma * unit  # d is then beta/S² - h gamma
    one = unit * unit
    det = beta * one
    trace = (1.0 + beta) * unit
    # (z - d) = p0 + p1 h, and ((z + d)² - t² z) = q0 + q1 h + q2 h².
    p0 = z - det
    p1 = gamma
    q0 = (z - one) * (z - beta * det)
    q1 = 2.0 * (z * trace * ahead - (z + det) * gamma)
    q2 = gamma * gamma - z * ahead * ahead
    n0 = (ahead * ahead * z + gamma * gamma) * (z + det) - 2.0 * ahead * gamma * z * trace
    n1 = gamma * (ahead * ahead * z - gamma * gamma)

    return (
        p0 * q0 - w0 * n0,
        p0 * q1 + p1 * q0 - w1 * n0 - w0 * n1,
        p0 * q2 + p1 * q1 - w2 * n0 - w1 * n1,
        p1 * q2 - w2 * n1,
    )


def growth_of_direction(h: float, w: float, unit: float, beta: float, gamma: float) -> float:
    """The largest root z(h), to rounding, in the units of ``block_numbers``.

    With ρ² the largest eigenvalue of B⊗B and δ = z - ρ², F is the cubic δ³ + A δ² + C δ - w N with
    A, C >= 0, and δ is its only positive root, without cancellation for small δ.
    """
    trace, d, gap, size = block_numbers(h, unit, beta, gamma)
    if abs(gap) <= ROUNDING * size:
        gap = 0.0

    if gap >= 0.0:
        root = sqrt(gap)
        radius = 0.5 * (abs(trace) + root)
        square = radius * radius
        first = radius * root  # ρ² - d
        second = abs(trace) * root  # ρ² less the square of the other eigenvalue
        A = first + second
        C = first * second
    else:
        square = d
        A = -gap
        C = -gap * d

    square = float(square)
    if w <= 0.0:
        return square

    # N(ρ² + δ) = m0 + m1 δ + m2 δ²
    ahead = 1.0 + gamma
    gamma = gamma * unit
    m2 = ahead * ahead
    slope = m2 * d + gamma * gamma - 2.0 * ahead * gamma * trace
    m1 = 2.0 * m2 * square + slope
    m0 = (m2 * square + slope) * square + gamma * gamma * d
    c2 = A - w * m2
    c1 = C - w * m1
    c0 = w * max(m0, 0.0)

    # Newton's method descends from an upper bound to the root, because the cubic is convex there.
    delta = 2.0 * max(-c2, sqrt(max(-c1, 0.0)), c0 ** (1.0 / 3.0))
    if c1 > 0.0 and c2 >= 0.0:
        delta = min(delta, c0 / c1)

    for _ in range(_MOST_STEPS):
        below = c1 + delta * (2.0 * c2 + 3.0 * delta)
        if below <= 0.0:
            break
        step = (((delta + c2) * delta + c1) * delta - c0) / below
        delta = delta - step
        if step <= _SETTLED * (delta + square):
            break

    z: float = square + max(delta, 0.0)
    return z


def largest_growth(
    low: float,
    high: float,
    known: float,
    share: float,
    least: float,
    most: float,
    beta: float,
    gamma: float,
) -> float:
    """Root of the largest z(h) over h in [low, high], with w = known + share (h-least)(most-h)."""
    unit = 1.0
    if high > _HUGE:
        unit = 1.0 / high

    low = low * unit
    high = high * unit
    least = least * unit
    most = most * unit
    known = known * unit * unit
    w0 = known - share * least * most
    w1 = share * (least + most)

    z = 0.0
    for h in (low, high):
        w = known + share * (h - least) * (most - h)
        z = max(z, growth_of_direction(h, w, unit, beta, gamma))

    for _ in range(_MOST_CLIMBS):
        c0, c1, c2, c3 = polynomial_in_step(z, unit, beta, gamma, w0, w1, -share)
        h = least_on_interval(c0, c1, c2, c3, low, high)
        w = known + share * (h - least) * (most - h)
        higher = growth_of_direction(h, w, unit, beta, gamma)
        settled = higher <= z * (1.0 + _NEARLY)
        z = max(z, higher)
        if settled:
            break

    return sqrt(z) / unit


@cache
def compiled_growth() -> Callable[..., FloatArray]:
    """``largest_growth`` compiled for arrays; numba is imported here."""
    from numba.extending import register_jitable

    from ravine.compilation import cached_ufunc

    for function in (
        least_on_interval,
        discriminant_form,
        block_numbers,
        polynomial_in_step,
        growth_of_direction,
    ):
        register_jitable(function)

    growth: Callable[..., FloatArray] = cached_ufunc(largest_growth)
    return growth
