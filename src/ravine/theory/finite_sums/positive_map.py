"""Spectral radius and fixed points of positive linear maps on symmetric matrices.

A map Φ on (stacks of) symmetric matrices that keeps positive semidefinite ones so has its spectral
radius ρ as an eigenvalue, with a positive semidefinite eigenvector (Perron, Frobenius, Krein,
Rutman). For every X ≻ 0, with Collatz and Wielandt::

    least eigenvalue of (Φ(X), X)  <=  ρ  <=  largest eigenvalue of (Φ(X), X)

since Φ(X) ⪯ c X gives Φᵏ(X) ⪯ cᵏ X. An iteration that has not settled still gives limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.theory.finite_sums.terms import Interval, exactly

Operator: TypeAlias = Callable[[FloatArray], FloatArray]

DENSE = 260
"""Unknowns up to which the matrix is formed: its eigenvalues take a tenth of a second."""
LAST_DENSE = 1100
"""Unknowns up to which it is formed where the iteration has not settled: two to three seconds."""
_DENSE_SOLVE = 400
"""Unknowns up to which a linear system is written out: a hundredth of a second."""
_INDEFINITE = 1e-6
"""Negative eigenvalue of an eigenvector, over its largest, that can be an error of iteration."""
_AT_ONCE = 64
"""Columns of the matrix that are computed together."""
_SUBSPACE = 40
"""Vectors that ARPACK keeps where eigenvalues may be close to each other: twice its default."""
_RESTARTS = 100
"""Restarts after which ARPACK gives up: some 2500 products."""
_POWERS = 300
"""Steps of the power method for the limits where ARPACK gives up."""
_BLENDS = 10.0 ** -np.arange(0.0, 13.0, 2.0)
"""Shares of the identity mixed into an eigenvector that is nearly singular."""


def perron(
    apply: Operator,
    shape: tuple[int, ...],
    *,
    start: Callable[[], FloatArray] | None = None,
    tolerance: float = 1e-12,
    dense: int = DENSE,
    kept: int = _SUBSPACE,
) -> tuple[Interval, FloatArray]:
    """Spectral radius and eigenvector of a positive map on moments of a given shape (..., s, s).

    Maps of up to ``dense`` unknowns by their matrix. Larger ones by ARPACK with ``kept`` vectors to
    a relative residual of ``tolerance``, from what ``start`` returns, which is positive definite,
    or from the identity. Where that does not settle, the matrix again if it is not too large, or
    the limits of Collatz and Wielandt. ``apply`` takes further leading axes.
    """
    unknowns = _free(shape).size
    if unknowns > dense:
        X = np.array(np.broadcast_to(np.eye(shape[-1]) if start is None else start(), shape))
        pair = _arnoldi(apply, X, tolerance, kept)
        if pair is not None:
            value, X = pair
            sizes = np.linalg.eigvalsh(symmetric(X))
            if sizes.min() >= -_INDEFINITE * sizes.max():
                return exactly(value), X

    if unknowns <= LAST_DENSE:
        value, X = leading_pair(matrix_of(apply, shape), shape)
        return exactly(value), X

    for _ in range(_POWERS):
        X = apply(X)
        X = X / max(_trace(X), 1e-300)

    low, high = collatz_wielandt(apply, X)
    value = float(np.clip(_trace(apply(X)) / max(_trace(X), 1e-300), low, high))
    return Interval(value, low, high), X


@cache
def _free(shape: tuple[int, ...]) -> npt.NDArray[np.intp]:
    """Where the numbers on and above the diagonals of (..., s, s) are in the flat array."""
    upper = np.triu(np.ones(shape[-2:], dtype=bool))
    return np.flatnonzero(np.broadcast_to(upper, shape))


@cache
def _mirrored(shape: tuple[int, ...]) -> npt.NDArray[np.intp]:
    """For every entry of (..., s, s), flat, which of the numbers of ``_free`` it is."""
    free = _free(shape)
    place = np.zeros(math.prod(shape), dtype=np.intp)
    place[free] = np.arange(free.size)
    place = place.reshape(shape)
    return np.maximum(place, np.swapaxes(place, -1, -2)).ravel()


def from_upper(numbers: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Symmetric matrices (k, *shape) of rows with the numbers on and above the diagonals."""
    return numbers.take(_mirrored(shape), axis=1).reshape(-1, *shape)


