"""A regularised linear model on data, split into mini-batches."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import (
    FloatArray,
    Refusal,
    WrongType,
    one_number,
    overflow_allowed,
    plain_array,
    refuse_too_large,
    seed_number,
    whole,
)
from ravine.curvature import Curvature
from ravine.problems.losses import Loss, make_loss
from ravine.problems.problem import Problem
from ravine.problems.row_model import RowModel
from ravine.problems.spectrum import (
    DENSE_LIMIT,
    extreme_eigenvalues,
    is_sparse,
    newton,
    weighted_gram,
)


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
        name: str = "data",
        parameters: dict[str, Any] | None = None,
    ) -> None:
        RowModel.__init__(self, X, loss, l2)
        self._edges = np.append(np.arange(0, self.rows, batch_size), self.rows)
        Problem.__init__(self, name, parameters or {}, self.dimension, len(self._edges) - 1)
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
        ends = np.array([extreme_eigenvalues(self.X[self._rows(b)]) for b in range(self.terms)])
        ends[:, 1] *= self.loss.curvature_bound
        if not self.quadratic:
            # Far out, such a loss may be flat.
            ends[:, 0] = 0.0

        return ends + self.l2

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
            total = total + (self.X[rows].T @ (self.weights_of(rows)[:, None] * slopes)).ravel()

        return np.asarray(total)

    def hessian(self, x: npt.ArrayLike | None = None) -> FloatArray:
        """Hessian of the whole objective at ``x``, by default at the minimiser."""
        rows = slice(0, self.rows)
        return self._hessian_of(rows, self.weights_of(rows), x)

    def hessian_product(
        self, i: int | None, v: npt.ArrayLike, x: npt.ArrayLike | None = None
    ) -> FloatArray:
        """Hessian of batch i (of the whole objective if None) at ``x`` times ``v``, unformed."""
        batch = None if i is None else self._rows(i)
        return self.hessian_at(self._point(x), batch)(self._point(v, "v"))

    def _rows(self, i: int) -> slice:
        k = self._term(i)
        return slice(int(self._edges[k]), int(self._edges[k + 1]))

    def _hessian_of(self, rows: slice, weights: FloatArray, x: npt.ArrayLike | None) -> FloatArray:
        self._refuse_large(1)
        K = self.outputs
        block = self.X[rows]
        # A quadratic loss needs no point, and its minimiser is found through this very Hessian.
        Z = np.zeros((len(weights), K)) if self.quadratic else self.scores(rows, self._point(x))
        H = np.empty((self.features, K, self.features, K))
        for c in range(K):
            for e in range(c, K):
                gram = weighted_gram(block, weights * self.loss.hessian_entry(Z, c, e, rows))
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


@overflow_allowed
def from_data(
    X: Any,
    y: npt.ArrayLike,
    *,
    loss: str = "squared",
    l2: float = 0.0,
    batch_size: int | None = None,
    shuffle: int | None = None,
) -> LinearModel:
    """A regularised linear model on data, split into mini-batches.

    f is the mean over batches of (1/m) Σ loss(x_rᵀ W, y_r) + l2/2 ‖W‖², without an intercept:
    append a column of ones for one.

    Parameters
    ----------
    X
        Data of shape (rows, features): an array, or a scipy sparse matrix, which stays sparse.
    y
        One target for each row: numbers for the squared loss, labels of any type otherwise.
    loss
        One of ``ravine.problems.losses.LOSSES``: "squared" is ½ (z - y)²; "logistic" takes two
        labels; "multinomial" two or more.
    l2
        Weight of the regulariser, zero or more; positive for the logistic losses, which are not
        strongly convex without it.
    batch_size
        Rows in a batch, from 1 to all of them. All unless given.
    shuffle
        Seed of a random order of the rows before they are split; the given order if None.

    Returns
    -------
    LinearModel
        Curvature and minimiser are computed when first asked for. Up to a few thousand features
        exactly; beyond, by Lanczos and conjugate gradients without forming a Hessian.

    Examples
    --------
    >>> X = [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]
    >>> problem = from_data(X, [1.0, 3.0, 5.0, 7.0], batch_size=2)
    >>> problem.minimiser.round(12).tolist(), problem.terms, problem.interpolates
    ([1.0, 2.0], 2, True)
    """
    table = _table(X)
    rows = table.shape[0]
    target = plain_array("y", y, "one target for each row")
    if target.shape != (rows,):
        shown = f"an array of shape {target.shape}"
        raise Refusal("y", f"of shape ({rows},)", shown, "one target for each row")

    size = checked_batch_size(rows if batch_size is None else batch_size, rows)
    if shuffle is not None:
        order = np.random.default_rng(seed_number("shuffle", shuffle)).permutation(rows)
        table = table[order]
        target = target[order]

    chosen = make_loss(loss, target)
    parameters = {
        "rows": rows,
        "features": table.shape[1],
        "loss": chosen.name,
        "l2": checked_l2(l2, chosen),
        "batch_size": size,
        "shuffle": "none" if shuffle is None else shuffle,
    }
    return LinearModel(
        table, chosen, l2=parameters["l2"], batch_size=size, name="from_data", parameters=parameters
    )


def checked_batch_size(batch_size: int, rows: int) -> int:
    """The rows in a batch, at most all of them."""
    size = whole("batch_size", batch_size, 1, remedy="e.g. 32")
    if size > rows:
        raise Refusal("batch_size", f"at most the {rows} rows", size, "use a smaller batch")

    return size


def checked_l2(l2: float, loss: Loss) -> float:
    """The weight of the regulariser, positive where the loss needs one to have a minimum."""
    weight = one_number("l2", l2, "nonnegative", remedy="give a weight, e.g. l2=1e-3")
    if weight == 0.0 and not loss.quadratic:
        raise Refusal("l2", f"positive for the {loss.name} loss", "0", "add some, e.g. l2=1e-3")

    return weight


def _table(X: Any) -> Any:
    """Return ``X`` as a finite float64 table, CSR if it is sparse; copied only if it has to be."""
    if is_sparse(X):
        table = X.tocsr().astype(np.float64, copy=False)
    else:
        raw = plain_array("X", X, "pass an array of rows and columns")
        if raw.dtype.kind not in "fiub":
            shown = f"values of type {raw.dtype}"
            raise WrongType("X", "a table of real numbers", shown, "encode the text")
        if raw.dtype != np.float64 or not raw.flags.c_contiguous:  # then it is copied
            refuse_too_large("X", 8.0 * raw.size, f"the shape {raw.shape}", "take fewer rows")
        table = np.ascontiguousarray(raw, dtype=np.float64)

    if table.ndim != 2 or 0 in table.shape:
        shown = f"an array of shape {table.shape}"
        raise Refusal("X", "a table with rows and columns", shown, "one row a sample")

    entries = table.tocoo() if is_sparse(X) else None
    bad = ~np.isfinite(table if entries is None else entries.data)
    if bad.any():
        first = np.argwhere(bad)[0]
        row, column = first if entries is None else (entries.row[first[0]], entries.col[first[0]])
        shown = f"{table[row, column]} in row {row}, column {column}"
        raise Refusal("X", "finite", shown, "drop that row, or fill it in")

    return table


def _bounds_or_refusal(mu: float, L: float, where: str) -> Curvature:
    if mu <= 64 * np.finfo(float).eps * L:
        rule = "positive for this data"
        remedy = "its columns are linearly dependent there; add l2, e.g. l2=1e-3"
        raise Refusal("mu", rule, f"{mu:.3g} in {where}", remedy)

    return Curvature(mu, L)
