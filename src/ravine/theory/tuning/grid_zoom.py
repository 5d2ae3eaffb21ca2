"""The least value of a vectorised function on an interval or a rectangle, by zooming in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ravine.arguments import FloatArray

_POINTS = {1: 201, 2: 65}
"""Points along each axis of the first grid, by the number of axes: fine enough for every valley."""
_ZOOM_POINTS = {1: 25, 2: 15}
"""Points along each axis of a later window."""
_CELLS = 4.0
"""Width of the first window in cells of the grid: two to each side of its best point."""
_SHRINK = 0.5
"""Share of its width that a window keeps where it has nothing better than its centre."""
_ROUNDS = 150
"""Most windows tried."""
_SMALLEST = 2.0**-40
"""Width, as a share of the first window's, below which a smooth function has no digit to lose."""
_TURN = np.pi * (3.0 - np.sqrt(5.0))
"""Golden angle in radians, by which every window is turned against the one before."""


def zoom(
    function: Callable[..., FloatArray], box: Sequence[tuple[float, float]]
) -> tuple[tuple[float, ...], float]:
    """Return the point of the box where ``function`` is least, and the value there.

    ``function`` takes one array for each axis, all of the same shape. The first grid covers the
    box, ends included. Then windows around the best point so far: one that finds a better point
    is kept in size, one that does not is halved. Windows of two axes are turned from one to the
    next, so that a narrow valley which runs askew is followed to its end.
    """
    count = _POINTS[len(box)]
    grid = np.meshgrid(*(np.linspace(low, high, count) for low, high in box), indexing="ij")
    best, value = _least(function, [axis.ravel() for axis in grid])

    cells = np.linspace(-0.5, 0.5, _ZOOM_POINTS[len(box)])
    offsets = np.stack([axis.ravel() for axis in np.meshgrid(*[cells] * len(box), indexing="ij")])
    widths = np.array([_CELLS * (high - low) / (count - 1) for low, high in box])
    size = 1.0
    for n in range(_ROUNDS):
        turned = _turn(offsets, n * _TURN)
        points = [
            np.clip(x + size * width * offset, low, high)
            for x, width, offset, (low, high) in zip(best, widths, turned, box, strict=True)
        ]
        point, least = _least(function, points)
        if least < value:
            best = point
            value = least
            continue

        size *= _SHRINK
        if size < _SMALLEST:
            break

    return best, value


def _turn(offsets: FloatArray, angle: float) -> FloatArray:
    """Points of the plane turned by an angle; those of a line as they are."""
    if len(offsets) == 1:
        return offsets

    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turned: FloatArray = rotation @ offsets
    return turned


def _least(
    function: Callable[..., FloatArray], points: Sequence[FloatArray]
) -> tuple[tuple[float, ...], float]:
    seen = function(*points)
    values = np.where(np.isnan(seen), np.inf, seen)
    n = int(np.argmin(values))
    return tuple(float(axis[n]) for axis in points), float(values[n])
