"""Problems from a user's own gradient."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, WrongType, kind_in_words, overflow_allowed, whole
from ravine.curvature import Curvature
from ravine.problems.problem import Problem, vector
from ravine.problems.spectrum import newton

Gradient = Callable[[FloatArray], Any]
Indexed = Callable[[int, FloatArray], Any]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


class FunctionSum(Problem):
    """A mean of functions given by their gradients; ``from_functions`` creates it."""

    _gradient_of: Indexed
    _objective_of: Indexed | None = None

    @cached_property
    def minimiser(self) -> FloatArray:  # type: ignore[override]  # computed on first use
        """x* as given, or computed from the start by Newton's method on the gradient."""
        place = newton(self.start, self.gradient, lambda x, g: np.linalg.solve(self.hessian(x), g))
        left = float(np.linalg.norm(self.gradient(place)))
        scale = float(self.curvature.L) * (1.0 + float(np.linalg.norm(place)))
        if not left <= 1e-7 * scale:
            rule = "found from the start"
            raise Refusal(
                "minimiser", rule, f"a gradient of {left:.3g} at its end", "pass minimiser="
            )

        return place

    def batch_objective(self, i: int, x: npt.ArrayLike) -> float:
        """Value of f_i at ``x``; if not given, ∫ ∇f_i along the line from x*, with f_i(x*) = 0."""
        point = self._point(x)
        k = self._term(i)
        if self._objective_of is not None:
            return float(self._objective_of(k, point))

        away = point - self.minimiser
        slopes = [
            self.batch_gradient(k, self.minimiser + 0.5 * (1.0 + t) * away) @ away for t in _NODES
        ]
        return float(0.5 * (_WEIGHTS @ np.array(slopes)))

    def batch_gradient(self, i: int, x: npt.ArrayLike) -> FloatArray:
        """Gradient of f_i at ``x``, shape (d,)."""
        g = np.asarray(self._gradient_of(self._term(i), self._point(x)), dtype=np.float64)
        if g.shape != (self.dimension,):
            rule = f"a function that returns {self.dimension} numbers"
            shown = f"an array of shape {g.shape}"
            raise Refusal("gradient", rule, shown, "return one slope for each coordinate")

        return g

    def batch_hessian(self, i: int, x: npt.ArrayLike | None = None) -> FloatArray:
        """Hessian of f_i at ``x`` by central differences of its gradient; error about 1e-9."""
        self._refuse_large(1)
        point = self._point(x)
        steps = 6e-6 * np.maximum(1.0, np.abs(point))
        rises = [
            self.batch_gradient(i, point + h) - self.batch_gradient(i, point - h)
            for h in np.diag(steps)
        ]
        H = np.stack(rises) / (2.0 * steps[:, None])
        return np.asarray((H + H.T) / 2)


@overflow_allowed
def from_functions(
    gradient: Gradient | None = None,
    *,
    gradients: Sequence[Gradient] | Indexed | None = None,
    dimension: int,
    curvature: Curvature,
    terms: int | None = None,
    objective: Gradient | None = None,
    objectives: Sequence[Gradient] | Indexed | None = None,
    minimiser: npt.ArrayLike | None = None,
    start: npt.ArrayLike | None = None,
    name: str = "from_functions",
) -> FunctionSum:
    """A problem given by its gradient, compiled with numba or plain Python.

    Parameters
    ----------
    gradient
        x -> ∇f(x), for one function.
    gradients
        For a sum: a list of such functions, or one function (i, x) -> ∇f_i(x) with ``terms``.
        Exactly one of ``gradient`` and ``gradients``.
    dimension
        Number of coordinates d, at least 1.
    curvature
        Bounds mu and L for every term; single numbers.
    terms
        Number of terms, where ``gradients`` is one function of (i, x).
    objective, objectives
        The values, in the form of the gradients. Without them the gradient is integrated along
        the line from x* (Gauss's rule, 16 nodes), with f_i(x*) = 0.
    minimiser
        x*, shape (d,). Default: computed from ``start`` by Newton's method.
    start
        The start of runs and of the search for x*. Default: zero.
    name
        Recorded with every result.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import Curvature
    >>> problem = from_functions(
    ...     gradient=lambda x: x + 0.5 * np.sin(x - 1.0) - 1.0,
    ...     dimension=1, curvature=Curvature(0.5, 1.5))
    >>> problem.minimiser.round(12).tolist(), round(problem.objective([2.0]), 9)
    ([1.0], 0.729848847)
    """
    d = whole("dimension", dimension, 1, remedy="give the number of coordinates")
    if (gradient is None) == (gradients is None):
        shown = "both" if gradient is not None else "neither"
        raise Refusal("gradient or gradients", "given, one of them", shown, "pass exactly one")
    if np.ndim(curvature.Q) != 0:
        raise Refusal("curvature", "one Curvature", "several", "pass Curvature(mu, L)")

    n, slope = _indexed("gradients", [gradient] if gradients is None else gradients, terms)
    value = None
    if objective is not None or objectives is not None:
        _, value = _indexed("objectives", [objective] if objectives is None else objectives, n)

    problem = FunctionSum(name, {"dimension": d, "terms": n}, d, n)
    problem._gradient_of = slope
    problem._objective_of = value
    problem.curvature = curvature
    if minimiser is not None:
        problem.minimiser = vector("minimiser", minimiser, d)
    if start is not None:
        problem.start = vector("start", start, d)

    problem.batch_gradient(0, problem.start)
    return problem


def _indexed(name: str, functions: Any, terms: int | None) -> tuple[int, Indexed]:
    """The number of functions, and one function of (i, x) for all of them."""
    if callable(functions):
        if terms is None:
            raise Refusal("terms", "given with one function of (i, x)", None, "e.g. 50")
        return whole("terms", terms, 1, remedy="give the number of terms"), functions

    several = list(functions)
    if not several or not all(callable(f) for f in several):
        given = kind_in_words(functions)
        raise WrongType(name, "a function of x, or a list of them", given, "pass functions")
    if terms not in (None, len(several)):
        rule = f"{terms} functions of x, one for each term"
        raise Refusal(name, rule, len(several), "leave terms out, or add functions")

    return len(several), lambda i, x: several[i](x)
