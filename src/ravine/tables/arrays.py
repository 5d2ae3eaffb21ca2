"""Tables from arrays and sparse matrices, which are taken as they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import Refusal
from ravine.problems.extreme_eigenvalues import is_sparse
from ravine.tables.column import Column, ColumnBuilder, ColumnKind
from ravine.tables.finding import Finding
from ravine.tables.records import arrow_array
from ravine.tables.table import Table
from ravine.tables.tidy import Wishes, make_table


def array_columns(array: npt.NDArray[Any], names: Sequence[str]) -> list[Column]:
    """The columns of a two-dimensional or structured array; numbers are not copied."""
    parts = [array[field] for field in array.dtype.names or ()]
    if not parts:
        parts = [array[:, j] for j in range(array.shape[1])]

    return [array_column(part, name) for part, name in zip(parts, names, strict=True)]


def array_column(values: npt.NDArray[Any], name: str) -> Column:
    """A one-dimensional array as a column."""
    kind = values.dtype.kind
    if kind in "fiub":
        word = ColumnKind.TRUTH if kind == "b" else ColumnKind.NUMBERS
        return Column(name, word, len(values), numbers=np.asarray(values, dtype=np.float64))
    if kind not in "USOMmT":
        value = f"values of type {values.dtype}"
        raise Refusal(f"column {name!r:.60}", "of real numbers or texts", value, "convert it")

    builder = ColumnBuilder(name)
    if kind == "M":
        values = values.astype("datetime64[us]")

    builder.add(arrow_array(values.tolist()))
    return builder.finish()


def one_target(y: npt.NDArray[Any], rows: int) -> npt.NDArray[Any]:
    """The target as one value for each row; (rows, 1) is flattened, one-hot rows are decoded."""
    if y.ndim == 2 and y.shape[0] == rows and y.shape[1] == 1:
        y = y[:, 0]

    one_hot = y.ndim == 2 and y.shape[0] == rows and y.shape[1] > 1 and y.dtype.kind in "fiub"
    if one_hot and ((y == 0) | (y == 1)).all() and (y.sum(axis=1) == 1).all():
        y = y.argmax(axis=1)
    if y.shape != (rows,):
        value = f"an array of shape {y.shape}"
        raise Refusal("y", f"of shape ({rows},)", value, "one target for each row")

    return y


def table_of_arrays(
    X: Any,
    y: npt.NDArray[Any],
    wishes: Wishes,
    *,
    name: str,
    target: str = "y",
    columns: Sequence[str] | None = None,
    weights: npt.NDArray[Any] | None = None,
) -> Table:
    """A table from an array or a sparse matrix and a target."""
    notes: list[Finding] = []
    if not is_sparse(X) and np.ndim(X) > 2:
        shape = "x".join(str(n) for n in X.shape[1:])
        X = X.reshape(len(X), -1)
        notes.append(Finding("shape", f"each row of shape {shape} was laid out in one line"))

    if X.ndim != 2 or 0 in X.shape:
        value = f"an array of shape {X.shape}"
        raise Refusal("X", "a table with rows and columns", value, "one row a sample")
    if X.shape[0] < 2:
        raise Refusal("X", "two rows or more", X.shape[0], "there is nothing to average over")

    names = tuple(columns) if columns else tuple(f"x{j}" for j in range(X.shape[1]))
    if len(names) != X.shape[1]:
        raise Refusal("columns", f"{X.shape[1]} names", len(names), "one for each column of X")

    wishes.limits.check_columns(X.shape[1])
    goal = array_column(one_target(y, X.shape[0]), target)
    weight = None if weights is None else array_column(one_target(weights, X.shape[0]), "weights")
    if is_sparse(X):
        return _sparse_table(X.tocsr(), goal, weight, wishes, names, name, notes)

    plain = X.dtype.kind in "fiub" and bool(_all_finite(X))
    if not plain or wishes.drop:
        inputs = array_columns(X, names)
        return make_table(inputs, wishes, name=name, y=goal, weights=weight, findings=notes)

    # The target's own rules are those of columns; one column of X stands for all.
    marker = Column("row", ColumnKind.NUMBERS, X.shape[0], numbers=np.arange(float(X.shape[0])))
    small = make_table([marker], wishes, name=name, y=goal, weights=weight, findings=notes)
    data = X if small.rows is None else X[small.rows]
    data = np.ascontiguousarray(data, dtype=np.float64)

    return _same_rows(small, data, names)


def _all_finite(X: npt.NDArray[Any]) -> bool:
    # The sum tells of a bad value without an array as large as the data.
    with np.errstate(invalid="ignore", over="ignore"):
        return X.dtype.kind != "f" or bool(np.isfinite(X.sum())) or bool(np.isfinite(X).all())


def _sparse_table(
    X: Any,
    goal: Column,
    weight: Column | None,
    wishes: Wishes,
    names: tuple[str, ...],
    name: str,
    notes: list[Finding],
) -> Table:
    data = X.astype(np.float64, copy=False)
    marker = np.arange(float(X.shape[0]))
    if not _all_finite(data.data):
        bad = np.flatnonzero(~np.isfinite(data.data))
        marker[np.searchsorted(data.indptr, bad, side="right") - 1] = np.nan

    column = Column("row", ColumnKind.NUMBERS, X.shape[0], numbers=marker)
    small = make_table([column], wishes, name=name, y=goal, weights=weight, findings=notes)
    if small.rows is not None:
        data = data[small.rows]
    elif not np.isfinite(marker).all():
        raise Refusal("X", "finite", "values that are not", "fill them in: sparse gaps are zeros")

    return _same_rows(small, data, names)


def _same_rows(small: Table, X: Any, names: tuple[str, ...]) -> Table:
    return replace(small, X=X, columns=names)
