"""Files, bytes, arrays, frames and named data sets as tables of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from ravine.arguments import Refusal, WrongType, in_words, kind_in_words, overflow_allowed, whole
from ravine.problems.spectrum import is_sparse
from ravine.tables.array_files import looks_like_libsvm, read_libsvm, read_npy, read_npz
from ravine.tables.record_files import (
    FEATHER,
    PARQUET,
    arrow_frame,
    looks_like_json,
    read_arrow,
    read_json,
)
from ravine.tables.source import Limits, Source, broken, find_source, needed
from ravine.tables.table import Finding, Table
from ravine.tables.text_files import read_text
from ravine.tables.tidy import Options, make_table

NAMED = ("breast_cancer", "diabetes", "digits", "iris", "wine")
"""Data sets that ship with scikit-learn."""
_ENDINGS = {".npz": "NPZ", ".npy": "NPY", ".parquet": "Parquet", ".pq": "Parquet",
            ".feather": "Feather", ".arrow": "Feather"}  # fmt: skip
_MISSING = ("drop-rows", "fill", "refuse")


@overflow_allowed
def read_table(
    source: str | Path | bytes | IO[bytes],
    *,
    target: str | int | None = None,
    drop: Sequence[str | int] = (),
    weights: str | int | None = None,
    missing: str = "drop-rows",
    levels: int = 20,
    sep: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    max_rows: int | None = None,
    max_columns: int | None = None,
    max_classes: int | None = None,
    max_bytes: int | None = None,
) -> Table:
    r"""Read a table from a file of any common format, or a data set that ships with scikit-learn.

    The content decides the format: text with any separator (CSV and similar), Parquet, Feather,
    JSON records, NPY, NPZ, LIBSVM; text, JSON, LIBSVM and NPY also packed with gzip, bzip2, xz or
    zip. Limits are checked before the memory is taken; nothing is ever unpickled.

    Parameters
    ----------
    source
        A file, one of ``diabetes``, ``breast_cancer``, ``digits``, ``iris``, ``wine``, or the
        content of a file as bytes or as a binary stream.
    target
        Name of the target column, or its number from 0, or from -1 backwards. Default: the column
        called target, y, label, class, ... if there is one, else the last that can be a target.
    drop
        Columns to leave out, by name or number.
    weights
        The column with the weight of each row.
    missing
        "drop-rows" leaves out rows with missing values (after columns with more than half
        missing), "fill" puts the median or the most frequent text, "refuse" refuses. A missing
        target is never filled.
    levels
        Levels of a text column that get their own column, at least 2; rarer ones are one group.
    sep, encoding, decimal
        How a text file is written. Default: inferred. ``sep=" "`` is any number of blanks.
    max_rows, max_columns, max_classes, max_bytes
        Limits. Default: 5e7 rows, 1e5 columns, 100 classes and 4 GiB.

    Returns
    -------
    Table
        Its ``findings`` say everything that was decided.

    Examples
    --------
    >>> table = read_table("diabetes")
    >>> table.X.shape, table.columns[2]
    ((442, 10), 'bmi')
    >>> read_table(b"size,price\n1,10\n2,21\n3,29\n").y
    array([10., 21., 29.])
    """
    left_out = (drop,) if isinstance(drop, str | int) else drop
    if not isinstance(left_out, list | tuple):
        raise WrongType("drop", "a list of columns", kind_in_words(drop), "e.g. ['a', 'b']")
    if sep is not None and (len(sep) != 1 or sep in "\r\n\"'"):
        raise Refusal("sep", "one character", repr(sep), "e.g. ';', or ' ' for any blanks")
    if decimal not in (None, ".", ","):
        raise Refusal("decimal", "a point or a comma", repr(decimal), "e.g. ','")

    limits = Limits.of(
        max_rows=max_rows, max_columns=max_columns, max_classes=max_classes, max_bytes=max_bytes
    )
    options = _options(target, left_out, weights, missing, levels, limits)
    if not isinstance(source, str | Path):
        content = source if isinstance(source, bytes) else source.read()
        label = Path(str(getattr(source, "name", "data"))).name
        file = find_source(content, limits, label)
    elif Path(source).is_symlink() or Path(source).exists():
        file = find_source(Path(source), limits, Path(source).name)
    elif str(source) in NAMED:
        data = getattr(needed("sklearn.datasets"), f"load_{source}")()
        y = pd.Series(data.target, name="target")
        return _of_arrays(data.data, y, options, str(source), [str(c) for c in data.feature_names])
    else:
        rule = f"a file or one of {', '.join(NAMED)}"
        raise Refusal("DATA", rule, f"{str(source)!r:.80}", "check the name")

    return _read(file, options, sep=sep, encoding=encoding, decimal=decimal)


def _options(
    target: Any, drop: Sequence[str | int], weights: Any, missing: str, levels: int, limits: Limits
) -> Options:
    if missing not in _MISSING:
        raise Refusal("missing", f"one of {', '.join(_MISSING)}", repr(missing), "choose one")

    count = whole("levels", levels, 2, remedy="give a count, e.g. 20")
    return Options(target, tuple(drop), weights, missing, count, limits)


def _read(file: Source, options: Options, **text: str | None) -> Table:
    """Read a file by the reader for its first bytes."""
    name = file.label
    if file.packing == "npz":
        return _with_target(*read_npz(file), options, name, "NPZ")
    if file.head.startswith(b"\x93NUMPY"):
        return _with_target(*read_npy(file), options, name, "NPY")
    if file.head.startswith((PARQUET, FEATHER)):
        return make_table(read_arrow(file), options, name=name)

    kind = _ENDINGS.get(Path(file.name).suffix.lower())
    if kind is not None:
        raise broken(file.name, kind, "it begins differently")
    if looks_like_json(file.head):
        return make_table(read_json(file), options, name=name)
    if looks_like_libsvm(file.head) and text["sep"] is None:
        return _with_target(*read_libsvm(file), options, name, "LIBSVM")

    frame, comma, notes = read_text(file, **text)
    return make_table(frame, options, name=name, comma=comma, findings=notes)


def _with_target(
    X: Any, y: npt.NDArray[Any] | None, target: str, options: Options, name: str, kind: str
) -> Table:
    """A table of a file of arrays, which may hold the target apart."""
    if y is None:
        names = X.dtype.names or [f"column {j}" for j in range(X.shape[1])]
        return make_table(_array_frame(X, names), options, name=name)
    if options.target is not None:
        value = in_words(options.target)
        remedy = f"the file itself says that it is {target}"
        raise Refusal("target", f"left out for {kind} files", value, remedy)
    if options.weights is not None:
        value = in_words(options.weights)
        raise Refusal("weights", f"left out for {kind} files", value, "use CSV")

    columns = [f"x{j + 1}" for j in range(X.shape[1])] if kind == "LIBSVM" else None
    return _of_arrays(X, _values(y, target, X.shape[:1]), options, name, columns)


@overflow_allowed
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
    """Make a table of arrays or of a data frame.

    Parameters
    ----------
    X
        A NumPy array (or what becomes one), a scipy sparse matrix, a pandas DataFrame, a pyarrow
        Table, a polars DataFrame, or any other source of an Arrow stream. Frames are treated like
        files: texts and categories become levels, row numbers and constants are left out. Arrays
        are taken as they are.
    y
        The target: an array, list or Series, of shape (rows,) or (rows, 1), or the name of a
        column of the frame. Default: a column of the frame as in :func:`ravine.read_table`.
    drop
        Columns to leave out.
    weights
        The name of a column of the frame, or a weight for each row.
    missing
        "drop-rows", "fill" (the median or the most frequent text) or "refuse".
    levels
        Levels of a text column that get their own column, at least 2; rarer ones are one group.
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
    target = y if isinstance(y, str | int) else None
    weighted_by = weights if isinstance(weights, str | int) else None
    options = _options(target, drop, weighted_by, missing, levels, limits)
    is_frame = hasattr(X, "__arrow_c_stream__") or hasattr(X, "to_records")
    if not is_frame and (y is None or target is not None):
        raise Refusal("y", "given with an array", repr(y), "pass the target, one for each row")

    data = _frame(X) if is_frame else X if is_sparse(X) else _array(X)
    rows = data.shape[:1]
    goal = None if y is None or target is not None else _values(y, "y", rows)
    weight = None if weights is None or weighted_by else _values(weights, "weights", rows)
    if is_frame:
        limits.check_shape(*data.shape)
        return make_table(data, options, name=name, y=goal, weights=weight)

    return _of_arrays(data, goal, options, name, columns, weight)


