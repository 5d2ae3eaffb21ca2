"""The best step size and momentum for a known sum, or for additive noise and a budget of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Real, Refusal, broadcast, one_number, real, whole
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.finite_sums.mean_square import iid_operator, lift_radius, perron_root
from ravine.theory.finite_sums.terms import Scalars, Terms, finite_sum
from ravine.theory.tuning.plane_search import Least, Objective, descend, least, least_along, valleys

_GRID_EVALUATIONS = 400_000
_DENSE_GRID = 12
_FINE = 4001

_Errors: TypeAlias = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""E r² after the budget, for points (alpha, beta) and eigenvalues as a last axis."""


def _momenta(count: int) -> FloatArray:
    """Momenta from near -1 to near 1, 0 among them, closer together towards 1."""
    half = max(count // 2, 4)
    above = 1.0 - np.geomspace(1.0, 1e-3, half)
    return np.concatenate([-np.linspace(0.95, 0.05, count - half), above])


_BUDGET_MOMENTA = _momenta(56)


class FastestMeanSquare(NamedTuple):
    """A method and its root-mean-square growth per step under iid sampling."""

    method: Method
    rate: float


class FastestBudget(NamedTuple):
    """A method and its E‖y - x*‖² after the budget of steps."""

    method: Method
    value: float


def fastest_mean_square(hessians: npt.ArrayLike) -> FastestMeanSquare:
    """Nesterov parameters that minimise the mean-square rate of a finite sum under iid sampling.

    Minimises √(spectral radius of X ↦ mean_b A_b X A_bᵀ) over alpha > 0 and beta of either sign,
    gamma = beta. The function has kinks and more than one valley: a grid finds the valleys, and the
    lowest are followed down. With shared eigenvectors only the mean and the mean square of each
    direction's curvature matter, and the whole grid is one array. Otherwise a point of the grid is
    an eigenvalue problem of its own, of about 100 products of 2 n d³ multiplications.

    Parameters
    ----------
    hessians
        Symmetric mini-batch Hessians, shape (n, d, d); or (n, d), eigenvalues of terms that share
        eigenvectors. Their mean is positive definite.

    Returns
    -------
    FastestMeanSquare
        ``method`` and ``rate``, the growth of √E‖y - x*‖² per step. Never above the rate of SGD at
        alpha = 2/(mu + L), mu and L the extreme eigenvalues of all terms.

    Examples
    --------
    The paper's example with Q = 32, n = 5: momentum beats SGD's 31/33 = 0.939394.

    >>> found = fastest_mean_square([[32, 1, 1]] * 4 + [[32, 1, 32]])
    >>> round(found.rate, 7), round(float(found.method.alpha) * 32, 4)
    (0.9272811, 0.5739)
    """
    terms = finite_sum(hessians)
    mean, scale, low, high = _scales(terms)
    if mean <= 0.0:
        raise Refusal(
            "hessians",
            "positive definite in the mean",
            f"a mean with eigenvalue {mean:.3g}",
            "leave out the directions in which the sum is flat",
        )
    objective = _shared_rate(terms) if terms.shared else _dense_rate(terms)
    if terms.shared:
        directions = np.unique(_two_moments(terms), axis=1).shape[1]
        across = int(np.clip(np.sqrt(_GRID_EVALUATIONS / directions), 32, 96))
    else:
        across = _DENSE_GRID
    alphas = scale * np.geomspace(
        1e-3 if terms.shared else 0.05, 6.0 if terms.shared else 2.0, across
    )
    betas = _momenta(across)
    found = least(objective, alphas, betas, cheap=terms.shared)
    plain = 2.0 / (low + high)
    start = objective(np.array([plain]), np.zeros(1))[0]
    if start < found.value:
        return FastestMeanSquare(Method(plain, 0.0), float(np.sqrt(start)))
    value = found.value
    if not terms.shared:
        best = Scalars(found.alpha, found.beta, found.beta)
        value = perron_root(iid_operator(terms, best), (3, *terms.hessians.shape[1:]))
    return FastestMeanSquare(Method(found.alpha, found.beta), float(np.sqrt(value)))


def fastest_budget(
    problem: Curvature | npt.ArrayLike,
    *,
    sigma2: npt.ArrayLike = 1.0,
    start: npt.ArrayLike = 1.0,
    steps: int,
) -> FastestBudget:
    """Nesterov parameters that minimise E‖y - x*‖² after a budget of K steps, with additive noise.

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

    Returns
    -------
    FastestBudget
        ``method`` and ``value`` = E‖y_{K+1} - x*‖², after K gradients. Never above the best for
        beta = 0.

    Examples
    --------
    One step at one eigenvalue: alpha (1 + beta) = 1/2, half of the start's square is left.

    >>> found = fastest_budget([1.0], steps=1)
    >>> round(found.value, 9), round(float(found.method.alpha * (1 + found.method.beta)), 4)
    (0.5, 0.5)
    """
    K = whole("steps", steps, 1, remedy="give the budget of steps, e.g. steps=100")
    remedy = "give the variance of the gradient noise, e.g. sigma2=1.0"
    if isinstance(problem, Curvature):
        noise: Real = np.float64(one_number("sigma2", sigma2, "nonnegative", remedy=remedy))
        first: Real = np.float64(one_number("start", start, remedy="give a distance, e.g. 1.0"))
        mu = one_number("mu", problem.mu, remedy="give one curvature at a time")
        L = one_number("L", problem.L, remedy="give one curvature at a time")
        return _against_adversary(mu, L, float(noise), float(first), K)
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
            errors = budget_error(alpha, beta, lam, noise, first, K).sum(axis=-1)
        return np.where(np.abs(beta) < 1.0, errors, np.inf)

    if not np.any(first):
        return FastestBudget(Method(0.0), 0.0)
    alphas = _steps(lam, noise, first, K)
    plain = least_along(lambda alpha: objective(alpha, np.zeros_like(alpha)), alphas)
    found = least(objective, alphas, _BUDGET_MOMENTA, cheap=True)
    if plain[1] <= found.value:
        return FastestBudget(Method(plain[0]), plain[1])
    return FastestBudget(Method(found.alpha, found.beta), found.value)


def budget_error(
    alpha: FloatArray, beta: FloatArray, lam: FloatArray, sigma2: Real, start: Real, steps: int
) -> FloatArray:
    """E r² after ``steps`` gradients; alpha and beta of one shape, directions as a last axis.

    Infinite where it overflows.
    """
    alpha, beta = alpha[..., None], beta[..., None]
    h, g = alpha * lam, 1.0 + beta
    noise = alpha**2 * sigma2
    base = _Affine(1 - g * h, beta**2 + 0 * h, -h, beta + 0 * h, g**2 * noise, g * noise, noise)
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


def _against_adversary(mu: float, L: float, sigma2: float, start: float, K: int) -> FastestBudget:
    """Minimise the worst direction, from the valleys seen with few eigenvalues."""
    if start == 0.0:
        return FastestBudget(Method(0.0), 0.0)
    noise, first = np.float64(sigma2), np.float64(start)

    def errors(alpha: FloatArray, beta: FloatArray, lam: FloatArray) -> FloatArray:
        return budget_error(alpha, beta, lam, noise, first, K)

    few, many, fine = (_between(mu, L, count) for count in (9, 33, _FINE))
    alphas = _steps(few, noise, first, K)
    plain = least_along(lambda alpha: _worst(errors, fine)(alpha, 0.0 * alpha), alphas)
    seen = valleys(_worst(errors, few), alphas, _BUDGET_MOMENTA)[:4]
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
    L, mu, noise = float(lam.max()), float(lam.min()), float(np.max(sigma2))
    useful = np.inf if noise == 0.0 else mu * float(np.max(np.asarray(start) ** 2)) / noise
    return np.geomspace(1e-3 * min(1.0 / (K * L), useful), 4.0 / L, 72)


def _two_moments(terms: Terms) -> FloatArray:
    """Mean and mean square of the curvature in every direction, shape (2, d)."""
    return np.stack([terms.weights @ terms.hessians, terms.weights @ terms.hessians**2])


def _shared_rate(terms: Terms) -> Objective:
    first, second = np.unique(_two_moments(terms), axis=1)

    def objective(alpha: FloatArray, beta: FloatArray) -> FloatArray:
        a, b = alpha[..., None], beta[..., None]
        return np.asarray(lift_radius(a, b, b, first, second).max(axis=-1))

    return objective


def _dense_rate(terms: Terms) -> Objective:
    d = terms.hessians.shape[-1]

    def objective(alpha: FloatArray, beta: FloatArray) -> FloatArray:
        pairs = zip(alpha.ravel().tolist(), beta.ravel().tolist(), strict=True)
        tolerance = 1e-3 if alpha.size > 1 else 1e-7  # a grid only has to show the valleys
        values = [
            perron_root(iid_operator(terms, Scalars(a, b, b)), (3, d, d), tolerance=tolerance)
            for a, b in pairs
        ]
        return np.reshape(values, alpha.shape)

    return objective


def _scales(terms: Terms) -> tuple[float, float, float, float]:
    """Least mean curvature, the natural step min E[H]/E[H²], and the extreme eigenvalues."""
    H, weights = terms.hessians, terms.weights
    if terms.shared:
        first, second = _two_moments(terms)
        with np.errstate(divide="ignore", invalid="ignore"):
            return first.min(), (first / second).min(), H.min(), H.max()
    mean = np.tensordot(weights, H, axes=1)
    square = np.tensordot(weights, H @ H, axes=1)
    lowest = float(np.linalg.eigvalsh(mean)[0])
    extremes = np.linalg.eigvalsh(H)
    if lowest <= 0.0:
        return lowest, 0.0, extremes.min(), extremes.max()
    ratios = np.linalg.eigvals(np.linalg.solve(mean, square)).real
    return lowest, float(1.0 / ratios.max()), float(extremes.min()), float(extremes.max())
