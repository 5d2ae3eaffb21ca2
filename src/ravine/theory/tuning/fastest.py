"""The best step size and momentum for a known sum, or for additive noise and a budget of steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Real, Refusal, broadcast, one_number, real, whole
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.growth_plane import growth_plane
from ravine.theory.finite_sums.mean_square import lift_radius, mean_square_growth
from ravine.theory.finite_sums.positive_map import perron_root
from ravine.theory.finite_sums.rules import moment_map
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.finite_sums.terms import Scalars, Terms, finite_sum, one_method
from ravine.theory.noise.error_quantity import ErrorQuantity
from ravine.theory.tuning.plane_search import (
    Least,
    Objective,
    descend,
    descend_smoothly,
    least,
    least_along,
    valleys,
)

_GRID_EVALUATIONS = 400_000
"""Eigenvalues of 3x3 matrices for a grid: half a second."""
_PLANE_PAIRS = 30_000
"""Pairs of directions times points of the plane: half a second of 4x4 systems."""
_PLANE_ACROSS = 48
"""Points of the plane across, at most."""
_STARTS = 6
"""Valleys that are followed down."""
_SEEN = 24
"""Valleys of the grid that are looked at exactly before the lowest are chosen."""
_SMALL = 8
"""Directions up to which all of them are; beyond, the two lowest."""
_MATRIX = 75
"""Unknowns up to which the matrix of a step is the quickest way: five directions."""
_FINE = 4001
"""Eigenvalues from which the worst is taken in the end."""

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
    gamma = beta. The function has kinks and several valleys, some of them narrow: the whole plane
    is evaluated on a grid, and the lowest valleys are followed down. With shared eigenvectors only
    the mean and the mean square of each direction's curvature matter. Such a search is no proof; it
    is tested against fine grids on random sums.

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

    >>> best = fastest_mean_square([[32, 1, 1]] * 4 + [[32, 1, 32]])
    >>> round(best.rate, 7), round(float(best.method.alpha) * 32, 4)
    (0.9272811, 0.5739)
    """
    terms = finite_sum(hessians)
    mean = np.tensordot(terms.weights, terms.hessians, axes=1)
    least_mean = float((mean if terms.shared else np.linalg.eigvalsh(mean)).min())
    if least_mean <= 0.0:
        raise Refusal(
            "hessians",
            "positive definite in the mean",
            f"a mean with eigenvalue {least_mean:.3g}",
            "leave out the directions in which the sum is flat",
        )

    extremes = terms.hessians if terms.shared else np.linalg.eigvalsh(terms.hessians)
    plain = Method(2.0 / float(extremes.min() + extremes.max()))
    if terms.shared:
        return _fastest_shared(terms, plain)

    moments = SecondMoments.of(terms.hessians, weights=terms.weights)
    best = fastest_on(moments, plain=plain, precision=1e-9)
    root = mean_square_growth(terms, one_method(best.method), Sampling.IID)
    assert root is not None
    return FastestMeanSquare(best.method, float(np.sqrt(root.value)))


def fastest_on(
    moments: SecondMoments, *, plain: Method | None = None, precision: float = 1e-4
) -> FastestMeanSquare:
    """The same for second moments that are at hand, to ``precision`` of the logarithm of the rate.

    Momenta stay between -0.95 and 0.9999. ``plain`` is a method that the result must not be slower
    than; the best step without momentum is among them anyway.

    Examples
    --------
    >>> H = np.array([[[10.0, 3.0], [3.0, 9.0]], [[6.0, 4.0], [4.0, 19.0]]])
    >>> best = fastest_on(SecondMoments.of(H))
    >>> round(best.rate, 3)
    0.453
    """
    d = moments.dimension
    scale = moments.natural_step
    # Pairs of directions times points: what a second or two of 4x4 systems allows.
    across = int(np.clip(np.sqrt(_PLANE_PAIRS / d**2), 8, _PLANE_ACROSS))
    alphas = scale * np.geomspace(0.02, 4.0, across)
    betas = _momenta(across)
    exact = _log_growth(moments, precision)
    seen = valleys(lambda a, b: growth_plane(moments, Method(a, b)), alphas, betas)[:_SEEN]
    seen += _diagonal_valleys(moments, scale)[:_STARTS]

    alone = least_along(
        lambda a: np.array([exact(one, 0.0) for one in a]), scale * np.geomspace(0.1, 4.0, 12),
        rounds=4, points=9,
    )  # fmt: skip
    starts = [Least(alone[0], 0.0, alone[1])]
    starts += [Least(one.alpha, one.beta, exact(one.alpha, one.beta)) for one in seen]
    if plain is not None:
        starts.append(
            Least(
                float(plain.alpha), float(plain.beta), exact(float(plain.alpha), float(plain.beta))
            )
        )

    starts.sort(key=lambda one: one.value)
    ends = [
        descend_smoothly(exact, one, precision=precision)
        for one in _apart(starts)[: _STARTS if d <= _SMALL else 2]
    ]
    best = min([*ends, *starts], key=lambda one: one.value)
    return FastestMeanSquare(Method(best.alpha, best.beta), float(np.exp(0.5 * best.value)))


