"""Positive linear maps on symmetric matrices: spectral radius, fixed points, sandwich maps.

A map Φ on (stacks of) symmetric matrices that preserves positive semidefinite ones has its spectral
radius ρ as an eigenvalue, with a positive semidefinite eigenvector (Perron, Frobenius, Krein,
Rutman). For every X ≻ 0 (Collatz and Wielandt)::

    least eigenvalue of (Φ(X), X)  <=  ρ  <=  largest eigenvalue of (Φ(X), X)

since Φ(X) ⪯ c X gives Φᵏ(X) ⪯ cᵏ X. So an iteration that has not converged still gives limits.

A sandwich map, X ↦ Σ_b w_b F_b X F_bᵀ, is the effect of random factors on second moments.
The factors are the maps of steps or epochs, or deviations from the mean Hessian: with H_b = Λ + Δ_b
in the eigenvectors of the mean Λ, a step adds N(X) = Σ_b w_b Δ_b X Δ_b for the moments X = E[r rᵀ].
This is the only expensive part of second moments.

Up to a few dozen directions, the map is stored as a D x D table of its entries, D = d(d+1)/2: the
cost does not depend on the number of terms, and many X are one matrix product. Beyond that, it is
computed term by term; for rows of data, whose Hessians have low rank, without a d x d matrix per
row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.theory.finite_sums.terms import Interval, exactly

Indices = npt.NDArray[np.intp]
Operator: TypeAlias = Callable[[FloatArray], FloatArray]

DENSE = 260
"""Maximum number of unknowns for forming the matrix: its eigenvalues take a tenth of a second."""
LAST_DENSE = 1100
"""The same if the iteration has not converged: two to three seconds."""
_DENSE_SOLVE = 400
"""Maximum number of unknowns for a dense linear system: a hundredth of a second."""
_INDEFINITE = 1e-6
"""Relative size of a negative eigenvalue of an eigenvector that can be an iteration error."""
_AT_ONCE = 64
"""Number of columns of the matrix that are computed together."""
_SUBSPACE = 40
"""Vectors that ARPACK keeps if eigenvalues may be close together: twice its default."""
_RESTARTS = 100
"""Restarts after which ARPACK gives up: about 2500 products."""
_POWERS = 300
"""Steps of the power method for limits if ARPACK gives up."""
_BLENDS = 10.0 ** -np.arange(0.0, 13.0, 2.0)
"""Shares of the identity to mix into a nearly singular eigenvector."""
_TABLE_ROWS = 64
"""Maximum number of rows of a table: 2080² numbers, 35 MB, with 134 MB of temporary memory."""
_SMALL = 16
"""Maximum number of rows of a table that takes only milliseconds."""
_CHUNK = 2**22
"""Numbers processed at a time, 32 MB: the memory of a product in addition to the terms."""
_ROUNDING = 64.0 * np.finfo(np.float64).eps
"""Relative size below which deviations are rounding errors of equal terms."""


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

    Maps of up to ``dense`` unknowns use their matrix. Larger ones use ARPACK with ``kept`` vectors,
    to a relative residual of ``tolerance``, from the positive definite matrix that ``start``
    returns, or from the identity. If that does not converge, the matrix is used if it is not too
    large, otherwise the limits of Collatz and Wielandt. ``apply`` accepts further leading axes.
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
    """Flat indices of the entries on and above the diagonals of (..., s, s)."""
    upper = np.triu(np.ones(shape[-2:], dtype=bool))
    return np.flatnonzero(np.broadcast_to(upper, shape))


@cache
def _mirrored(shape: tuple[int, ...]) -> npt.NDArray[np.intp]:
    """For every entry of (..., s, s), flat, the index of its number in ``_free``."""
    free = _free(shape)
    place = np.zeros(math.prod(shape), dtype=np.intp)
    place[free] = np.arange(free.size)
    place = place.reshape(shape)
    return np.maximum(place, np.swapaxes(place, -1, -2)).ravel()


def from_upper(numbers: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Symmetric matrices (k, *shape) from rows with the entries on and above the diagonals."""
    return numbers.take(_mirrored(shape), axis=1).reshape(-1, *shape)


