"""The exact worst-case rate over every finite sum and every sampling order."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import (
    FloatArray,
    Real,
    Refusal,
    broadcast,
    in_words,
    overflow_allowed,
    real,
)
from ravine.curvature import Curvature
from ravine.linear_method import LinearMethod
from ravine.methods import Method
from ravine.theory.chunks import by_chunks
from ravine.theory.ladder.rates import block_radius, check_shapes
from ravine.theory.ladder.transfer import circle_rate

Where: TypeAlias = npt.NDArray[np.bool_]


@overflow_allowed
def worst_case_rate(curvature: Curvature, method: Method | LinearMethod) -> Real:
    """Exact rate r* over all finite sums of L-smooth mu-strongly convex functions, in any order.

    The best quadratic Lyapunov function of the two extreme blocks B(mu), B(L) serves every
    Hessian between them, and quadratics in the plane whose axes turn by a fixed angle attain it:
    no other argument can improve it. With h = alpha mu, H = alpha L, s = h + H, D = H - h,
    k = 1 + beta - gamma + beta gamma, c = beta(1 + gamma) - gamma, and

    - M = s k - (1 - beta)² - (1 + gamma)² h H,
    - A = 4(s k - (1 - beta)²) - (1 + gamma)² s²,
    - w² = 2 M (2 beta - gamma s),

    the candidate is r² = (w² + 2 w D √c + (1 + gamma)(beta - gamma) D²)/A. It counts where all
    of it is real, r exceeds the spectral radius, and the turning angle exists; elsewhere r* is the
    spectral radius. For gamma = beta: c = beta², k = 1 + beta².

    A method of any memory, given by its transfer function as a ``LinearMethod``, has its rate from
    the circle theorem instead, for single values of mu and L.

    Returns
    -------
    Growth per step. Below 1: convergence on every such sum under every sampling. Above 1: some
    sum in two dimensions, in some order, diverges at exactly this rate.

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
    """Angle ω in radians by which the axes turn each step in the worst finite sum; 0 where none.

    Quadratics in R² with eigenvalues mu and L whose axes turn by ω grow at exactly
    :func:`worst_case_rate`. With traces t_i, determinants d_i and r = r*,
    cos ω = ((r + d₁/r) t₂ + (r + d₂/r) t₁)/(4(d₁ + d₂)).
    Where the rate is the spectral radius one fixed quadratic is the worst, and ω = 0.

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(1, 32)
    >>> round(float(np.degrees(turning_angle(c, nesterov(c)))), 6)
    45.0
    """
    return _solve(curvature, method)[1][()]


@overflow_allowed
def schedule_rate(
    curvature: Curvature, beta: npt.ArrayLike, steps: tuple[npt.ArrayLike, npt.ArrayLike]
) -> Real:
    """Worst rate of Nesterov's method with momentum beta under any schedule of the step.

    The block of a direction depends on alpha λ alone. With beta fixed, step sizes that change in
    any way within [a₁, a₂] are therefore constant steps of 1 on curvatures that change within
    [a₁ mu, a₂ L]: the rate is at most r* of these, and any order of the terms is included. Every
    schedule below the safe step and away from zero converges. This is for the update
    x⁺ = x + beta (x - x₋) - alpha g(y), not for libraries that put the step outside the momentum.

    Parameters
    ----------
    curvature
        Curvature of every term; arrays broadcast.
    beta
        Momentum, the same in every step.
    steps
        The smallest and the largest step size of the schedule, positive.

    Examples
    --------
    >>> from ravine import Curvature
    >>> round(float(schedule_rate(Curvature(1, 8), 0.3, (0.01, 0.1))), 6)
    0.985687
    """
    remedy = "give the smallest and the largest step size"
    first, last = steps
    shortest = real("steps", first, "positive", remedy=remedy)
    longest = real("steps", last, "positive", remedy=remedy)
    broadcast(mu=curvature.mu, shortest=shortest, longest=longest)
    if np.any(shortest > longest):
        raise Refusal("steps", "two step sizes, the smaller first", in_words(steps), "swap them")

    scaled = Curvature.derived(shortest * curvature.mu, longest * curvature.L)
    return worst_case_rate(scaled, Method(1.0, beta))


