"""Losses and gradients of drawn rows at many points at once.

Points are kept as arrays (seeds, features, runs * outputs): the scores of a batch at the points of
all runs of a seed are then one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.problems.losses import Loss
from ravine.problems.spectrum import CHUNK, is_sparse

Indices: TypeAlias = npt.NDArray[np.intp]
Slopes: TypeAlias = Callable[[FloatArray, Indices], FloatArray]
"""Derivative of the loss in the scores: (scores (rows, runs * outputs), rows) to the same shape."""


class Drawn(NamedTuple):
    """The rows of one step, for every seed, and the weight of each in its batch's mean.

    ``rows`` has shape (seeds, m), and ``weights`` that shape or (1, m); a batch that is shorter
    than m is padded with weights 0.
    """

    rows: Indices
    weights: FloatArray


class RowModel:
    """The rows of a table with a loss: mean loss + l2/2 ‖W‖², W of shape (features, outputs).

    Parameters
    ----------
    X
        Array or CSR matrix, (rows, features).
    loss
        The loss with its target.
    l2
        Weight of the regulariser.

    Attributes
    ----------
    row_weights
        Weight of each row in the mean, None where all count the same.
    """

    row_weights: FloatArray | None = None

    def __init__(self, X: Any, loss: Loss, l2: float) -> None:
        self.X = X
        self.loss = loss
        self.l2 = l2
        self.rows, self.features = (int(size) for size in X.shape)
        self.outputs = loss.outputs
        self.sparse = is_sparse(X)

    @property
    def entries(self) -> int:
        """Numbers in the table that are stored."""
        return int(self.X.nnz) if self.sparse else self.rows * self.features

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""
        return self.features * self.outputs

    @property
    def quadratic(self) -> bool:
        """Whether the objective is quadratic."""
        return self.loss.quadratic

    def repeated(self, x: FloatArray, seeds: int, runs: int) -> FloatArray:
        """The same point for every run of every seed."""
        return np.tile(x.reshape(self.features, self.outputs), (seeds, 1, runs))

    def slopes(self, Z: FloatArray, rows: Indices) -> FloatArray:
        """Derivative of the loss of each row in its scores, at the points of all runs."""
        return self._at_all_runs(self.loss.slopes, Z, rows)

    def hessian_slopes(self, x: FloatArray) -> Slopes:
        """Slopes of the quadratic model at ``x``: the Hessian in the scores times the scores."""
        scores = self.scores(slice(None), x)

        def product(S: FloatArray, rows: Indices) -> FloatArray:
            return self.loss.hessian_product(scores[rows], S, rows)

        return lambda Z, rows: self._at_all_runs(product, Z, rows)

    def _at_all_runs(self, function: Slopes, Z: FloatArray, rows: Indices) -> FloatArray:
        # A loss of one score takes the scores of many runs side by side.
        if self.outputs == 1:
            return function(Z, rows)

        which = np.repeat(rows, Z.shape[1] // self.outputs)
        return function(Z.reshape(-1, self.outputs), which).reshape(Z.shape)

    def drawn_gradient(self, drawn: Drawn, points: FloatArray, slopes: Slopes) -> FloatArray:
        """Gradient of the drawn batch of every seed at its points, of the shape of ``points``."""
        rows, weights = drawn
        if self.sparse:
            parts = zip(rows, np.broadcast_to(weights, rows.shape), points, strict=True)
            return np.stack([self._sparse_gradient(*part, slopes) for part in parts])

        seeds, m = rows.shape
        block = self.X[rows]
        Z = block @ points
        inner = slopes(Z.reshape(seeds * m, -1), rows.ravel()).reshape(Z.shape)
        inner *= weights[:, :, None]
        return np.asarray(np.swapaxes(block, 1, 2) @ inner + self.l2 * points)

    def _sparse_gradient(
        self, rows: Indices, weights: FloatArray, points: FloatArray, slopes: Slopes
    ) -> FloatArray:
        block = self.X[rows]
        inner = weights[:, None] * slopes(np.asarray(block @ points), rows)
        return np.asarray(block.T @ inner + self.l2 * points)

    def chunks(self, width: int) -> Iterator[slice]:
        """Slices of the rows that are worked on one after the other, of so many numbers a row."""
        step = max(1, CHUNK // width)
        for first in range(0, self.rows, step):
            yield slice(first, min(first + step, self.rows))

    def weights_of(self, rows: slice) -> FloatArray:
        """Weights in the mean over all rows of some of them."""
        if self.row_weights is None:
            return np.full(rows.stop - rows.start, 1.0 / self.rows)

        return self.row_weights[rows]

    def losses(self, points: FloatArray) -> FloatArray:
        """Mean loss of all rows at every point, without the regulariser: (seeds, runs)."""
        seeds, f, width = points.shape
        count = seeds * width // self.outputs
        flat = np.moveaxis(points, 0, 1).reshape(f, -1)
        total = np.zeros(count)
        for rows in self.chunks(flat.shape[1]):
            Z = np.asarray(self.X[rows] @ flat).reshape(-1, self.outputs)
            which = np.repeat(np.arange(rows.start, rows.stop), count)
            total += self.weights_of(rows) @ self.loss.values(Z, which).reshape(-1, count)

        return total.reshape(seeds, -1)

    def objectives(self, points: FloatArray) -> FloatArray:
        """Mean loss and regulariser at every point: (seeds, runs)."""
        return np.asarray(self.losses(points) + 0.5 * self.l2 * self.squares(points))

    def squares(self, points: FloatArray) -> FloatArray:
        """‖W‖² of every point: (seeds, runs)."""
        split = points.reshape(len(points), self.features, -1, self.outputs)
        return np.asarray(np.einsum("sfrk,sfrk->sr", split, split))

    def row_roots(
        self, rows: Indices, x: FloatArray, basis: FloatArray | None = None
    ) -> FloatArray:
        """B_r with B_r B_rᵀ the Hessian of the loss of row r at ``x``, shape (m, k, outputs).

        In the coordinates of ``basis``, shape (d, k), or of the weights. The Hessian in the scores
        is c for one output, and diag(p) - p pᵀ for the softmax.
        """
        block = self.X[rows]
        half = self._score_roots(rows, x)
        if basis is None:
            outer = np.einsum("mf,mkq->mfkq", _dense(block), half)
            return np.asarray(outer.reshape(len(rows), self.dimension, -1))

        along = np.asarray(block @ basis.reshape(self.features, -1))
        along = along.reshape(len(rows), self.outputs, basis.shape[1])
        return np.asarray(np.swapaxes(along, 1, 2) @ half)

    def root_products(self, rows: Indices, x: FloatArray) -> FloatArray:
        """Inner products of the columns of all B_r: (x_r · x_s) times those in the scores."""
        block = self.X[rows]
        half = self._score_roots(rows, x)
        inner = _dense(block @ block.T)
        both = np.einsum("rkp,skq->rpsq", half, half) * inner[:, None, :, None]
        return np.asarray(both.reshape(len(rows) * self.outputs, -1))

    def _score_roots(self, rows: Indices, x: FloatArray) -> FloatArray:
        """Roots of the Hessian in the scores of some rows, (m, outputs, outputs)."""
        scores = self.scores(rows, x)
        K = range(self.outputs)
        entries = np.array([[self.loss.hessian_entry(scores, c, e, rows) for e in K] for c in K])
        if self.outputs == 1:
            return np.asarray(np.sqrt(entries).T)

        values, vectors = np.linalg.eigh(np.moveaxis(entries, 2, 0))
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])

    def row_gradients(self, rows: Indices, x: FloatArray, basis: FloatArray) -> FloatArray:
        """Gradient of the loss of each row at ``x`` in the coordinates of ``basis``: (m, k)."""
        slopes = self.slopes(self.scores(rows, x), rows)
        along = np.asarray(self.X[rows] @ basis.reshape(self.features, -1))
        along = along.reshape(len(rows), self.outputs, basis.shape[1])
        return np.asarray(np.einsum("mok,mo->mk", along, slopes))

    def scores(self, rows: slice | Indices, x: FloatArray) -> FloatArray:
        """Scores of some rows at one point, shape (m, outputs)."""
        return np.asarray(self.X[rows] @ x.reshape(self.features, -1))

    def row_gradient(self, rows: slice | Indices, x: FloatArray) -> FloatArray:
        """Gradient at ``x`` of the mean of some rows and the regulariser, shape (d,)."""
        slopes = self.loss.slopes(self.scores(rows, x), rows)
        return np.asarray((self.X[rows].T @ slopes).ravel() / len(slopes) + self.l2 * x)

    def hessian_at(
        self, x: FloatArray, batch: slice | None = None
    ) -> Callable[[FloatArray], FloatArray]:
        """The Hessian at ``x`` of all rows, or of a batch, as its product with a vector (d,)."""
        parts = list(self.chunks(self.features)) if batch is None else [batch]
        scores = [self.scores(rows, x) for rows in parts]

        def product(v: FloatArray) -> FloatArray:
            total = self.l2 * v
            for Z, rows in zip(scores, parts, strict=True):
                inner = self.loss.hessian_product(Z, self.scores(rows, v), rows)
                w = self.weights_of(rows) if batch is None else np.full(len(Z), 1 / len(Z))
                total = total + np.asarray(self.X[rows].T @ (w[:, None] * inner)).ravel()

            return np.asarray(total)

        return product


def _dense(block: Any) -> FloatArray:
    return np.asarray(block.toarray() if is_sparse(block) else block, dtype=np.float64)