def to_upper(X: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """The entries on and above the diagonals, (k, numbers), of matrices (k, *shape)."""
    return X.reshape(len(X), -1).take(_free(shape), axis=1)


def symmetric(X: FloatArray) -> FloatArray:
    """The symmetric part of matrices (..., s, s)."""
    return np.asarray(0.5 * (X + np.swapaxes(X, -1, -2)))


def matrix_of(apply: Operator, shape: tuple[int, ...]) -> FloatArray:
    """The map as a matrix on the entries on and above the diagonals; it acts on rows."""
    count = _free(shape).size
    rows = [
        to_upper(
            apply(from_upper(np.eye(min(_AT_ONCE, count - first), count, first), shape)), shape
        )
        for first in range(0, count, _AT_ONCE)
    ]
    return np.concatenate(rows)


def leading_pair(matrix: FloatArray, shape: tuple[int, ...]) -> tuple[float, FloatArray]:
    """Spectral radius and eigenvector, of trace 1, of a positive map given by its matrix."""
    values, vectors = np.linalg.eig(matrix.T)
    lead = vectors[:, int(np.argmax(values.real))].real
    return _scaled(float(np.abs(values).max()), lead, shape)


def _arnoldi(
    apply: Operator, start: FloatArray, tolerance: float, kept: int
) -> tuple[float, FloatArray] | None:
    """Largest real eigenvalue and eigenvector of trace 1 by ARPACK; None if it did not converge."""
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
    """An eigenpair with trace 1; zero and the identity if the map is nilpotent."""
    X = from_upper(upper[None], shape)[0]
    trace = _trace(X)
    if not value > 0.0 or trace == 0.0:
        return 0.0, np.broadcast_to(np.eye(shape[-1]) / shape[-1], shape)

    return value, X / trace


def collatz_wielandt(apply: Operator, X: FloatArray) -> tuple[float, float]:
    """The best limits of the spectral radius from a matrix near its eigenvector.

    An eigenvector may be singular, or indefinite because of errors. Adding a multiple of the
    identity makes it positive definite; several multiples are tried.
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
    """Solve X = apply(X) + right for symmetric matrices; None if GMRES does not converge."""
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


class Sandwiches:
    """The map X ↦ Σ_b w_b F_b X F_bᵀ on symmetric matrices.

    Parameters
    ----------
    factors
        F_b, shape (k, d, d).
    weights
        w_b, shape (k,). They add up to 1, on average if the terms are a random sample.
    """

    def __init__(self, factors: FloatArray, weights: FloatArray) -> None:
        self.factors = factors
        self.weights = weights
        self.dimension = int(factors.shape[-1])

    def parts(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the F_b of some terms at a time, shape (terms, d, d)."""
        yield slice(None), self.factors

    @property
    def effort(self) -> float:
        """Number of multiplications of one sandwich, term by term."""
        return 2.0 * self.factors.size * self.dimension

    @cached_property
    def table(self) -> FloatArray:
        """The map as a matrix on upper triangles, shape (D, D): a row X goes to X @ table."""
        d = self.dimension
        products = np.zeros((d * d, d * d))
        for part, factors in self.parts():
            flat = factors.reshape(-1, d * d)
            products += (self.weights[part, None] * flat).T @ flat

        # X_kl contributes to entry ij with the factor Σ_b w_b (F_b)_ik (F_b)_jl, and X_lk = X_kl.
        rows, columns = np.triu_indices(d)
        half = products.reshape(d, d, d, d).transpose(0, 2, 1, 3)[rows, columns]
        both = half[:, rows, columns] + half[:, columns, rows]
        both[:, rows == columns] *= 0.5
        return np.ascontiguousarray(both.T)

    def sandwich(self, X: FloatArray) -> FloatArray:
        """Σ_b w_b F_b X F_bᵀ of symmetric matrices (..., d, d)."""
        d = self.dimension
        # A product with the table takes d⁴/2 multiplications.
        if d <= _SMALL or (d <= _TABLE_ROWS and 2.0 * self.effort >= d**4):
            upper = to_upper(X.reshape(-1, d, d), (d, d)) @ self.table
            return from_upper(upper, (d, d)).reshape(X.shape)

        every = np.stack([self._sandwich(one) for one in X.reshape(-1, d, d)])
        return symmetric(every).reshape(X.shape)

    def _sandwich(self, X: FloatArray) -> FloatArray:
        """The sandwich of one matrix without the table."""
        turned = np.swapaxes(self.factors, 1, 2)
        moved = (X @ turned).reshape(-1, self.dimension)
        return np.asarray((self.weights[:, None, None] * turned).reshape(moved.shape).T @ moved)

    def adjoint(self) -> Sandwiches:
        """The map V ↦ Σ_b w_b F_bᵀ V F_b."""
        out = Sandwiches(np.swapaxes(self.factors, 1, 2), self.weights)
        if "table" in self.__dict__:
            # In the inner product of matrices, numbers off the diagonal count twice.
            counts = (2.0 - np.eye(self.dimension))[np.triu_indices(self.dimension)]
            out.table = counts[:, None] * self.table.T / counts

        return out


class Deviations(Sandwiches):
    """Deviations Δ_b of k terms from the mean Hessian, in its eigenvectors.

    Parameters
    ----------
    factors, weights
        Δ_b, symmetric, and w_b.
    scale
        Largest eigenvalue of the mean, which sets the size of rounding errors.
    """

    def __init__(self, factors: FloatArray, weights: FloatArray, scale: float) -> None:
        super().__init__(factors, weights)
        self.scale = scale

    def restricted(self, which: Indices) -> Deviations:
        """The same in some of the directions."""
        return Deviations(self.factors[:, which[:, None], which], self.weights, self.scale)

    @cached_property
    def largest(self) -> float:
        """Largest Frobenius norm of all √w_b Δ_b; zero if the terms are equal up to rounding."""
        size = float(np.sqrt(np.max(self.weights * self.squares(), initial=0.0)))
        return size if size > _ROUNDING * self.scale else 0.0

    def third(self, gradients: FloatArray) -> FloatArray:
        """Σ_b w_b Δ_b ⊗ z_b, shape (d, d, d), of gradients z_b, shape (k, d)."""
        weighted = self.weights[:, None] * gradients
        return np.asarray(sum(np.tensordot(D, weighted[p], axes=(0, 0)) for p, D in self.parts()))

    def traces(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """tr(V Δ_b X Δ_b) of each term, shape (k,)."""
        return self._each(lambda D: np.einsum("kij,kji->k", V @ D, X @ D))

    def along(self, axis: FloatArray) -> FloatArray:
        """axisᵀ Δ_b axis of each term, shape (k,)."""
        return self._each(lambda D: (D @ axis) @ axis)

    def squares(self) -> FloatArray:
        """Squared Frobenius norm of each Δ_b, shape (k,)."""
        return self._each(lambda D: np.einsum("kij,kij->k", D, D))

    def _each(self, number: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Compute a number for every term."""
        return np.concatenate([number(factors) for _, factors in self.parts()])


class RowDeviations(Deviations):
    """Deviations of rows of data from their mean, H_i = R_iᵀ R_i, or of batches of such rows.

    Parameters
    ----------
    roots
        R_i in the eigenvectors of the mean, shape (n, q, d).
    weights
        w_i, shape (n,); they add up to 1.
    factor
        Factor on Δ_i Δ_i: the variance of a batch's Hessian over that of a row's.
    """

    def __init__(self, roots: FloatArray, weights: FloatArray, factor: float) -> None:
        self.roots = roots
        self.weights = weights
        self.factor = factor
        self.dimension = int(roots.shape[-1])
        flat = roots.reshape(-1, self.dimension)
        self.mean = (np.repeat(weights, roots.shape[1])[:, None] * flat).T @ flat
        self.scale = float(np.abs(self.mean).max())

    def parts(self) -> Iterator[tuple[slice, FloatArray]]:
        """Yield the Δ_i of some rows at a time, shape (rows, d, d)."""
        for part in self._chunks(self.dimension**2):
            roots = self.roots[part]
            apart = np.swapaxes(roots, 1, 2) @ roots - self.mean
            yield part, np.sqrt(self.factor) * apart

    @property
    def effort(self) -> float:
        """Number of multiplications of one sandwich, row by row."""
        return 4.0 * self.roots.size * self.dimension

    def restricted(self, which: Indices) -> RowDeviations:
        """The same in some of the directions."""
        return RowDeviations(self.roots[:, :, which], self.weights, self.factor)

    def _chunks(self, size: int) -> list[slice]:
        """Slices of the rows, sized by the numbers that each row needs."""
        step = max(1, _CHUNK // size)
        return [slice(first, first + step) for first in range(0, len(self.roots), step)]

    def _sandwich(self, X: FloatArray) -> FloatArray:
        # Σ_i w_i R_iᵀ(R_i X R_iᵀ)R_i - H X H, with H the mean of the R_iᵀR_i
        _, q, d = self.roots.shape
        out = -self.mean @ X @ self.mean
        for part in self._chunks(q * d):
            roots = self.roots[part]
            inner = self.weights[part, None, None] * ((roots @ X) @ np.swapaxes(roots, 1, 2))
            out += roots.reshape(-1, d).T @ (inner @ roots).reshape(-1, d)

        return np.asarray(self.factor * out)

    def traces(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """tr(V Δ_i X Δ_i) of each row, shape (n,), in 4 n q d² multiplications."""
        H = self.mean
        transposed = np.swapaxes(self.roots, 1, 2)
        own = np.einsum("nab,nba->n", self.roots @ X @ transposed, self.roots @ V @ transposed)
        # tr(V R'R X H) and tr(V H X R'R), each a quadratic form in the rows of R
        both = X @ H @ V
        crossed = np.sum((self.roots @ (both + both.T)) * self.roots, axis=(1, 2))
        constant = float(np.einsum("ij,ji->", V @ H, X @ H))
        return np.asarray(self.factor * (own - crossed + constant))
