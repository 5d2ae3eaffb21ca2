"""The base class of problems: curvature, minimiser, and the terms of the sum."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, real, whole
from ravine.curvature import Curvature

HESSIAN_BYTES = 2**30
"""Total bytes of dense Hessians above which they are refused."""

_EVALUATED = ("objective", "gradient", "batch_objective", "batch_gradient", "batch_gradients")
"""Methods that a run calls at every step."""


class Problem(ABC):
    """A smooth, strongly convex objective f = (1/n) Σ f_i over R^d.

    A problem that is not a sum has one term, itself. Methods take a point ``x`` of shape (d,);
    ``i`` counts the terms from 0 to n - 1.

    Attributes
    ----------
    name
        Its name in results.
    parameters
        Its arguments as plain numbers and strings, recorded with every result.
    """

    dimension: int
    """Number of coordinates d."""
    terms: int
    """Number n of functions, or mini-batches, in the sum; 1 if it is not a sum."""
    curvature: Curvature
    """Bounds mu and L that hold for every term, everywhere."""
    minimiser: FloatArray
    """The minimiser x* of the whole objective, shape (d,)."""
    start: FloatArray
    """The point where runs start by default, shape (d,)."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        # Points of a diverging run may be far away; values that overflow there are infinite.
        for name in _EVALUATED:
            if name in vars(cls):
                setattr(cls, name, np.errstate(over="ignore", invalid="ignore")(vars(cls)[name]))

    def __init__(self, name: str, parameters: dict[str, Any], dimension: int, terms: int) -> None:
        self.name = name
        self.parameters = dict(parameters)
        self.dimension = dimension
        self.terms = terms
        self.start = np.zeros(dimension)

    def __repr__(self) -> str:
        made = ", ".join(f"{key}={value}" for key, value in self.parameters.items())
        return f"<{self.name}({made}): dimension {self.dimension}, terms {self.terms}>"

    @cached_property
    def minimum(self) -> float:
        """The minimum f* of the whole objective."""
        return self.objective(self.minimiser)

    @abstractmethod
    def batch_objective(self, i: int, x: npt.ArrayLike) -> float:
        """Value of the term f_i at ``x``."""

    @abstractmethod
    def batch_gradient(self, i: int, x: npt.ArrayLike) -> FloatArray:
        """Gradient of the term f_i at ``x``, shape (d,)."""

    @abstractmethod
    def batch_hessian(self, i: int, x: npt.ArrayLike | None = None) -> FloatArray:
        """Hessian of the term f_i at ``x``, by default at the minimiser; shape (d, d)."""

    def objective(self, x: npt.ArrayLike) -> float:
        """Value of the whole objective at ``x``."""
        return float(np.mean([self.batch_objective(i, x) for i in range(self.terms)]))

    def gradient(self, x: npt.ArrayLike) -> FloatArray:
        """Gradient of the whole objective at ``x``, shape (d,)."""
        return np.asarray(sum(self.batch_gradient(i, x) for i in range(self.terms)) / self.terms)

    def hessian(self, x: npt.ArrayLike | None = None) -> FloatArray:
        """Hessian of the whole objective at ``x``, by default at the minimiser; shape (d, d)."""
        self._refuse_large(1)
        return np.asarray(sum(self.batch_hessian(i, x) for i in range(self.terms)) / self.terms)

    def batch_gradients(self, x: npt.ArrayLike | None = None) -> FloatArray:
        """Gradients of all terms at ``x``, by default at the minimiser; shape (n, d)."""
        point = self._point(x)
        return np.stack([self.batch_gradient(i, point) for i in range(self.terms)])

    def batch_hessians(self, x: npt.ArrayLike | None = None) -> FloatArray:
        """Hessians of all terms at ``x``, by default at the minimiser; shape (n, d, d).

        Refused if they need more than a gigabyte together; ``batch_hessian`` forms one at a time,
        and ``hessian_product`` none.
        """
        self._refuse_large(self.terms)
        point = self._point(x)
        return np.stack([self.batch_hessian(i, point) for i in range(self.terms)])

    def hessian_product(
        self, i: int | None, v: npt.ArrayLike, x: npt.ArrayLike | None = None
    ) -> FloatArray:
        """Hessian of f_i (of the whole objective if ``i`` is None) at ``x`` times ``v``."""
        H = self.hessian(x) if i is None else self.batch_hessian(i, x)
        return np.asarray(H @ self._point(v, "v"))

    @cached_property
    def mean_gradient_norm(self) -> float:
        """σ = (1/n) Σ ‖∇f_i(x*)‖, what remains at the minimiser; zero if it interpolates."""
        best = self.minimiser
        sizes = [np.linalg.norm(self.batch_gradient(i, best)) for i in range(self.terms)]
        return float(np.mean(sizes))

    def curvature_along(self, trajectory: npt.ArrayLike) -> Curvature:
        """Extreme eigenvalues of the whole Hessian over points of a run, shape (k, d).

        They give the condition number of a run on a problem that is not quadratic.
        """
        remedy = f"give points of {self.dimension} coordinates, shape (k, {self.dimension})"
        points = np.atleast_2d(real("trajectory", trajectory, remedy=remedy))
        spectra = np.stack([np.linalg.eigvalsh(self.hessian(point)) for point in points])
        return Curvature(spectra[:, 0].min(), spectra[:, -1].max())

    @property
    def interpolates(self) -> bool:
        """Whether x* minimises every term, up to the rounding of a gradient."""
        best = self.minimiser
        # The rounding error of a gradient grows with x* and the curvature; a step away measures it.
        away = (1.0 + float(np.linalg.norm(best))) / np.sqrt(self.dimension)
        scale = float(np.linalg.norm(self.gradient(best + away)))
        return self.mean_gradient_norm <= 1e-12 * scale

    def _point(self, x: npt.ArrayLike | None, name: str = "x") -> FloatArray:
        if x is None:
            return self.minimiser
        if type(x) is np.ndarray and x.dtype == np.float64 and x.shape == (self.dimension,):
            return x

        return vector(name, x, self.dimension)

    def _term(self, i: int) -> int:
        # The fast case first: a run needs a term at every step.
        if type(i) is int and 0 <= i < self.terms:
            return i

        return whole("i", i, 0, maximum=self.terms - 1, remedy="count the terms from zero")

    def _refuse_large(self, matrices: int) -> None:
        size = 8 * matrices * self.dimension**2
        if size > HESSIAN_BYTES:
            what = "1 Hessian" if matrices == 1 else f"{matrices} Hessians"
            value = f"{what} of {self.dimension} x {self.dimension}, {size / 2**30:.1f} GiB"
            remedy = "use hessian_product(i, v), which forms none of them"
            raise Refusal("dense Hessians", "at most 1 GiB together", value, remedy)


