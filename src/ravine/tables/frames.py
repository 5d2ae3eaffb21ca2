"""What Python callers pass: arrays, sparse matrices, data frames of any library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ravine.arguments import Refusal, WrongType, whole
from ravine.problems.extreme_eigenvalues import is_sparse
from ravine.tables.arrays import array_column, one_target, table_of_arrays
from ravine.tables.arrow_files import declared_levels
from ravine.tables.column import Column, ColumnBuilder, columns_from
from ravine.tables.gaps import Missing
from ravine.tables.limits import Limits
from ravine.tables.quiet import quietly
from ravine.tables.records import arrow_array
from ravine.tables.table import Table
from ravine.tables.tidy import Wishes, make_table


@quietly
def as_table(
    X: Any,
    y: Any = None,
    *,
    drop: Sequence[str | int] = (),
    weights: Any = None,
    missing: str = "drop-rows",
    levels: int = 20,
    columns: Sequence[str] | None = None,
    name: str = "data",
    max_rows: int | None = None,
    max_columns: int | None = None,
    max_classes: int | None = None,
    max_bytes: int | None = None,
) -> Table:
    """Make a table of what Python code has at hand.

    Parameters
    ----------
    X
        A NumPy array (or what becomes one), a scipy sparse matrix, a pandas DataFrame, a pyarrow
        Table, a polars DataFrame, or anything else that gives an Arrow stream. Frames are treated
        like files: texts and categories become levels, row numbers and constants are left out.
        Arrays are taken as they are.
    y
        The target: an array, list or Series, of shape (rows,) or (rows, 1), or the name of a
        column of the frame. Left out: a column of the frame as in :func:`ravine.read_table`.
    drop
        Columns to leave out.
    weights
        The name of a column of the frame, or a weight for each row.
    missing
        "drop-rows", "fill" (the median or the most frequent text) or "refuse".
    levels
        Levels of a text column that are kept apart, at least 2; rarer ones are one group.
    columns
        Names for the columns of an array.
    name
        What the data are called.
    max_rows, max_columns, max_classes, max_bytes
        Limits, see :class:`ravine.tables.Limits`.

    Returns
    -------
    Table
        With ``X``, ``y``, ``columns``, ``weights`` and ``findings``.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, 4.0], "town": ["A", "B", "A"], "y": [1.5, 2, 3]})
    >>> table = as_table(frame)
    >>> table.columns, table.target, table.X.tolist()
    (('size', 'town=B'), 'y', [[1.0, 0.0], [2.0, 1.0], [4.0, 0.0]])
    """
    limits = Limits.of(
        max_rows=max_rows, max_columns=max_columns, max_classes=max_classes, max_bytes=max_bytes
    )
    by_name = isinstance(weights, (str, int))
    wishes = Wishes(
        target=y if isinstance(y, (str, int)) else None, drop=tuple(drop),
        weights=weights if by_name else None, missing=chosen_missing(missing),
        levels=whole("levels", levels, 2, remedy="give a count, e.g. 20"), limits=limits,
    )  # fmt: skip

    rest = None if by_name or weights is None else weights
    if is_frame(X):
        inputs = frame_columns(X, limits)
        if not inputs:
            raise Refusal("X", "a table with rows and columns", "a frame without columns", "fill")

        rows = inputs[0].rows
        goal = None if y is None or isinstance(y, (str, int)) else series_column(y, "y", rows)
        weight = None if rest is None else series_column(rest, "weights", rows)

        return make_table(inputs, wishes, name=name, y=goal, weights=weight)

    if y is None or isinstance(y, (str, int)):
        raise Refusal("y", "given with an array", repr(y), "pass the target, one for each row")

    data = X if is_sparse(X) else _array(X)
    target = _name_of(y, "y")
    weight_values = None if rest is None else _array(rest)

    return table_of_arrays(
        data, _array(y), replace(wishes, tidy=False), name=name, target=target, columns=columns,
        weights=weight_values,
    )  # fmt: skip


def chosen_missing(word: str) -> Missing:
    """The choice among what becomes of missing values."""
    try:
        return Missing(word)
    except ValueError:
        rule = f"one of {', '.join(Missing)}"
        raise Refusal("missing", rule, repr(word), "pick one") from None


def is_frame(X: Any) -> bool:
    """Whether something has named columns that Arrow can read."""
    return hasattr(X, "__arrow_c_stream__") or hasattr(X, "to_records")


def frame_columns(frame: Any, limits: Limits) -> list[Column]:
    """The columns of a frame."""
    import pyarrow as pa

    if hasattr(frame, "iloc"):
        width = frame.shape[1]
        limits.check_columns(width)
        # pandas: column by column, as one of mixed types would spoil the others.
        names = [_joined(name) for name in frame.columns]

        return [_pandas_column(frame.iloc[:, k], names[k]) for k in range(width)]

    table = frame if isinstance(frame, pa.Table) else pa.table(frame)
    limits.check_columns(table.num_columns)
    levels = declared_levels(table.schema)

    return columns_from(table.to_batches(), table.schema.names, limits, levels=levels)


def _joined(name: Any) -> str:
    return " ".join(str(part) for part in name) if isinstance(name, tuple) else str(name)


def _pandas_column(series: Any, name: str) -> Column:
    import pyarrow as pa

    kind = getattr(series.dtype, "kind", "O")
    if isinstance(series.dtype, np.dtype) and kind in "fiub":
        return array_column(series.to_numpy(), name)

    builder = ColumnBuilder(name, spelled=series.dtype.name != "category")

    try:
        array = pa.array(series, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        array = arrow_array(series.tolist())

    for part in array.chunks if isinstance(array, pa.ChunkedArray) else [array]:
        builder.add(part)

    return builder.finish()


def series_column(values: Any, name: str, rows: int) -> Column:
    """A target or weights as a column: a Series, an Arrow array, an array or a list."""
    label = _name_of(values, name)
    if hasattr(values, "iloc") and getattr(values, "ndim", 1) == 2 and values.shape[1] == 1:
        label = str(values.columns[0])
        values = values.iloc[:, 0]

    if hasattr(values, "iloc") and getattr(values, "ndim", 0) == 1:
        column = _pandas_column(values, label)
    else:
        column = array_column(one_target(_array(values), rows), label)

    if column.rows != rows:
        raise Refusal(name, f"{rows} long", column.rows, "one value for each row")

    return column


def _name_of(values: Any, usual: str) -> str:
    label = getattr(values, "name", None)
    return str(label) if isinstance(label, (str, int)) else usual


def _array(values: Any) -> Any:
    if hasattr(values, "iloc") and getattr(values.dtypes, "name", "") in ("category", "boolean"):
        values = np.asarray(values.astype(object))
    if hasattr(values, "to_numpy") and not isinstance(values, np.ndarray):
        values = values.to_numpy()

    try:
        return np.asarray(values)
    except ValueError:
        value = f"{type(values).__name__} of uneven rows"
        raise WrongType("X", "a table with rows of one length", value, "mend it") from None
