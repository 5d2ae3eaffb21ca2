"""Minimise a function with kinks and several local minima: a grid, then SciPy's simplex."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from ravine.arguments import FloatArray, Real
from ravine.methods import Method

_RESTARTS = 4
"""Maximum number of simplices, each a quarter of the size of the last."""
_APART = 0.2
"""Starts closer than this share of the first simplex lead to the same minimum."""
_AROUND = 25
"""Points across a second grid, two rates wide on either side of the lowest point."""


class Tuned(NamedTuple):
    """A method with the smallest mean-square rate in its setting."""

    method: Method
    rate: float
    """Factor per step of √E‖y - x*‖²."""

    @property
    def steps_per_digit(self) -> float:
        """Number of steps that reduce √E‖y - x*‖² to a tenth."""
        return float(np.log(0.1) / np.log(self.rate)) if self.rate > 0.0 else 0.0


class Least(NamedTuple):
    """A point and its value."""

    point: tuple[float, ...]
    value: float


def in_plane(log_step: Real | float, s: Real | float) -> Method:
    """Nesterov's method at alpha = exp(log_step) and beta = tanh s.

    The effect of a change of momentum depends on its distance from 1, as s does.
    """
    return Method(np.exp(log_step), np.tanh(s))


def slowness(rate: FloatArray) -> FloatArray:
    """Logarithm of the number of steps at a rate; -inf for a rate of 0, NaN for 1 or more."""
    return -np.log(-np.log(rate))


def least(
    function: Callable[..., FloatArray],
    axes: Sequence[FloatArray],
    *,
    at: Callable[..., float] | None = None,
    starts: int = 6,
    precision: float = 1e-10,
    rate: Callable[[float], float] | None = None,
) -> Least:
    """Return the minimum over the box that the axes span.

    ``function`` takes one array per axis, all of the same shape, and may be infinite or NaN where
    it is not defined. The lowest ``starts`` minima of the grid are refined. ``at`` is the same
    function for single numbers, if that is cheaper. ``rate`` converts a value to a rate: a second
    grid around the result, as wide as the rate, then shows minima that are close to each other.
    """

    def single(*point: float) -> float:
        return float(function(*(np.array([x]) for x in point))[0])

    spacing = [float(axis[1] - axis[0]) for axis in axes]
    box = [(float(axis[0]), float(axis[-1])) for axis in axes]
    seeds = valleys(function, axes)[:starts]
    best = descents(at or single, seeds, spacing, count=starts, box=box, precision=precision)[0]
    near = [] if rate is None else around(best.point, rate(best.value))
    if not near:
        return best

    again = least(function, near, at=at, starts=starts, precision=precision)
    return min(best, again, key=lambda one: one.value)


def around(point: Sequence[float], rate: float) -> list[FloatArray]:
    """Axes of a grid two rates wide on either side; none where a first grid sees as much.

    In units of log alpha and artanh beta, valleys of a fast method are about a rate apart.
    """
    reach = 2.0 * rate
    return [np.linspace(x - reach, x + reach, _AROUND) for x in point] if 0.0 < reach < 1.0 else []


def valleys(function: Callable[..., FloatArray], axes: Sequence[FloatArray]) -> list[Least]:
    """Return the grid points that are no higher than their neighbours, the lowest first."""
    grid = np.meshgrid(*axes, indexing="ij")
    with np.errstate(all="ignore"):
        values = function(*grid)
    values = np.where(np.isnan(values), np.inf, values)
    edged = np.pad(values, 1, constant_values=np.inf)
    around = np.lib.stride_tricks.sliding_window_view(edged, (3,) * values.ndim)
    lowest = values <= around.min(axis=tuple(range(-values.ndim, 0)))
    if values.min() < np.inf:
        lowest &= values < np.inf
    points = np.stack([axis[lowest] for axis in grid], axis=-1)
    minima = [Least(tuple(p), float(v)) for p, v in zip(points, values[lowest], strict=True)]
    return sorted(minima, key=lambda one: one.value)


def descents(
    at: Callable[..., float],
    points: Iterable[Least],
    spacing: Sequence[float],
    *,
    count: int,
    precision: float,
    box: Sequence[tuple[float, float]] | None = None,
    evaluations: int = 400,
) -> list[Least]:
    """Refine minima with Nelder and Mead's simplex of the given size; the lowest comes first.

    It starts from the ``count`` lowest points of the function, without near duplicates. The simplex
    may stall on a kink, so it is restarted with a smaller size while that helps.
    """
    from scipy.optimize import minimize

    starts: list[Least] = []
    seen = (Least(one.point, at(*one.point)) for one in points)
    for one in sorted(seen, key=lambda one: one.value):
        far = (np.abs(np.subtract(one.point, other.point)) / spacing for other in starts)
        if len(starts) < count and all(distance.max() > _APART for distance in far):
            starts.append(one)

    # Beyond the box the function is constant. SciPy's own bounds would merge corners of a simplex,
    # which ends the search before a minimum close to an edge.
    low, high = (-np.inf, np.inf) if box is None else np.transpose(box)

    def inside(point: FloatArray) -> tuple[float, ...]:
        return tuple(np.clip(point, low, high).tolist())

    def value(point: FloatArray) -> float:
        height = at(*inside(point))
        return height if height == height else np.inf

    options = {"maxfev": evaluations, "xatol": np.sqrt(precision), "fatol": precision}
    ends = []
    for best in starts:
        size = np.diag(np.asarray(spacing, dtype=float))
        for attempt in range(_RESTARTS):
            point = np.asarray(best.point)
            # Alternating signs change the orientation of the simplex between attempts.
            options["initial_simplex"] = np.vstack([point, point + (-1.0) ** attempt * size])
            with np.errstate(all="ignore"):  # corners may be infinite or NaN
                end = minimize(value, point, method="Nelder-Mead", options=options)
            gain = best.value - float(end.fun)
            if gain > 0.0:
                best = Least(inside(end.x), float(end.fun))
            size = size / 4.0
            if attempt > 0 and not gain > precision:
                break
        ends.append(best)

    return sorted(ends, key=lambda one: one.value)
