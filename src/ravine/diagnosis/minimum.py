"""The minimiser of an objective of rows and its spectrum there, singular or not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ravine.arguments import FloatArray
from ravine.diagnosis.row_model import RowModel
from ravine.problems import LinearModel
from ravine.problems.newton import newton

FULL_LIMIT = 1200
"""Coordinates up to which the Hessian is diagonalised: a second or two on one core."""
_RANK = 1e-13
"""Eigenvalues below this part of the largest are the rounding of zero."""
_SOLVED = 1e-8
_PRODUCTS = 1000
"""Relative residual at which conjugate gradients end, and products after which they do."""
_PASSES = 3
_NEWTON = 30
"""Newton's steps: a quadratic's take back the rounding of the first, others need some twenty."""
_TOP_VECTORS = 12
"""Eigenvectors of the largest curvature that Lanczos' method is asked for."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """Where the objective is least.

    Attributes
    ----------
    point
        The minimiser; where there are many, the one of least norm, which runs from zero find.
    value
        The least value f*.
    spectrum
        Positive eigenvalues of the Hessian there, ascending. Beyond ``FULL_LIMIT`` coordinates
        a lower end and the largest ones.
    vectors
        Their eigenvectors, shape (d, k); beyond the limit, of the largest ones.
    flat
        Directions without curvature, in which runs never move.
    full
        Whether the spectrum is complete.
    """

    point: FloatArray
    value: float
    spectrum: FloatArray
    vectors: FloatArray
    flat: int
    full: bool


def minimum_of(problem: LinearModel, model: RowModel) -> Minimum:
    """Find the minimiser and the spectrum of the Hessian there."""
    if problem.dimension > FULL_LIMIT:
        return _by_products(problem, model)

    if model.quadratic:
        zero = np.zeros(problem.dimension)
        values, vectors = _curved(problem.hessian(zero))
        x = zero

        # The second pass takes the rounding of the first one back.
        for _ in range(2):
            x = x - vectors @ ((vectors.T @ problem.gradient(x)) / values)
    else:
        x = newton(np.zeros(problem.dimension), problem.gradient, _newton_step(problem))
        values, vectors = _curved(problem.hessian(x))

    flat = problem.dimension - len(values)
    return Minimum(x, float(problem.objective(x)), values, vectors, flat, True)


def _newton_step(problem: LinearModel):  # type: ignore[no-untyped-def]
    def step(x: FloatArray, g: FloatArray) -> FloatArray:
        values, vectors = _curved(problem.hessian(x))
        return np.asarray(vectors @ ((vectors.T @ g) / values))

    return step


def _curved(H: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and vectors of the range of a Hessian."""
    values, vectors = np.linalg.eigh(H)
    kept = values > _RANK * values[-1]
    if not kept.any():
        # A table of zeros: any direction serves, none is curved.
        return np.array([1e-300]), vectors[:, -1:]

    return values[kept], vectors[:, kept]


def _by_products(problem: LinearModel, model: RowModel) -> Minimum:
    """The same without a Hessian: conjugate gradients, and the largest eigenvalues by Lanczos.

    Conjugate gradients from zero stay in the range of the Hessian, so that they end in the
    minimiser of least norm. The lower end of the spectrum is l2, or without it the least
    curvature that these searches met.
    """
    from scipy.sparse.linalg import LinearOperator, cg, eigsh

    d = problem.dimension
    met: list[float] = []

    def solve(x: FloatArray, g: FloatArray) -> FloatArray:
        def product(v: FloatArray) -> FloatArray:
            flat = v.ravel()
            curved = model.curve(flat, x)
            met.append(float(flat @ curved) / max(float(flat @ flat), 1e-300))

            return curved

        operator = LinearOperator((d, d), matvec=product, dtype=np.float64)
        return np.asarray(cg(operator, g, rtol=_SOLVED, maxiter=_PRODUCTS)[0])

    iterations = _PASSES if model.quadratic else _NEWTON
    x = newton(np.zeros(d), problem.gradient, solve, iterations=iterations)
    operator = LinearOperator((d, d), matvec=lambda v: model.curve(v.ravel(), x), dtype=np.float64)
    first = np.random.default_rng(0).standard_normal(d)
    # Close directions serve as well as exact ones; only the largest curvature has to hold.
    values, vectors = eigsh(operator, k=_TOP_VECTORS, which="LA", v0=first, ncv=60, tol=1e-2)
    rest = operator @ vectors[:, -1] - values[-1] * vectors[:, -1]
    values[-1] += float(np.linalg.norm(rest))
    curved = [m for m in met if m > _RANK * values[-1]]
    low = problem.l2 if problem.l2 > 0.0 else min(curved, default=float(values[0]))
    spectrum = np.concatenate([[min(low, float(values[0]))], values])

    return Minimum(x, float(problem.objective(x)), spectrum, vectors, 0, False)
