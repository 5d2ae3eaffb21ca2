"""Bounds for exact gradients, for additive gradient noise, and for finite sums.

First the paper's equations (4) to (6), its Theorems 1 and 2, and Corollary 1, for one objective:
``sigma`` squared bounds the total noise variance E ‖zeta_k‖², summed over the coordinates.

Then Theorem 4 and its exact replacement, for a finite sum of L-smooth, mu-strongly convex terms and
any sampling: ``sigma`` is the mean of ‖∇f_i(x*)‖ over the terms, zero if all terms have the same
minimiser. A draw may depend on the past if each term has the same marginal probability at every
step.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ravine.arguments import FloatArray, Refusal, overflow_allowed
from ravine.curvature import Curvature
from ravine.methods import Method, sgd
from ravine.methods import nesterov as standard_nesterov
from ravine.theory.bounds.bound import (
    EXACT_OBJECTIVE,
    ITERATE,
    ITERATE_SQUARED,
    OBJECTIVE,
    SCALAR,
    Bound,
    Kind,
    geometric,
    times,
)
from ravine.theory.error_quantity import ErrorQuantity
from ravine.theory.finite_sums.terms import one_method
from ravine.theory.ladder.rates import contraction as contraction_rate
from ravine.theory.ladder.rates import spectral_radius, stable
from ravine.theory.ladder.worst_case import certificate
from ravine.theory.noise.moments import paper_noise_coefficient
from ravine.theory.noise.powers import worst_powers

__all__ = [
    "accelerated",
    "accelerated_estimate",
    "additive_noise",
    "best_sgd_finite_sum",
    "contraction",
    "first_order",
    "gradient_descent",
    "nesterov",
    "sgd_additive_noise",
    "sgd_finite_sum",
    "worst_case",
]


def _geometric(
    bounds: str,
    statement: str,
    *,
    rate: float,
    first: float,
    gain: float | None,
    kind: Kind = "upper",
    holds: bool = True,
) -> Bound:
    """The bound first · rate^k of the start, and ``gain`` of the noise at every step."""
    return Bound(
        bounds=bounds,
        kind=kind,
        statement=statement,
        rate=float(rate),
        noise_gain=gain,
        transient=partial(geometric, first, rate),
        noise=partial(geometric, gain or 0.0, 1.0),
        holds=holds,
    )


@overflow_allowed
def gradient_descent(curvature: Curvature) -> Bound:
    """Equation (4): gradient descent with alpha = 2/(mu+L) and exact gradients.

    f(x_k) - f* <= L/2 ((Q-1)/(Q+1))^{2k} ‖x_0 - x*‖², for every L-smooth, mu-strongly convex f.
    Attained at k = 0, and at every k by ‖x_k - x*‖ on a quadratic. Scalar mu and L.

    Examples
    --------
    >>> gradient_descent(Curvature(1, 3)).envelope(steps=2).values.tolist()
    [1.5, 0.375, 0.09375]
    """
    mu, L = curvature.single(SCALAR)
    statement = "equation (4): gradient descent, alpha = 2/(mu+L), exact gradients"
    rate = ((L - mu) / (L + mu)) ** 2
    return _geometric(EXACT_OBJECTIVE, statement, rate=rate, first=0.5 * L, gain=None)


@overflow_allowed
def nesterov(curvature: Curvature) -> Bound:
    """Equation (5): Nesterov's method at its standard parameters with exact gradients.

    f(x_k) - f* <= L (1 - 1/√Q)^k ‖x_0 - x*‖², for every L-smooth, mu-strongly convex f. Scalar mu
    and L.

    Examples
    --------
    >>> nesterov(Curvature(1, 4)).envelope(steps=2).values.tolist()
    [4.0, 2.0, 1.0]
    """
    mu, L = curvature.single(SCALAR)
    statement = "equation (5): Nesterov's method at its standard parameters, exact gradients"
    rate = 1.0 - np.sqrt(mu / L)
    return _geometric(EXACT_OBJECTIVE, statement, rate=rate, first=L, gain=None)


@overflow_allowed
def first_order(curvature: Curvature) -> Bound:
    """Equation (6): a lower bound that no first-order method can beat on every problem.

    For some L-smooth, mu-strongly convex f in infinite dimension, every method whose iterates
    stay in the span of past gradients has
    f(x_k) - f* >= mu/2 ((√Q-1)/(√Q+1))^{2k} ‖x_0 - x*‖². Scalar mu and L.

    Examples
    --------
    >>> first_order(Curvature(2, 18)).envelope(steps=1).values.tolist()
    [1.0, 0.25]
    """
    mu, L = curvature.single(SCALAR)
    root = (np.sqrt(L) - np.sqrt(mu)) / (np.sqrt(L) + np.sqrt(mu))
    statement = "equation (6): the hardest problem for any first-order method"
    return _geometric(
        EXACT_OBJECTIVE, statement, rate=root**2, first=0.5 * mu, gain=None, kind="lower"
    )


@overflow_allowed
def additive_noise(
    curvature: Curvature, method: Method, *, quantity: ErrorQuantity | str = ErrorQuantity.DISTANCE
) -> Bound:
    """Theorem 1 with its exact constants: a bound for every quadratic with this curvature.

    With independent, zero-mean noise of total variance at most sigma², E ‖y_{k+1} - x*‖² <= max_λ
    ((B^k)_{11})² ‖x_0 - x*‖² + alpha² sigma² sum_{j<k} max_λ ((B^j g)_1)², g = (1+gamma, 1), each
    maximum over [mu, L]. Some quadratic with some noise attains it, where the direction of the
    noise may change from step to step. For identically distributed noise the floor can be reduced
    to sigma² times :func:`~ravine.theory.noise.moments.exact_noise_coefficient`. For the objective,
    every square has the weight lambda/2 and the bound is on E f(y_{k+1}) - f*.

    The maxima are of polynomials in lambda. They are bounded by samples at Chebyshev points, which
    overestimates the term j by 0.3 % at an eighth of the J scanned powers, 4 % at half of them and
    17 % at the last (twice as much for the objective). J is at most 256, or 2048 if some ‖B^256‖
    exceeds 1e-9; later powers are bounded by ‖B^{qJ+i}‖ <= ‖B^J‖^q ‖B^i‖, which is loose for slow
    methods, and infinite for methods that do not decay within 2048 steps (at standard parameters, Q
    beyond about 10⁵).

    Parameters
    ----------
    curvature, method
        Scalar parameters; any (alpha, beta, gamma).
    quantity
        ``"distance"`` to bound E ‖y_{k+1} - x*‖², ``"objective"`` for E f(y_{k+1}) - f*.

    Returns
    -------
    Bound
        The curve is also valid for an unstable method, whose floor is infinite.

    Examples
    --------
    >>> c = Curvature(1, 128)
    >>> bound = additive_noise(c, standard_nesterov(c))
    >>> bound.kind, round(bound.floor(sigma=128.0))
    ('upper', 385)
    """
    curvature.single(SCALAR)
    alpha = float(one_method(method).alpha)
    objective = ErrorQuantity.parse(quantity, "quantity") is ErrorQuantity.OBJECTIVE
    powers = worst_powers(curvature, method, objective=objective)
    settles = bool(stable(curvature, method))
    limit = powers.noise_limit()

    return Bound(
        bounds=OBJECTIVE if objective else ITERATE_SQUARED,
        kind="upper",
        statement="Theorem 1 with exact constants: additive noise, quadratic f",
        rate=float(spectral_radius(curvature, method)) ** 2,
        # The square of a tiny step may underflow to zero, and zero times infinity would be NaN.
        noise_gain=alpha**2 * limit if settles and np.isfinite(limit) else np.inf,
        transient=powers.start,
        noise=partial(times, alpha**2, powers.noise),
    )


@overflow_allowed
def accelerated_estimate(curvature: Curvature) -> Bound:
    """Corollary 1 as the paper states it, standard parameters: an estimate, not a bound.

    L/2 (ρ + ε_k)^{2k} ‖x_0 - x*‖² + C (5Q²+2Q^{3/2}+Q)/(2L (2√Q-1)(√Q+1)²) sigma² with
    ρ = 1 - 1/√Q, ε_k = k^{1/k} - 1 (the paper gives it up to a factor) and the paper's estimate
    C of C_ε. :func:`accelerated` is the corrected statement. Scalar mu and L.

    Examples
    --------
    >>> accelerated_estimate(Curvature(1, 4)).envelope(steps=1).values.tolist()
    [2.0, 0.5]
    """
    mu, L = curvature.single(SCALAR)
    method = standard_nesterov(curvature)
    coefficient = float(paper_noise_coefficient(curvature, method, c_epsilon=True))
    rho = 1.0 - np.sqrt(mu / L)
    gain = 0.5 * L * coefficient

    return Bound(
        bounds=OBJECTIVE,
        kind="estimate",
        statement="Corollary 1 as stated: standard parameters, additive noise, quadratic f",
        rate=float(rho**2),
        noise_gain=gain,
        transient=partial(_stated_transient, L, rho),
        noise=partial(geometric, gain, 1.0),
    )


def _stated_transient(L: float, rho: float, steps: int) -> FloatArray:
    """L/2 (ρ + ε_k)^{2k} for k = 0, ..., steps, with ε_k = k^{1/k} - 1."""
    k = np.arange(steps + 1)
    slack = np.maximum(k, 1) ** (1.0 / np.maximum(k, 1)) - 1.0
    return np.asarray(0.5 * L * (rho + slack) ** (2 * k))


@overflow_allowed
def accelerated(curvature: Curvature) -> Bound:
    """Corollary 1 corrected, standard parameters: a bound for every quadratic.

    E f(y_{k+1}) - f* <= L/2 (ρ + ε_k)^{2k} ‖x_0 - x*‖² + L/2 c_k sigma² with the exact
    ε_k = ‖A^k‖^{1/k} - ρ, that is (ρ + ε_k)^{2k} = ‖A^k‖² <= max_λ ‖B(λ)^k‖², and the exact
    noise term c_k of Theorem 1, which tends to about √Q³/(4L²) instead of the paper's
    5√Q/(2L²). :func:`additive_noise` of the objective is sharper. Scalar mu and L.

    Examples
    --------
    >>> bound = accelerated(Curvature(1, 100))
    >>> bound.kind, bound.bounds
    ('upper', 'E f(y_{k+1}) - f*')
    """
    _, L = curvature.single(SCALAR)
    method = standard_nesterov(curvature)
    powers = worst_powers(curvature, method, objective=False, scaled=False)
    scale = 0.5 * L * float(method.alpha) ** 2

    return Bound(
        bounds=OBJECTIVE,
        kind="upper",
        statement="Corollary 1 corrected: standard parameters, additive noise, quadratic f",
        rate=float(spectral_radius(curvature, method)) ** 2,
        noise_gain=scale * powers.noise_limit(),
        transient=partial(times, 0.5 * L, powers.norms),
        noise=partial(times, scale, powers.noise),
    )


@overflow_allowed
def sgd_additive_noise(curvature: Curvature) -> Bound:
    """Theorem 2: SGD with alpha = 2/(mu+L) under additive noise; f need not be quadratic.

    E f(y_{k+1}) - f* <= L/2 ((Q-1)/(Q+1))^{2k} ‖x_0 - x*‖² + Q/(2L) sigma². Scalar mu and L.

    Examples
    --------
    >>> sgd_additive_noise(Curvature(1, 3)).envelope(steps=1, sigma=1.0).values.tolist()
    [2.0, 0.875]
    """
    mu, L = curvature.single(SCALAR)
    rate = ((L - mu) / (L + mu)) ** 2
    statement = "Theorem 2: SGD, alpha = 2/(mu+L), additive noise"
    return _geometric(OBJECTIVE, statement, rate=rate, first=0.5 * L, gain=1.0 / (2.0 * mu))


def _distance(statement: str, *, rate: float, kick: float) -> Bound:
    """The bound rate^k · distance + kick/(1 - rate) · sigma; infinite if rate >= 1."""
    gain = kick / (1.0 - rate) if rate < 1.0 else np.inf
    return _geometric(ITERATE, statement, rate=rate, first=1.0, gain=gain, holds=rate < 1.0)


@overflow_allowed
def contraction(curvature: Curvature, method: Method) -> Bound:
    """Theorem 4: the contraction R = max ‖B(λ)‖ over [mu, L].

    E ‖y_{k+1} - x*‖ <= R^k ‖x_0 - x*‖ + alpha √((1+gamma)²+1) / (1-R) sigma, where R < 1. Scalar
    parameters; any (alpha, beta, gamma). Infinite where R >= 1, because the theorem does not apply
    there.

    Examples
    --------
    >>> bound = contraction(Curvature(1, 2), Method(0.4, 0.1))
    >>> round(bound.rate, 4), round(bound.floor(sigma=1.0), 3)
    (0.8148, 3.211)
    >>> contraction(Curvature(1, 9), Method(0.1, 0.5)).envelope(steps=1).values.tolist()
    [inf, inf]
    """
    curvature.single(SCALAR)
    alpha, _, gamma = one_method(method).single(SCALAR)
    return _distance(
        "Theorem 4: finite sum, any sampling, contraction R",
        rate=float(contraction_rate(curvature, method)),
        kick=alpha * float(np.hypot(1.0 + gamma, 1.0)),
    )


@overflow_allowed
def sgd_finite_sum(curvature: Curvature, method: Method) -> Bound:
    """First corollary of Theorem 4: SGD with any step alpha < 2/L on a finite sum.

    E ‖y_{k+1} - x*‖ <= ϱ^k ‖x_0 - x*‖ + alpha/(1-ϱ) sigma with ϱ = max(|1 - alpha mu|, |1 - alpha
    L|). Without momentum y_{k+1} = x_k. Tight: terms of curvature mu or L only attain the first
    term, and a sampling that always draws the same term attains the second in the limit. Scalar
    parameters, beta = gamma = 0; infinite where alpha >= 2/L or alpha = 0.

    Examples
    --------
    >>> bound = sgd_finite_sum(Curvature(1, 3), Method(0.5))
    >>> bound.envelope(steps=2, sigma=1.0).values.tolist()
    [2.0, 1.5, 1.25]
    """
    mu, L = curvature.single(SCALAR)
    alpha, beta, gamma = one_method(method).single(SCALAR)
    if beta != 0.0 or gamma != 0.0:
        shown = f"beta={beta:g}, gamma={gamma:g}"
        remedy = "use bounds.contraction or bounds.worst_case for methods with momentum"
        raise Refusal("method", "without momentum", shown, remedy)

    return _distance(
        "first corollary of Theorem 4: SGD, finite sum, any sampling",
        rate=max(abs(1.0 - alpha * mu), abs(1.0 - alpha * L)),
        kick=alpha,
    )


@overflow_allowed
def best_sgd_finite_sum(curvature: Curvature) -> Bound:
    """Second corollary of Theorem 4: SGD with alpha = 2/(mu+L) on a finite sum.

    E ‖y_{k+1} - x*‖ <= ((Q-1)/(Q+1))^k ‖x_0 - x*‖ + sigma/mu. No fixed linear method has a better
    worst-case rate over samplings. Tight, like :func:`sgd_finite_sum`. Scalar mu and L.

    Examples
    --------
    >>> best_sgd_finite_sum(Curvature(1, 3)).envelope(steps=2, sigma=1.0).values.tolist()
    [2.0, 1.5, 1.25]
    """
    mu, L = curvature.single(SCALAR)
    return _distance(
        "second corollary of Theorem 4: SGD, alpha = 2/(mu+L), finite sum, any sampling",
        rate=(L - mu) / (L + mu),
        kick=float(sgd(curvature).alpha),
    )


@overflow_allowed
def worst_case(curvature: Curvature, method: Method) -> Bound:
    """The bound from the exact worst-case rate, with a quadratic Lyapunov function that proves it.

    B(λ)ᵀ P B(λ) <= r² P at mu and at L extends to every Hessian with spectrum in [mu, L], so with
    σ_P = p11 - p12²/p22 and g = (1+gamma, 1) E ‖y_{k+1} - x*‖ <= √(p11/σ_P) r^k ‖x_0 - x*‖ + alpha
    √(gᵀPg) / (√σ_P (1-r)) sigma. The rate r is r*(1 + 1e-9) or slightly more, and P proves it in
    exact arithmetic; see :func:`ravine.certificate`. Infinite where r >= 1. Scalar parameters.

    Examples
    --------
    >>> bound = worst_case(Curvature(1, 3), Method(0.5))
    >>> bound.envelope(steps=2).values.round(6).tolist()
    [1.0, 0.5, 0.25]
    """
    proof = certificate(curvature, method)
    return _geometric(
        ITERATE,
        "quadratic Lyapunov function: finite sum, any sampling",
        rate=proof.rate,
        first=proof.transient_gain,
        gain=proof.noise_gain,
        holds=proof.rate < 1.0,
    )
