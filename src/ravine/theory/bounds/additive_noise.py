"""Error envelopes for exact gradients and for gradients with additive noise.

For finite sums see ``finite_sum_bounds``. Throughout, ``distance`` is ‖x_0 - x*‖ and ``sigma2``
bounds the total noise variance E ‖zeta_k‖², summed over the coordinates.
"""

from __future__ import annotations

import numpy as np

from ravine.arguments import one_number
from ravine.curvature import Curvature
from ravine.methods import Method, nesterov
from ravine.theory.bounds.envelope import (
    ITERATE_SQUARED,
    OBJECTIVE,
    Envelope,
    check_distance,
    check_sigma,
    count_steps,
    geometric,
    one_curvature,
    times,
)
from ravine.theory.finite_sums.terms import one_method
from ravine.theory.ladder.rates import contraction, spectral_radius, stable
from ravine.theory.noise.moments import paper_noise_coefficient
from ravine.theory.noise.worst_direction import WorstPowers, worst_powers


def gradient_descent_bound(curvature: Curvature, *, steps: int, distance: float = 1.0) -> Envelope:
    """Equation (4): gradient descent with alpha = 2/(mu+L) and exact gradients.

    f(x_k) - f* <= L/2 ((Q-1)/(Q+1))^{2k} ‖x_0 - x*‖², for every L-smooth, mu-strongly convex f.
    Attained at k = 0, and at every k by ‖x_k - x*‖ on a quadratic.

    Parameters
    ----------
    curvature
        Scalar mu and L.
    steps
        Number of gradients; the envelope has k = 0, ..., steps.
    distance
        ‖x_0 - x*‖, zero or more.

    Examples
    --------
    >>> gradient_descent_bound(Curvature(1, 3), steps=2).values.tolist()
    [1.5, 0.375, 0.09375]
    """
    mu, L = one_curvature(curvature)
    return geometric(
        count_steps(steps),
        first=0.5 * L * check_distance(distance) ** 2,
        rate=((L - mu) / (L + mu)) ** 2,
        floor=0.0,
        bounds="f(x_k) - f*",
        statement="equation (4): gradient descent, alpha = 2/(mu+L), exact gradients",
    )


def nesterov_bound(curvature: Curvature, *, steps: int, distance: float = 1.0) -> Envelope:
    """Equation (5): Nesterov's method at its usual parameters with exact gradients.

    f(x_k) - f* <= L (1 - 1/√Q)^k ‖x_0 - x*‖², for every L-smooth, mu-strongly convex f.

    Parameters
    ----------
    curvature
        Scalar mu and L.
    steps
        Number of gradients; the envelope has k = 0, ..., steps.
    distance
        ‖x_0 - x*‖, zero or more.

    Examples
    --------
    >>> nesterov_bound(Curvature(1, 4), steps=2).values.tolist()
    [4.0, 2.0, 1.0]
    """
    mu, L = one_curvature(curvature)
    return geometric(
        count_steps(steps),
        first=L * check_distance(distance) ** 2,
        rate=1.0 - np.sqrt(mu / L),
        floor=0.0,
        bounds="f(x_k) - f*",
        statement="equation (5): Nesterov's method at its usual parameters, exact gradients",
    )


def lower_bound(curvature: Curvature, *, steps: int, distance: float = 1.0) -> Envelope:
    """Equation (6): what no first-order method can beat on every problem.

    For some L-smooth, mu-strongly convex f in infinite dimension, every method whose iterates
    stay in the span of past gradients has
    f(x_k) - f* >= mu/2 ((√Q-1)/(√Q+1))^{2k} ‖x_0 - x*‖².

    Parameters
    ----------
    curvature
        Scalar mu and L.
    steps
        Number of gradients; the envelope has k = 0, ..., steps.
    distance
        ‖x_0 - x*‖, zero or more.

    Examples
    --------
    >>> lower_bound(Curvature(2, 18), steps=1).values.tolist()
    [1.0, 0.25]
    """
    mu, L = one_curvature(curvature)
    return geometric(
        count_steps(steps),
        first=0.5 * mu * check_distance(distance) ** 2,
        rate=((np.sqrt(L) - np.sqrt(mu)) / (np.sqrt(L) + np.sqrt(mu))) ** 2,
        floor=0.0,
        bounds="f(x_k) - f*",
        kind="lower",
        statement="equation (6): the hardest problem for any first-order method",
    )


