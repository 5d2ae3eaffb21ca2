"""Files and named data sets as tables of numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal
from ravine.diagnosis.columns import Finding, encode

NAMED = ("breast_cancer", "diabetes", "digits", "iris", "wine")
"""Data sets that ship with scikit-learn."""

_ENDINGS = {
    ".csv": "CSV", ".tsv": "CSV", ".parquet": "Parquet", ".pq": "Parquet", ".npz": "NPZ",
    ".npy": "NPY", ".libsvm": "LIBSVM", ".svm": "LIBSVM", ".svmlight": "LIBSVM",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Table:
    """Data as numbers, with the names of its columns.

    Attributes
    ----------
    X
        Shape (rows, features): a float64 array, or a scipy CSR matrix.
    y
        The target, shape (rows,): numbers or labels.
    columns, target
        Names of the features and of the target.
    name
        Where it came from.
    findings
        What was done to the columns on the way.
    """

    X: Any
    y: npt.NDArray[Any]
    columns: tuple[str, ...]
    target: str
    name: str
    findings: tuple[Finding, ...] = ()


def read_table(source: str | Path, *, target: str | None = None, impute: bool = False) -> Table:
    """Read CSV, Parquet, NPY, NPZ or LIBSVM, or a data set that ships with scikit-learn.

    Parameters
    ----------
    source
        A file, told by its ending: ``.csv``, ``.tsv``, ``.parquet``, ``.npy`` (a table whose last
        column is the target), ``.npz`` (arrays ``X`` and ``y``, or a scipy sparse matrix saved
        with ``y``), ``.libsvm`` (sparse). Or one of ``diabetes``, ``breast_cancer``, ``digits``,
        ``iris``, ``wine``.
    target
        Name of the target column, or its number; the last one unless given.
    impute
        Fill missing values: the median of a numeric column, the most frequent text of another.

    Returns
    -------
    Table
        Text columns are encoded one-hot; ``findings`` says so.

    Examples
    --------
    >>> table = read_table("diabetes")
    >>> table.X.shape, table.columns[2]
    ((442, 10), 'bmi')
    """
    path = Path(source)
    if str(source) in NAMED and not path.exists():
        return _named(str(source))
    kind = _ENDINGS.get(path.suffix.lower())
    if not path.exists():
        names = ", ".join(NAMED)
        raise Refusal("DATA", f"a file or one of {names}", repr(str(source)), "check the name")
    if path.is_dir():
        raise Refusal("DATA", "a file", f"the folder {path}", "name a file in it")
    if kind is None:
        endings = ", ".join(_ENDINGS)
        raise Refusal(
            "DATA", f"a file ending in {endings}", repr(path.name), "convert or rename it"
        )
    if path.stat().st_size == 0:
        raise Refusal("DATA", "a file with rows", f"the empty file {path}", "fill it")
    readers = {"CSV": _csv, "Parquet": _parquet, "NPZ": _npz, "NPY": _npy, "LIBSVM": _libsvm}
    table = readers[kind](path, target, impute)
    _check(table)
    return table


def _check(table: Table) -> None:
    rows, features = table.X.shape
    if rows < 2:
        raise Refusal("DATA", "two rows or more", rows, "there is nothing to average")
    if features < 1:
        raise Refusal("DATA", "a target and at least one other column", "one column", "add columns")


def _broken(path: Path, kind: str, error: Exception) -> ValueError:
    reason = " ".join(str(error).split())[:120] or type(error).__name__
    return Refusal("DATA", f"a readable {kind} file", f"{path.name} ({reason})", "write it again")


def _csv(path: Path, target: str | None, impute: bool) -> Table:
    import pandas as pd

    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    try:
        with path.open("rb") as file:
            if b"\0" in file.read(4096):
                raise ValueError("it holds zero bytes, so it is no text")
        frame = pd.read_csv(path, sep=separator, skipinitialspace=True)
        if len(frame.columns) and all(_is_number(str(name)) for name in frame.columns):
            frame = pd.read_csv(path, sep=separator, header=None, skipinitialspace=True)
            frame.columns = [f"column {j}" for j in range(frame.shape[1])]
    except (ValueError, OSError) as error:  # pandas' own errors are ValueErrors
        raise _broken(path, "CSV", error) from None
    return _from_frame(frame, path.name, target, impute)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _parquet(path: Path, target: str | None, impute: bool) -> Table:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise ImportError(
            "Parquet files need pyarrow, which is not installed: pip install 'ravine[data]'"
        ) from None
    try:
        frame = parquet.read_table(path).to_pandas()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise _broken(path, "Parquet", error) from None
    return _from_frame(frame, path.name, target, impute)


def _from_frame(frame: Any, name: str, target: str | None, impute: bool) -> Table:
    if frame.shape[1] < 2:
        remedy = "a target and at least one other column are needed"
        raise Refusal("DATA", "two columns or more", frame.shape[1], remedy)
    if len(frame) < 2:
        remedy = "there is nothing to average over"
        raise Refusal("DATA", "two rows or more", len(frame), remedy)
    column = _pick(list(frame.columns), target)
    y = _target(frame[column], str(column))
    X, columns, findings = encode(frame.drop(columns=[column]), impute=impute)
    return Table(X, y, columns, str(column), name, tuple(findings))


def _pick(columns: list[Any], target: str | None) -> Any:
    if target is None:
        return columns[-1]
    names = {str(c): c for c in columns}
    if target in names:
        return names[target]
    if target.lstrip("-").isdigit() and -len(columns) <= int(target) < len(columns):
        return columns[int(target)]
    shown = ", ".join(list(names)[:8]) + (", ..." if len(names) > 8 else "")
    raise Refusal("target", f"one of the columns {shown}", repr(target), "pick one")


def _target(series: Any, name: str) -> npt.NDArray[Any]:
    missing = series.isna().to_numpy()
    if missing.any():
        found = f"{int(missing.sum())} missing, the first in row {int(missing.argmax())}"
        remedy = "drop those rows: a target is never guessed"
        raise Refusal(f"target {name!r}", "without missing values", found, remedy)
    if series.dtype.kind in "fiub":
        return np.asarray(series.to_numpy())
    return np.asarray(series.astype(str).to_numpy(dtype=str))


def _npy(path: Path, target: str | None, impute: bool) -> Table:
    try:
        data = np.load(path, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise _broken(path, "NPY", error) from None
    if not isinstance(data, np.ndarray) or data.ndim != 2 or data.dtype.kind not in "fiub":
        found = f"{getattr(data, 'dtype', type(data).__name__)}, {np.ndim(data)} dimensions"
        raise Refusal("DATA", "a table of numbers", found, "save a 2-d array")
    if data.shape[1] < 2:
        remedy = "a target and at least one other column are needed"
        raise Refusal("DATA", "two columns or more", data.shape[1], remedy)
    column = _pick([str(j) for j in range(data.shape[1])], target)
    kept = [j for j in range(data.shape[1]) if j != int(column)]
    names = tuple(f"column {j}" for j in kept)
    X = np.asarray(data[:, kept], dtype=np.float64)
    return _from_arrays(X, data[:, int(column)], names, f"column {column}", path.name, impute)


def _npz(path: Path, target: str | None, impute: bool) -> Table:
    if target is not None:
        raise Refusal("target", "left out for NPZ files", repr(target), "their array y is it")
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {key: file[key] for key in file.files}
    except (ValueError, OSError, EOFError, KeyError, AttributeError, TypeError) as error:
        raise _broken(path, "NPZ", error) from None
    sparse = {"data", "indices", "indptr", "shape"} <= arrays.keys()
    if "y" not in arrays or not (sparse or "X" in arrays):
        found = ", ".join(arrays) or "nothing"
        raise Refusal("DATA", "an NPZ file with arrays X and y", found, "rename them")
    y = arrays["y"].ravel()
    if sparse:
        from scipy.sparse import csr_matrix

        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
        X: Any = csr_matrix(parts, shape=tuple(arrays["shape"]))
    else:
        X = arrays["X"]
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            found = f"{X.dtype}, shape {X.shape}"
            raise Refusal("X", "a table of numbers", found, "save a 2-d array")
    if X.shape[0] != len(y):
        raise Refusal("y", f"{X.shape[0]} long", len(y), "one target for each row")
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    return _from_arrays(X, y, names, "y", path.name, impute)


def _libsvm(path: Path, target: str | None, impute: bool) -> Table:
    if target is not None:
        raise Refusal(
            "target", "left out for LIBSVM files", repr(target), "each line begins with it"
        )
    datasets = _scikit_learn()
    try:
        X, y = datasets.load_svmlight_file(str(path))
    except (ValueError, OSError, UnicodeDecodeError) as error:
        raise _broken(path, "LIBSVM", error) from None
    names = tuple(f"x{j + 1}" for j in range(X.shape[1]))
    return _from_arrays(X, y, names, "target", path.name, impute)


def _from_arrays(
    X: Any, y: npt.NDArray[Any], names: tuple[str, ...], target: str, name: str, impute: bool
) -> Table:
    """Impute or refuse missing values of an array; what is sparse has none to impute."""
    findings: list[Finding] = []
    values = X.data if hasattr(X, "tocsr") else X
    if values.dtype.kind == "f" and not np.isfinite(values.sum()) and not hasattr(X, "tocsr"):
        import pandas as pd

        dense: FloatArray
        dense, _, findings = encode(pd.DataFrame(X, columns=list(names)), impute=impute)
        X = dense
    return Table(X, y, names, target, name, tuple(findings))


def _named(name: str) -> Table:
    data = getattr(_scikit_learn(), f"load_{name}")()
    columns = tuple(str(c) for c in data.feature_names)
    return Table(np.asarray(data.data, dtype=np.float64), data.target, columns, "target", name)


def _scikit_learn() -> Any:
    try:
        import sklearn.datasets as datasets
    except ImportError:
        raise ImportError(
            "this data needs scikit-learn, which is not installed: pip install 'ravine[data]'"
        ) from None
    return datasets
