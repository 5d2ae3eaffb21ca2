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
from ravine.problems.extreme_eigenvalues import is_sparse
from ravine.problems.losses import Loss

Indices: TypeAlias = npt.NDArray[np.intp]
Slopes: TypeAlias = Callable[[FloatArray, Indices], FloatArray]
"""Derivative of the loss in the scores: (scores (rows, runs * outputs), rows) to the same shape."""

_CHUNK = 2**22
"""Scores that are worked on at once, 32 MiB of them: no copy of the data is made."""


class Drawn(NamedTuple):
    """The rows of one step, for every seed.

    ``rows`` has shape (seeds, m). ``parts`` has the weight of each row in its batch's mean, or is
    None where all batches of the step have m rows; a shorter batch is padded with weights 0.
    """

    rows: Indices
    parts: FloatArray | None


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
        self.features = int(X.shape[1])
        self.outputs = loss.outputs
        self.sparse = is_sparse(X)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def entries(self) -> int:
        """Numbers in the table that are stored."""
        return int(self.X.nnz) if self.sparse else self.rows * self.features

    @property
    def dimension(self) -> int:
        """Number of coordinates of a point."""
        return self.features * self.outputs

    def spread(self, x: FloatArray, seeds: int, runs: int) -> FloatArray:
        """The same point for every run of every seed."""
        W = np.repeat(x.reshape(self.features, 1, self.outputs), runs, axis=1)
        return np.repeat(W.reshape(1, self.features, -1), seeds, axis=0)

    def slopes(self, Z: FloatArray, rows: Indices) -> FloatArray:
        """Derivative of the loss of each row in its scores, at the points of all runs."""
        if self.outputs == 1:
            # The losses index their target, so that an array of rows serves as well as a slice.
            return self.loss.slopes(Z, rows)  # type: ignore[arg-type]

        tall = Z.reshape(-1, self.outputs)
        which = np.repeat(rows, Z.shape[1] // self.outputs)
        return self.loss.slopes(tall, which).reshape(Z.shape)  # type: ignore[arg-type]

    def hessian_slopes(self, x: FloatArray) -> Slopes:
        """Slopes of the quadratic model at ``x``: the Hessian in the scores times the scores."""
        scores = np.asarray(self.X @ x.reshape(self.features, -1))
        if self.outputs == 1:
            bend = self.loss.pair(scores, 0, 0)[:, None]
            return lambda Z, rows: bend[rows] * Z

        def bent(Z: FloatArray, rows: Indices) -> FloatArray:
            which = np.repeat(rows, Z.shape[1] // self.outputs)
            tall = Z.reshape(-1, self.outputs)
            return self.loss.curve(scores[which], tall, which).reshape(Z.shape)  # type: ignore[arg-type]

        return bent

    def drawn_gradient(self, drawn: Drawn, points: FloatArray, slopes: Slopes) -> FloatArray:
        """Gradient of the drawn batch of every seed at its points, of the shape of ``points``."""
        seeds, m = drawn.rows.shape
        if self.sparse:
            parts = [self._sparse_gradient(drawn, points, slopes, s) for s in range(seeds)]
            return np.stack(parts) + self.l2 * points

        block = self.X[drawn.rows]
        Z = block @ points
        bent = slopes(Z.reshape(seeds * m, -1), drawn.rows.ravel()).reshape(Z.shape)
        bent = bent / m if drawn.parts is None else bent * drawn.parts[:, :, None]

        return np.asarray(np.swapaxes(block, 1, 2) @ bent + self.l2 * points)

    def _sparse_gradient(
        self, drawn: Drawn, points: FloatArray, slopes: Slopes, s: int
    ) -> FloatArray:
        rows = drawn.rows[s]
        block = self.X[rows]
        bent = slopes(np.asarray(block @ points[s]), rows)
        part = np.full(len(rows), 1.0 / len(rows)) if drawn.parts is None else drawn.parts[s]

        return np.asarray(block.T @ (part[:, None] * bent))

    def chunks(self) -> Iterator[slice]:
        """Slices of the rows that are worked on one after the other."""
        wide = max(self.features, self.outputs)
        step = self.rows if self.sparse else max(1, _CHUNK // wide)
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
        runs = width // self.outputs
        flat = np.moveaxis(points, 0, 1).reshape(f, -1)
        step = max(1, _CHUNK // flat.shape[1])
        total = np.zeros(seeds * runs)

        for first in range(0, self.rows, step):
            rows = slice(first, min(first + step, self.rows))
            Z = np.asarray(self.X[rows] @ flat)
            which = np.arange(rows.start, rows.stop)
            total += self.weights_of(rows) @ self._values(Z, which, seeds * runs)

        return total.reshape(seeds, runs)

    def _values(self, Z: FloatArray, rows: Indices, count: int) -> FloatArray:
        which = np.repeat(rows, count)
        values = self.loss.values(Z.reshape(-1, self.outputs), which)  # type: ignore[arg-type]
        return np.asarray(values.reshape(len(rows), count))

    def objectives(self, points: FloatArray) -> FloatArray:
        """Mean loss and regulariser at every point: (seeds, runs)."""
        runs = points.shape[2] // self.outputs
        split = points.reshape(len(points), self.features, runs, self.outputs)
        squares = np.einsum("sfrk,sfrk->sr", split, split)

        return np.asarray(self.losses(points) + 0.5 * self.l2 * squares)

    @property
    def quadratic(self) -> bool:
        """Whether the objective is quadratic."""
        return self.loss.quadratic

    def bend(self, rows: Indices, x: FloatArray) -> FloatArray:
        """Curvature of the loss of some rows in their one score at ``x``, shape (m,)."""
        return self.loss.pair(self.scores(rows, x), 0, 0, rows)  # type: ignore[arg-type]

    def row_roots(
        self, rows: Indices, x: FloatArray, basis: FloatArray | None = None
    ) -> FloatArray:
        """B_r with B_r B_rᵀ the Hessian of the loss of row r at ``x``, shape (m, k, outputs).

        In the coordinates of ``basis``, shape (d, k), or of the weights. The Hessian in the scores
        is c for one output, and diag(p) - p pᵀ = Σ_k p_k (e_k - p)(e_k - p)ᵀ for the softmax.
        """
        block = self.X[rows]
        if self.outputs == 1:
            turned = np.asarray(block @ basis) if basis is not None else _dense(block)
            return np.asarray(np.sqrt(self.bend(rows, x))[:, None] * turned)[:, :, None]

        m = len(rows)
        half = self._score_roots(rows, x)
        if basis is None:
            dense = _dense(block)
            wide = np.einsum("mf,mkq->mfkq", dense, half)
            return np.asarray(wide.reshape(m, self.dimension, -1))

        folded = basis.reshape(self.features, -1)
        along = np.asarray(block @ folded).reshape(m, self.outputs, basis.shape[1])
        return np.asarray(np.swapaxes(along, 1, 2) @ half)

    def root_products(self, rows: Indices, x: FloatArray) -> FloatArray:
        """Inner products of the columns of all B_r: (x_r · x_s) times those in the scores."""
        block = self.X[rows]
        inner = _dense(block @ block.T)
        half = self._score_roots(rows, x)
        both = np.einsum("rkp,skq->rpsq", half, half) * inner[:, None, :, None]

        return np.asarray(both.reshape(len(rows) * self.outputs, -1))

    def _score_roots(self, rows: Indices, x: FloatArray) -> FloatArray:
        """Roots of the Hessian in the scores of some rows, (m, outputs, outputs)."""
        scores = self.scores(rows, x)
        K = range(self.outputs)
        entries = [[self.loss.pair(scores, c, e, rows) for e in K] for c in K]  # type: ignore[arg-type]
        values, turn = np.linalg.eigh(np.moveaxis(np.array(entries), 2, 0))

        return np.asarray(turn * np.sqrt(np.maximum(values, 0.0))[:, None, :])

    def row_gradients(self, rows: Indices, x: FloatArray, basis: FloatArray) -> FloatArray:
        """Gradient of the loss of each row at ``x`` in the coordinates of ``basis``: (m, k)."""
        block = self.X[rows]
        slopes = self.slopes(self.scores(rows, x), rows)
        along = np.asarray(block @ basis.reshape(self.features, -1))
        along = along.reshape(len(rows), self.outputs, basis.shape[1])

        return np.asarray(np.einsum("mok,mo->mk", along, slopes))

    def scores(self, rows: slice | Indices, x: FloatArray) -> FloatArray:
        """Scores of some rows at one point, shape (m, outputs)."""
        return np.asarray(self.X[rows] @ x.reshape(self.features, -1))

    def row_gradient(self, rows: slice | Indices, x: FloatArray) -> FloatArray:
        """Gradient at ``x`` of the mean of some rows and the regulariser, shape (d,)."""
        slopes = self.loss.slopes(self.scores(rows, x), rows)  # type: ignore[arg-type]
        return np.asarray((self.X[rows].T @ slopes).ravel() / len(slopes) + self.l2 * x)

    def hessian_at(
        self, x: FloatArray, batch: slice | None = None
    ) -> Callable[[FloatArray], FloatArray]:
        """The Hessian at ``x`` of all rows, or of a batch, as its product with a vector (d,)."""
        parts = list(self.chunks()) if batch is None else [batch]
        # A quadratic has the same Hessian everywhere: its scores are not needed.
        scores = None if self.quadratic else [self.scores(rows, x) for rows in parts]

        def product(v: FloatArray) -> FloatArray:
            total = self.l2 * v
            V = v.reshape(self.features, -1)
            for i, rows in enumerate(parts):
                block = self.X[rows]
                along = np.asarray(block @ V)
                curved = self.loss.curve(along if scores is None else scores[i], along, rows)
                w = self.weights_of(rows) if batch is None else np.full(len(along), 1 / len(along))
                total = total + np.asarray(block.T @ (w[:, None] * curved)).ravel()

            return np.asarray(total)

        return product


def _dense(block: Any) -> FloatArray:
    return np.asarray(block.toarray() if is_sparse(block) else block, dtype=np.float64)
