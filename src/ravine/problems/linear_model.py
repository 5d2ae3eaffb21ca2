"""A regularised linear model on data, split into mini-batches.

Many points are stored in one array (seeds, features, runs * outputs), so that the scores of a batch
at the points of all runs of a seed are one matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal
from ravine.curvature import Curvature
from ravine.problems.losses import Loss
from ravine.problems.problem import Problem
from ravine.problems.spectrum import (
    CHUNK,
    DENSE_LIMIT,
    dense,
    extreme_eigenvalues,
    is_sparse,
    newton,
    weighted_gram,
)

Indices: TypeAlias = npt.NDArray[np.intp]
Slopes: TypeAlias = Callable[[FloatArray, Indices], FloatArray]
"""Derivative of the loss in the scores, a function of (scores, rows); scores and result have the
shape (rows, runs * outputs)."""


class Drawn(NamedTuple):
    """The rows of one step for every seed, and their weights in the mean of the batch.

    ``rows`` has shape (seeds, m), and ``weights`` that shape or (1, m); a batch that is shorter
    than m is padded with weights 0.
    """

    rows: Indices
    weights: FloatArray


class LinearModel(Problem):
    """The mean over mini-batches of f_b(W) = (1/m_b) Σ_r loss(x_rᵀ W, y_r) + l2/2 ‖W‖².

    W has shape (features, outputs); the point x is W flattened row by row. The batches are
    consecutive rows, ``batch_size`` at a time; the last one may be shorter. All batches count the
    same in the mean, as in ordinary training loops, so the rows of a shorter last batch weigh a
    little more.

    ``from_data`` and ``multinomial_logistic`` create it and check the arguments.

    Parameters
    ----------
    X
        Array or CSR matrix, (rows, features).
    loss
        The loss with its target.
    l2
        Weight of the regulariser.
    batch_size
        Rows per batch. Default: all rows.
    name, parameters
        Recorded with every result.

    Attributes
    ----------
    entries
        Number of stored entries of the table.
    batch_sizes
        Rows in each batch, shape (n,).
    row_weights
        Weight of each row in the mean, shape (rows,).
    """

    def __init__(
        self,
        X: Any,
        loss: Loss,
        *,
        l2: float,
        batch_size: int | None = None,
        name: str = "data",
        parameters: dict[str, Any] | None = None,
    ) -> None:
        self.X = X
        self.loss = loss
        self.l2 = l2
        self.rows, self.features = (int(size) for size in X.shape)
        self.outputs = loss.outputs
        self.quadratic = loss.quadratic
        self.sparse = is_sparse(X)
        self.entries = int(X.nnz if self.sparse else X.size)
        self._edges = np.append(np.arange(0, self.rows, batch_size or self.rows), self.rows)
        super().__init__(name, parameters or {}, self.features * self.outputs, len(self._edges) - 1)
        sizes = self.batch_sizes = np.diff(self._edges)
        self.row_weights: FloatArray = np.repeat(1.0 / (self.terms * sizes), sizes)

    @cached_property
    def batch_curvatures(self) -> FloatArray:
        """Bounds (mu_b, L_b) of each batch, shape (n, 2).

        Quadratic loss: the extreme eigenvalues of its Hessian. Other losses: l2, and l2 plus the
        loss's bound times the largest eigenvalue of X_bᵀX_b / m_b, which hold everywhere.
        """
        ends = np.array([extreme_eigenvalues(self.X[self._rows(b)]) for b in range(self.terms)])
        ends[:, 1] *= self.loss.curvature_bound
        if not self.quadratic:
            # Such a loss may be flat far from the minimiser.
            ends[:, 0] = 0.0

        return ends + self.l2

    @cached_property
    def curvature(self) -> Curvature:  # type: ignore[override]  # computed on first use
        """Bounds mu and L that hold for every batch, everywhere.

        Refused if some batch is not strongly convex: then no positive mu holds for all of them.
        """
        mu, L = self.batch_curvatures.T
        return _bounds_or_refusal(float(mu.min()), float(L.max()), f"batch {int(mu.argmin())}")

    @cached_property
    def minimiser(self) -> FloatArray:  # type: ignore[override]  # computed on first use
        """The minimiser of the whole objective, by Newton's method to rounding error."""
        solve = self._solve_dense if self.dimension <= DENSE_LIMIT else self._solve_cg
        return newton(np.zeros(self.dimension), self.gradient, solve)

    def batch_objective(self, i: int, x: npt.ArrayLike) -> float:
        """Mean loss of the rows of batch i plus the regulariser at ``x``."""
        w = self._point(x)
        rows = self._rows(i)
        loss = self.loss.values(self.scores(rows, w), rows).mean()
        return float(loss + 0.5 * self.l2 * (w @ w))

    def batch_gradient(self, i: int, x: npt.ArrayLike) -> FloatArray:
        """Gradient of the objective of batch i at ``x``, shape (d,)."""
        return self.row_gradient(self._rows(i), self._point(x))

    def batch_hessian(self, i: int, x: npt.ArrayLike | None = None) -> FloatArray:
        """Hessian of the objective of batch i at ``x``, by default at the minimiser."""
        rows = self._rows(i)
        size = rows.stop - rows.start
        return self._hessian_of(rows, np.full(size, 1.0 / size), x)

    def objective(self, x: npt.ArrayLike) -> float:
        """Value of the whole objective at ``x``."""
        return float(self.objectives(self.repeated(self._point(x), 1, 1))[0, 0])

    def gradient(self, x: npt.ArrayLike) -> FloatArray:
        """Gradient of the whole objective at ``x``, shape (d,)."""
        w = self._point(x)
        total = self.l2 * w
        for rows in self.chunks(self.features):
            slopes = self.loss.slopes(self.scores(rows, w), rows)
            total = total + (self.X[rows].T @ (self.row_weights[rows, None] * slopes)).ravel()

        return np.asarray(total)

    def hessian(self, x: npt.ArrayLike | None = None) -> FloatArray:
        """Hessian of the whole objective at ``x``, by default at the minimiser."""
        return self._hessian_of(slice(0, self.rows), self.row_weights, x)

    def hessian_product(
        self, i: int | None, v: npt.ArrayLike, x: npt.ArrayLike | None = None
    ) -> FloatArray:
        """Hessian of batch i (None: of the whole objective) at ``x`` times ``v``, never formed."""
        batch = None if i is None else self._rows(i)
        return self.hessian_at(self._point(x), batch)(self._point(v, "v"))

    def _rows(self, i: int) -> slice:
        k = self._term(i)
        return slice(int(self._edges[k]), int(self._edges[k + 1]))

    def _hessian_of(self, rows: slice, weights: FloatArray, x: npt.ArrayLike | None) -> FloatArray:
        self._refuse_large(1)
        K = self.outputs
        block = self.X[rows]
        # A quadratic loss needs no point, and its minimiser is computed with this Hessian.
        Z = np.zeros((len(weights), K)) if self.quadratic else self.scores(rows, self._point(x))
        H = np.empty((self.features, K, self.features, K))
        for e in range(K):
            column = self.loss.hessian_column(Z, e, rows)
            for c in range(e + 1):
                gram = weighted_gram(block, weights * column[:, c])
                H[:, c, :, e] = H[:, e, :, c] = (gram + gram.T) / 2

        full = H.reshape(self.dimension, self.dimension)
        full[np.diag_indices_from(full)] += self.l2
        return full

    def _solve_dense(self, x: FloatArray, g: FloatArray) -> FloatArray:
        H = self.hessian(x)
        values = np.linalg.eigvalsh(H)
        if values[0] <= self.dimension * np.finfo(float).eps * values[-1]:
            _bounds_or_refusal(0.0, float(values[-1]), "the whole objective")

        return np.asarray(np.linalg.solve(H, g))

    def _solve_cg(self, x: FloatArray, g: FloatArray) -> FloatArray:
        from scipy.sparse.linalg import LinearOperator, cg

        hessian = self.hessian_at(x)
        operator = LinearOperator((len(g), len(g)), lambda v: hessian(v.ravel()))
        return np.asarray(cg(operator, g, rtol=1e-8, maxiter=2000)[0])

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
        # A loss with one score accepts the scores of many runs side by side.
        if self.outputs == 1:
            return function(Z, rows)

        which = np.repeat(rows, Z.shape[1] // self.outputs)
        return function(Z.reshape(-1, self.outputs), which).reshape(Z.shape)

    def drawn_gradient(self, drawn: Drawn, points: FloatArray, slopes: Slopes) -> FloatArray:
        """Gradient of the drawn batch of every seed at its points, in the shape of ``points``."""
        rows, weights = drawn
        if self.sparse:
            gradients = self.l2 * points
            shares = np.broadcast_to(weights, rows.shape)[:, :, None]
            for s, which in enumerate(rows):
                block = self.X[which]
                gradients[s] += block.T @ (shares[s] * slopes(block @ points[s], which))

            return np.asarray(gradients)

        seeds, m = rows.shape
        block = self.X[rows]
        Z = block @ points
        inner = slopes(Z.reshape(seeds * m, -1), rows.ravel()).reshape(Z.shape)
        inner *= weights[:, :, None]
        return np.asarray(np.swapaxes(block, 1, 2) @ inner + self.l2 * points)

    def chunks(self, width: int) -> Iterator[slice]:
        """Slices of rows to process in turn, sized by the numbers that each row needs."""
        step = max(1, CHUNK // width)
        for first in range(0, self.rows, step):
            yield slice(first, min(first + step, self.rows))

    def losses(self, points: FloatArray) -> FloatArray:
        """Mean loss of all rows at every point, without the regulariser: (seeds, runs)."""
        seeds, f, width = points.shape
        count = seeds * width // self.outputs
        flat = np.moveaxis(points, 0, 1).reshape(f, -1)
        total = np.zeros(count)
        for rows in self.chunks(flat.shape[1]):
            Z = np.asarray(self.X[rows] @ flat).reshape(-1, self.outputs)
            which = np.repeat(np.arange(rows.start, rows.stop), count)
            total += self.row_weights[rows] @ self.loss.values(Z, which).reshape(-1, count)

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
        half = self._score_roots(rows, x)
        if basis is None:
            outer = np.einsum("mf,mkq->mfkq", dense(self.X[rows]), half)
            return np.asarray(outer.reshape(len(rows), self.dimension, -1))

        along = self.scores(rows, basis).reshape(len(rows), self.outputs, -1)
        return np.asarray(np.swapaxes(along, 1, 2) @ half)

    def root_products(self, rows: Indices, x: FloatArray) -> FloatArray:
        """Inner products of the columns of all B_r: (x_r · x_s) times those in the scores."""
        block = self.X[rows]
        half = self._score_roots(rows, x)
        inner = dense(block @ block.T)
        both = np.einsum("rkp,skq->rpsq", half, half) * inner[:, None, :, None]
        return np.asarray(both.reshape(len(rows) * self.outputs, -1))

    def _score_roots(self, rows: Indices, x: FloatArray) -> FloatArray:
        """Roots of the Hessian in the scores of some rows, (m, outputs, outputs)."""
        scores = self.scores(rows, x)
        columns = [self.loss.hessian_column(scores, e, rows) for e in range(self.outputs)]
        hessians = np.stack(columns, axis=2)
        if self.outputs == 1:
            return np.asarray(np.sqrt(hessians))

        values, vectors = np.linalg.eigh(hessians)
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :])

    def row_gradients(self, rows: Indices, x: FloatArray, basis: FloatArray) -> FloatArray:
        """Gradient of the loss of each row at ``x`` in the coordinates of ``basis``: (m, k)."""
        slopes = self.slopes(self.scores(rows, x), rows)
        along = self.scores(rows, basis).reshape(len(rows), self.outputs, -1)
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
                w = self.row_weights[rows] if batch is None else np.full(len(Z), 1 / len(Z))
                total = total + np.asarray(self.X[rows].T @ (w[:, None] * inner)).ravel()

            return np.asarray(total)

        return product


def _bounds_or_refusal(mu: float, L: float, where: str) -> Curvature:
    if mu <= 64 * np.finfo(float).eps * L:
        rule = "positive for this data"
        remedy = "its columns are linearly dependent there; add l2, e.g. l2=1e-3"
        raise Refusal("mu", rule, f"{mu:.3g} in {where}", remedy)

    return Curvature(mu, L)