def to_upper(X: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """The numbers on and above the diagonals, (k, numbers), of matrices (k, *shape)."""
    return X.reshape(len(X), -1).take(_free(shape), axis=1)


def symmetric(X: FloatArray) -> FloatArray:
    """The symmetric part of matrices (..., s, s)."""
    return np.asarray(0.5 * (X + np.swapaxes(X, -1, -2)))


def matrix_of(apply: Operator, shape: tuple[int, ...]) -> FloatArray:
    """The map as a matrix on the numbers on and above the diagonals, which acts on rows."""
    count = _free(shape).size
    rows = [
        to_upper(
            apply(from_upper(np.eye(min(_AT_ONCE, count - first), count, first), shape)), shape
        )
        for first in range(0, count, _AT_ONCE)
    ]
    return np.concatenate(rows)


def dense_radius(apply: Operator, shape: tuple[int, ...]) -> float:
    """Spectral radius from the matrix of the map."""
    return float(np.abs(np.linalg.eigvals(matrix_of(apply, shape))).max())


def leading_pair(matrix: FloatArray, shape: tuple[int, ...]) -> tuple[float, FloatArray]:
    """Spectral radius and eigenvector, of trace 1, of a positive map given by its matrix."""
    values, vectors = np.linalg.eig(matrix.T)
    lead = vectors[:, int(np.argmax(values.real))].real
    return _scaled(float(np.abs(values).max()), lead, shape)


def _arnoldi(
    apply: Operator, start: FloatArray, tolerance: float, kept: int
) -> tuple[float, FloatArray] | None:
    """Largest real eigenvalue and eigenvector, of trace 1, by ARPACK; None if not settled."""
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

    shape = start.shape
    free = _free(shape).size

    def on_upper(x: FloatArray) -> FloatArray:
        return np.asarray(to_upper(apply(from_upper(x.reshape(1, -1), shape)), shape)[0])

    operator = LinearOperator((free, free), matvec=on_upper, dtype=np.float64)
    first = to_upper(start[None], shape)[0]
    limits = {"tol": tolerance, "maxiter": _RESTARTS, "ncv": min(kept, free)}
    try:
        values, vectors = eigs(operator, k=1, which="LR", v0=first, **limits)
    except ArpackError:
        return None

    return _scaled(float(abs(values[0])), vectors[:, 0].real, shape)


def _scaled(value: float, upper: FloatArray, shape: tuple[int, ...]) -> tuple[float, FloatArray]:
    """An eigenpair with a trace of 1; zero and the identity where the map is nilpotent."""
    X = from_upper(upper[None], shape)[0]
    trace = _trace(X)
    if not value > 0.0 or trace == 0.0:
        return 0.0, np.broadcast_to(np.eye(shape[-1]) / shape[-1], shape)

    return value, X / trace


def collatz_wielandt(apply: Operator, X: FloatArray) -> tuple[float, float]:
    """The best limits of the spectral radius from a matrix near its eigenvector.

    An eigenvector may be singular, or indefinite by its error; some of the identity makes it
    positive definite, and how much of it serves best is tried.
    """
    identity = np.broadcast_to(np.eye(X.shape[-1]), X.shape)
    X = X * (_trace(identity) / max(_trace(X), 1e-300))
    low = 0.0
    high = math.inf
    for blend in _BLENDS:
        mixed = symmetric(X + blend * identity)
        try:
            L = np.linalg.cholesky(mixed)
        except np.linalg.LinAlgError:
            continue

        half = np.linalg.solve(L, symmetric(apply(mixed)))
        values = np.linalg.eigvalsh(np.linalg.solve(L, np.swapaxes(half, -1, -2)))
        low = max(low, float(values.min()))
        high = min(high, float(values.max()))

    return low, high


def _trace(X: FloatArray) -> float:
    return float(np.trace(X, axis1=-2, axis2=-1).sum())


def fixed_point(apply: Operator, right: FloatArray) -> FloatArray | None:
    """Solve X = apply(X) + right for symmetric matrices; None where GMRES does not converge."""
    shape = right.shape
    if _free(shape).size <= _DENSE_SOLVE:
        matrix = matrix_of(apply, shape)
        solved = np.linalg.solve(np.eye(len(matrix)) - matrix.T, to_upper(right[None], shape)[0])
        return np.asarray(from_upper(solved[None], shape)[0])

    from scipy.sparse.linalg import LinearOperator, gmres

    def left(x: FloatArray) -> FloatArray:
        return np.asarray(x - apply(symmetric(x.reshape(shape))).ravel())

    operator = LinearOperator((right.size, right.size), matvec=left, dtype=np.float64)
    limits = {"rtol": 1e-12, "atol": 0.0, "restart": 60, "maxiter": 20}
    solved, failed = gmres(operator, right.ravel(), **limits)
    return None if failed else symmetric(np.asarray(solved).reshape(shape))
