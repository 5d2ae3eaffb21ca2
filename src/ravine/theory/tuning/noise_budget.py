"""The best step size and momentum for additive noise and a budget of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Real, Refusal, broadcast, one_number, real, whole
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.blocks import coupling
from ravine.theory.error_quantity import ErrorQuantity
from ravine.theory.tuning.plane_search import (
    Least,
    Objective,
    descend,
    least,
    least_along,
    spread_momenta,
    valleys,
)

_FINE = 4001
"""Eigenvalues from which the worst is taken in the end."""
_MOMENTA = spread_momenta(56)
"""Momenta of the grid: fifty-six tell the valleys of every budget tried apart."""

_Errors: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""E r² after the budget, for points (alpha, beta) and eigenvalues as a last axis."""


class FastestBudget(NamedTuple):
    """A method and its E‖y - x*‖² after the budget of steps."""

    method: Method
    value: float


def fastest_budget(
    problem: Curvature | npt.ArrayLike,
    *,
    sigma2: npt.ArrayLike = 1.0,
    start: npt.ArrayLike = 1.0,
    steps: int,
    quantity: ErrorQuantity | str = ErrorQuantity.DISTANCE,
) -> FastestBudget:
    """Nesterov parameters that minimise the error after a budget of K steps, with additive noise.

    In a direction of curvature lambda, from r_1 = start and v_0 = 0,
    E r²_{K+1} = ((B^K)_{11} start)² + alpha² sigma2 Σ_{j<K} ((B^j g)_1)², g = (1 + beta, 1).
    It is evaluated by doubling, in O(log K), at every point of an (alpha, beta) grid at once; the
    lowest valleys are then followed down. beta may be negative, -1 < beta < 1.

    The answer is for K steps and no more: for a budget of a few steps the best parameters need not
    be stable in the long run.

    Parameters
    ----------
    problem
        A :class:`ravine.Curvature`: an adversary puts all of the start into one direction, with any
        eigenvalue in [mu, L] (8000 of them are tried: the worst is often inside), and the error of
        that direction is counted. Or eigenvalues, an array of positive numbers: the errors of all
        directions are added.
    sigma2
        Variance of the gradient noise in a direction, zero or more. With eigenvalues, an array of
        one for each is possible.
    start
        Distance ‖y_1 - x*‖. With eigenvalues: in every direction, one number or one for each.
    steps
        The budget K, at least 1.
    quantity
        ``"distance"`` for E‖y - x*‖², or ``"objective"`` for E f(y) - f*: then every direction
        carries the weight lambda/2.

    Returns
    -------
    FastestBudget
        ``method`` and ``value``, the quantity after K gradients. Never above the best for
        beta = 0.

    Examples
    --------
    One step at one eigenvalue: alpha (1 + beta) = 1/2, half of the start's square is left.

    >>> found = fastest_budget([1.0], steps=1)
    >>> round(found.value, 9), round(float(found.method.alpha * (1 + found.method.beta)), 4)
    (0.5, 0.5)
    """
    K = whole("steps", steps, 1, remedy="give the budget of steps, e.g. steps=100")
    kind = ErrorQuantity.parse(quantity, "quantity")
    remedy = "give the variance of the gradient noise, e.g. sigma2=1.0"
    if isinstance(problem, Curvature):
        noise: Real = np.float64(one_number("sigma2", sigma2, "nonnegative", remedy=remedy))
        first: Real = np.float64(one_number("start", start, remedy="give a distance, e.g. 1.0"))
        mu = one_number("mu", problem.mu, remedy="give one curvature at a time")
        L = one_number("L", problem.L, remedy="give one curvature at a time")
        return _against_adversary(mu, L, float(noise), float(first), K, kind)

    lam = np.atleast_1d(
        real("eigenvalues", problem, "positive", remedy="give positive eigenvalues or a Curvature")
    )
    noise = real("sigma2", sigma2, "nonnegative", remedy=remedy)
    first = real("start", start, remedy="give a distance for each direction, e.g. start=1.0")
    shape = broadcast(eigenvalues=lam, sigma2=noise, start=first)
    if len(shape) != 1:
        raise Refusal("eigenvalues", "one row", f"shape {shape}", "flatten the eigenvalues")

    def objective(alpha: FloatArray, beta: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            parts = budget_error(alpha, beta, lam, noise, first, K)
            errors = (_weights(kind, lam) * parts).sum(axis=-1)

        return np.where(np.abs(beta) < 1.0, errors, np.inf)

    if not np.any(first):
        return FastestBudget(Method(0.0), 0.0)

    alphas = _steps(lam, noise, first, K)
    plain = least_along(lambda alpha: objective(alpha, np.zeros_like(alpha)), alphas)
    found = least(objective, alphas, _MOMENTA, cheap=True)
    if plain[1] <= found.value:
        return FastestBudget(Method(plain[0]), plain[1])

    return FastestBudget(Method(found.alpha, found.beta), found.value)


def budget_error(
    alpha: FloatArray,
    beta: FloatArray,
    lam: FloatArray,
    sigma2: Real,
    start: Real,
    steps: int,
    *,
    gamma: FloatArray | None = None,
) -> FloatArray:
    """E r² after ``steps`` gradients; alpha and beta of one shape, directions as a last axis.

    ``gamma``, of the same shape, is the look-ahead; it is beta where it is left out. Infinite where
    it overflows.
    """
    alpha = alpha[..., None]
    beta = beta[..., None]
    ahead = beta if gamma is None else gamma[..., None]
    h = alpha * lam
    g = 1.0 + ahead
    a = coupling(beta, ahead)
    noise = alpha**2 * sigma2
    base = _Affine(1 - g * h, a + 0 * h, -h, beta + 0 * h, g**2 * noise, g * noise, noise)
    total: _Affine | None = None

    with np.errstate(over="ignore", invalid="ignore"):
        while True:
            if steps & 1:
                total = base if total is None else base.after(total)
            steps >>= 1
            if not steps:
                break
            base = base.after(base)

        assert total is not None
        value = (total.a * start) ** 2 + total.rr

    return np.where(np.isfinite(value), value, np.inf)


class _Affine(NamedTuple):
    """Several steps in one: the matrix [[a, b], [c, d]] on (r, v), and the covariance added."""

    a: FloatArray
    b: FloatArray
    c: FloatArray
    d: FloatArray
    rr: FloatArray
    rv: FloatArray
    vv: FloatArray

    def after(self, one: _Affine) -> _Affine:
        """Apply ``one`` first, then this."""
        a, b, c, d, rr, rv, vv = self
        return _Affine(
            a * one.a + b * one.c,
            a * one.b + b * one.d,
            c * one.a + d * one.c,
            c * one.b + d * one.d,
            rr + a * a * one.rr + 2.0 * a * b * one.rv + b * b * one.vv,
            rv + a * c * one.rr + (a * d + b * c) * one.rv + b * d * one.vv,
            vv + c * c * one.rr + 2.0 * c * d * one.rv + d * d * one.vv,
        )


def _weights(kind: ErrorQuantity, lam: FloatArray) -> FloatArray:
    """What the squared error of each direction counts for in the quantity."""
    return 0.5 * lam if kind is ErrorQuantity.OBJECTIVE else np.ones_like(lam)


def _against_adversary(
    mu: float, L: float, sigma2: float, start: float, K: int, kind: ErrorQuantity
) -> FastestBudget:
    """Minimise the worst direction, from the valleys seen with few eigenvalues."""
    if start == 0.0:
        return FastestBudget(Method(0.0), 0.0)

    noise = np.float64(sigma2)
    first = np.float64(start)

    def errors(alpha: FloatArray, beta: FloatArray, lam: FloatArray) -> FloatArray:
        return _weights(kind, lam) * budget_error(alpha, beta, lam, noise, first, K)

    few, many, fine = (_between(mu, L, count) for count in (9, 33, _FINE))
    alphas = _steps(few, noise, first, K)
    plain = least_along(lambda alpha: _worst(errors, fine)(alpha, 0.0 * alpha), alphas)
    seen = valleys(_worst(errors, few), alphas, _MOMENTA)[:4]
    ends = [descend(_worst(errors, many), one, cheap=False) for one in seen]
    lowest = min(end.value for end in ends)
    near = [end for end in ends if end.value <= 1.05 * lowest]
    found = [_exchange(errors, end, many, fine) for end in near]
    best = min([*found, Least(plain[0], 0.0, plain[1])], key=lambda one: one.value)
    return FastestBudget(Method(best.alpha, best.beta), best.value)


def _worst(errors: _Errors, lam: FloatArray) -> Objective:
    def objective(alpha: FloatArray, beta: FloatArray) -> FloatArray:
        return np.where(np.abs(beta) < 1.0, errors(alpha, beta, lam).max(axis=-1), np.inf)

    return objective


def _exchange(errors: _Errors, end: Least, counted: FloatArray, fine: FloatArray) -> Least:
    """Descend with the counted eigenvalues; count the worst that were left out; repeat."""
    best = Least(end.alpha, end.beta, np.inf)
    for _ in range(12):
        end = descend(_worst(errors, counted), end, cheap=True, spacing=0.05)
        found = errors(np.array([end.alpha]), np.array([end.beta]), fine)[0]
        worst = float(found.max())
        if worst < best.value:
            best = Least(end.alpha, end.beta, worst)
        inner = np.flatnonzero((found[1:-1] >= found[:-2]) & (found[1:-1] >= found[2:])) + 1
        highest = inner[np.argsort(found[inner])[-8:]]
        more = np.unique(np.concatenate([counted, fine[highest]]))
        if worst <= end.value * (1.0 + 1e-9) or more.size == counted.size:
            break
        counted = more

    return best


def _between(mu: float, L: float, count: int) -> FloatArray:
    """Eigenvalues from mu to L, evenly spaced and evenly spaced in the logarithm."""
    inside = np.concatenate([np.geomspace(mu, L, count)[1:-1], np.linspace(mu, L, count)[1:-1]])
    return np.unique(np.concatenate([[mu, L], np.clip(inside, mu, L)]))


def _steps(lam: FloatArray, sigma2: Real, start: Real, K: int) -> FloatArray:
    """Step sizes worth trying: up to the largest stable one, 4/L, down to what noise leaves."""
    L = float(lam.max())
    mu = float(lam.min())
    noise = float(np.max(sigma2))
    useful = np.inf if noise == 0.0 else mu * float(np.max(np.asarray(start) ** 2)) / noise
    return np.geomspace(1e-3 * min(1.0 / (K * L), useful), 4.0 / L, 72)
