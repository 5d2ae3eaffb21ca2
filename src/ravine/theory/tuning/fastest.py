"""The best step size and momentum for a known sum with iid sampling, in mean square."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.mean_square import direction_growth, mean_square_growth
from ravine.theory.finite_sums.positive_map import matrix_of
from ravine.theory.finite_sums.second_moments import SecondMoments, growth_plane
from ravine.theory.finite_sums.terms import finite_sum
from ravine.theory.tuning.search import Least, Tuned, around, descents, in_plane, least, valleys

_GRID_EVALUATIONS = 400_000
"""Number of 3x3 eigenvalue problems for a grid: half a second."""
_PLANE_PAIRS = 30_000
"""Pairs of directions times points of the plane: half a second of 4x4 systems."""
_PLANE_ACROSS = 48
"""Maximum number of points across the plane."""
_STARTS = 6
"""Number of local minima that are refined."""
_SEEN = 24
"""Number of minima of the grid that are evaluated exactly before the lowest are chosen."""
_SMALL = 8
"""Maximum number of directions for which all are refined; beyond it, the two lowest."""
_SPACING = (0.3, 0.15)
"""Initial size of the simplex in log alpha and in s = artanh beta."""
_EVALUATIONS = 150
"""Maximum number of evaluations of one descent."""
_MATRIX = 75
"""Maximum number of unknowns for which the matrix of a step is fastest: five directions."""


def fastest_mean_square(hessians: npt.ArrayLike) -> Tuned:
    """Nesterov parameters that minimise the mean-square rate of a finite sum under iid sampling.

    Minimises √(spectral radius of X ↦ mean_b A_b X A_bᵀ) over alpha > 0 and beta of either sign,
    gamma = beta. The function has kinks and several local minima, some of them narrow: the whole
    plane is evaluated on a grid, and the lowest minima are refined. With shared eigenvectors, only
    the mean and the mean square of each direction's curvature matter. The search is not a proof; it
    is tested against fine grids on random sums.

    Parameters
    ----------
    hessians
        Symmetric mini-batch Hessians, shape (n, d, d); or (n, d), eigenvalues of terms that share
        eigenvectors. Their mean is positive definite.

    Returns
    -------
    Tuned
        ``method`` and ``rate``, the growth of √E‖y - x*‖² per step. It never exceeds the rate of
        SGD at alpha = 2/(mu + L), with mu and L the extreme eigenvalues of all terms.

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
            "remove the directions in which the sum is flat",
        )

    extremes = terms.hessians if terms.shared else np.linalg.eigvalsh(terms.hessians)
    plain = Method(2.0 / float(extremes.min() + extremes.max()))
    if terms.shared:
        # The whole grid as one array.
        variances = terms.weights @ (terms.hessians - mean) ** 2
        first, variance = np.unique(np.stack([mean, variances]), axis=1)
        scale = float((first / (first**2 + variance)).min())
        across = int(np.clip(np.sqrt(_GRID_EVALUATIONS / first.size), 32, 96))
        objective = _shared_growth(first, variance)
        fast = least(objective, _axes(scale, across, 1e-3, 6.0), rate=np.sqrt)
        start = float(objective(np.log([float(plain.alpha)]), np.zeros(1))[0])
        if start < fast.value:
            return Tuned(plain, float(np.sqrt(start)))

        return Tuned(in_plane(*fast.point), float(np.sqrt(fast.value)))

    moments = SecondMoments.of(terms.hessians, weights=terms.weights)
    best = fastest_on(moments, plain=plain, precision=1e-9)
    root = mean_square_growth(terms, best.method, Sampling.IID)
    assert root is not None
    return Tuned(best.method, float(np.sqrt(root.high)))


