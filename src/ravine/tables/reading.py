"""Files, bytes, arrays, frames and named data sets as tables of numbers."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, ParamSpec, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ravine.arguments import Refusal, WrongType, in_words, kind_in_words, whole
from ravine.problems.spectrum import is_sparse
from ravine.tables.finding import Finding
from ravine.tables.libsvm import looks_like_libsvm, read_libsvm
from ravine.tables.limits import Limits
from ravine.tables.numpy_files import read_npy, read_npz
from ravine.tables.record_files import (
    FEATHER,
    PARQUET,
    arrow_frame,
    looks_like_json,
    read_arrow,
    read_json,
)
from ravine.tables.source import Source, broken, find_source
from ravine.tables.table import Table
from ravine.tables.text_files import read_text
from ravine.tables.tidy import Missing, Options, make_table

NAMED = ("breast_cancer", "diabetes", "digits", "iris", "wine")
"""Data sets that ship with scikit-learn."""
_ENDINGS = {".npz": "NPZ", ".npy": "NPY", ".parquet": "Parquet", ".pq": "Parquet",
            ".feather": "Feather", ".arrow": "Feather"}  # fmt: skip
_P = ParamSpec("_P")
_R = TypeVar("_R")


def _quiet(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Suppress the warnings of NumPy and pandas; refuse what does not fit into the memory."""

    @functools.wraps(function)
    def quiet(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return function(*args, **kwargs)
            except MemoryError:
                remedy = "read a part of it, or use a machine with more memory"
                raise Refusal("DATA", "small enough for the memory", "more", remedy) from None

    return quiet


@_quiet
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

    options = _options(
        target, left_out, weights, missing, levels,
        Limits.of(max_rows=max_rows, max_columns=max_columns, max_classes=max_classes,
                  max_bytes=max_bytes),
    )  # fmt: skip
    if sep is not None and (len(sep) != 1 or sep in "\r\n\"'"):
        raise Refusal("sep", "one character", repr(sep), "e.g. ';', or ' ' for any blanks")
    if decimal not in (None, ".", ","):
        raise Refusal("decimal", "a point or a comma", repr(decimal), "e.g. ','")

    if not isinstance(source, str | Path):
        content = source if isinstance(source, bytes) else source.read()
        label = Path(str(getattr(source, "name", "data"))).name
        file = find_source(content, options.limits, label)
    else:
        path = Path(source)
        if not path.exists() and not path.is_symlink():
            if str(source) in NAMED:
                return _named(str(source), options)

            rule = f"a file or one of {', '.join(NAMED)}"
            raise Refusal("DATA", rule, f"{str(source)!r:.80}", "check the name")

        file = find_source(path, options.limits, path.name)

    return _read(file, options, sep=sep, encoding=encoding, decimal=decimal)


def _options(
    target: Any, drop: Sequence[str | int], weights: Any, missing: str, levels: int, limits: Limits
) -> Options:
    try:
        chosen = Missing(missing)
    except ValueError:
        rule = f"one of {', '.join(Missing)}"
        raise Refusal("missing", rule, repr(missing), "choose one") from None

    count = whole("levels", levels, 2, remedy="give a count, e.g. 20")
    return Options(target, tuple(drop), weights, chosen, count, limits)


def _read(file: Source, options: Options, **text: str | None) -> Table:
    """Read a file by the reader for its first bytes."""
    limits, name = options.limits, file.label
    if file.packing == "npz" or file.head.startswith(b"\x93NUMPY"):
        X, y, target = (read_npz if file.packing == "npz" else read_npy)(file, limits)
        if y is not None:
            return _with_target(X, y, options, name, target, "NPZ")

        columns = X.dtype.names or [f"column {j}" for j in range(X.shape[1])]
        return make_table(_array_frame(X, columns), options, name=name)
    if file.head.startswith((PARQUET, FEATHER)):
        frame, levels = read_arrow(file, limits)
        return make_table(frame, options, name=name, levels=levels)

    kind = _ENDINGS.get(Path(file.name).suffix.lower())
    if kind is not None:
        raise broken(file.name, kind, "it begins differently")
    if looks_like_json(file.head):
        return make_table(read_json(file, limits), options, name=name)
    if looks_like_libsvm(file.head) and text["sep"] is None:
        X, y = read_libsvm(file, limits)
        names = [f"x{j + 1}" for j in range(X.shape[1])]
        return _with_target(X, y, options, name, "target", "LIBSVM", names)

    frame, comma, notes = read_text(file, limits, **text)
    return make_table(frame, options, name=name, comma=comma, findings=notes)


def _with_target(
    X: Any,
    y: npt.NDArray[Any],
    options: Options,
    name: str,
    target: str,
    kind: str,
    columns: Sequence[str] | None = None,
) -> Table:
    """A table of a file that holds the target apart."""
    for option, given in (("target", options.target), ("weights", options.weights)):
        if given is not None:
            remedy = (
                f"the file itself says that it is {target}" if option == "target" else "use CSV"
            )
            raise Refusal(option, f"left out for {kind} files", in_words(given), remedy)

    rows = X.shape[0] if X.ndim else 0
    return _of_arrays(X, _values(y, target, rows), options, name=name, columns=columns)


def _named(name: str, options: Options) -> Table:
    try:
        import sklearn.datasets as datasets
    except ImportError:
        raise ImportError(
            "this data needs scikit-learn, which is not installed: pip install 'ravine[data]'"
        ) from None

    data = getattr(datasets, f"load_{name}")()
    columns = [str(c) for c in data.feature_names]
    X = np.asarray(data.data, dtype=np.float64)
    y = pd.Series(data.target, name="target")
    return _of_arrays(X, y, options, name=name, columns=columns)


@_quiet
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
    by_name = isinstance(y, str | int)
    weighted_by_name = isinstance(weights, str | int)
    options = _options(
        y if by_name else None, drop, weights if weighted_by_name else None, missing, levels, limits
    )
    is_frame = hasattr(X, "__arrow_c_stream__") or hasattr(X, "to_records")
    if not is_frame and (y is None or by_name):
        raise Refusal("y", "given with an array", repr(y), "pass the target, one for each row")

    frame, declared = _frame_of(X) if is_frame else (X, None)
    data = frame if is_frame or is_sparse(X) else _array(X)
    rows = data.shape[0] if data.ndim else 0
    goal = None if by_name or y is None else _values(y, "y", rows)
    weight = None if weighted_by_name or weights is None else _values(weights, "weights", rows)
    if goal is None or is_frame:
        limits.check_shape(*data.shape)
        return make_table(data, options, name=name, y=goal, weights=weight, levels=declared)

    return _of_arrays(data, goal, options, name=name, columns=columns, weights=weight)


def _frame_of(X: Any) -> tuple[pd.DataFrame, set[str] | None]:
    """A frame of any library as a pandas frame, and the columns declared to be levels."""
    if isinstance(X, pd.DataFrame):
        return X, None

    import pyarrow as pa

    table = X if isinstance(X, pa.Table) else pa.table(X)
    return arrow_frame(table.to_batches(), table.schema)


def _array(values: Any) -> npt.NDArray[Any]:
    try:
        return np.asarray(values)
    except ValueError:
        value = f"{type(values).__name__} of rows of different lengths"
        raise WrongType("X", "a table with rows of one length", value, "correct it") from None


def _values(values: Any, name: str, rows: int) -> pd.Series:
    """A target or weights, of any shape, as a Series with its own name if it has one."""
    if isinstance(values, pd.DataFrame) and values.shape[1] == 1:
        values = values.iloc[:, 0]

    series = values if isinstance(values, pd.Series) else None
    if series is None:
        array = _array(values.to_pandas() if hasattr(values, "to_pandas") else values)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        elif array.ndim == 2 and array.dtype.kind in "fiub":
            # Classes may come as a one in the column of the class.
            one_hot = ((array == 0) | (array == 1)).all() and (array.sum(axis=1) == 1).all()
            array = array.argmax(axis=1) if one_hot else array

        if array.shape != (rows,):
            value = f"an array of shape {array.shape}"
            raise Refusal(name, f"of shape ({rows},)", value, "one value for each row")

        series = pd.Series(array)
    elif len(series) != rows:
        value = f"a series of length {len(series)}"
        raise Refusal(name, f"of shape ({rows},)", value, "one value for each row")

    return series.rename(name if series.name is None else series.name)


def _of_arrays(
    X: Any,
    y: pd.Series,
    options: Options,
    *,
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

    if X.ndim != 2 or 0 in X.shape:
        value = f"an array of shape {X.shape}"
        raise Refusal("X", "a table with rows and columns", value, "one row for each sample")
    if X.shape[0] < 2:
        raise Refusal("X", "two rows or more", X.shape[0], "one row is not enough")

    names = tuple(columns) if columns else tuple(f"x{j}" for j in range(X.shape[1]))
    if len(names) != X.shape[1]:
        raise Refusal("columns", f"{X.shape[1]} names", len(names), "one for each column of X")

    options.limits.check_shape(0, X.shape[1])
    entries = X.data if is_sparse(X) else X
    finite = entries.dtype.kind in "iub" or (entries.dtype.kind == "f" and _all_finite(entries))
    if not is_sparse(X) and (not finite or options.drop):
        frame = _array_frame(X, names)
        return make_table(frame, options, name=name, y=y, weights=weights, findings=notes)

    # The rules for target and weights are those of columns; one column stands for all of X.
    data = X.tocsr().astype(np.float64, copy=False) if is_sparse(X) else X
    marker = np.arange(float(X.shape[0]))
    if not finite:
        bad = np.flatnonzero(~np.isfinite(data.data))
        marker[np.searchsorted(data.indptr, bad, side="right") - 1] = np.nan
        if options.missing is Missing.FILL:
            remedy = "fill them in: what is not stored is zero"
            raise Refusal("X", "finite", "values that are not", remedy)

    frame = pd.DataFrame({"row": marker})
    small = make_table(frame, options, name=name, y=y, weights=weights, findings=notes)
    data = data if small.rows is None else data[small.rows]
    if not is_sparse(data):
        data = np.ascontiguousarray(data, dtype=np.float64)

    return replace(small, X=data, columns=names)


def _all_finite(values: npt.NDArray[Any]) -> bool:
    # The sum shows most bad values without an array as large as the data.
    return bool(np.isfinite(values.sum())) or bool(np.isfinite(values).all())


def _array_frame(array: npt.NDArray[Any], names: Sequence[str]) -> pd.DataFrame:
    """The columns of a two-dimensional or structured array."""
    if array.dtype.names:
        return pd.DataFrame({name: array[name] for name in names})

    frame = pd.DataFrame(array)
    frame.columns = list(names)
    return frame