def vector(name: str, value: npt.ArrayLike, length: int | None = None) -> FloatArray:
    """Return ``value`` as a float64 vector, of at least one coordinate or of ``length``."""
    rule = "a vector" if length is None else f"a vector of {length} coordinates"
    remedy = "one number for each dimension"
    array = np.asarray(real(name, value, remedy=remedy))
    if array.ndim != 1 or length not in (None, len(array)):
        raise Refusal(name, rule, f"an array of shape {array.shape}", remedy)

    return array


def symmetric(name: str, value: npt.ArrayLike, ndim: int) -> FloatArray:
    """Return ``value`` as float64 matrices that are symmetric to the last bit."""
    remedy = "give a symmetric matrix" if ndim == 2 else "give symmetric matrices, shape (n, d, d)"
    array = np.asarray(real(name, value, remedy=remedy))
    if array.ndim != ndim or array.shape[-1] != array.shape[-2]:
        raise Refusal(name, "square", f"an array of shape {array.shape}", remedy)

    turned = np.swapaxes(array, -1, -2)
    if float(np.abs(array - turned).max()) > 1e-10 * float(np.abs(array).max()):
        raise Refusal(name, "symmetric", "a matrix that differs from its own transpose", remedy)

    return np.asarray((array + turned) / 2)