def fastest_step_on(moments: SecondMoments) -> FastestMeanSquare:
    """The step without momentum whose mean-square rate is least, to four digits of the step.

    Examples
    --------
    >>> best = fastest_step_on(SecondMoments.of(np.array([[[1.0]], [[3.0]]])))
    >>> round(float(best.method.alpha), 3)  # E h/E h² = 2/5
    0.4
    """
    exact = _log_growth(moments, 1e-6)
    alpha, value = least_along(
        lambda a: np.array([exact(one, 0.0) for one in a]),
        moments.natural_step * np.geomspace(0.1, 4.0, 12), rounds=6, points=9,
    )  # fmt: skip
    return FastestMeanSquare(Method(alpha), float(np.exp(0.5 * value)))


def _log_growth(moments: SecondMoments, precision: float) -> Callable[[float, float], float]:
    """Logarithm of the growth of E‖s‖²: what tells fast methods from faster ones, near 1 too."""
    shape = (3, moments.dimension, moments.dimension)
    small = 3 * moments.dimension**2 <= _MATRIX
    terms = None
    if small:
        stack = moments.deviations + np.diag(moments.eigenvalues)
        terms = Terms(stack, moments.weights, np.arange(len(stack)))

    def at(alpha: float, beta: float) -> float:
        if not -0.95 <= beta <= 0.9999:
            return np.inf

        if terms is not None:
            moved = moment_map(terms, moments.eigenvalues, Scalars(alpha, beta, beta), Sampling.IID)
            assert moved is not None
            value = perron_root(moved.apply, shape).value
        else:
            value = moments.growth(Method(alpha, beta), tolerance=precision)

        return float(np.log(value)) if 0.0 < value < np.inf else -np.inf if value == 0.0 else np.inf

    return at


def _diagonal_valleys(moments: SecondMoments, scale: float) -> list[Least]:
    """Valleys of the sum with only the disagreement that stays in a direction, on a fine grid."""
    own = np.diag(moments.sandwich(np.eye(moments.dimension)))
    first = moments.eigenvalues
    second = first**2 + own
    across = int(np.clip(np.sqrt(_GRID_EVALUATIONS / 4 / first.size), 16, 64))

    def rate(alpha: FloatArray, beta: FloatArray) -> FloatArray:
        a, b = alpha[..., None], beta[..., None]
        return np.asarray(lift_radius(a, b, b, first, second).max(axis=-1))

    return valleys(rate, scale * np.geomspace(0.02, 4.0, across), _momenta(across))


def _apart(starts: list[Least]) -> list[Least]:
    """Starts that are not in the same place as a lower one."""
    kept: list[Least] = []
    for one in starts:
        near = (
            abs(np.log(one.alpha / other.alpha)) < 0.05 and abs(one.beta - other.beta) < 0.02
            for other in kept
        )
        if not any(near):
            kept.append(one)

    return kept


def _fastest_shared(terms: Terms, plain: Method) -> FastestMeanSquare:
    """The search where the terms share eigenvectors and the whole grid is one array."""
    first, second = np.unique(_two_moments(terms), axis=1)
    scale = float((first / second).min())
    across = int(np.clip(np.sqrt(_GRID_EVALUATIONS / first.size), 32, 96))
    alphas = scale * np.geomspace(1e-3, 6.0, across)

    def objective(alpha: FloatArray, beta: FloatArray) -> FloatArray:
        a, b = alpha[..., None], beta[..., None]
        return np.asarray(lift_radius(a, b, b, first, second).max(axis=-1))

    best = least(objective, alphas, _momenta(across), cheap=True)
    start = float(objective(np.array([float(plain.alpha)]), np.zeros(1))[0])
    if start < best.value:
        return FastestMeanSquare(plain, float(np.sqrt(start)))

    return FastestMeanSquare(Method(best.alpha, best.beta), float(np.sqrt(best.value)))


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


def _weights(kind: ErrorQuantity, lam: FloatArray) -> FloatArray:
    """What the squared error of each direction counts for in the quantity."""
    return 0.5 * lam if kind is ErrorQuantity.OBJECTIVE else np.ones_like(lam)


def _against_adversary(
    mu: float, L: float, sigma2: float, start: float, K: int, kind: ErrorQuantity
) -> FastestBudget:
    """Minimise the worst direction, from the valleys seen with few eigenvalues."""
    if start == 0.0:
        return FastestBudget(Method(0.0), 0.0)

    noise, first = np.float64(sigma2), np.float64(start)

    def errors(alpha: FloatArray, beta: FloatArray, lam: FloatArray) -> FloatArray:
        return _weights(kind, lam) * budget_error(alpha, beta, lam, noise, first, K)

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
