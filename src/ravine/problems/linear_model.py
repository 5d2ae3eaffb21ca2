"""A regularised linear model on data, cut into mini-batches."""

from __future__ import annotations

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
from ravine.problems.row_model import RowModel


class LinearModel(RowModel, Problem):
    """The mean over mini-batches of f_b(W) = (1/m_b) Σ_r loss(x_rᵀ W, y_r) + l2/2 ‖W‖².

    W has shape (features, outputs) and is kept flat, row after row, as the point x. The batches
    are consecutive rows, ``batch_size`` at a time, the last one shorter if it has to be. Each
    batch counts the same in the mean, as in the usual training loops; with a shorter last batch
    its rows therefore weigh a little more.

    Made by ``from_data`` and ``multinomial_logistic``, which check what they are given.
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
        RowModel.__init__(self, X, loss, l2)
        self._edges = np.append(np.arange(0, self.rows, batch_size), self.rows)
        Problem.__init__(self, name, parameters, self.dimension, len(self._edges) - 1)
        sizes = self.batch_sizes
        if (sizes != sizes[0]).any():
            self.row_weights = np.repeat(1.0 / (self.terms * sizes), sizes)

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
        loss = self.loss.values(self.scores(rows, w), rows).mean()
        return float(loss + 0.5 * self.l2 * (w @ w))

    def batch_gradient(self, i: int, x: npt.ArrayLike) -> FloatArray:
        """Gradient of the objective of batch i at ``x``, shape (d,)."""
        return self.row_gradient(self._rows(i), self._point(x))

    def batch_hessian(self, i: int, x: npt.ArrayLike | None = None) -> FloatArray:
        """Hessian of the objective of batch i at ``x``, by default at the minimiser."""
        self._refuse_large(1)
        rows = self._rows(i)
        return self._hessian_of(rows, np.full(rows.stop - rows.start, self._weight(i)), x)

    def objective(self, x: npt.ArrayLike) -> float:
        """Value of the whole objective at ``x``."""
        w = self._point(x)
        total = 0.5 * self.l2 * float(w @ w)
        for rows in self.chunks():
            total += float(self.weights_of(rows) @ self.loss.values(self.scores(rows, w), rows))

        return total

    def gradient(self, x: npt.ArrayLike) -> FloatArray:
        """Gradient of the whole objective at ``x``, shape (d,)."""
        w = self._point(x)
        total = self.l2 * w
        for rows in self.chunks():
            slopes = self.loss.slopes(self.scores(rows, w), rows)
            total = total + (self.X[rows].T @ (self.weights_of(rows)[:, None] * slopes)).ravel()

        return np.asarray(total)

    def hessian(self, x: npt.ArrayLike | None = None) -> FloatArray:
        """Hessian of the whole objective at ``x``, by default at the minimiser."""
        self._refuse_large(1)
        total = np.zeros((self.dimension, self.dimension))
        for rows in self.chunks():
            total += self._hessian_of(rows, self.weights_of(rows), x, l2=0.0)

        total[np.diag_indices_from(total)] += self.l2
        return total

    def hessian_product(
        self, i: int | None, v: npt.ArrayLike, x: npt.ArrayLike | None = None
    ) -> FloatArray:
        """Hessian of batch i (of the whole objective if None) at ``x`` times ``v``, unformed."""
        batch = None if i is None else self._rows(i)
        return self.hessian_at(self._point(x), batch)(self._point(v, "v"))

    def _rows(self, i: int) -> slice:
        k = self._term(i)
        return slice(int(self._edges[k]), int(self._edges[k + 1]))

    def _weight(self, i: int) -> float:
        return 1.0 / float(self._edges[i + 1] - self._edges[i])

    def _hessian_of(
        self, rows: slice, weights: FloatArray, x: npt.ArrayLike | None, l2: float | None = None
    ) -> FloatArray:
        K = self.loss.outputs
        block = self.X[rows]
        # A quadratic loss needs no point, and its minimiser is found through this very Hessian.
        flat = self.loss.quadratic
        Z = np.zeros((len(weights), K)) if flat else self.scores(rows, self._point(x))
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
        hessian = self.hessian_at(x)
        operator = LinearOperator((d, d), lambda v: hessian(v.ravel()))
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
