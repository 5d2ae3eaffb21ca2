"""Files and named data sets as tables of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ravine.arguments import Refusal, WrongType, in_words, kind_in_words, overflow_allowed, whole
from ravine.tables.arrays import array_columns, table_of_arrays
from ravine.tables.arrow_files import read_feather, read_parquet
from ravine.tables.delimited import read_delimited
from ravine.tables.frames import chosen_missing
from ravine.tables.libsvm import looks_like_libsvm, read_libsvm
from ravine.tables.limits import Limits
from ravine.tables.numpy_files import Arrays, read_npy, read_npz
from ravine.tables.quiet import quietly
from ravine.tables.records import looks_like_json, read_json
from ravine.tables.source import Source, find_source
from ravine.tables.table import Table
from ravine.tables.tidy import Wishes, make_table

NAMED = ("breast_cancer", "diabetes", "digits", "iris", "wine")
"""Data sets that ship with scikit-learn."""

_ARROW = {b"PAR1": read_parquet, b"ARROW1": read_feather}


@quietly
@overflow_allowed
def read_table(
    source: str | Path,
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
    """Read a file of any usual format, or a data set that ships with scikit-learn.

    The format is told by the content: text with any separator (CSV and its kin), Parquet, Feather,
    JSON records, NPY, NPZ, LIBSVM; text, JSON, LIBSVM and NPY also packed with gzip, bzip2, xz or
    zip. Limits are checked before the memory is taken; nothing is ever unpickled.

    Parameters
    ----------
    source
        A file, or one of ``diabetes``, ``breast_cancer``, ``digits``, ``iris``, ``wine``.
    target
        Name of the target column, or its number from 0, or from -1 backwards. Left out: the column
        called target, y, label, class, ... if there is one, else the last that can be a target.
    drop
        Columns to leave out, by name or number.
    weights
        The column with the weight of each row.
    missing
        "drop-rows" leaves out rows with missing values (columns with more than half missing go
        first), "fill" puts the median or the most frequent text, "refuse" refuses. A missing
        target is never filled.
    levels
        Levels of a text column that are kept apart, at least 2; rarer ones are one group.
    sep, encoding, decimal
        How a text file is written; guessed unless given. ``sep=" "`` is any number of blanks.
    max_rows, max_columns, max_classes, max_bytes
        Limits: 5e7 rows, 1e5 columns, 100 classes and 4 GiB unless given.

    Returns
    -------
    Table
        With ``findings`` that say everything that was decided on the way.

    Examples
    --------
    >>> table = read_table("diabetes")
    >>> table.X.shape, table.columns[2]
    ((442, 10), 'bmi')
    """
    limits = Limits.of(
        max_rows=max_rows, max_columns=max_columns, max_classes=max_classes, max_bytes=max_bytes
    )
    left_out = (drop,) if isinstance(drop, str | int) else drop
    if not isinstance(left_out, list | tuple):
        raise WrongType("drop", "a list of columns", kind_in_words(drop), "e.g. ['a', 'b']")

    wishes = Wishes(
        target=target, drop=tuple(left_out), weights=weights, missing=chosen_missing(missing),
        levels=whole("levels", levels, 2, remedy="give a count, e.g. 20"), limits=limits,
    )  # fmt: skip
    _check_dialect(sep, decimal)
    path = Path(source)

    if str(source) in NAMED and not path.exists():
        return _named(str(source), wishes)
    if not path.exists() and not path.is_symlink():
        names = ", ".join(NAMED)
        raise Refusal("DATA", f"a file or one of {names}", f"{str(source)!r:.80}", "check the name")

    file = find_source(path, limits)
    if file.packing == "npz":
        return _array_table(read_npz(file, limits), wishes, file.path.name)
    if file.head.startswith(b"\x93NUMPY"):
        return _array_table(read_npy(file, limits), wishes, file.path.name)

    columns = _plain_columns(file, limits)
    if columns is not None:
        return make_table(columns, wishes, name=path.name)
    if looks_like_libsvm(file.head) and sep is None:
        return _libsvm_table(file, wishes)

    columns, comma, notes = read_delimited(
        file, limits, sep=sep, encoding=encoding, decimal=decimal
    )
    return make_table(columns, wishes, name=path.name, comma=comma, findings=notes)


def _check_dialect(sep: str | None, decimal: str | None) -> None:
    if sep is not None and (len(sep) != 1 or sep in "\r\n\"'"):
        raise Refusal("sep", "one character", repr(sep), "e.g. ';', or ' ' for any blanks")
    if decimal not in (None, ".", ","):
        raise Refusal("decimal", "a point or a comma", repr(decimal), "e.g. ','")


def _plain_columns(file: Source, limits: Limits) -> Any:
    """Columns of a format that is told by its first bytes, None if it is another."""
    for magic, reader in _ARROW.items():
        if file.head.startswith(magic):
            if file.packing:
                rule = "a Parquet or Feather file that is not packed again"
                raise Refusal("DATA", rule, file.path.name, "unpack it")

            return reader(file, limits)

    endings = {".npz": "NPZ", ".npy": "NPY", ".parquet": "Parquet", ".pq": "Parquet",
               ".feather": "Feather", ".arrow": "Feather"}  # fmt: skip
    kind = endings.get(Path(file.name).suffix.lower())
    if kind is not None:
        rule = f"a readable {kind} file"
        raise Refusal("DATA", rule, f"{file.name} (it begins otherwise)", "write it again")
    if looks_like_json(file.head):
        return read_json(file, limits)

    return None


def _array_table(arrays: Arrays, wishes: Wishes, name: str) -> Table:
    """A table from NumPy's files."""
    if arrays.y is None:
        names = arrays.names or tuple(f"column {j}" for j in range(arrays.X.shape[1]))
        return make_table(array_columns(arrays.X, names), wishes, name=name)

    _no_target(wishes, "NPZ", f"their array {arrays.target} is it")
    plain = replace(wishes, tidy=False)
    return table_of_arrays(arrays.X, arrays.y, plain, name=name, target=arrays.target)


def _no_target(wishes: Wishes, kind: str, remedy: str) -> None:
    if wishes.target is not None:
        raise Refusal("target", f"left out for {kind} files", in_words(wishes.target), remedy)
    if wishes.weights is not None:
        raise Refusal(
            "weights", f"left out for {kind} files", in_words(wishes.weights), "use a CSV"
        )


def _libsvm_table(file: Source, wishes: Wishes) -> Table:
    _no_target(wishes, "LIBSVM", "each line begins with it")
    X, y = read_libsvm(file, wishes.limits)
    names = tuple(f"x{j + 1}" for j in range(X.shape[1]))
    plain = replace(wishes, tidy=False)

    return table_of_arrays(X, y, plain, name=file.path.name, target="target", columns=names)


def _named(name: str, wishes: Wishes) -> Table:
    try:
        import sklearn.datasets as datasets
    except ImportError:
        raise ImportError(
            "this data needs scikit-learn, which is not installed: pip install 'ravine[data]'"
        ) from None

    data = getattr(datasets, f"load_{name}")()
    columns = tuple(str(c) for c in data.feature_names)
    plain = replace(wishes, tidy=False)
    X = np.asarray(data.data, dtype=np.float64)

    return table_of_arrays(X, data.target, plain, name=name, target="target", columns=columns)
