"""Columns of numbers: their sizes, and what is wrong with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.problems.extreme_eigenvalues import is_sparse
from ravine.tables.table import Finding, listed

_SCALES = 100.0
"""Columns whose sizes differ by more than this are worth a word."""
_CHUNK = 2**22
"""Numbers that are worked on at once, 32 MiB of them."""
_ALIKE = 1e-9
"""Relative difference of two random projections below which columns are compared in full."""
_PARALLEL = 1e-10
"""Relative gap in (aᵀb)² = aᵀa bᵀb below which two columns are multiples of each other."""
_COMPARED = 50
"""Pairs that are compared in full at most, and columns that are named in a finding."""
_LISTED = 3
"""Columns that are named in a sentence."""
_MOST_COLUMNS = 2000
"""Columns up to which the Gram matrix is formed: 32 MB, and seconds for its eigenvalues."""
_ROWS_PER_COLUMN = 20
"""Rows for each column that show full rank where there is one."""
_RANK = 1e-12
"""Eigenvalues below this share of the largest are rounding: their error is about 1e-16 d."""
_TAKES_PART = 1e-6
"""Entries of a null vector of length 1 above this are not rounding."""
_NO_SINGLE_MINIMISER = "many weights fit alike; the least of them is meant, or add l2"


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
            remedy = "standardise the columns"
            findings.append(Finding("scale", what, remedy, (columns[high], columns[low])))

    return [*findings, *_duplicates(X, columns, size), *_dependent(X, columns, size)]


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
    close = np.diff(np.sort(key)) <= _ALIKE * np.maximum(np.sort(key)[1:], 1e-300)
    pairs = []

    for k in np.flatnonzero(close)[:_COMPARED]:
        i, j = sorted((int(order[k]), int(order[k + 1])))
        a = _column(X, i)
        b = _column(X, j)
        across = float(a @ b)

        if abs(across**2 - float(a @ a) * float(b @ b)) <= _PARALLEL * across**2:
            pairs.append((i, j))

    if not pairs:
        return []

    shown = ", ".join(f"{columns[j]!r} of {columns[i]!r}" for i, j in pairs[:_LISTED])
    more = f" and {len(pairs) - _LISTED} more" if len(pairs) > _LISTED else ""
    names = tuple(columns[j] for _, j in pairs)
    what = f"duplicated columns: {shown}{more} (equal up to a factor)"

    return [Finding("duplicate", what, "drop one of each pair", names)]


def _dependent(X: Any, columns: tuple[str, ...], size: FloatArray) -> list[Finding]:
    """Columns that depend linearly on each other, all of them named.

    With columns of length 1, G = XᵀX/n has trace d, and its null space is that of X. A column
    takes part in a dependence if it is not zero in some vector of the null space.
    """
    rows = X.shape[0]
    used = np.flatnonzero(size > 0.0)
    if not 2 <= used.size <= _MOST_COLUMNS:
        return []

    if rows < used.size:
        what = f"there are {rows} rows for {used.size} columns, so the columns depend on each other"
        return [Finding("singular", what, _NO_SINGLE_MINIMISER, ())]

    scaled = 1.0 / size[used]
    # A part of the rows that is of full rank settles it: the rest can only add to the rank.
    part = min(rows, _ROWS_PER_COLUMN * used.size)
    values = _gram_eigenvalues(X[:part], used, scaled)[0]
    if values[0] > _RANK * values[-1]:
        return []

    values, vectors = _gram_eigenvalues(X, used, scaled)
    null = vectors[:, values <= _RANK * values[-1]]
    which = used[np.abs(null).max(axis=1, initial=0.0) > _TAKES_PART]
    if not which.size:
        return []

    names = tuple(columns[j] for j in which)
    what = (
        f"{listed(names)} depend on each other: the {which.size} of them span "
        f"{which.size - null.shape[1]} dimensions"
    )
    return [Finding("singular", what, _NO_SINGLE_MINIMISER, names)]


def _gram_eigenvalues(
    X: Any, used: npt.NDArray[np.intp], scaled: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues, the least first, and eigenvectors of the Gram matrix of scaled columns."""
    G = np.zeros((used.size, used.size))
    step = max(1, _CHUNK // X.shape[1])

    for start in range(0, X.shape[0], step):
        part = X[start : start + step]
        dense = np.asarray(part.toarray() if is_sparse(part) else part, dtype=np.float64)
        block = dense[:, used] * scaled
        G += block.T @ block

    values, vectors = np.linalg.eigh(G / X.shape[0])
    return values, vectors


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
    return tuple(columns[j] for j in which[:_COMPARED])


def _listed(columns: tuple[str, ...], which: npt.NDArray[np.intp]) -> str:
    shown = ", ".join(repr(columns[j]) for j in which[:_LISTED])
    if which.size > _LISTED:
        shown += f" and {which.size - _LISTED} more"

    return f"column {shown}" if which.size == 1 else f"columns {shown}"


def _is(which: npt.NDArray[np.intp]) -> str:
    return "is" if which.size == 1 else "are"


def _plain(ratio: float) -> str:
    return f"{ratio:.0f}" if ratio < 1e5 else f"{ratio:.1e}"
