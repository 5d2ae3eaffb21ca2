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

from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray

_TABLE_DIRECTIONS = 64
"""Directions up to which the table is built: 2080² numbers, 35 MB, with 134 MB on the way."""
_SMALL = 16
"""Directions up to which the table is built at once: it takes milliseconds."""
_CHUNK = 2**22
"""Numbers worked on at a time, 32 MB: what a product needs besides the terms themselves."""
_ROUNDING = 64.0 * np.finfo(np.float64).eps
"""Relative size below which deviations are the rounding of equal terms."""

Indices = npt.NDArray[np.intp]


class Deviations(Protocol):
    """Deviations Δ_b of k terms from the mean Hessian, with their weights w_b."""

    weights: FloatArray

    @property
    def dimension(self) -> int:
        """Number d of directions."""

    @property
    def largest(self) -> float:
        """Size of √w_b Δ_b at its largest; zero if the terms are equal up to rounding."""

    def sandwich(self, X: FloatArray) -> FloatArray:
        """Σ_b w_b Δ_b X Δ_b of symmetric matrices (..., d, d)."""

    def third(self, gradients: FloatArray) -> FloatArray:
        """Σ_b w_b Δ_b ⊗ z_b, shape (d, d, d), of gradients z_b, shape (k, d)."""

    def pulls(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """tr(V Δ_b X Δ_b) of each term, shape (k,)."""

    def along(self, axis: FloatArray) -> FloatArray:
        """axisᵀ Δ_b axis of each term, shape (k,)."""

    def squares(self) -> FloatArray:
        """Squared Frobenius norm of each Δ_b, shape (k,)."""

    def restricted(self, which: Indices) -> Deviations:
        """The same in some of the directions."""

    def stack(self) -> FloatArray:
        """All Δ_b, shape (k, d, d)."""


class _Table:
    """The sandwich as a matrix on the upper triangles of symmetric matrices."""

    def __init__(self, entries: FloatArray) -> None:
        # entries[i, j, k, l] = Σ_b w_b (Δ_b)_ik (Δ_b)_lj, the share of X_kl in N(X)_ij
        d = len(entries)
        self.rows, self.columns = np.triu_indices(d)
        half = entries[self.rows, self.columns]
        both = half[:, self.rows, self.columns] + half[:, self.columns, self.rows]
        both[:, self.rows == self.columns] *= 0.5
        self.matrix = np.ascontiguousarray(both.T)

    def __call__(self, X: FloatArray) -> FloatArray:
        upper = X[..., self.rows, self.columns] @ self.matrix
        out = np.empty(X.shape)
        out[..., self.rows, self.columns] = upper
        out[..., self.columns, self.rows] = upper
        return out


class MatrixDeviations:
    """Deviations given as matrices.

    Parameters
    ----------
    matrices
        Δ_b in the eigenvectors of the mean, symmetric, shape (k, d, d).
    weights
        w_b, shape (k,), adding up to 1, on average if the terms are a random sample.
    scale
        Largest eigenvalue of the mean, which says what counts as rounding.
    """

    def __init__(self, matrices: FloatArray, weights: FloatArray, scale: float) -> None:
        self.matrices = matrices
        self.weights = weights
        self._scale = scale
        self._products = 0

    @property
    def dimension(self) -> int:
        """Number of directions."""
        return int(self.matrices.shape[-1])

    @cached_property
    def largest(self) -> float:
        """Largest entry of all √w_b Δ_b, zero if it is rounding."""
        sizes = np.abs(self.matrices).max(axis=(1, 2), initial=0.0)
        size = float(np.max(np.sqrt(self.weights) * sizes, initial=0.0))
        return size if size > _ROUNDING * self._scale else 0.0

    @cached_property
    def _factors(self) -> FloatArray:
        return np.sqrt(self.weights)[:, None, None] * self.matrices

    def _table_pays(self) -> bool:
        """Whether the products so far would have paid for the table.

        It takes k d⁴ multiplications to build, as many as d/2 products term by term; a product
        with it takes d⁴/2, term by term 2 k d³.
        """
        k, d, _ = self.matrices.shape
        return bool(d <= _TABLE_DIRECTIONS and 4 * k >= d and 2 * self._products >= d - _SMALL)

    @cached_property
    def _table(self) -> _Table:
        k, d, _ = self.matrices.shape
        flat = self._factors.reshape(k, -1)
        products = (flat.T @ flat).reshape(d, d, d, d)
        return _Table(products.transpose(0, 2, 1, 3))

    @cached_property
    def _layers(self) -> list[FloatArray]:
        """Factors laid out so that both products are plain matrix products of a whole stack."""
        step = max(1, _CHUNK // self.dimension**2)
        return [
            np.ascontiguousarray(np.swapaxes(self._factors[first : first + step], 0, 1))
            for first in range(0, len(self.matrices), step)
        ]

    def sandwich(self, X: FloatArray) -> FloatArray:
        """Σ_b w_b Δ_b X Δ_b of symmetric matrices (..., d, d)."""
        if self.largest == 0.0:
            return np.zeros(X.shape)
        if self._table_pays():
            return self._table(X)

        d = self.dimension
        self._products += X.size // (d * d)
        out = np.zeros((X.size // (d * d), d, d))
        for one, total in zip(X.reshape(-1, d, d), out, strict=True):
            for layer in self._layers:
                pulled = (layer.reshape(-1, d) @ one).reshape(d, -1)
                total += layer.reshape(d, -1) @ pulled.T

        return np.asarray(0.5 * (out + np.swapaxes(out, 1, 2))).reshape(X.shape)

    def third(self, gradients: FloatArray) -> FloatArray:
        """Σ_b w_b Δ_b ⊗ z_b, shape (d, d, d)."""
        d = self.dimension
        weighted = self.weights[:, None] * gradients
        return np.asarray((self.matrices.reshape(-1, d * d).T @ weighted).reshape(d, d, d))

    def pulls(self, X: FloatArray, V: FloatArray) -> FloatArray:
        """tr(V Δ_b X Δ_b) of each term, shape (k,)."""
        out = np.empty(len(self.matrices))
        step = max(1, _CHUNK // self.dimension**2)
        for first in range(0, len(out), step):
            part = self.matrices[first : first + step]
            out[first : first + step] = np.einsum("kij,ji->k", part @ X @ part, V)

        return out

    def along(self, axis: FloatArray) -> FloatArray:
        """axisᵀ Δ_b axis of each term, shape (k,)."""
        return np.asarray((self.matrices @ axis) @ axis)

    def squares(self) -> FloatArray:
        """Squared Frobenius norm of each Δ_b, shape (k,)."""
        return np.asarray(np.einsum("kij,kij->k", self.matrices, self.matrices))

    def restricted(self, which: Indices) -> MatrixDeviations:
        """The same in some of the directions."""
        part = self.matrices[:, which[:, None], which[None, :]]
        return MatrixDeviations(part, self.weights, self._scale)

    def stack(self) -> FloatArray:
        """All Δ_b, shape (k, d, d)."""
        return self.matrices


class RowDeviations:
    """Deviations of single rows of data, from the roots of their Hessians.

    A row's Hessian is R_iᵀ R_i (plus a multiple of the identity that all rows share), with few
    rows in R_i: one for a linear model with one output, x_i times the root of the loss's curvature.

    Parameters
    ----------
    roots
        R_i in the eigenvectors of the mean, shape (n, q, d).
    weights
        w_i, shape (n,), adding up to 1.
    factor
        What Δ_i Δ_i is multiplied by: the variance of a batch's Hessian over that of a row's.
    """

    def __init__(self, roots: FloatArray, weights: FloatArray, factor: float) -> None:
        self.roots = roots
        self.weights = weights
        self.factor = factor

    @property
    def dimension(self) -> int:
        """Number of directions."""
        return int(self.roots.shape[-1])

    @cached_property
    def _mean(self) -> FloatArray:
        d = self.dimension
        flat = self.roots.reshape(-1, d)
        repeated = np.repeat(self.weights, self.roots.shape[1])
        return np.asarray((repeated[:, None] * flat).T @ flat)

    @cached_property
    def largest(self) -> float:
        """Largest Frobenius norm of all √w_i Δ_i, zero if it is rounding."""
        size = float(np.sqrt(np.max(self.weights * self.squares(), initial=0.0)))
        return size if size > _ROUNDING * float(np.abs(self._mean).max()) else 0.0

    @cached_property
    def _table(self) -> _Table | None:
        n, q, d = self.roots.shape
        few = n * q * d * d < _TABLE_DIRECTIONS**3
        if d > _TABLE_DIRECTIONS or (few and d > _SMALL):
            return None

        products = np.zeros((d * d, d * d))
        step = max(1, _CHUNK // (d * d))
        for first in range(0, n, step):
            part = self.roots[first : first + step]
            flat = (np.swapaxes(part, 1, 2) @ part).reshape(len(part), -1)
            products += (self.weights[first : first + step, None] * flat).T @ flat

        around = products.reshape(d, d, d, d).transpose(0, 2, 1, 3)
        mean = np.einsum("ik,lj->ijkl", self._mean, self._mean)
        return _Table(self.factor * (around - mean))

    def sandwich(self, X: FloatArray) -> FloatArray:
        """Σ_i w_i Δ_i X Δ_i of symmetric matrices (..., d, d).

        It is factor times Σ_i w_i R_iᵀ(R_i X R_iᵀ)R_i - H X H, with H the mean of the R_iᵀR_i.
        """
        if self.largest == 0.0:
            return np.zeros(X.shape)
        if self._table is not None:
            return self._table(X)

        n, q, d = self.roots.shape
        out = -self._mean @ X @ self._mean
        step = max(1, _CHUNK // (q * d))
        for one, total in zip(X.reshape(-1, d, d), out.reshape(-1, d, d), strict=True):
            for first in range(0, n, step):
                part = self.roots[first : first + step]
                weights = self.weights[first : first + step, None, None]
                inner = weights * ((part @ one) @ np.swapaxes(part, 1, 2))
                total += part.reshape(-1, d).T @ (inner @ part).reshape(-1, d)

        return np.asarray(0.5 * self.factor * (out + np.swapaxes(out, -1, -2)))

    def third(self, gradients: FloatArray) -> FloatArray:
        """Σ_i w_i Δ_i ⊗ z_i, shape (d, d, d); the z_i carry the root of the factor already."""
        n, q, d = self.roots.shape
        root = np.sqrt(self.factor)
        weighted = self.weights[:, None] * gradients
        out = -self._mean[:, :, None] * weighted.sum(axis=0)
        step = max(1, _CHUNK // (q * d * d))
        for first in range(0, n, step):
            part = self.roots[first : first + step]
            flat = (np.swapaxes(part, 1, 2) @ part).reshape(len(part), -1)
            out += (flat.T @ weighted[first : first + step]).reshape(d, d, d)

        return np.asarray(root * out)

    def pulls(self, X: FloatArray, V: FloatArray) -> FloatArray:
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

    def stack(self) -> FloatArray:
        """All Δ_i, shape (n, d, d); takes n d² numbers."""
        hessians = np.swapaxes(self.roots, 1, 2) @ self.roots
        return np.asarray(np.sqrt(self.factor) * (hessians - self._mean))
