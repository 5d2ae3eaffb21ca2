"""A regularised linear model on data, cut into mini-batches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal
from ravine.curvature import Curvature
from ravine.problems.extreme_eigenvalues import DENSE_LIMIT, extreme_eigenvalues, is_sparse
from ravine.problems.losses import Loss
from ravine.problems.newton import newton
from ravine.problems.problem import Problem

_CHUNK = 2**22
"""Entries of a block of rows that is worked on at once, so that no copy of the data is made."""


class LinearModel(Problem):
    """The mean over mini-batches of f_b(W) = (1/m_b) Σ_r loss(x_rᵀ W, y_r) + l2/2 ‖W‖².

    W has shape (features, outputs) and is kept flat, row after row, as the point x. The batches
    are consecutive rows, ``batch_size`` at a time, the last one shorter if it has to be. Each
    batch counts the same in the mean, as in the usual training loops; with a shorter last batch
    its rows therefore weigh a little more.

    Made by ``from_data`` and ``multinomial_logistic``, which check what they are given.

    Attributes
    ----------
    loss
        The loss and its target.
    l2
        Weight of the regulariser.
    """

    def __init__(
        self,
        X: Any,
        loss: Loss,
        *,
        l2: float,
        batch_size: int,
        name: str,
        parameters: dict[str, Any],
    ) -> None:
        rows, self.features = X.shape
        self.X = X
        self.loss = loss
        self.l2 = l2
        self._edges = np.append(np.arange(0, rows, batch_size), rows)
        super().__init__(name, parameters, self.features * loss.outputs, len(self._edges) - 1)

    @property
    def batch_sizes(self) -> npt.NDArray[np.int64]:
        """Rows in each batch, shape (n,)."""
        return np.diff(self._edges)

    @cached_property
    def batch_curvatures(self) -> FloatArray:
        """Bounds (mu_b, L_b) of each batch, shape (n, 2).

        Quadratic loss: the extreme eigenvalues of its Hessian. Other losses: l2, and l2 plus the
        loss's bound times the largest eigenvalue of X_bᵀX_b / m_b, which hold everywhere.
        """
        return np.stack([self._bounds(self._rows(b)) for b in range(self.terms)])

    @cached_property
    def curvature(self) -> Curvature:
        """Bounds mu and L that hold for every batch, everywhere.

        Refused where some batch is not strongly convex: then no positive mu holds for every one.
        """
        mu = self.batch_curvatures[:, 0]
        L = self.batch_curvatures[:, 1]
        return _bounds_or_refusal(float(mu.min()), float(L.max()), f"batch {int(mu.argmin())}")

    @cached_property
    def minimiser(self) -> FloatArray:
        """The point where the whole objective is least, by Newton's method to rounding."""
        dense = self.dimension <= DENSE_LIMIT
        return newton(
            np.zeros(self.dimension), self.gradient, self._solve_dense if dense else self._solve_cg
        )

    def batch_objective(self, i: int, x: npt.ArrayLike) -> float:
        """Mean loss of the rows of batch i plus the regulariser at ``x``."""
        w = self._point(x)
        rows = self._rows(i)
        loss = self.loss.values(self._scores(rows, w), rows).mean()
        return float(loss + 0.5 * self.l2 * (w @ w))

    def batch_gradient(self, i: int, x: npt.ArrayLike) -> FloatArray:
        """Gradient of the objective of batch i at ``x``, shape (d,)."""
        w = self._point(x)
        rows = self._rows(i)
        slopes = self.loss.slopes(self._scores(rows, w), rows)
        return np.asarray((self.X[rows].T @ slopes).ravel() / len(slopes) + self.l2 * w)

    def batch_hessian(self, i: int, x: npt.ArrayLike | None = None) -> FloatArray:
        """Hessian of the objective of batch i at ``x``, by default at the minimiser."""
        self._refuse_large(1)
        rows = self._rows(i)
        return self._hessian_of(rows, np.full(rows.stop - rows.start, self._weight(i)), x)

    def objective(self, x: npt.ArrayLike) -> float:
        """Value of the whole objective at ``x``."""
        w = self._point(x)
        total = 0.5 * self.l2 * float(w @ w)
        for rows in self._chunks():
            losses = self.loss.values(self._scores(rows, w), rows)
            total += float(self._row_weights[rows] @ losses)

        return total

    def gradient(self, x: npt.ArrayLike) -> FloatArray:
        """Gradient of the whole objective at ``x``, shape (d,)."""
        w = self._point(x)
        total = self.l2 * w
        for rows in self._chunks():
            slopes = self.loss.slopes(self._scores(rows, w), rows)
            total = total + (self.X[rows].T @ (self._row_weights[rows, None] * slopes)).ravel()

        return np.asarray(total)

    def hessian(self, x: npt.ArrayLike | None = None) -> FloatArray:
        """Hessian of the whole objective at ``x``, by default at the minimiser."""
        self._refuse_large(1)
        total = np.zeros((self.dimension, self.dimension))
        for rows in self._chunks():
            total += self._hessian_of(rows, self._row_weights[rows], x, l2=0.0)

        total[np.diag_indices_from(total)] += self.l2
        return total

    def hessian_product(
        self, i: int | None, v: npt.ArrayLike, x: npt.ArrayLike | None = None
    ) -> FloatArray:
        """Hessian of batch i (of the whole objective if None) at ``x`` times ``v``, unformed."""
        w = self._point(x)
        direction = self._point(v, "v")
        V = direction.reshape(self.features, -1)
        total = self.l2 * direction
        for rows in self._chunks() if i is None else [self._rows(i)]:
            weights = self._row_weights[rows] * (1 if i is None else self.terms)
            curved = self.loss.curve(self._scores(rows, w), np.asarray(self.X[rows] @ V), rows)
            total = total + (self.X[rows].T @ (weights[:, None] * curved)).ravel()

        return np.asarray(total)

    @cached_property
    def _row_weights(self) -> FloatArray:
        return np.repeat(1.0 / (self.terms * self.batch_sizes), self.batch_sizes)

    def _rows(self, i: int) -> slice:
        k = self._term(i)
        return slice(int(self._edges[k]), int(self._edges[k + 1]))

    def _weight(self, i: int) -> float:
        return 1.0 / float(self._edges[i + 1] - self._edges[i])

    def _chunks(self) -> Iterator[slice]:
        count = self.X.shape[0]
        step = max(1, _CHUNK // max(self.features, self.loss.outputs))
        step = count if is_sparse(self.X) else step
        for first in range(0, count, step):
            yield slice(first, min(first + step, count))

    def _scores(self, rows: slice, w: FloatArray) -> FloatArray:
        return np.asarray(self.X[rows] @ w.reshape(self.features, -1))

    def _hessian_of(
        self, rows: slice, weights: FloatArray, x: npt.ArrayLike | None, l2: float | None = None
    ) -> FloatArray:
        K = self.loss.outputs
        block = self.X[rows]
        # A quadratic loss needs no point, and its minimiser is found through this very Hessian.
        flat = self.loss.quadratic
        Z = np.zeros((len(weights), K)) if flat else self._scores(rows, self._point(x))
        H = np.empty((self.features, K, self.features, K))
        for c in range(K):
            for e in range(c, K):
                scale = weights * self.loss.pair(Z, c, e, rows)
                part = _weighted_gram(block, scale)
                H[:, c, :, e] = part
                H[:, e, :, c] = part

        full = H.reshape(self.dimension, self.dimension)
        full[np.diag_indices_from(full)] += self.l2 if l2 is None else l2
        return full

    def _bounds(self, rows: slice) -> FloatArray:
        low, high = extreme_eigenvalues(self.X[rows])
        # Far out, a loss that is not quadratic may be flat.
        least = self.loss.curvature_bound * low if self.loss.quadratic else 0.0
        return np.array([least, self.loss.curvature_bound * high]) + self.l2

    def _solve_dense(self, x: FloatArray, g: FloatArray) -> FloatArray:
        H = self.hessian(x)
        values = np.linalg.eigvalsh(H)
        if values[0] <= self.dimension * np.finfo(float).eps * values[-1]:
            _bounds_or_refusal(0.0, float(values[-1]), "the whole objective")

        return np.asarray(np.linalg.solve(H, g))

    def _solve_cg(self, x: FloatArray, g: FloatArray) -> FloatArray:
        from scipy.sparse.linalg import LinearOperator, cg

        d = self.dimension
        operator = LinearOperator((d, d), lambda v: self.hessian_product(None, v.ravel(), x))
        step, _ = cg(operator, g, rtol=1e-8, maxiter=2000)
        return np.asarray(step)


def _weighted_gram(block: Any, weights: FloatArray) -> FloatArray:
    if is_sparse(block):
        gram = np.asarray((block.T @ block.multiply(weights[:, None]).tocsr()).toarray())
    else:
        gram = np.asarray(block.T @ (weights[:, None] * block))

    return np.asarray((gram + gram.T) / 2)


def _bounds_or_refusal(mu: float, L: float, where: str) -> Curvature:
    if mu <= 64 * np.finfo(float).eps * L:
        rule = "positive for this data"
        remedy = "its columns are linearly dependent there; add l2, e.g. l2=1e-3"
        raise Refusal("mu", rule, f"{mu:.3g} in {where}", remedy)

    return Curvature(mu, L)
