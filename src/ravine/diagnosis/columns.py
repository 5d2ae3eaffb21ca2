"""Columns of a table: encoding what is no number, and what is wrong with those that are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal
from ravine.problems.extreme_eigenvalues import is_sparse

_SCALES = 100.0
_CATEGORIES = 100
_CHUNK = 2**22


@dataclass(frozen=True)
class Finding:
    """Something about the data that the user should know.

    Attributes
    ----------
    kind
        One word: ``"scale"``, ``"constant"``, ``"duplicate"``, ``"encoded"``, ``"singular"``, ...
    message
        What was found, in words.
    remedy
        What to do about it; empty when nothing has to be done.
    columns
        Names of the columns it is about.
    """

    kind: str
    message: str
    remedy: str = ""
    columns: tuple[str, ...] = ()


def encode(frame: Any, *, impute: bool) -> tuple[FloatArray, tuple[str, ...], list[Finding]]:
    """Numbers from a pandas frame: numeric columns as they are, the others one-hot.

    Refuses text among numbers, missing and infinite values with the column named; with ``impute``
    missing numbers become the median and missing texts the most frequent one.
    """
    parts: list[FloatArray] = []
    names: list[str] = []
    findings: list[Finding] = []
    for name in frame.columns:
        series, label = frame[name], str(name)
        if series.dtype.kind in "fiub":
            parts.append(_numbers(series.to_numpy(dtype=np.float64), label, impute, findings))
            names.append(label)
            continue
        values, codes = _categories(series, label, impute, findings)
        parts.extend((codes == k).astype(np.float64) for k in range(len(values)))
        names.extend(f"{label}={value}" for value in values)
        what = f"column {label!r} is text: one column for each of its {len(values)} values"
        findings.append(Finding("encoded", what, columns=(label,)))
    return np.stack(parts, axis=1), tuple(names), findings


def _numbers(values: FloatArray, label: str, impute: bool, findings: list[Finding]) -> FloatArray:
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        found = f"{values[infinite[0]]} in row {infinite[0]}"
        raise Refusal(f"column {label!r}", "finite", found, "drop or correct that row")
    missing = np.isnan(values)
    if not missing.any():
        return values
    count = int(missing.sum())
    if not impute:
        found = f"{count} missing, the first in row {int(missing.argmax())}"
        remedy = "fill them in, drop the rows, or ask for the median with --impute"
        raise Refusal(f"column {label!r}", "without missing values", found, remedy)
    if count == len(values):
        found = "no value at all"
        raise Refusal(f"column {label!r}", "partly filled", found, "drop the column")
    filled = np.where(missing, np.nanmedian(values), values)
    findings.append(
        Finding(
            "imputed", f"column {label!r}: {count} missing values became the median", "", (label,)
        )
    )
    return filled


def _categories(
    series: Any, label: str, impute: bool, findings: list[Finding]
) -> tuple[list[str], npt.NDArray[np.intp]]:
    import pandas as pd

    missing = series.isna().to_numpy()
    if missing.any() and not impute:
        found = f"{int(missing.sum())} missing, the first in row {int(missing.argmax())}"
        remedy = "fill them in, drop the rows, or ask for the most frequent with --impute"
        raise Refusal(f"column {label!r}", "without missing values", found, remedy)
    text = series.astype(str)
    as_numbers = pd.to_numeric(text.where(~missing), errors="coerce")
    numeric = as_numbers.notna().to_numpy()
    present = ~missing
    if numeric.sum() >= 0.5 * max(1, present.sum()):
        row = int(np.flatnonzero(present & ~numeric)[0]) if (present & ~numeric).any() else -1
        found = f"{text.iloc[row]!r:.40} in row {row}" if row >= 0 else "numbers stored as text"
        remedy = "correct it, or drop the column"
        raise Refusal(f"column {label!r}", "all numbers or all text", found, remedy)
    if missing.any():
        common = str(text[present].mode().iloc[0])
        text = text.where(present, common)
        what = f"column {label!r}: {int(missing.sum())} missing values became {common!r:.40}"
        findings.append(Finding("imputed", what, "", (label,)))
    values, codes = np.unique(text.to_numpy(dtype=str), return_inverse=True)
    if len(values) > _CATEGORIES and len(values) > 0.5 * len(text):
        found = f"{len(values)} different texts in {len(text)} rows"
        remedy = "it looks like a name or an identifier: drop the column"
        raise Refusal(f"column {label!r}", "a category", found, remedy)
    return [str(v) for v in values], np.asarray(codes, dtype=np.intp).reshape(-1)


def column_sizes(X: Any) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of every column, in one pass and without a copy of the data."""
    rows, d = X.shape
    if is_sparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        return mean, np.sqrt(np.maximum(square - mean**2, 0.0))
    shift = np.asarray(X[:1], dtype=np.float64)[0]
    first, second = np.zeros(d), np.zeros(d)
    step = max(1, _CHUNK // d)
    for start in range(0, rows, step):
        part = X[start : start + step] - shift
        first += part.sum(axis=0)
        second += np.einsum("ij,ij->j", part, part)
    first, second = first / rows, second / rows
    return shift + first, np.sqrt(np.maximum(second - first**2, 0.0))


def column_findings(X: Any, columns: tuple[str, ...]) -> list[Finding]:
    """Columns of very different scale, constant ones, and ones that are multiples of another."""
    mean, spread = column_sizes(X)
    size = np.sqrt(mean**2 + spread**2)
    constant = spread <= 1e-12 * np.maximum(size, 1e-300)
    findings = _constants(columns, constant, mean)
    varying = np.flatnonzero(~constant)
    if varying.size:
        low, high = varying[size[varying].argmin()], varying[size[varying].argmax()]
        if size[high] > _SCALES * size[low]:
            what = (
                f"column {columns[high]!r} is {_plain(size[high] / size[low])} times as large as "
                f"{columns[low]!r}: that makes the problem ill-conditioned"
            )
            remedy = "scale the columns to unit variance (--standardise)"
            findings.append(Finding("scale", what, remedy, (columns[high], columns[low])))
    return findings + _duplicates(X, columns, size)


def _constants(
    columns: tuple[str, ...], constant: npt.NDArray[np.bool_], mean: FloatArray
) -> list[Finding]:
    zero = np.flatnonzero(constant & (mean == 0.0))
    fixed = np.flatnonzero(constant & (mean != 0.0))
    findings = []
    if zero.size:
        what = f"{_listed(columns, zero)} {_is(zero)} zero in every row"
        remedy = (
            "drop it, as only l2 acts there"
            if zero.size == 1
            else "drop them, as only l2 acts there"
        )
        findings.append(Finding("constant", what, remedy, _names(columns, zero)))
    if fixed.size > 1:
        what = f"{_listed(columns, fixed)} are constant: they cannot be told apart"
        findings.append(Finding("constant", what, "keep one at most", _names(columns, fixed)))
    elif fixed.size:
        what = f"{_listed(columns, fixed)} is constant: it serves as an intercept"
        findings.append(Finding("constant", what, "", _names(columns, fixed)))
    return findings


def _duplicates(X: Any, columns: tuple[str, ...], size: FloatArray) -> list[Finding]:
    """Columns that are multiples of an earlier one, found by a random projection of the rows."""
    rows = X.shape[0]
    weights = np.random.default_rng(7).standard_normal(rows)
    mark = _project(X, weights)
    used = np.flatnonzero(size > 0.0)
    key = np.abs(mark[used]) / (size[used] * np.sqrt(rows))
    order = used[np.argsort(key, kind="stable")]
    close = np.diff(np.sort(key)) <= 1e-9 * np.maximum(np.sort(key)[1:], 1e-300)
    pairs = []
    for k in np.flatnonzero(close)[:50]:
        i, j = sorted((int(order[k]), int(order[k + 1])))
        a, b = _column(X, i), _column(X, j)
        across = float(a @ b)
        if abs(across**2 - float(a @ a) * float(b @ b)) <= 1e-10 * across**2:
            pairs.append((i, j))
    if not pairs:
        return []
    shown = ", ".join(f"{columns[j]!r} of {columns[i]!r}" for i, j in pairs[:3])
    more = f" and {len(pairs) - 3} more" if len(pairs) > 3 else ""
    names = tuple(columns[j] for _, j in pairs)
    what = f"duplicated columns: {shown}{more} (equal up to a factor)"
    return [Finding("duplicate", what, "drop one of each pair", names)]


def _project(X: Any, weights: FloatArray) -> FloatArray:
    if is_sparse(X):
        return np.asarray(X.T @ weights)
    total = np.zeros(X.shape[1])
    step = max(1, _CHUNK // X.shape[1])
    for start in range(0, X.shape[0], step):
        total += weights[start : start + step] @ X[start : start + step]
    return total


def _column(X: Any, j: int) -> FloatArray:
    if is_sparse(X):
        return np.asarray(X[:, [j]].toarray()).ravel()
    return np.asarray(X[:, j], dtype=np.float64)


def _names(columns: tuple[str, ...], which: npt.NDArray[np.intp]) -> tuple[str, ...]:
    return tuple(columns[j] for j in which[:50])


def _listed(columns: tuple[str, ...], which: npt.NDArray[np.intp]) -> str:
    shown = ", ".join(repr(columns[j]) for j in which[:3])
    if which.size > 3:
        shown += f" and {which.size - 3} more"
    return f"column {shown}" if which.size == 1 else f"columns {shown}"


def _is(which: npt.NDArray[np.intp]) -> str:
    return "is" if which.size == 1 else "are"


def _plain(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio < 1e5 else f"{ratio:.1e}"
