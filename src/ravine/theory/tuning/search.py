"""The least value of a function with kinks and several valleys: a grid, then SciPy's simplex."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ravine.arguments import FloatArray


class Least(NamedTuple):
    """A point and the value there."""

    point: tuple[float, ...]
    value: float


def least(
    function: Callable[..., FloatArray],
    axes: Sequence[FloatArray],
    *,
    at: Callable[..., float] | None = None,
    starts: int = 6,
    precision: float = 1e-10,
) -> Least:
    """Return the least value over the box that the axes span.

    ``function`` takes one array per axis, all of one shape, and may be infinite or NaN where it is
    not defined. The lowest ``starts`` valleys of the grid are followed down. ``at`` is the same
    function of single numbers, where that is cheaper.
    """
    spacing = [float(axis[1] - axis[0]) for axis in axes]
    lowest = [float(axis[0]) for axis in axes]
    highest = [float(axis[-1]) for axis in axes]

    def inside(*point: float) -> float:
        place = np.clip(point, lowest, highest).tolist()
        value = float(function(*(np.array([x]) for x in place))[0]) if at is None else at(*place)
        return value if value == value else np.inf

    found = valleys(function, axes)[:starts]
    ends = [descend(inside, one, spacing, precision=precision) for one in found]
    best = min(ends, key=lambda one: one.value)
    return Least(tuple(np.clip(best.point, lowest, highest).tolist()), best.value)


def valleys(function: Callable[..., FloatArray], axes: Sequence[FloatArray]) -> list[Least]:
    """Return the grid points that are no higher than their neighbours, the lowest first."""
    from scipy.ndimage import minimum_filter

    grid = np.meshgrid(*axes, indexing="ij")
    values = function(*grid)
    values = np.where(np.isnan(values), np.inf, values)
    lowest = (values <= minimum_filter(values, size=3, mode="nearest")) & (values < np.inf)
    if not lowest.any():
        lowest.flat[int(np.argmin(values))] = True

    points = np.stack([axis[lowest] for axis in grid], axis=-1)
    order = np.argsort(values[lowest], kind="stable")
    return [Least(tuple(points[i].tolist()), float(values[lowest][i])) for i in order]


def descend(
    at: Callable[..., float],
    start: Least,
    spacing: Sequence[float],
    *,
    precision: float,
    evaluations: int = 400,
) -> Least:
    """Follow a valley down with Nelder and Mead's simplex of the given size.

    The simplex may stall on a kink, so it is started again, smaller, while that helps.
    """
    from scipy.optimize import minimize

    best = start
    size = np.diag(np.asarray(spacing, dtype=float))
    for attempt in range(4):
        point = np.asarray(best.point)
        # Alternating signs turn the simplex from one attempt to the next.
        corners = np.vstack([point, point + (-1.0) ** attempt * size])
        end = minimize(
            lambda p: at(*p), point, method="Nelder-Mead",
            options={
                "initial_simplex": corners, "maxfev": evaluations,
                "xatol": np.sqrt(precision), "fatol": precision,
            },
        )  # fmt: skip
        gain = best.value - float(end.fun)
        if gain > 0.0:
            best = Least(tuple(end.x.tolist()), float(end.fun))
        size = size / 4.0
        if attempt > 0 and not gain > precision:
            break

    return best