def fastest_on(
    moments: SecondMoments,
    *,
    plain: Method | None = None,
    precision: float = 1e-4,
    starts: int | None = None,
) -> Tuned:
    """The same for given second moments, to ``precision`` of the logarithm of the rate.

    Momenta are between -0.95 and 0.9999. The result is not slower than the method ``plain``, nor
    than the best step without momentum. ``starts`` is the number of local minima to refine.

    Examples
    --------
    >>> H = np.array([[[10.0, 3.0], [3.0, 9.0]], [[6.0, 4.0], [4.0, 19.0]]])
    >>> best = fastest_on(SecondMoments.of(H))
    >>> round(best.rate, 3)
    0.453
    """
    d = moments.dimension
    scale = moments.natural_step
    # Pairs of directions times points: a second or two of 4x4 systems.
    across = int(np.clip(np.sqrt(_PLANE_PAIRS / d**2), 8, _PLANE_ACROSS))

    def plane(log_step: FloatArray, s: FloatArray) -> FloatArray:
        return growth_plane(moments, in_plane(log_step, s))

    seen = valleys(plane, _axes(scale, across))[:_SEEN]
    # Local minima on a fine grid, for the disagreement within each direction only.
    within = _shared_growth(moments.eigenvalues, np.diag(moments.sandwich(np.eye(d))))
    fine = int(np.clip(np.sqrt(_GRID_EVALUATIONS / 4 / d), 16, 64))
    seen += valleys(within, _axes(scale, fine))[:_STARTS]
    alone = fastest_step_on(moments, precision=max(precision, 1e-6)).method
    for given in (alone,) if plain is None else (alone, plain):
        place = float(np.log(float(given.alpha))), float(np.arctanh(float(given.beta)))
        seen.append(Least(place, np.inf))

    if starts is None:
        starts = _STARTS if d <= _SMALL else 2
    exact = _log_growth(moments, precision)
    limits: dict[str, Any] = {"precision": precision, "evaluations": _EVALUATIONS}
    best = descents(exact, seen, _SPACING, count=starts, **limits)[0]
    near = around(best.point, np.exp(0.5 * best.value))
    if near:
        spacing = [float(axis[1] - axis[0]) for axis in near]
        best = descents(exact, [best, *valleys(plane, near)], spacing, count=starts, **limits)[0]

    # The search prefers points with an underestimated growth, so check the last one.
    method = in_plane(*best.point)
    return Tuned(method, float(np.sqrt(moments.growth(method))))


def _axes(
    scale: float, across: int, shortest: float = 0.02, longest: float = 4.0
) -> list[FloatArray]:
    """The plane of log alpha and s, for momenta between -0.95 and 0.999."""
    steps = np.linspace(np.log(shortest * scale), np.log(longest * scale), across)
    return [steps, np.linspace(np.arctanh(-0.95), np.arctanh(0.999), across)]


def fastest_step_on(moments: SecondMoments, *, precision: float = 1e-6) -> Tuned:
    """The step without momentum with the smallest mean-square rate.

    Accurate to ``precision`` in the logarithm of the rate, and to about its square root in the
    step.

    Examples
    --------
    >>> best = fastest_step_on(SecondMoments.of(np.array([[[1.0]], [[3.0]]])))
    >>> round(float(best.method.alpha), 3)  # E h/E h² = 2/5
    0.4
    """
    exact = _log_growth(moments, precision)
    axis = np.log(moments.natural_step * np.geomspace(0.1, 4.0, 12))
    best = least(
        lambda x: np.array([exact(one, 0.0) for one in np.ravel(x)]), [axis],
        starts=1, precision=0.1 * precision,
    )  # fmt: skip
    return Tuned(Method(np.exp(best.point[0])), float(np.exp(0.5 * best.value)))


def _log_growth(moments: SecondMoments, precision: float) -> Callable[[float, float], float]:
    """Logarithm of the growth of E‖s‖², which distinguishes methods even near 1."""
    size = 2 * moments.dimension
    # The matrix is exact, but takes time that a rough search does not need.
    by_matrix = precision < 1e-4 and 3 * moments.dimension**2 <= _MATRIX

    def at(log_step: float, s: float) -> float:
        method = in_plane(log_step, s)
        if not -0.95 <= method.beta <= 0.9999:
            return np.inf

        if by_matrix:
            matrix = matrix_of(moments.operator(method), (size, size))
            value = float(np.abs(np.linalg.eigvals(matrix)).max())
        else:
            value = moments.growth(method, tolerance=precision)

        if value == 0.0:
            return -np.inf

        return float(np.log(value)) if value < np.inf else np.inf

    return at


def _shared_growth(first: FloatArray, variance: FloatArray) -> Callable[..., FloatArray]:
    """Mean-square growth over the plane, from mean and variance of each direction's curvature."""

    def growth(log_step: FloatArray, s: FloatArray) -> FloatArray:
        method = in_plane(log_step[..., None], s[..., None])
        return np.asarray(direction_growth(first, variance, method).max(axis=-1))

    return growth
