"""Second moments of a sum whose batches are fresh draws of rows."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.diagnosis.second_moments import Perron, SecondMoments


class RowMoments(SecondMoments):
    """The moments of batches of drawn rows, from those of single rows.

    A row's Hessian is B_r B_rᵀ, of as many columns as the loss has outputs. The mean of m drawn
    rows deviates from the mean Hessian with a variance that is ``factor`` (1/m, or less without
    replacement) times that of one row, and nothing else of its law matters to second moments:
    E[Δ X Δ] = factor (Σ_r w_r B_r (B_rᵀ X B_r) B_rᵀ - H X H).

    Parameters
    ----------
    eigenvalues
        Of the mean Hessian, shape (d,).
    roots
        B_r in its eigenvectors, shape (k, d, outputs).
    weights
        w_r, shape (k,), adding up to 1.
    gradients
        ∇f_r(x*) - their mean, in the same coordinates, shape (k, d).
    factor
        Variance of a batch over that of a row.
    """

    def __init__(
        self,
        eigenvalues: FloatArray,
        roots: FloatArray,
        weights: FloatArray,
        gradients: FloatArray,
        factor: float,
    ) -> None:
        self.roots = roots
        self.factor = factor
        self.row_weights = weights
        d = eigenvalues.size
        flat = np.swapaxes(roots, 1, 2).reshape(-1, d)
        wide = np.repeat(weights, roots.shape[2])
        # Of the rows at hand, so that the variance below is never negative.
        self._mean = flat.T @ (wide[:, None] * flat)
        super().__init__(
            eigenvalues, np.zeros((1, d, d)), factor * weights, gradients
        )
        sizes = np.einsum("kdq,kdq->k", roots, roots)
        self._largest = float(np.sqrt(factor * (weights @ sizes**2)))

    def sandwich(self, X: FloatArray) -> FloatArray:
        """E[Δ X Δ] of one symmetric matrix, over the draws of a batch."""
        if self.factor <= 0.0:
            return np.zeros_like(X)
        outputs = self.roots.shape[2]
        if outputs == 1:
            B = self.roots[:, :, 0]
            inner = self.row_weights * np.einsum("kd,kd->k", B @ X, B)
            total = B.T @ (inner[:, None] * B)
        else:
            inside = np.swapaxes(self.roots, 1, 2) @ (X @ self.roots)
            outside = self.roots @ (self.row_weights[:, None, None] * inside)
            d = len(X)
            left = np.moveaxis(outside, 1, 0).reshape(d, -1)
            total = left @ np.moveaxis(self.roots, 1, 0).reshape(d, -1).T
        total = total - self._mean @ X @ self._mean
        return np.asarray(0.5 * self.factor * (total + total.T))

    def restricted(self, kept: FloatArray) -> RowMoments:
        """The same sum seen in some of the directions only, given by their indices."""
        which = np.asarray(kept, dtype=np.intp)
        return RowMoments(
            self.eigenvalues[which], self.roots[:, which], self.row_weights,
            self.gradients[:, which], self.factor,
        )  # fmt: skip

    def shares(self, found: Perron) -> FloatArray:
        """Share of each row in what the deviations add, before its weight; shape (k,)."""
        inside = np.einsum("kdq,de,kep->kqp", self.roots, found.moments, self.roots, optimize=True)
        weighed = np.einsum("kdq,de,kep->kqp", self.roots, found.weights, self.roots, optimize=True)
        return self.factor * np.einsum("kqp,kpq->k", inside, weighed)

    def _correlation(self, mean: FloatArray) -> FloatArray:
        """E[Δ r zᵀ] of a batch: ``factor`` times that of a row, as for every second moment."""
        along = np.einsum("kdq,d->kq", self.roots, mean)
        moved = np.einsum("kdq,kq->kd", self.roots, along) - self._mean @ mean
        return np.asarray(moved.T @ (self.weights[:, None] * self.gradients))
