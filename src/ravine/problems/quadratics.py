"""One quadratic, f(x) = ½ (x - x*)ᵀ H (x - x*) + f*, and means of quadratics."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, one_number, overflow_allowed, real
from ravine.curvature import Curvature
from ravine.problems.problem import Problem, symmetric, vector


class Quadratic(Problem):
    """The quadratic f(x) = ½ (x - x*)ᵀ H (x - x*) + f*.

    Parameters
    ----------
    hessian
        H, symmetric and positive definite, shape (d, d).
    minimiser
        x*, shape (d,). Default: zero.
    minimum
        f*, the value at the minimiser.
    curvature
        Bounds on the spectrum of H. Default: its extreme eigenvalues.
    start
        Default start of runs. Default: x* + (1, ..., 1).
    name, parameters
        Recorded with every result.

    Examples
    --------
    >>> problem = Quadratic([[2.0, 1.0], [1.0, 2.0]], minimiser=[1.0, -1.0])
    >>> problem.eigenvalues.round(12).tolist(), float(problem.curvature.Q.round(12))
    ([1.0, 3.0], 3.0)
    >>> problem.gradient([1.0, -1.0]).tolist()
    [0.0, 0.0]
    """

    eigenvalues: FloatArray
    """Eigenvalues of H in ascending order, shape (d,)."""
    eigenvectors: FloatArray
    """Orthonormal eigenvectors of H, one a column, shape (d, d)."""

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
        self.minimiser = np.zeros(d) if minimiser is None else vector("minimiser", minimiser, d)
        self.start = self.minimiser + 1.0 if start is None else vector("start", start, d)
        self.minimum = one_number("minimum", minimum, remedy="give the value at x*, e.g. 0")
        self.eigenvalues, self.eigenvectors = np.linalg.eigh(self._hessian)
        self.curvature = _enclosing("hessian", self.eigenvalues, curvature)

    def batch_objective(self, i: int, x: npt.ArrayLike) -> float:
        """Value at ``x``; the only term is 0."""
        self._term(i)
        away = self._point(x) - self.minimiser
        return float(0.5 * (away @ self._hessian @ away) + self.minimum)

    def batch_gradient(self, i: int, x: npt.ArrayLike) -> FloatArray:
        """H (x - x*), shape (d,); the only term is 0."""
        self._term(i)
        return np.asarray(self._hessian @ (self._point(x) - self.minimiser))

    def batch_hessian(self, i: int, x: npt.ArrayLike | None = None) -> FloatArray:
        """H, the same at every ``x``; the only term is 0."""
        self._term(i)
        return self._hessian.copy()


class QuadraticSum(Problem):
    """The mean of f_i(x) = ½ (x - x*)ᵀ H_i (x - x*) + z_iᵀ (x - x*) + c_i, where Σ z_i = 0.

    Parameters
    ----------
    hessians
        H_i, symmetric and positive definite, shape (n, d, d).
    minimisers
        The minimiser of each term, shape (n, d). Not together with ``minimiser`` or ``gradients``.
    minimiser
        x*, shape (d,). Default: zero.
    gradients
        z_i = ∇f_i(x*), shape (n, d), with zero mean. Default: zero (interpolation).
    values
        c_i = f_i(x*), shape (n,); with ``minimisers``, the minimum of each term. By default the
        minimum of every term is zero.
    curvature
        Bounds for every term. Default: the extreme eigenvalues of all of them.
    start, name, parameters
        As in ``Quadratic``.

    Examples
    --------
    >>> two = QuadraticSum([[[1.0]], [[3.0]]], minimisers=[[0.0], [4.0]])
    >>> two.minimiser.tolist(), two.batch_gradients().ravel().tolist()
    ([3.0], [3.0, -3.0])
    >>> two.interpolates
    False
    """

    @overflow_allowed
    def __init__(
        self,
        hessians: npt.ArrayLike,
        *,
        minimisers: npt.ArrayLike | None = None,
        minimiser: npt.ArrayLike | None = None,
        gradients: npt.ArrayLike | None = None,
        values: npt.ArrayLike | None = None,
        curvature: Curvature | None = None,
        start: npt.ArrayLike | None = None,
        name: str = "quadratic sum",
        parameters: dict[str, Any] | None = None,
    ) -> None:
        self._hessians = symmetric("hessians", hessians, 3)
        n, d = self._hessians.shape[:2]
        super().__init__(name, parameters or {"dimension": d, "terms": n}, d, n)
        self._mean_hessian = np.asarray(self._hessians.mean(axis=0))
        spectra = np.asarray(np.linalg.eigvalsh(self._hessians), dtype=np.float64)
        self.curvature = _enclosing("hessians", spectra, curvature)
        if minimisers is None:
            self.minimiser = np.zeros(d) if minimiser is None else vector("minimiser", minimiser, d)
            self._gradients, self._values = self._at_minimiser(gradients, values)
        else:
            if not (minimiser is None and gradients is None):
                remedy = "the terms' minimisers already fix them"
                raise Refusal("minimisers", "given alone", "minimiser or gradients as well", remedy)

            places = self._rows("minimisers", minimisers)
            linear = np.einsum("nij,nj->ni", self._hessians, places).mean(axis=0)
            agreed = (places == places[0]).all()
            self.minimiser = places[0] if agreed else np.linalg.solve(self._mean_hessian, linear)
            away = self.minimiser - places
            self._gradients = np.einsum("nij,nj->ni", self._hessians, away)
            self._gradients -= self._gradients.mean(axis=0)
            self._values = 0.5 * np.einsum("ni,ni->n", self._gradients, away)
            if values is not None:
                self._values = self._values + vector("values", values, n)

        self.start = self.minimiser + 1.0 if start is None else vector("start", start, d)

    def _rows(self, name: str, value: npt.ArrayLike) -> FloatArray:
        shape = (self.terms, self.dimension)
        array = np.asarray(real(name, value, remedy=f"give an array of shape {shape}"))
        if array.shape != shape:
            shown = f"an array of shape {array.shape}"
            raise Refusal(name, f"of shape {shape}", shown, "one row for each term")

        return array

    def _at_minimiser(
        self, gradients: npt.ArrayLike | None, values: npt.ArrayLike | None
    ) -> tuple[FloatArray, FloatArray]:
        """The gradients z_i and the values c_i at x*, given or by default."""
        slopes = np.zeros((self.terms, self.dimension))
        if gradients is not None:
            slopes = self._rows("gradients", gradients)

        drift = float(np.abs(slopes.mean(axis=0)).max())
        if drift > 1e-9 * float(np.abs(slopes).max(initial=1e-300)):
            shown = f"a mean of size {drift:.3g}"
            raise Refusal("gradients", "zero in the mean", shown, "subtract their mean, or move x*")
        if values is not None:
            return slopes, vector("values", values, self.terms)

        try:
            steps = np.linalg.solve(self._hessians, slopes[..., None])[..., 0]
        except np.linalg.LinAlgError:
            rule = "invertible in float64"
            raise Refusal("hessians", rule, "a singular one", "take mu closer to L") from None
        return slopes, np.asarray(0.5 * np.einsum("ni,ni->n", slopes, steps))

    @cached_property
    def shared_eigenvectors(self) -> tuple[FloatArray, FloatArray] | None:
        """(U, eigenvalues) with H_i = U diag(eigenvalues[i]) Uᵀ for every i, or None.

        U has shape (d, d), the eigenvalues (n, d). None if the Hessians do not commute, to a
        relative 1e-12.
        """
        eye = np.eye(self.dimension)
        diagonals = np.einsum("nii->ni", self._hessians)
        if not (self._hessians - diagonals[:, :, None] * eye).any():
            return eye, diagonals.copy()

        # A generic combination separates all eigenvectors that any two terms separate.
        weights = np.random.default_rng(20).uniform(1.0, 2.0, self.terms)
        _, U = np.linalg.eigh(np.einsum("n,nij->ij", weights, self._hessians))
        turned = U.T @ self._hessians @ U
        eigenvalues = np.einsum("nii->ni", turned)
        off = turned - eigenvalues[:, :, None] * eye
        if float(np.abs(off).max()) > 1e-12 * self.dimension * float(self.curvature.L):
            return None

        return U, eigenvalues.copy()

    def batch_objective(self, i: int, x: npt.ArrayLike) -> float:
        """Value of f_i at ``x``."""
        away = self._point(x) - self.minimiser
        k = self._term(i)
        slope = 0.5 * (self._hessians[k] @ away) + self._gradients[k]
        return float(away @ slope + self._values[k])

    def batch_gradient(self, i: int, x: npt.ArrayLike) -> FloatArray:
        """H_i (x - x*) + z_i, shape (d,)."""
        k = self._term(i)
        away = self._point(x) - self.minimiser
        return np.asarray(self._hessians[k] @ away + self._gradients[k])

    def batch_hessian(self, i: int, x: npt.ArrayLike | None = None) -> FloatArray:
        """H_i, the same at every ``x``; shape (d, d)."""
        return np.array(self._hessians[self._term(i)])

    def objective(self, x: npt.ArrayLike) -> float:
        """Value of the mean at ``x``."""
        away = self._point(x) - self.minimiser
        return float(0.5 * (away @ self._mean_hessian @ away) + self._values.mean())

    def gradient(self, x: npt.ArrayLike) -> FloatArray:
        """Gradient of the mean at ``x``, shape (d,)."""
        return np.asarray(self._mean_hessian @ (self._point(x) - self.minimiser))

    def hessian(self, x: npt.ArrayLike | None = None) -> FloatArray:
        """Hessian of the mean, the same at every ``x``; shape (d, d)."""
        return np.array(self._mean_hessian)

    def batch_gradients(self, x: npt.ArrayLike | None = None) -> FloatArray:
        """H_i (x - x*) + z_i for every i, by default z_i; shape (n, d)."""
        if x is None:
            return np.array(self._gradients, dtype=np.float64)

        return np.asarray(self._hessians @ (self._point(x) - self.minimiser) + self._gradients)

    def batch_hessians(self, x: npt.ArrayLike | None = None) -> FloatArray:
        """H_i for every i, the same at every ``x``; shape (n, d, d)."""
        return np.array(self._hessians)


def _enclosing(name: str, eigenvalues: FloatArray, given: Curvature | None) -> Curvature:
    """Bounds on ``eigenvalues``: the given ones if they enclose them, else the extreme ones."""
    low = float(eigenvalues.min())
    high = float(eigenvalues.max())
    if low <= 0.0:
        shown = f"an eigenvalue of {low:.3g}"
        raise Refusal(name, "positive definite", shown, "add l2 times the identity")
    if given is None:
        return Curvature(low, high)

    remedy = "omit it to have it computed"
    mu, L = given.single(remedy)
    rounding = 1e-9 * high
    if low < mu - rounding or high > L + rounding:
        rule = f"bounds on the spectrum, [{low:.6g}, {high:.6g}]"
        raise Refusal("curvature", rule, f"mu={mu:g}, L={L:g}", remedy)

    return given
