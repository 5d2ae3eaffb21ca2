"""How the terms of a sum deviate from their mean Hessian, and what that adds to second moments.

With H_b = Λ + Δ_b in the eigenvectors of the mean Hessian Λ, a step adds the sandwich
N(X) = Σ_b w_b Δ_b X Δ_b of the moments X = E[r rᵀ]. It is the one expensive part of every second
moment. Up to a few dozen directions it is a table of its entries, D x D with D = d(d+1)/2: the
number of terms no longer matters, and many X are one matrix product. Beyond, it is computed term by
term; for rows of data, whose Hessians have low rank, without a d x d matrix for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.theory.finite_sums.positive_map import by_table, sandwich_table, symmetric

_TABLE_DIRECTIONS = 64
"""Directions up to which the table is built: 2080² numbers, 35 MB, with 134 MB on the way."""
_SMALL = 16
"""Directions up to which the table takes milliseconds."""
_CHUNK = 2**22
"""Numbers worked on at a time, 32 MB: what a product needs besides the terms themselves."""
_ROUNDING = 64.0 * np.finfo(np.float64).eps
"""Relative size below which deviations are the rounding of equal terms."""

Indices = npt.NDArray[np.intp]


class Deviations:
    """Deviations Δ_b of k terms from the mean Hessian, with their weights w_b.

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
        self.scale = scale
        self.dimension = int(matrices.shape[-1])

    def parts(self) -> Iterator[tuple[slice, FloatArray]]:
        """The Δ_b of some terms after another, shape (terms, d, d)."""
        yield slice(None), self.matrices

    @property
    def effort(self) -> float:
        """Multiplications of one sandwich, term by term."""
        return 2.0 * self.matrices.size * self.dimension

    def restricted(self, which: Indices) -> Deviations:
        """The same in some of the directions."""
        return Deviations(self.matrices[:, which[:, None], which], self.weights, self.scale)

    @cached_property
    def largest(self) -> float:
        """Largest Frobenius norm of all √w_b Δ_b; zero if the terms are equal up to rounding."""
        size = float(np.sqrt(np.max(self.weights * self.squares(), initial=0.0)))
        return size if size > _ROUNDING * self.scale else 0.0

    @cached_property
    def table(self) -> FloatArray:
        """The sandwich as a matrix on upper triangles, shape (D, D): N(X) = X @ table."""
        d = self.dimension
        products = np.zeros((d * d, d * d))
        for part, matrices in self.parts():
            flat = matrices.reshape(-1, d * d)
            products += (self.weights[part, None] * flat).T @ flat

        return sandwich_table(products.reshape(d, d, d, d))

    def sandwich(self, X: FloatArray) -> FloatArray:
        """Σ_b w_b Δ_b X Δ_b of symmetric matrices (..., d, d)."""
        d = self.dimension
        if self.largest == 0.0:
            return np.zeros(X.shape)

        # A product with the table takes d⁴/2 multiplications.
        if d <= _SMALL or (d <= _TABLE_DIRECTIONS and 2.0 * self.effort >= d**4):
            return by_table(X, self.table)

        every = np.stack([self._sandwich(one) for one in X.reshape(-1, d, d)])
        return symmetric(every).reshape(X.shape)

    def _sandwich(self, X: FloatArray) -> FloatArray:
        """The sandwich of one matrix without the table."""
        weighted = self.weights[:, None, None] * self.matrices
        moved = (X @ self.matrices).reshape(-1, self.dimension)
        return np.asarray(weighted.reshape(moved.shape).T @ moved)

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
        """A number of every term."""
        return np.concatenate([number(matrices) for _, matrices in self.parts()])


class RowDeviations(Deviations):
    """Deviations of rows of data from their mean, H_i = R_iᵀ R_i, or of batches of such rows.

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
        self.dimension = int(roots.shape[-1])
        flat = roots.reshape(-1, self.dimension)
        self.mean = (np.repeat(weights, roots.shape[1])[:, None] * flat).T @ flat
        self.scale = float(np.abs(self.mean).max())

    def parts(self) -> Iterator[tuple[slice, FloatArray]]:
        """The Δ_i of some rows after another, shape (rows, d, d)."""
        for part in self._chunks(self.dimension**2):
            roots = self.roots[part]
            apart = np.swapaxes(roots, 1, 2) @ roots - self.mean
            yield part, np.sqrt(self.factor) * apart

    @property
    def effort(self) -> float:
        """Multiplications of one sandwich, row by row."""
        return 4.0 * self.roots.size * self.dimension

    def restricted(self, which: Indices) -> RowDeviations:
        """The same in some of the directions."""
        return RowDeviations(self.roots[:, :, which], self.weights, self.factor)

    def _chunks(self, size: int) -> list[slice]:
        """Parts of the rows that need so many numbers each."""
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