def additive_noise_estimate(
    curvature: Curvature,
    method: Method,
    *,
    steps: int,
    distance: float = 1.0,
    sigma2: float = 1.0,
    epsilon: float = 0.0,
) -> Envelope:
    """Theorem 1 with the constant that the paper puts for C_ε: an estimate, not a bound.

    C ((ρ+ε)^{2k} ‖x_0 - x*‖² + alpha² ((1+gamma)²+1)/(1-ρ²) sigma2) with
    C = 1 + (1-ρ²)(‖A‖²-ρ²). The C that makes the theorem true is larger: at usual
    parameters the floor is too low by a factor of 2.9 at Q = 32 and of 185 at Q = 2000, and the
    transient misses the growth ‖A^k‖ ~ √Q/e. Use :func:`additive_noise_bound` for a bound.

    Parameters
    ----------
    curvature, method
        Scalar parameters; any (alpha, beta, gamma).
    steps
        Number of gradients; the envelope has k = 0, ..., steps.
    distance
        ‖x_0 - x*‖, zero or more.
    sigma2
        Total variance of the gradient noise, zero or more.
    epsilon
        The ε of the theorem, zero or more.

    Returns
    -------
    Envelope
        Of kind ``estimate``; infinite when the method is not stable.

    Examples
    --------
    >>> c = Curvature(1, 128)
    >>> e = additive_noise_estimate(c, nesterov(c), steps=100, sigma2=128.0**2)
    >>> e.kind, round(e.floor)
    ('estimate', 35)
    """
    one_curvature(curvature), one_method(method)
    slack = one_number("epsilon", epsilon, "nonnegative", remedy="give ε >= 0, e.g. 0.001")
    rho = float(spectral_radius(curvature, method))
    constant = 1.0 + (1.0 - rho**2) * (float(contraction(curvature, method)) ** 2 - rho**2)
    coefficient = float(paper_noise_coefficient(curvature, method, c_epsilon=True))
    noise = check_sigma("sigma2", sigma2)
    return geometric(
        count_steps(steps),
        first=constant * check_distance(distance) ** 2,
        rate=(rho + slack) ** 2,
        floor=coefficient * noise if np.isfinite(coefficient) else np.inf,
        bounds=ITERATE_SQUARED,
        kind="estimate",
        statement="Theorem 1 with the paper's estimate of C_ε: additive noise, quadratic f",
    )


def additive_noise_bound(
    curvature: Curvature,
    method: Method,
    *,
    steps: int,
    distance: float = 1.0,
    sigma2: float = 1.0,
    objective: bool = False,
) -> Envelope:
    """Theorem 1 with its exact constants: a bound for every quadratic with this curvature.

    With independent, zero-mean noise of total variance at most sigma2,
    E ‖y_{k+1} - x*‖² <= max_λ ((B^k)_{11})² ‖x_0 - x*‖²
    + alpha² sigma2 sum_{j<k} max_λ ((B^j g)_1)², g = (1+gamma, 1), each maximum over [mu, L].
    Some quadratic and noise attain it; the noise may change its direction from step to step,
    while for identically distributed noise the floor can be lowered to
    sigma2 times :func:`~ravine.theory.noise.moments.exact_noise_coefficient`. With ``objective``
    every square carries the weight lambda/2 and the bound is on E f(y_{k+1}) - f*.

    The maxima are of polynomials in lambda; they are bounded through samples at Chebyshev points,
    which overstates the term j by 0.3 % at an eighth of the J powers scanned, 4 % at half of
    them and 17 % for the last (twice as much with ``objective``). J is at most 256, or
    2048 if some ‖B^256‖ exceeds 1e-9; later powers are bounded by
    ‖B^{qJ+i}‖ <= ‖B^J‖^q ‖B^i‖, which is loose for slow methods, and infinite for those that show
    no decay within 2048 steps (at usual parameters, Q beyond about 10⁵).

    Parameters
    ----------
    curvature, method
        Scalar parameters; any (alpha, beta, gamma).
    steps
        Number of gradients; the envelope has k = 0, ..., steps.
    distance
        ‖x_0 - x*‖, zero or more.
    sigma2
        Total variance of the gradient noise, zero or more.
    objective
        Bound E f(y_{k+1}) - f* instead of E ‖y_{k+1} - x*‖².

    Returns
    -------
    Envelope
        The curve stays valid for an unstable method, whose ``floor`` is infinite.

    Examples
    --------
    >>> c = Curvature(1, 128)
    >>> e = additive_noise_bound(c, nesterov(c), steps=100, sigma2=128.0**2)
    >>> e.kind, round(e.floor)
    ('upper', 385)
    """
    one_curvature(curvature)
    alpha, _, _ = one_method(method)
    noise = check_sigma("sigma2", sigma2)
    count, start = count_steps(steps), check_distance(distance)
    powers = worst_powers(curvature, method, objective=objective)
    power = alpha**2 * noise
    with np.errstate(over="ignore", under="ignore"):
        values = times(start**2, powers.start(count)) + times(power, powers.noise(count))
    return Envelope(
        steps=np.arange(count + 1),
        values=values,
        bounds=OBJECTIVE if objective else ITERATE_SQUARED,
        kind="upper",
        statement="Theorem 1 with exact constants: additive noise, quadratic f",
        rate=float(spectral_radius(curvature, method)) ** 2,
        floor=_floor(power, powers) if stable(curvature, method) else np.inf,
    )


def _floor(power: float, powers: WorstPowers) -> float:
    return power * powers.noise_limit() if power else 0.0


