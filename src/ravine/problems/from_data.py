"""A linear model of a user's rows and target, checked once."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import (
    Refusal,
    WrongType,
    one_number,
    overflow_allowed,
    refuse_too_large,
    seed_number,
    whole,
)
from ravine.problems.linear_model import LinearModel
from ravine.problems.losses import Loss, make_loss
from ravine.problems.spectrum import is_sparse


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

    f is the mean over batches of (1/m) Σ loss(x_rᵀ W, y_r) + l2/2 ‖W‖². It has no intercept: append
    a column of ones to get one.

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
        Rows per batch, at least 1. Default: all rows.
    shuffle
        Seed of a random order of the rows before they are split. None keeps the given order.

    Returns
    -------
    LinearModel
        Curvature and minimiser are computed on first use: exactly up to a few thousand features,
        beyond that by Lanczos and conjugate gradients, without forming a Hessian.

    Examples
    --------
    >>> X = [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]
    >>> problem = from_data(X, [1.0, 3.0, 5.0, 7.0], batch_size=2)
    >>> problem.minimiser.round(12).tolist(), problem.terms, problem.interpolates
    ([1.0, 2.0], 2, True)
    """
    table = _table(X)
    rows = table.shape[0]
    target = np.asarray(y)
    if target.shape != (rows,):
        shown = f"an array of shape {target.shape}"
        raise Refusal("y", f"of shape ({rows},)", shown, "one target for each row")

    size = rows if batch_size is None else batch_size
    size = whole("batch_size", size, 1, remedy="e.g. 32", maximum=rows)
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


def checked_l2(l2: float, loss: Loss) -> float:
    """The weight of the regulariser; positive if the loss has no minimum without it."""
    weight = one_number("l2", l2, "nonnegative", remedy="give a weight, e.g. l2=1e-3")
    if weight == 0.0 and not loss.quadratic:
        raise Refusal("l2", f"positive for the {loss.name} loss", "0", "add some, e.g. l2=1e-3")

    return weight


def _table(X: Any) -> Any:
    """Return ``X`` as a finite float64 table, CSR if sparse; copied only if necessary."""
    if is_sparse(X):
        table = X.tocsr().astype(np.float64, copy=False)
    else:
        raw = np.asarray(X)
        if raw.dtype.kind not in "fiub":
            shown = f"values of type {raw.dtype}"
            raise WrongType("X", "a table of real numbers", shown, "encode the text")
        if raw.dtype != np.float64 or not raw.flags.c_contiguous:  # then it is copied
            refuse_too_large("X", 8.0 * raw.size, f"the shape {raw.shape}", "take fewer rows")
        table = np.ascontiguousarray(raw, dtype=np.float64)

    if table.ndim != 2 or 0 in table.shape:
        shown = f"an array of shape {table.shape}"
        raise Refusal("X", "a table with rows and columns", shown, "one row for each sample")

    entries = table.tocoo() if is_sparse(X) else None
    bad = ~np.isfinite(table if entries is None else entries.data)
    if bad.any():
        first = np.argwhere(bad)[0]
        row, column = first if entries is None else (entries.row[first[0]], entries.col[first[0]])
        shown = f"{table[row, column]} in row {row}, column {column}"
        raise Refusal("X", "finite", shown, "drop that row, or fill it in")

    return table
