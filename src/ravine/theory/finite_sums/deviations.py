"""Sandwich maps, the effect of random factors on second moments: X ↦ Σ_b w_b F_b X F_bᵀ.

The factors are the maps of steps or epochs, or deviations from the mean Hessian: with H_b = Λ + Δ_b
in the eigenvectors of the mean Λ, a step adds N(X) = Σ_b w_b Δ_b X Δ_b for the moments X = E[r rᵀ].
This is the only expensive part of second moments.

Up to a few dozen directions, the map is stored as a D x D table of its entries, D = d(d+1)/2: the
cost does not depend on the number of terms, and many X are one matrix product. Beyond that, it is
computed term by term; for rows of data, whose Hessians have low rank, without a d x d matrix per
row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.theory.finite_sums.positive_map import from_upper, symmetric, to_upper

_TABLE_ROWS = 64
"""Maximum number of rows of a table: 2080² numbers, 35 MB, with 134 MB of temporary memory."""
_SMALL = 16
"""Maximum number of rows of a table that takes only milliseconds."""
_CHUNK = 2**22
"""Numbers processed at a time, 32 MB: the memory of a product in addition to the terms."""
_ROUNDING = 64.0 * np.finfo(np.float64).eps
"""Relative size below which deviations are rounding errors of equal terms."""

Indices = npt.NDArray[np.intp]


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
