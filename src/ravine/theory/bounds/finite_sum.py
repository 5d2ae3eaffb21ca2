"""Error envelopes for a finite sum of L-smooth, mu-strongly convex terms, sampled in any way.

Throughout, ``distance`` is ‖x_0 - x*‖ and ``sigma`` is the mean of ‖∇f_i(x*)‖ over the terms,
zero when every term has the same minimiser. A draw may depend on the past, as long as each term
has the same marginal probability at every step.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, one_number, real
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.bounds.envelope import (
    ITERATE,
    Envelope,
    check_distance,
    check_sigma,
    count_steps,
    geometric,
    one_curvature,
)
from ravine.theory.finite_sums.terms import one_method
from ravine.theory.ladder.rates import contraction


class LyapunovCertificate(Protocol):
    """A rate and the quadratic form that proves it."""

    @property
    def rate(self) -> Any:
        """Factor r per step."""

    @property
    def P(self) -> Any:
        """Positive definite 2x2 matrix with B(λ)ᵀ P B(λ) <= r² P at mu and at L."""


def contraction_bound(
    curvature: Curvature,
    method: Method,
    *,
    steps: int,
    distance: float = 1.0,
    sigma: float = 0.0,
) -> Envelope:
    """Theorem 4: the contraction R = max ‖B(λ)‖ over [mu, L].

    E ‖y_{k+1} - x*‖ <= R^k ‖x_0 - x*‖ + alpha √((1+gamma)²+1) / (1-R) sigma, where R < 1.

    Parameters
    ----------
    curvature, method
        Scalar parameters; any (alpha, beta, gamma).
    steps
        Number of gradients; the envelope has k = 0, ..., steps.
    distance
        ‖x_0 - x*‖, zero or more.
    sigma
        Mean of ‖∇f_i(x*)‖ over the terms, zero or more.

    Returns
    -------
    Envelope
        Infinite where R >= 1: the theorem then says nothing.

    Examples
    --------
    >>> e = contraction_bound(Curvature(1, 2), Method(0.4, 0.1), steps=10, sigma=1.0)
    >>> round(e.rate, 4), round(e.floor, 3)
    (0.8148, 3.211)
    >>> contraction_bound(Curvature(1, 9), Method(0.1, 0.5), steps=1).values.tolist()
    [inf, inf]
    """
    one_curvature(curvature)
    alpha, _, gamma = one_method(method)
    R = float(contraction(curvature, method))
    noise = alpha * np.hypot(1.0 + gamma, 1.0) * check_sigma("sigma", sigma)
    return geometric(
        count_steps(steps),
        first=check_distance(distance),
        rate=R,
        floor=noise / (1.0 - R) if R < 1.0 else np.inf,
        bounds=ITERATE,
        statement="Theorem 4: finite sum, any sampling, contraction R",
    )


def sgd_finite_sum_bound(
    curvature: Curvature,
    method: Method,
    *,
    steps: int,
    distance: float = 1.0,
    sigma: float = 0.0,
) -> Envelope:
    """First corollary of Theorem 4: SGD with any step alpha < 2/L on a finite sum.

    E ‖y_{k+1} - x*‖ <= ϱ^k ‖x_0 - x*‖ + alpha/(1-ϱ) sigma with
    ϱ = max(|1 - alpha mu|, |1 - alpha L|). Without momentum y_{k+1} = x_k. Tight: terms of
    curvature mu or L alone attain the first term, and a sampling that keeps to one term attains
    the second in the limit.

    Parameters
    ----------
    curvature
        Scalar mu and L.
    method
        A scalar step, beta = gamma = 0.
    steps
        Number of gradients; the envelope has k = 0, ..., steps.
    distance
        ‖x_0 - x*‖, zero or more.
    sigma
        Mean of ‖∇f_i(x*)‖ over the terms, zero or more.

    Returns
    -------
    Envelope
        Infinite where alpha >= 2/L or alpha = 0.

    Examples
    --------
    >>> sgd_finite_sum_bound(Curvature(1, 3), Method(0.5), steps=2, sigma=1.0).values.tolist()
    [2.0, 1.5, 1.25]
    """
    mu, L = one_curvature(curvature)
    alpha, beta, gamma = one_method(method)
    if beta != 0.0 or gamma != 0.0:
        shown = f"beta={beta:g}, gamma={gamma:g}"
        remedy = "use contraction_bound or worst_case_bound for methods with momentum"
        raise Refusal("method", "without momentum", shown, remedy)
    rate = max(abs(1.0 - alpha * mu), abs(1.0 - alpha * L))
    noise = alpha * check_sigma("sigma", sigma)
    return geometric(
        count_steps(steps),
        first=check_distance(distance),
        rate=rate,
        floor=noise / (1.0 - rate) if rate < 1.0 else np.inf,
        bounds=ITERATE,
        statement="first corollary of Theorem 4: SGD, finite sum, any sampling",
    )


def best_sgd_finite_sum_bound(
    curvature: Curvature, *, steps: int, distance: float = 1.0, sigma: float = 0.0
) -> Envelope:
    """Second corollary of Theorem 4: SGD with alpha = 2/(mu+L) on a finite sum.

    E ‖y_{k+1} - x*‖ <= ((Q-1)/(Q+1))^k ‖x_0 - x*‖ + sigma/mu. No fixed linear method has a better
    rate in the worst case over samplings. Tight, as :func:`sgd_finite_sum_bound`.

    Parameters
    ----------
    curvature
        Scalar mu and L.
    steps
        Number of gradients; the envelope has k = 0, ..., steps.
    distance
        ‖x_0 - x*‖, zero or more.
    sigma
        Mean of ‖∇f_i(x*)‖ over the terms, zero or more.

    Examples
    --------
    >>> best_sgd_finite_sum_bound(Curvature(1, 3), steps=2, sigma=1.0).values.tolist()
    [2.0, 1.5, 1.25]
    """
    mu, L = one_curvature(curvature)
    return geometric(
        count_steps(steps),
        first=check_distance(distance),
        rate=(L - mu) / (L + mu),
        floor=check_sigma("sigma", sigma) / mu,
        bounds=ITERATE,
        statement="second corollary of Theorem 4: SGD, alpha = 2/(mu+L), finite sum, any sampling",
    )


def lyapunov_bound(
    method: Method,
    rate: float,
    P: npt.ArrayLike,
    *,
    steps: int,
    distance: float = 1.0,
    sigma: float = 0.0,
) -> Envelope:
    """Envelope from a quadratic Lyapunov function: B(λ)ᵀ P B(λ) <= r² P at mu and at L.

    That pair of inequalities extends to every Hessian with spectrum in [mu, L], so with
    σ_P = p11 - p12²/p22 and g = (1+gamma, 1)
    E ‖y_{k+1} - x*‖ <= √(p11/σ_P) r^k ‖x_0 - x*‖ + alpha √(gᵀPg) / (√σ_P (1-r)) sigma.
    The inequalities are taken on trust here.

    Parameters
    ----------
    method
        Scalar parameters.
    rate
        r, zero or more.
    P
        Symmetric positive definite, shape ``(2, 2)``; its scale does not matter.
    steps
        Number of gradients; the envelope has k = 0, ..., steps.
    distance
        ‖x_0 - x*‖, zero or more.
    sigma
        Mean of ‖∇f_i(x*)‖ over the terms, zero or more.

    Returns
    -------
    Envelope
        Infinite where r >= 1.

    Examples
    --------
    >>> e = lyapunov_bound(Method(0.5), 0.5, [[1.0, 0.0], [0.0, 1e-9]], steps=2, sigma=1.0)
    >>> e.values.round(6).tolist()
    [2.0, 1.5, 1.25]
    """
    alpha, _, gamma = one_method(method)
    r = one_number("rate", rate, "nonnegative", remedy="give the certified rate, e.g. 0.97")
    form = _positive_definite(P)
    schur = form[0, 0] - form[0, 1] ** 2 / form[1, 1]
    g = np.array([1.0 + gamma, 1.0])
    noise = alpha * np.sqrt(g @ form @ g / schur) * check_sigma("sigma", sigma)
    return geometric(
        count_steps(steps),
        first=float(np.sqrt(form[0, 0] / schur)) * check_distance(distance),
        rate=r,
        floor=float(noise) / (1.0 - r) if r < 1.0 else np.inf,
        bounds=ITERATE,
        statement="quadratic Lyapunov function: finite sum, any sampling",
    )


def worst_case_bound(
    certificate: LyapunovCertificate,
    method: Method,
    *,
    steps: int,
    distance: float = 1.0,
    sigma: float = 0.0,
) -> Envelope:
    """Envelope of the exact worst-case rate, from its certificate.

    :func:`lyapunov_bound` with the certificate's ``rate`` and ``P``.

    Parameters
    ----------
    certificate
        Anything with ``rate`` and ``P`` made for ``method``.
    method
        Scalar parameters.
    steps
        Number of gradients; the envelope has k = 0, ..., steps.
    distance
        ‖x_0 - x*‖, zero or more.
    sigma
        Mean of ‖∇f_i(x*)‖ over the terms, zero or more.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> proof = SimpleNamespace(rate=0.5, P=[[1.0, 0.0], [0.0, 1e-9]])
    >>> worst_case_bound(proof, Method(0.5), steps=2).values.tolist()
    [1.0, 0.5, 0.25]
    """
    return lyapunov_bound(
        method, certificate.rate, certificate.P, steps=steps, distance=distance, sigma=sigma
    )


def _positive_definite(P: npt.ArrayLike) -> FloatArray:
    remedy = "give the 2x2 matrix of a certificate"
    form = np.asarray(real("P", P, remedy=remedy))
    if form.shape != (2, 2):
        raise Refusal("P", "a 2x2 matrix", f"an array of shape {form.shape}", remedy)
    positive = form[0, 0] > 0.0 and form[1, 1] > 0.0 and form[0, 0] * form[1, 1] > form[0, 1] ** 2
    if not positive or abs(form[0, 1] - form[1, 0]) > 1e-9 * np.max(form):
        shown = np.array2string(form, separator=", ").replace("\n", "")
        raise Refusal("P", "symmetric and positive definite", shown, remedy)
    return form