def _frame(X: Any) -> pd.DataFrame:
    """A frame of any library as a pandas frame."""
    if isinstance(X, pd.DataFrame):
        return X

    import pyarrow as pa

    table = X if isinstance(X, pa.Table) else pa.table(X)
    return arrow_frame(table.to_batches(), table.schema)


def _array(values: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError:
        value = f"{type(values).__name__} of rows of different lengths"
        raise WrongType("X", "a table with rows of one length", value, "correct it") from None


def _values(values: Any, name: str, shape: tuple[int, ...]) -> pd.Series:
    """A target or weights, of any kind, as a Series with its own name if it has one."""
    if isinstance(values, pd.DataFrame) and values.shape[1] == 1:
        values = values.iloc[:, 0]
    if not isinstance(values, pd.Series):
        array = _array(values.to_pandas() if hasattr(values, "to_pandas") else values)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        elif array.ndim == 2 and array.dtype.kind in "fiub":
            # Classes may come as a one in the column of the class.
            one_hot = ((array == 0) | (array == 1)).all() and (array.sum(axis=1) == 1).all()
            array = array.argmax(axis=1) if one_hot else array

        values = pd.Series(array) if array.ndim == 1 else array
    if values.shape != shape:
        value = f"an array of shape {values.shape}"
        raise Refusal(name, f"of shape {shape}", value, "one value for each row")

    return values.rename(name if values.name is None else values.name)


def _of_arrays(
    X: Any,
    y: pd.Series,
    options: Options,
    name: str,
    columns: Sequence[str] | None = None,
    weights: pd.Series | None = None,
) -> Table:
    """A table from an array or a sparse matrix, taken as it is, and a target."""
    options = replace(options, tidy=False)
    notes: list[Finding] = []
    if not is_sparse(X) and X.ndim > 2:
        shape = "x".join(str(n) for n in X.shape[1:])
        X = X.reshape(len(X), -1)
        notes.append(Finding("shape", f"each row of shape {shape} was flattened"))

    if X.ndim != 2 or X.shape[1] == 0 or X.shape[0] < 2:
        value = f"an array of shape {X.shape}"
        raise Refusal("X", "a table with two rows or more", value, "one row for each sample")

    names = tuple(columns or (f"x{j}" for j in range(X.shape[1])))
    if len(names) != X.shape[1]:
        raise Refusal("columns", f"{X.shape[1]} names", len(names), "one for each column of X")

    options.limits.check_shape(0, X.shape[1])
    entries = X.data if is_sparse(X) else X
    # The sum shows most bad values without an array as large as the data.
    finite = entries.dtype.kind in "iubf" and (
        np.isfinite(entries.sum()) or np.isfinite(entries).all()
    )
    if not is_sparse(X) and (not finite or options.drop):
        frame = _array_frame(X, names)
        return make_table(frame, options, name=name, y=y, weights=weights, findings=notes)

    # The rules for target and weights are those of columns; one column stands for all of X.
    marker = np.arange(float(X.shape[0]))
    if is_sparse(X):
        X = X.tocsr().astype(np.float64, copy=False)
        bad = np.flatnonzero(~np.isfinite(X.data))
        marker[np.searchsorted(X.indptr, bad, side="right") - 1] = np.nan
        if bad.size and options.missing == "fill":
            remedy = "fill them in: what is not stored is zero"
            raise Refusal("X", "finite", "values that are not", remedy)

    frame = pd.DataFrame({"row": marker})
    small = make_table(frame, options, name=name, y=y, weights=weights, findings=notes)
    data = X if small.rows is None else X[small.rows]
    if not is_sparse(data):
        data = np.ascontiguousarray(data, dtype=np.float64)

    return replace(small, X=data, columns=names)


def _array_frame(array: npt.NDArray[Any], names: Sequence[str]) -> pd.DataFrame:
    """The columns of a two-dimensional or structured array."""
    if array.dtype.names:
        return pd.DataFrame({name: array[name] for name in names})

    return pd.DataFrame(array).set_axis(list(names), axis=1)
