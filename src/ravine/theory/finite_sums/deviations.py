"""How the terms of a sum deviate from their mean Hessian, and what that adds to second moments.

With H_b = Λ + Δ_b in the eigenvectors of the mean Hessian Λ, a step adds the sandwich
N(X) = Σ_b w_b Δ_b X Δ_b of the moments X = E[r rᵀ]. It is the one expensive part of every second
moment, so there are three ways to compute it:

- as a table of its entries, D x D with D = d(d+1)/2, up to a few dozen directions: the number of
  terms no longer matters, and many X are one matrix product;
- term by term;
- for rows of data, whose Hessians have low rank, without ever forming a d x d matrix for each row.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.theory.finite_sums.moments import symmetric
from ravine.theory.finite_sums.positive_map import from_upper, sandwich_table, to_upper

_TABLE_DIRECTIONS = 64
"""Directions up to which the table is built: 2080² numbers, 35 MB, with 134 MB on the way."""
_SMALL = 16
"""Directions up to which the table is built at once: it takes milliseconds."""
_CHUNK = 2**22
"""Numbers worked on at a time, 32 MB: what a product needs besides the terms themselves."""
_ROUNDING = 64.0 * np.finfo(np.float64).eps
"""Relative size below which deviations are the rounding of equal terms."""

Indices = npt.NDArray[np.intp]


class Deviations(ABC):
    """Deviations Δ_b of k terms from the mean Hessian, with their weights w_b.

    Attributes
    ----------
    weights
        w_b, shape (k,), adding up to 1, on average if the terms are a random sample.
    dimension
        Number d of directions.
    """

    def __init__(self, weights: FloatArray, dimension: int) -> None:
        self.weights = weights
        self.dimension = dimension

    @property
    @abstractmethod
    def largest(self) -> float:
        """Size of √w_b Δ_b at its largest; zero if the terms are equal up to rounding."""

    @abstractmethod
    def third(self, gradients: FloatArray) -> FloatArray:
        """Σ_b w_b Δ_b ⊗ z_b, shape (d, d, d), of gradients z_b, shape (k, d)."""

    @abstractmethod
    def traces(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """tr(V Δ_b X Δ_b) of each term, shape (k,)."""

    @abstractmethod
    def along(self, axis: FloatArray) -> FloatArray:
        """axisᵀ Δ_b axis of each term, shape (k,)."""

    @abstractmethod
    def squares(self) -> FloatArray:
        """Squared Frobenius norm of each Δ_b, shape (k,)."""

    @abstractmethod
    def restricted(self, which: Indices) -> Deviations:
        """The same in some of the directions."""

    @abstractmethod
    def _table_pays(self, count: int) -> bool:
        """Whether the table is worth its cost for so many products."""

    @abstractmethod
    def _products(self) -> FloatArray:
        """Σ_b w_b (Δ_b)_ij (Δ_b)_kl, shape (d, d, d, d)."""

    @abstractmethod
    def _sandwich(self, X: FloatArray) -> FloatArray:
        """Σ_b w_b Δ_b X Δ_b of one symmetric matrix, without the table."""

    def sandwich(self, X: FloatArray) -> FloatArray:
        """Σ_b w_b Δ_b X Δ_b of symmetric matrices (..., d, d)."""
        d = self.dimension
        if self.largest == 0.0:
            return np.zeros(X.shape)

        if self._table_pays(X.size // (d * d)):
            upper = to_upper(X.reshape(-1, d, d), (d, d))
            return from_upper(upper @ self._table, (d, d)).reshape(X.shape)

        every = np.stack([self._sandwich(one) for one in X.reshape(-1, d, d)])
        return symmetric(every).reshape(X.shape)

    @cached_property
    def _table(self) -> FloatArray:
        """The sandwich as a matrix on the upper triangles of symmetric matrices."""
        return sandwich_table(self._products())


class MatrixDeviations(Deviations):
    """Deviations given as matrices.

    Parameters
    ----------
    matrices
        Δ_b in the eigenvectors of the mean, symmetric, shape (k, d, d).
    weights
        w_b, shape (k,).
    scale
        Largest eigenvalue of the mean, which says what counts as rounding.
    """

    def __init__(self, matrices: FloatArray, weights: FloatArray, scale: float) -> None:
        super().__init__(weights, matrices.shape[-1])
        self.matrices = matrices
        self._scale = scale
        self._asked = 0

    @cached_property
    def largest(self) -> float:
        """Largest entry of all √w_b Δ_b, zero if it is rounding."""
        sizes = np.abs(self.matrices).max(axis=(1, 2), initial=0.0)
        size = float(np.max(np.sqrt(self.weights) * sizes, initial=0.0))
        return size if size > _ROUNDING * self._scale else 0.0

    @cached_property
    def _factors(self) -> FloatArray:
        """√w_b Δ_b, laid out as (d, k, d) so that both products are plain matrix products."""
        factors = np.sqrt(self.weights)[:, None, None] * self.matrices
        return np.ascontiguousarray(np.swapaxes(factors, 0, 1))

    def _table_pays(self, count: int) -> bool:
        # The table takes k d⁴ multiplications to build, as many as d/2 products term by term; a
        # product with it takes d⁴/2, term by term 2 k d³.
        self._asked += count
        d = self.dimension
        enough = 2 * (self._asked - count) >= d - _SMALL or 2 * count >= d
        return d <= _TABLE_DIRECTIONS and 4 * len(self.matrices) >= d and enough

    def _products(self) -> FloatArray:
        d = self.dimension
        flat = np.swapaxes(self._factors, 0, 1).reshape(-1, d * d)
        return np.asarray(flat.T @ flat).reshape(d, d, d, d)

    def _sandwich(self, X: FloatArray) -> FloatArray:
        d = self.dimension
        moved = (self._factors.reshape(-1, d) @ X).reshape(d, -1)
        return np.asarray(self._factors.reshape(d, -1) @ moved.T)

    def third(self, gradients: FloatArray) -> FloatArray:
        """Σ_b w_b Δ_b ⊗ z_b, shape (d, d, d)."""
        d = self.dimension
        weighted = self.weights[:, None] * gradients
        return np.asarray((self.matrices.reshape(-1, d * d).T @ weighted).reshape(d, d, d))

    def traces(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """tr(V Δ_b X Δ_b) of each term, shape (k,)."""
        return np.asarray(np.einsum("kij,kij->k", V @ self.matrices, self.matrices @ X))

    def along(self, axis: FloatArray) -> FloatArray:
        """axisᵀ Δ_b axis of each term, shape (k,)."""
        return np.asarray((self.matrices @ axis) @ axis)

    def squares(self) -> FloatArray:
        """Squared Frobenius norm of each Δ_b, shape (k,)."""
        return np.asarray(np.einsum("kij,kij->k", self.matrices, self.matrices))

    def restricted(self, which: Indices) -> MatrixDeviations:
        """The same in some of the directions."""
        part = self.matrices[:, which[:, None], which]
        return MatrixDeviations(part, self.weights, self._scale)


class RowDeviations(Deviations):
    """Deviations of rows of data from their mean, H_i = R_iᵀ R_i, or of batches of such rows.

    Parameters
    ----------
    roots
        R_i in the eigenvectors of the mean, shape (n, q, d).
    weights
        w_i, shape (n,).
    factor
        What Δ_i Δ_i is multiplied by: the variance of a batch's Hessian over that of a row's.
    """

    def __init__(self, roots: FloatArray, weights: FloatArray, factor: float) -> None:
        super().__init__(weights, roots.shape[-1])
        self.roots = roots
        self.factor = factor

    @cached_property
    def _mean(self) -> FloatArray:
        flat = self.roots.reshape(-1, self.dimension)
        repeated = np.repeat(self.weights, self.roots.shape[1])
        return np.asarray((repeated[:, None] * flat).T @ flat)

    @cached_property
    def largest(self) -> float:
        """Largest Frobenius norm of all √w_i Δ_i, zero if it is rounding."""
        size = float(np.sqrt(np.max(self.weights * self.squares(), initial=0.0)))
        return size if size > _ROUNDING * float(np.abs(self._mean).max()) else 0.0

    def _chunks(self, size: int) -> list[slice]:
        """Parts of the rows that need so many numbers each."""
        step = max(1, _CHUNK // size)
        return [slice(first, first + step) for first in range(0, len(self.roots), step)]

    def _hessians(self, part: slice) -> FloatArray:
        """R_iᵀ R_i of some rows, flat: (rows, d²)."""
        roots = self.roots[part]
        return (np.swapaxes(roots, 1, 2) @ roots).reshape(len(roots), -1)

    def _table_pays(self, count: int) -> bool:
        n, q, d = self.roots.shape
        few = n * q * d * d < _TABLE_DIRECTIONS**3
        return d <= _TABLE_DIRECTIONS and not (few and d > _SMALL)

    def _products(self) -> FloatArray:
        d = self.dimension
        total = np.zeros((d * d, d * d))
        for part in self._chunks(d * d):
            flat = self._hessians(part)
            total += (self.weights[part, None] * flat).T @ flat

        mean = self._mean.ravel()
        return self.factor * (total - mean[:, None] * mean).reshape(d, d, d, d)

    def _sandwich(self, X: FloatArray) -> FloatArray:
        # Σ_i w_i R_iᵀ(R_i X R_iᵀ)R_i - H X H, with H the mean of the R_iᵀR_i
        _, q, d = self.roots.shape
        out = -self._mean @ X @ self._mean
        for part in self._chunks(q * d):
            roots = self.roots[part]
            inner = self.weights[part, None, None] * ((roots @ X) @ np.swapaxes(roots, 1, 2))
            out += roots.reshape(-1, d).T @ (inner @ roots).reshape(-1, d)

        return np.asarray(self.factor * out)

    def third(self, gradients: FloatArray) -> FloatArray:
        """Σ_i w_i Δ_i ⊗ z_i, shape (d, d, d); the z_i carry the root of the factor already."""
        _, q, d = self.roots.shape
        weighted = self.weights[:, None] * gradients
        out = -self._mean[:, :, None] * weighted.sum(axis=0)
        for part in self._chunks(q * d * d):
            out += (self._hessians(part).T @ weighted[part]).reshape(d, d, d)

        return np.asarray(np.sqrt(self.factor) * out)

    def traces(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """tr(V Δ_i X Δ_i) of each row, shape (n,)."""
        H = self._mean
        transposed = np.swapaxes(self.roots, 1, 2)
        inner = (self.roots @ X) @ transposed
        outer = (self.roots @ V) @ transposed
        own = np.einsum("nab,nba->n", inner, outer)
        # tr(V R'R X H) and tr(V H X R'R), each a quadratic form in the rows of R
        both = X @ H @ V
        crossed = np.sum((self.roots @ (both + both.T)) * self.roots, axis=(1, 2))
        constant = float(np.einsum("ij,ji->", V @ H, X @ H))
        return np.asarray(self.factor * (own - crossed + constant))

    def along(self, axis: FloatArray) -> FloatArray:
        """axisᵀ Δ_i axis of each row, shape (n,)."""
        own = ((self.roots @ axis) ** 2).sum(axis=1)
        return np.asarray(np.sqrt(self.factor) * (own - axis @ self._mean @ axis))

    def squares(self) -> FloatArray:
        """Squared Frobenius norm of each Δ_i, shape (n,)."""
        gram = self.roots @ np.swapaxes(self.roots, 1, 2)
        own = np.einsum("nab,nab->n", gram, gram)
        crossed = np.sum((self.roots @ self._mean) * self.roots, axis=(1, 2))
        total = own - 2.0 * crossed + np.sum(self._mean**2)
        return np.asarray(self.factor * np.maximum(total, 0.0))

    def restricted(self, which: Indices) -> RowDeviations:
        """The same in some of the directions."""
        return RowDeviations(self.roots[:, :, which], self.weights, self.factor)
