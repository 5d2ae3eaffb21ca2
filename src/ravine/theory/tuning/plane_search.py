"""Least value of a function with kinks over step size and momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np

from ravine.arguments import FloatArray

Objective: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]
"""Values at points (alpha, beta), given as two arrays of one shape."""

_VALLEYS = 4
"""Valleys that are followed down."""
_SPACING = 0.15
"""First size of the simplex in log alpha; in beta it is 0.3 of that."""


class Least(NamedTuple):
    """A point of the plane and the value there."""

    alpha: float
    beta: float
    value: float


def least(objective: Objective, alphas: FloatArray, betas: FloatArray, *, cheap: bool) -> Least:
    """Least value over alpha > 0 and all beta, searched from the lowest valleys of a grid.

    ``cheap`` asks for more valleys and more digits: 1e-10 of the value instead of 1e-6.
    """
    starts = valleys(objective, alphas, betas)[: _VALLEYS if cheap else 2]
    ends = [descend(objective, start, cheap=cheap) for start in starts]
    return min(ends, key=lambda end: end.value)


def valleys(objective: Objective, alphas: FloatArray, betas: FloatArray) -> list[Least]:
    """Grid points that are no higher than their neighbours, the lowest first."""
    alpha, beta = np.meshgrid(alphas, betas, indexing="ij")
    values = objective(alpha, beta)
    padded = np.pad(values, 1, constant_values=np.inf)
    rows, columns = values.shape
    around = [
        padded[1 + i : 1 + i + rows, 1 + j : 1 + j + columns]
        for i in (-1, 0, 1)
        for j in (-1, 0, 1)
        if (i, j) != (0, 0)
    ]

    lowest = np.argwhere((values <= np.min(around, axis=0)) & np.isfinite(values))
    order = np.argsort(values[lowest[:, 0], lowest[:, 1]], kind="stable")
    points = ((alpha[i, j], beta[i, j], values[i, j]) for i, j in lowest[order])
    return [Least(float(a), float(b), float(v)) for a, b, v in points]


def least_along(
    line: Callable[[FloatArray], FloatArray],
    start: FloatArray,
    *,
    rounds: int = 12,
    points: int = 32,
) -> tuple[float, float]:
    """Least value along positive points, by repeated zooming around the lowest of a grid."""
    logs = np.log(start)
    for _ in range(rounds):
        values = line(np.exp(logs))
        k = int(np.argmin(values))
        low = logs[max(k - 1, 0)]
        high = logs[min(k + 1, logs.size - 1)]
        best = (float(np.exp(logs[k])), float(values[k]))
        logs = np.append(np.linspace(low, high, points), logs[k])
        logs.sort()

    return best


def descend(objective: Objective, start: Least, *, cheap: bool, spacing: float = _SPACING) -> Least:
    """Nelder and Mead's simplex, started again while it helps: it may stall on a kink."""
    from scipy.optimize import minimize

    def at(p: FloatArray) -> float:
        return float(objective(np.exp(p[:1]), p[1:])[0])

    point = np.array([np.log(start.alpha), start.beta])
    value = at(point)
    precision = 1e-10 if cheap else 1e-6
    for _ in range(4 if cheap else 2):
        simplex = point + spacing * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 0.3]])
        asked = {"initial_simplex": simplex, "xatol": precision, "fatol": precision * value}
        found = minimize(at, point, method="Nelder-Mead", options={**asked, "maxiter": 300})
        gain = value - float(found.fun)
        if gain > 0.0:
            point = found.x
            value = float(found.fun)
        spacing = spacing / 4.0
        if gain <= precision * value:
            break

    return Least(float(np.exp(point[0])), float(point[1]), value)


def descend_smoothly(
    at: Callable[[float, float], float], start: Least, *, precision: float
) -> Least:
    """The simplex for a function of one point that may be of either sign, such as a logarithm.

    It works in log alpha and log((1 + beta)/(1 - beta)): what a change of the momentum does goes
    with its distance from 1. Started again, smaller, while it helps.
    """
    from scipy.optimize import minimize

    def objective(p: FloatArray) -> float:
        return at(float(np.exp(p[0])), float(np.tanh(0.5 * p[1])))

    beta = float(np.clip(start.beta, -0.94, 0.9998))
    point = np.array([np.log(start.alpha), 2.0 * np.arctanh(beta)])
    value = objective(point)
    if not np.isfinite(value):
        return start

    spacing = 2.0 * _SPACING
    for _ in range(3):
        simplex = point + spacing * np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        asked = {"initial_simplex": simplex, "xatol": 0.1 * np.sqrt(precision), "fatol": precision}
        end = minimize(objective, point, method="Nelder-Mead", options={**asked, "maxfev": 150})
        gain = value - float(end.fun)
        if gain > 0.0:
            point = end.x
            value = float(end.fun)
        spacing = spacing / 4.0
        if gain <= precision:
            break

    best = Least(float(np.exp(point[0])), float(np.tanh(0.5 * point[1])), value)
    return min(best, start, key=lambda one: one.value)


def spread_momenta(count: int) -> FloatArray:
    """Momenta from near -1 to near 1, 0 among them, closer together towards 1."""
    half = max(count // 2, 4)
    above = 1.0 - np.geomspace(1.0, 1e-3, half)
    return np.concatenate([-np.linspace(0.95, 0.05, count - half), above])
