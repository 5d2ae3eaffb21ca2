"""Files, bytes, arrays, frames and named data sets as tables of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from ravine.arguments import Refusal, in_words, needed, overflow_allowed
from ravine.problems.spectrum import is_sparse
from ravine.tables.columns import as_series
from ravine.tables.data_files import READERS, arrow_frame
from ravine.tables.source import NAMED, Limits, Source, readable
from ravine.tables.table import Raw, Table
from ravine.tables.text_files import read_text
from ravine.tables.tidy import make_table


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
    **limits: int | None,
) -> Table:
    r"""Read a table from a file of any common format, or a data set that ships with scikit-learn.

    The content decides the format: text with any separator (CSV and similar), Parquet, Feather,
    JSON records, NPY, NPZ, LIBSVM; text, JSON, LIBSVM and NPY also compressed with gzip, bzip2, xz
    or zip. Limits are checked before memory is allocated; nothing is ever unpickled.

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
        "drop-rows" leaves out rows with missing values (after columns with more than half missing),
        "fill" fills in the median or the most frequent text, "refuse" refuses the table. A missing
        target is never filled.
    levels
        Levels of a text column that get their own column, at least 2; rarer ones are one group.
    sep, encoding, decimal
        How a text file is written. Default: inferred. ``sep=" "`` is any number of blanks.
    limits
        Any of ``max_rows``, ``max_columns``, ``max_classes`` and ``max_bytes``. Default: 5e7 rows,
        1e5 columns, 100 classes and 4 GiB.

    Returns
    -------
    Table
        Its ``findings`` list every decision.

    Examples
    --------
    >>> table = read_table("diabetes")
    >>> table.X.shape, table.columns[2]
    ((442, 10), 'bmi')
    >>> read_table(b"size,price\n1,10\n2,21\n3,29\n").y
    array([10., 21., 29.])
    """
    if sep is not None and (len(sep) != 1 or sep in "\r\n\"'"):
        raise Refusal("sep", "one character", repr(sep), "e.g. ';', or ' ' for any blanks")
    if decimal not in (None, ".", ","):
        raise Refusal("decimal", "a point or a comma", repr(decimal), "e.g. ','")

    most = Limits.of(**limits)
    if isinstance(source, str | Path):
        file: Path | bytes = Path(source)
        name = Path(source).name
    else:
        file = source if isinstance(source, bytes) else source.read()
        name = Path(str(getattr(source, "name", "data"))).name

    if isinstance(file, Path) and str(file) in NAMED and not file.exists():
        data = getattr(needed("sklearn.datasets"), f"load_{name}")()
        names = [str(label) for label in data.feature_names]
        raw = Raw(data.data, pd.Series(data.target, name="target"), names)
    else:
        raw = _read(Source(file, name, most), sep, encoding, decimal)

    for option, value in (("target", target), ("weights", weights)):
        if raw.target is not None and value is not None:
            remedy = f"the target is {raw.target.name}"
            raise Refusal(option, "omitted for arrays", in_words(value), remedy)

    return make_table(raw, name, most, target, weights, drop=drop, missing=missing, levels=levels)


def _read(file: Source, sep: str | None, encoding: str | None, decimal: str | None) -> Raw:
    """Read a file with the first reader that recognises its first bytes."""
    for kind, knows, read in READERS:
        # A separator means text, which may look like LIBSVM.
        if knows(file.head) and (sep is None or kind != "LIBSVM"):
            with readable(file.name, kind):
                return read(file)

    with readable(file.name, "text"):
        return read_text(file, sep=sep, encoding=encoding, decimal=decimal)


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
    **limits: int | None,
) -> Table:
    """Make a table from arrays or a data frame.

    Parameters
    ----------
    X
        A NumPy array (or a nested list), a scipy sparse matrix, a pandas DataFrame, a pyarrow
        Table, a polars DataFrame, or any other source of an Arrow stream. Frames are treated like
        files: texts and categories become levels, row numbers and constants are dropped. Arrays
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
        Name of the data.
    limits
        ``max_rows``, ``max_columns``, ``max_classes``, ``max_bytes``; see
        :class:`ravine.tables.Limits`.

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
    most = Limits.of(**limits)
    is_frame = hasattr(X, "__arrow_c_stream__") or hasattr(X, "to_records")
    is_name = isinstance(y, str | int)
    if not is_frame and (y is None or is_name):
        raise Refusal("y", "given with an array", repr(y), "pass the target, one for each row")

    if is_frame:
        data = X if isinstance(X, pd.DataFrame) else arrow_frame(needed("pyarrow").table(X))
    else:
        data = X if is_sparse(X) else np.asarray(X)

    rows = data.shape[:1]
    goal = None if y is None or is_name else as_series(y, "y", rows)
    if weights is not None and not isinstance(weights, str | int):
        weights = as_series(weights, "weights", rows)

    raw = Raw(data, goal, columns)
    which = y if is_name else None
    return make_table(raw, name, most, which, weights, drop=drop, missing=missing, levels=levels)
