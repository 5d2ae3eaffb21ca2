"""One quadratic, f(x) = ½ (x - x*)ᵀ H (x - x*) + f*."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, one_number, overflow_allowed
from ravine.curvature import Curvature
from ravine.problems.problem import Problem, symmetric, vector


class Quadratic(Problem):
    """The quadratic f(x) = ½ (x - x*)ᵀ H (x - x*) + f*.

    Parameters
    ----------
    hessian
        H, symmetric and positive definite, shape (d, d).
    minimiser
        x*, shape (d,). Zero unless given.
    minimum
        f*, the value at the minimiser.
    curvature
        Bounds that enclose the spectrum of H; its extreme eigenvalues unless given.
    start
        Where runs start unless told otherwise; x* + (1, ..., 1) unless given.
    name, parameters
        Kept with every result.

    Examples
    --------
    >>> problem = Quadratic([[2.0, 1.0], [1.0, 2.0]], minimiser=[1.0, -1.0])
    >>> problem.eigenvalues.round(12).tolist(), float(problem.curvature.Q.round(12))
    ([1.0, 3.0], 3.0)
    >>> problem.gradient([1.0, -1.0]).tolist()
    [0.0, 0.0]
    """

    @overflow_allowed
    def __init__(
        self,
        hessian: npt.ArrayLike,
        minimiser: npt.ArrayLike | None = None,
        *,
        minimum: float = 0.0,
        curvature: Curvature | None = None,
        start: npt.ArrayLike | None = None,
        name: str = "quadratic",
        parameters: dict[str, Any] | None = None,
    ) -> None:
        self._hessian = symmetric("hessian", hessian, 2)
        d = len(self._hessian)
        super().__init__(name, parameters or {"dimension": d}, d, 1)
        place = np.zeros(d) if minimiser is None else minimiser
        remedy = f"give the {d} coordinates of x*"
        self._minimiser = self._point(vector("minimiser", place, remedy=remedy), "minimiser")
        self.minimum = one_number("minimum", minimum, remedy="give the value at x*, e.g. 0")
        self._curvature = enclosing_curvature("hessian", self.eigenvalues, curvature)
        self._start = (
            self._minimiser + 1.0
            if start is None
            else self._point(vector("start", start, remedy=f"give {d} coordinates"), "start")
        )

    @cached_property
    def _decomposition(self) -> tuple[FloatArray, FloatArray]:
        values, vectors = np.linalg.eigh(self._hessian)
        return values, vectors

    @property
    def eigenvalues(self) -> FloatArray:
        """Eigenvalues of H in ascending order, shape (d,)."""
        return self._decomposition[0]

    @property
    def eigenvectors(self) -> FloatArray:
        """Orthonormal eigenvectors of H, one a column, shape (d, d)."""
        return self._decomposition[1]

    @property
    def curvature(self) -> Curvature:
        """Bounds that enclose the spectrum of H."""
        return self._curvature

    @property
    def minimiser(self) -> FloatArray:
        """The point x* where the objective is least, shape (d,)."""
        return self._minimiser

    def batch_objective(self, i: int, x: npt.ArrayLike) -> float:
        """Value at ``x``; the only term is 0."""
        self._term(i)
        away = self._point(x) - self._minimiser
        return float(0.5 * (away @ self._hessian @ away) + self.minimum)

    def batch_gradient(self, i: int, x: npt.ArrayLike) -> FloatArray:
        """H (x - x*), shape (d,); the only term is 0."""
        self._term(i)
        return np.asarray(self._hessian @ (self._point(x) - self._minimiser))

    def batch_hessian(self, i: int, x: npt.ArrayLike | None = None) -> FloatArray:
        """H, the same at every ``x``; the only term is 0."""
        self._term(i)
        return self._hessian.copy()


def enclosing_curvature(name: str, eigenvalues: FloatArray, given: Curvature | None) -> Curvature:
    """Bounds on ``eigenvalues``: the given ones if they enclose them, else the extreme ones."""
    low = float(eigenvalues.min())
    high = float(eigenvalues.max())
    if low <= 0.0:
        shown = f"an eigenvalue of {low:.3g}"
        raise Refusal(name, "positive definite", shown, "add l2 times the identity")
    if given is None:
        return Curvature(low, high)

    remedy = "give one curvature, or leave it out to have it computed"
    one_number("mu", given.mu, remedy=remedy)
    one_number("L", given.L, remedy=remedy)
    room = 1e-9 * high
    if low < float(given.mu) - room or high > float(given.L) + room:
        rule = f"bounds on the spectrum, [{low:.6g}, {high:.6g}]"
        shown = f"mu={float(given.mu):g}, L={float(given.L):g}"
        raise Refusal("curvature", rule, shown, "leave it out to have it computed")

    return given
