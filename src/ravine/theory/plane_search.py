"""Least value of a function with kinks over step size and momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from ravine.arguments import FloatArray

Objective: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
"""Values at points (alpha, beta), given as two arrays of one shape."""

_VALLEYS = 4
_RING = 48


class Least(NamedTuple):
    """A point of the plane and the value there."""

    alpha: float
    beta: float
    value: float


def least(objective: Objective, alphas: FloatArray, betas: FloatArray, *, cheap: bool) -> Least:
    """Least value over alpha > 0 and all beta, searched from the lowest valleys of a grid.

    ``cheap`` says that many points at once cost little more than one: the descent then ends with
    shrinking rings of points, which find their way along a kink where a simplex may stall.
    """
    grid = np.meshgrid(np.log(alphas), betas, indexing="ij")
    values = objective(np.exp(grid[0]), grid[1])
    spacing = np.array([np.diff(np.log(alphas)).max(), np.median(np.diff(betas))])
    best: tuple[FloatArray, float] | None = None
    for i, j in _valleys(values)[: _VALLEYS if cheap else 2]:
        found = _descend(objective, np.array([grid[0][i, j], grid[1][i, j]]), spacing, cheap)
        if best is None or found[1] < best[1]:
            best = found
    assert best is not None
    return Least(float(np.exp(best[0][0])), float(best[0][1]), best[1])


def least_along(
    line: Callable[[FloatArray], FloatArray], points: FloatArray
) -> tuple[float, float]:
    """Least value along positive points, by repeated zooming around the lowest of a grid."""
    logs = np.log(points)
    for _ in range(12):
        values = line(np.exp(logs))
        k = int(np.argmin(values))
        low, high = logs[max(k - 1, 0)], logs[min(k + 1, logs.size - 1)]
        best = (float(np.exp(logs[k])), float(values[k]))
        logs = np.append(np.linspace(low, high, 32), logs[k])
        logs.sort()
    return best


def _valleys(values: FloatArray) -> list[tuple[int, int]]:
    """Grid points that are no higher than their neighbours, the lowest first."""
    padded = np.pad(values, 1, constant_values=np.inf)
    rows, columns = values.shape
    around = [
        padded[1 + i : 1 + i + rows, 1 + j : 1 + j + columns]
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        if (i, j) != (0, 0)
    ]
    found = np.argwhere((values <= np.min(around, axis=0)) & np.isfinite(values))
    order = np.argsort(values[found[:, 0], found[:, 1]], kind="stable")
    return [(int(i), int(j)) for i, j in found[order]]


def _descend(
    objective: Objective, point: FloatArray, spacing: FloatArray, cheap: bool
) -> tuple[FloatArray, float]:
    """Nelder and Mead's simplex, started again while it helps; then rings, if these are cheap."""
    from scipy.optimize import minimize

    def at(p: FloatArray) -> float:
        return float(objective(np.exp(p[:1]), p[1:])[0])

    value = at(point)
    precision = 1e-10 if cheap else 1e-6
    for _ in range(6 if cheap else 2):
        simplex = point + np.array([[0.0, 0.0], [spacing[0], 0.0], [0.0, spacing[1]]])
        asked = {"initial_simplex": simplex, "xatol": precision, "fatol": precision * value}
        found = minimize(at, point, method="Nelder-Mead", options={**asked, "maxiter": 400})
        gain = value - float(found.fun)
        if gain > 0.0:
            point, value = found.x, float(found.fun)
        spacing = spacing / 4.0
        if gain <= precision * value:
            break
    return _rings(objective, point, value, spacing) if cheap else (point, value)


def _rings(
    objective: Objective, point: FloatArray, value: float, spacing: FloatArray
) -> tuple[FloatArray, float]:
    angle = 2.0 * np.pi * np.arange(_RING) / _RING
    ring = np.stack([np.cos(angle), np.sin(angle)], axis=1) * spacing
    size = 0.25
    for _ in range(400):
        tried = point + size * ring
        values = objective(np.exp(tried[:, 0]), tried[:, 1])
        k = int(np.argmin(values))
        if values[k] < value:
            point, value, size = tried[k], float(values[k]), min(1.5 * size, 1.0)
        else:
            size *= 0.5
        if size < 1e-10:
            break
    return point, value
