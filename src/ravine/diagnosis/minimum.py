"""The minimiser of an objective on rows and the spectrum of its Hessian, singular or not."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine.arguments import FloatArray
from ravine.problems import LinearModel
from ravine.problems.spectrum import newton

FULL_LIMIT = 1200
"""Maximum dimension in which the Hessian is diagonalised: a second or two on one core."""
_RANK = 1e-13
"""Eigenvalues below this share of the largest count as zero."""
_PRODUCTS = 1000
"""Maximum number of products in one conjugate-gradient search."""
_PASSES = 3
_NEWTON = 30
"""Newton steps. On a quadratic, the later ones correct the rounding error of the first; other
losses need about twenty."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """The minimum of the objective.

    Attributes
    ----------
    point
        The minimiser; if there are many, the one of smallest norm, to which runs from zero
        converge.
    value
        The minimum f*.
    spectrum
        Positive eigenvalues of the Hessian there, ascending. Beyond ``FULL_LIMIT`` coordinates, a
        lower bound and the largest ones.
    vectors
        Their eigenvectors, shape (d, k); beyond the limit, those of the largest ones.
    flat
        Directions without curvature, in which runs never move.
    full
        Whether the spectrum is complete.
    gap
        Bound on the error of f*, as a share of the excess loss at zero.
    """

    point: FloatArray
    value: float
    spectrum: FloatArray
    vectors: FloatArray
    flat: int = 0
    full: bool = True
    gap: float = 0.0


def minimum_of(model: LinearModel, *, products: float = math.inf) -> Minimum:
    """Find the minimiser and the spectrum of the Hessian there.

    Beyond ``FULL_LIMIT`` coordinates, the search ends after about that many ``products`` of the
    Hessian and a vector.
    """
    if model.dimension > FULL_LIMIT:
        return _by_products(model, products)

    def step(x: FloatArray, g: FloatArray) -> FloatArray:
        H = model.hessian(x)
        if model.l2 > _RANK * float(np.trace(H)):
            return np.asarray(np.linalg.solve(H, g))

        values, vectors = _curved(H)
        return np.asarray(vectors @ ((vectors.T @ g) / values))

    x = np.zeros(model.dimension)
    if not model.quadratic:
        x = newton(x, model.gradient, step, objective=model.objective)

    values, vectors = _curved(model.hessian(x))
    if model.quadratic:
        # The second step corrects the rounding error of the first.
        for _ in range(2):
            x = x - vectors @ ((vectors.T @ model.gradient(x)) / values)

    return Minimum(x, model.objective(x), values, vectors, model.dimension - len(values))


def _curved(H: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and vectors of the range of a Hessian."""
    values, vectors = np.linalg.eigh(H)
    kept = values > _RANK * values[-1]
    if not kept.any():
        # A table of zeros: no direction is curved, so any will do.
        return np.array([1e-300]), vectors[:, -1:]

    return values[kept], vectors[:, kept]


def _by_products(model: LinearModel, most: float) -> Minimum:
    """The same without forming a Hessian, by conjugate gradients and Lanczos.

    Conjugate gradients from zero stay in the range of the Hessian, so they end at the minimiser of
    smallest norm. The lower bound of the spectrum is l2 or, without l2, the smallest curvature
    along the search directions.
    """
    from scipy.sparse.linalg import cg, eigsh

    zero = np.zeros(model.dimension)
    first = float(np.linalg.norm(model.gradient(zero)))
    met: list[float] = []
    inverse_near = _preconditioner(model)

    def solve(x: FloatArray, g: FloatArray) -> FloatArray:
        hessian = model.hessian_at(x)

        def product(v: FloatArray) -> FloatArray:
            curved = hessian(v)
            met.append(float(v @ curved) / max(float(v @ v), 1e-300))
            return curved

        # Far from the minimiser a rough step is as good as an exact one.
        rough = min(0.1, math.sqrt(float(np.linalg.norm(g)) / max(first, 1e-300)))
        close = 1e-8 if model.quadratic else max(1e-8, rough)
        left = int(np.clip(most - len(met), 1, _PRODUCTS))
        step, _ = cg(_operator(product, len(g)), g, rtol=close, maxiter=left, M=inverse_near(x))

        return np.asarray(step)

    def gradient(x: FloatArray) -> FloatArray:
        # If the time is over, the search ends here; so it does at a zero gradient.
        return zero if len(met) >= most else model.gradient(x)

    iterations = _PASSES if model.quadratic else _NEWTON
    x = newton(zero, gradient, solve, objective=model.objective, iterations=iterations)

    # Approximate directions are good enough; only the largest curvature has to be accurate.
    operator = _operator(model.hessian_at(x), model.dimension)
    begin = np.random.default_rng(0).standard_normal(model.dimension)
    values, vectors = eigsh(operator, k=12, which="LA", v0=begin, ncv=60, tol=1e-2)
    rest = operator @ vectors[:, -1] - values[-1] * vectors[:, -1]
    values[-1] += float(np.linalg.norm(rest))
    curved = [m for m in met if m > _RANK * values[-1]]
    low = model.l2 if model.l2 > 0.0 else min(curved, default=float(values[0]))
    spectrum = np.concatenate([[min(low, float(values[0]))], values])

    # f(x) - f* <= ‖g‖²/(2 mu), and mu >= l2.
    value = model.objective(x)
    size = float(np.linalg.norm(model.gradient(x))) ** 2 / (2.0 * spectrum[0])
    gap = min(1.0, size / max(model.objective(zero) - value, 1e-300))
    return Minimum(x, value, spectrum, vectors, full=False, gap=gap)


def _preconditioner(model: LinearModel) -> Callable[[FloatArray], Any]:
    """The inverse of s XᵀX/n + l2 for each output, with s the mean curvature in the scores."""
    if model.sparse or model.features > FULL_LIMIT or model.l2 == 0.0:
        return lambda x: None

    values, vectors = np.linalg.eigh(model.X.T @ model.X / model.rows)

    def at(x: FloatArray) -> Any:
        scores = model.scores(slice(None), x)
        entries = [model.loss.hessian_column(scores, k)[:, k].mean() for k in range(model.outputs)]
        inverse = 1.0 / (float(np.mean(entries)) * values + model.l2)

        def product(v: FloatArray) -> FloatArray:
            turned = vectors.T @ v.reshape(model.features, -1)
            return np.asarray(vectors @ (inverse[:, None] * turned)).ravel()

        return _operator(product, model.dimension)

    return at


def _operator(product: Callable[[FloatArray], FloatArray], size: int) -> Any:
    from scipy.sparse.linalg import LinearOperator

    return LinearOperator((size, size), lambda v: product(v.ravel()), dtype=np.float64)