def _solve(curvature: Curvature, method: Method) -> tuple[FloatArray, ...]:
    shape = check_shapes(curvature, method)
    parameters = (curvature.mu, curvature.L, method.alpha, method.beta, method.gamma)
    return by_chunks(_rate_and_angle, shape, *parameters)


def _rate_and_angle(mu: Real, L: Real, alpha: Real, beta: Real, gamma: Real) -> tuple[Real, Real]:
    rest = (alpha, beta, gamma)
    radius = np.maximum(block_radius(mu, *rest), block_radius(L, *rest))
    with np.errstate(all="ignore"):
        same = np.asarray(gamma == beta)
        if same.all():
            r, cosine, real = _nesterov_candidate(alpha * mu, alpha * L, beta)
        else:
            r, cosine, real = _candidate(alpha * mu, alpha * L, beta, gamma)

        if same.any() and not same.all():
            nesterov = _nesterov_candidate(alpha * mu, alpha * L, beta)
            r = np.where(same, nesterov[0], r)
            cosine = np.where(same, nesterov[1], cosine)
            real = np.where(same, nesterov[2], real)

        counts = real & np.isfinite(r) & (r > radius) & (np.abs(cosine) < 1.0)

    rate = np.where(counts, r, radius)
    return rate, np.where(counts, np.arccos(np.where(counts, cosine, 1.0)), 0.0)


def _nesterov_candidate(low: Real, high: Real, beta: Real) -> tuple[Real, Real, Where]:
    """The candidate r, the cosine of its angle and whether it is real, for gamma = beta.

    In q = 1 - h, with S = q₁ + q₂, P = q₁q₂ and c = (1+beta)²: w² = 2 beta S (2 beta S - c P),
    r² = w (w + 2|beta| |q₁-q₂|)/(|S|(8|beta| - c|S|)) and
    cos ω = (1+beta)(S r² + 2 beta P)/(4 beta S r). Near h = 1 the q are small and exact, while
    the terms of the general form cancel.
    """
    q1 = 1.0 - low
    q2 = 1.0 - high
    total = q1 + q2
    product = q1 * q2
    square = (1.0 + beta) ** 2
    drive = 2.0 * beta * total
    mixed = drive - square * product
    w = np.sqrt(np.maximum(drive * mixed, 0.0))
    size = np.abs(beta)
    numerator = w * (w + 2.0 * size * (high - low))
    r = np.sqrt(numerator / (np.abs(total) * (8.0 * size - square * np.abs(total))))
    cosine = (1.0 + beta) * (total * r**2 + 2.0 * beta * product) / (2.0 * drive * r)
    return r, cosine, np.asarray((mixed > 0.0) & (drive > 0.0))


def _candidate(low: Real, high: Real, beta: Real, gamma: Real) -> tuple[Real, Real, Where]:
    """The candidate r, the cosine of its angle and whether it is real, for the whole family."""
    total = low + high
    width = high - low
    damping = (1.0 - beta) ** 2
    drive = total * (1.0 + beta - gamma + beta * gamma) - damping
    mixed = drive - (1.0 + gamma) ** 2 * low * high
    denominator = 4.0 * drive - (1.0 + gamma) ** 2 * total**2
    determinants = 2.0 * beta - gamma * total
    coupling = beta * (1.0 + gamma) - gamma
    real = np.asarray((mixed > 0.0) & (determinants > 0.0) & (coupling >= 0.0))
    w = np.sqrt(np.where(real, 2.0 * determinants * mixed, 0.0))
    numerator = w * (w + 2.0 * width * np.sqrt(np.maximum(coupling, 0.0)))
    numerator = numerator + (1.0 + gamma) * (beta - gamma) * width**2
    r = np.sqrt(numerator / denominator)
    t1 = 1.0 + beta - low * (1.0 + gamma)
    t2 = 1.0 + beta - high * (1.0 + gamma)
    d1 = beta - low * gamma
    d2 = beta - high * gamma
    cosine = ((r + d1 / r) * t2 + (r + d2 / r) * t1) / (4.0 * determinants)
    return r, cosine, real