def accelerated_estimate(
    curvature: Curvature, *, steps: int, distance: float = 1.0, sigma2: float = 1.0
) -> Envelope:
    """Corollary 1 as the paper states it, usual parameters: an estimate, not a bound.

    L/2 (ρ + ε_k)^{2k} ‖x_0 - x*‖² + C (5Q²+2Q^{3/2}+Q)/(2L (2√Q-1)(√Q+1)²) sigma2 with
    ρ = 1 - 1/√Q, ε_k = k^{1/k} - 1 (the paper gives it up to a factor) and the paper's estimate
    C of C_ε. :func:`accelerated_bound` is the corrected statement.

    Parameters
    ----------
    curvature
        Scalar mu and L.
    steps
        Number of gradients; the envelope has k = 0, ..., steps.
    distance
        ‖x_0 - x*‖, zero or more.
    sigma2
        Total variance of the gradient noise, zero or more.

    Examples
    --------
    >>> accelerated_estimate(Curvature(1, 4), steps=1, sigma2=0.0).values.tolist()
    [2.0, 0.5]
    """
    mu, L = one_curvature(curvature)
    method = nesterov(curvature)
    coefficient = float(paper_noise_coefficient(curvature, method, c_epsilon=True))
    k = np.arange(count_steps(steps) + 1)
    rho = 1.0 - np.sqrt(mu / L)
    slack = np.maximum(k, 1) ** (1.0 / np.maximum(k, 1)) - 1.0
    floor = 0.5 * L * coefficient * check_sigma("sigma2", sigma2)
    values = 0.5 * L * check_distance(distance) ** 2 * (rho + slack) ** (2 * k) + floor
    return Envelope(
        steps=k,
        values=values,
        bounds=OBJECTIVE,
        kind="estimate",
        statement="Corollary 1 as stated: usual parameters, additive noise, quadratic f",
        rate=rho**2,
        floor=floor,
    )


def accelerated_bound(
    curvature: Curvature, *, steps: int, distance: float = 1.0, sigma2: float = 1.0
) -> Envelope:
    """Corollary 1 corrected, usual parameters: a bound for every quadratic.

    E f(y_{k+1}) - f* <= L/2 (ρ + ε_k)^{2k} ‖x_0 - x*‖² + L/2 c_k sigma2 with the exact
    ε_k = ‖A^k‖^{1/k} - ρ, that is (ρ + ε_k)^{2k} = ‖A^k‖² <= max_λ ‖B(λ)^k‖², and the exact
    noise term c_k of Theorem 1, which tends to about √Q³/(4L²) instead of the paper's
    5√Q/(2L²). :func:`additive_noise_bound` with ``objective=True`` is sharper.

    Parameters
    ----------
    curvature
        Scalar mu and L.
    steps
        Number of gradients; the envelope has k = 0, ..., steps.
    distance
        ‖x_0 - x*‖, zero or more.
    sigma2
        Total variance of the gradient noise, zero or more.

    Examples
    --------
    >>> e = accelerated_bound(Curvature(1, 100), steps=50)
    >>> e.kind, e.bounds
    ('upper', 'E f(y_{k+1}) - f*')
    """
    _, L = one_curvature(curvature)
    method = nesterov(curvature)
    noise = float(method.alpha) ** 2 * check_sigma("sigma2", sigma2)
    count = count_steps(steps)
    powers = worst_powers(curvature, method, objective=False, scaled=False)
    start = times(check_distance(distance) ** 2, powers.norms(count))
    return Envelope(
        steps=np.arange(count + 1),
        values=0.5 * L * (start + times(noise, powers.noise(count))),
        bounds=OBJECTIVE,
        kind="upper",
        statement="Corollary 1 corrected: usual parameters, additive noise, quadratic f",
        rate=float(spectral_radius(curvature, method)) ** 2,
        floor=0.5 * L * _floor(noise, powers),
    )


def sgd_noise_bound(
    curvature: Curvature, *, steps: int, distance: float = 1.0, sigma2: float = 1.0
) -> Envelope:
    """Theorem 2: SGD with alpha = 2/(mu+L) under additive noise; f need not be quadratic.

    E f(y_{k+1}) - f* <= L/2 ((Q-1)/(Q+1))^{2k} ‖x_0 - x*‖² + Q/(2L) sigma2.

    Parameters
    ----------
    curvature
        Scalar mu and L.
    steps
        Number of gradients; the envelope has k = 0, ..., steps.
    distance
        ‖x_0 - x*‖, zero or more.
    sigma2
        Total variance of the gradient noise, zero or more.

    Examples
    --------
    >>> sgd_noise_bound(Curvature(1, 3), steps=1).values.tolist()
    [2.0, 0.875]
    """
    mu, L = one_curvature(curvature)
    return geometric(
        count_steps(steps),
        first=0.5 * L * check_distance(distance) ** 2,
        rate=((L - mu) / (L + mu)) ** 2,
        floor=check_sigma("sigma2", sigma2) / (2.0 * mu),
        bounds=OBJECTIVE,
        statement="Theorem 2: SGD, alpha = 2/(mu+L), additive noise",
    )
