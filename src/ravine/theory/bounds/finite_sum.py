"""Bounds for a finite sum of L-smooth, mu-strongly convex terms, sampled in any way.

``sigma`` is the mean of ‖∇f_i(x*)‖ over the terms, zero when every term has the same minimiser. A
draw may depend on the past, as long as each term has the same marginal probability at every step.
"""

from __future__ import annotations

import numpy as np

from ravine.arguments import Refusal, overflow_allowed
from ravine.curvature import Curvature
from ravine.methods import Method, sgd
from ravine.theory.bounds.bound import ITERATE, SCALAR, Bound, constant, geometric
from ravine.theory.finite_sums.terms import one_method
from ravine.theory.ladder.certificate import certificate, norm_gains
from ravine.theory.ladder.rates import contraction as contraction_rate

__all__ = ["best_sgd_finite_sum", "contraction", "sgd_finite_sum", "worst_case"]


def _distance(statement: str, *, rate: float, first: float, kick: float) -> Bound:
    """The bound first · rate^k · distance + kick/(1 - rate) · sigma, silent where rate >= 1."""
    gain = kick / (1.0 - rate) if rate < 1.0 else np.inf
    return Bound(
        bounds=ITERATE,
        kind="upper",
        statement=statement,
        rate=rate,
        noise_gain=gain,
        transient=geometric(first, rate),
        noise=constant(gain),
        holds=rate < 1.0,
    )


@overflow_allowed
def contraction(curvature: Curvature, method: Method) -> Bound:
    """Theorem 4: the contraction R = max ‖B(λ)‖ over [mu, L].

    E ‖y_{k+1} - x*‖ <= R^k ‖x_0 - x*‖ + alpha √((1+gamma)²+1) / (1-R) sigma, where R < 1. Scalar
    parameters; any (alpha, beta, gamma). Infinite where R >= 1: the theorem then says nothing.

    Examples
    --------
    >>> bound = contraction(Curvature(1, 2), Method(0.4, 0.1))
    >>> round(bound.rate, 4), round(bound.floor(sigma=1.0), 3)
    (0.8148, 3.211)
    >>> contraction(Curvature(1, 9), Method(0.1, 0.5)).envelope(steps=1).values.tolist()
    [inf, inf]
    """
    curvature.single(SCALAR)
    alpha, _, gamma = one_method(method)
    return _distance(
        "Theorem 4: finite sum, any sampling, contraction R",
        rate=float(contraction_rate(curvature, method)),
        first=1.0,
        kick=alpha * float(np.hypot(1.0 + gamma, 1.0)),
    )


@overflow_allowed
def sgd_finite_sum(curvature: Curvature, method: Method) -> Bound:
    """First corollary of Theorem 4: SGD with any step alpha < 2/L on a finite sum.

    E ‖y_{k+1} - x*‖ <= ϱ^k ‖x_0 - x*‖ + alpha/(1-ϱ) sigma with
    ϱ = max(|1 - alpha mu|, |1 - alpha L|). Without momentum y_{k+1} = x_k. Tight: terms of
    curvature mu or L alone attain the first term, and a sampling that keeps to one term attains
    the second in the limit. Scalar parameters, beta = gamma = 0; infinite where alpha >= 2/L or
    alpha = 0.

    Examples
    --------
    >>> bound = sgd_finite_sum(Curvature(1, 3), Method(0.5))
    >>> bound.envelope(steps=2, sigma=1.0).values.tolist()
    [2.0, 1.5, 1.25]
    """
    mu, L = curvature.single(SCALAR)
    alpha, beta, gamma = one_method(method)
    if beta != 0.0 or gamma != 0.0:
        shown = f"beta={beta:g}, gamma={gamma:g}"
        remedy = "use bounds.contraction or bounds.worst_case for methods with momentum"
        raise Refusal("method", "without momentum", shown, remedy)

    return _distance(
        "first corollary of Theorem 4: SGD, finite sum, any sampling",
        rate=max(abs(1.0 - alpha * mu), abs(1.0 - alpha * L)),
        first=1.0,
        kick=alpha,
    )


@overflow_allowed
def best_sgd_finite_sum(curvature: Curvature) -> Bound:
    """Second corollary of Theorem 4: SGD with alpha = 2/(mu+L) on a finite sum.

    E ‖y_{k+1} - x*‖ <= ((Q-1)/(Q+1))^k ‖x_0 - x*‖ + sigma/mu. No fixed linear method has a better
    rate in the worst case over samplings. Tight, as :func:`sgd_finite_sum`. Scalar mu and L.

    Examples
    --------
    >>> best_sgd_finite_sum(Curvature(1, 3)).envelope(steps=2, sigma=1.0).values.tolist()
    [2.0, 1.5, 1.25]
    """
    mu, L = curvature.single(SCALAR)
    return _distance(
        "second corollary of Theorem 4: SGD, alpha = 2/(mu+L), finite sum, any sampling",
        rate=(L - mu) / (L + mu),
        first=1.0,
        kick=float(sgd(curvature).alpha),
    )


@overflow_allowed
def worst_case(curvature: Curvature, method: Method) -> Bound:
    """From the exact worst-case rate, with a quadratic Lyapunov function that proves it.

    B(λ)ᵀ P B(λ) <= r² P at mu and at L extends to every Hessian with spectrum in [mu, L], so with
    σ_P = p11 - p12²/p22 and g = (1+gamma, 1)
    E ‖y_{k+1} - x*‖ <= √(p11/σ_P) r^k ‖x_0 - x*‖ + alpha √(gᵀPg) / (√σ_P (1-r)) sigma.
    The rate r is r*(1 + 1e-9) or barely more, and P proves it in exact arithmetic; see
    :func:`ravine.certificate`. Infinite where r >= 1. Scalar parameters.

    Examples
    --------
    >>> bound = worst_case(Curvature(1, 3), Method(0.5))
    >>> bound.envelope(steps=2).values.round(6).tolist()
    [1.0, 0.5, 0.25]
    """
    proof = certificate(curvature, method)
    alpha, _, gamma = one_method(proof.method)
    transient_gain, noise_gain = norm_gains(proof.P, gamma)
    return _distance(
        "quadratic Lyapunov function: finite sum, any sampling",
        rate=proof.rate,
        first=transient_gain,
        kick=alpha * noise_gain,
    )
