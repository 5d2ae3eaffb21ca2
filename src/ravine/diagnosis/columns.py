"""Numeric columns: their sizes and their problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.digits import counted
from ravine.problems.spectrum import CHUNK, is_sparse, weighted_gram
from ravine.tables.table import Finding, listed

if TYPE_CHECKING:
    from ravine.diagnosis.survey import Survey

_NAMED = 50
"""Maximum number of columns named in a finding."""
_LISTED = 3
"""Maximum number of pairs named in a sentence."""
_MOST_COLUMNS = 2000
"""Maximum number of columns for a Gram matrix: 32 MB, and seconds for its eigenvalues."""
_NO_SINGLE_MINIMISER = (
    "the smallest of many equally good solutions is used; add l2 for a unique one"
)


def column_sizes(X: Any) -> tuple[FloatArray, FloatArray]:
    """Mean and standard deviation of every column, in one pass and without a copy of the data.

    The deviation of a constant column is zero, not a rounding error.
    """
    rows, d = X.shape
    shift, first, second = np.zeros(d), np.zeros(d), np.zeros(d)
    if is_sparse(X):
        first = np.asarray(X.mean(axis=0)).ravel()
        second = np.asarray(X.multiply(X).mean(axis=0)).ravel()
    else:
        shift = X[0]
        step = max(1, CHUNK // d)
        for start in range(0, rows, step):
            part = X[start : start + step] - shift
            first += part.sum(axis=0)
            second += np.einsum("ij,ij->j", part, part)

        first, second = first / rows, second / rows

    mean = shift + first
    deviation = np.sqrt(np.maximum(second - first**2, 0.0))
    return mean, np.where(deviation > 1e-12 * np.abs(mean), deviation, 0.0)


def column_findings(X: Any, columns: tuple[str, ...]) -> list[Finding]:
    """Find columns of very different scale, constant columns, and dependent columns."""
    mean, deviation = column_sizes(X)
    size = np.sqrt(mean**2 + deviation**2)
    findings = _constants(columns, deviation == 0.0, mean)
    varying = np.flatnonzero(deviation)

    if varying.size:
        low, high = varying[size[varying].argmin()], varying[size[varying].argmax()]
        ratio = size[high] / size[low]
        # Smaller ratios are not worth reporting.
        if ratio > 100.0:
            what = (
                f"column {columns[high]!r} is {f'{ratio:.0f}' if ratio < 1e5 else f'{ratio:.1e}'} "
                f"times as large as {columns[low]!r}, which makes the problem ill-conditioned"
            )
            remedy = "standardise the columns"
            findings.append(Finding("scale", what, remedy, (columns[high], columns[low])))

    return findings + _dependent(X, columns, size)


def _constants(
    columns: tuple[str, ...], constant: npt.NDArray[np.bool_], mean: FloatArray
) -> list[Finding]:
    zero = _names(columns, constant & (mean == 0.0))
    fixed = _names(columns, constant & (mean != 0.0))
    one = "is constant: it serves as an intercept", ""
    several = "are constant: they all have the same effect", "keep one at most"
    verb, them = ("is", "it") if len(zero) == 1 else ("are", "them")
    kinds = [
        (zero, f"{verb} zero in every row", f"drop {them}, as only l2 acts there"),
        (fixed, *(one if len(fixed) == 1 else several)),
    ]

    return [
        Finding("constant", f"{listed(names)} {what}", remedy, names)
        for names, what, remedy in kinds
        if names
    ]


def _dependent(X: Any, columns: tuple[str, ...], size: FloatArray) -> list[Finding]:
    """Columns that are multiples of another, and columns that depend linearly on each other.

    For columns of length 1, the entries of the Gram matrix are the cosines of their angles, its
    trace is d, and its null space is that of X. A column is part of a dependence if its entry in
    some null vector is not zero.
    """
    rows = X.shape[0]
    used = np.flatnonzero(size > 0.0)
    if not 2 <= used.size <= _MOST_COLUMNS:
        return []

    gram = weighted_gram(X, np.full(rows, 1.0 / rows))[np.ix_(used, used)]
    gram /= np.outer(size[used], size[used])
    findings = []
    # Columns of length 1 are multiples of each other if (aᵀb)² = 1.
    pairs = np.argwhere(np.triu(1.0 - gram**2 <= 1e-10, 1))

    if len(pairs):
        # Each column appears once, as a multiple of the first matching column.
        first = {int(j): int(i) for i, j in pairs[::-1]}
        shown = ", ".join(
            f"{columns[used[j]]!r} of {columns[used[i]]!r}"
            for j, i in sorted(first.items())[:_LISTED]
        )
        more = f" and {len(first) - _LISTED} more" if len(first) > _LISTED else ""
        what = f"duplicated columns: {shown}{more} (equal up to a factor)"
        names = tuple(columns[used[j]] for j in sorted(first))
        findings.append(Finding("duplicate", what, "drop one of each pair", names))

    if rows < used.size:
        what = f"there are {rows} rows for {used.size} columns, so the columns depend on each other"
        return [*findings, Finding("singular", what, _NO_SINGLE_MINIMISER)]

    values, vectors = np.linalg.eigh(gram)
    # Smaller eigenvalues are rounding errors, which are about 1e-16 d.
    null = vectors[:, values <= 1e-12 * values[-1]]
    # Smaller entries of a null vector of length 1 are rounding errors.
    which = used[np.abs(null).max(axis=1, initial=0.0) > 1e-6]

    if which.size:
        names = tuple(columns[j] for j in which)
        span = counted(which.size - null.shape[1], "dimension")
        what = f"{listed(names)} depend on each other ({which.size} columns span {span})"
        findings.append(Finding("singular", what, _NO_SINGLE_MINIMISER, names))

    return findings


def _names(columns: tuple[str, ...], which: npt.NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(columns[j] for j in np.flatnonzero(which)[:_NAMED])


def batch_findings(seen: Survey) -> list[Finding]:
    """Findings about the number of rows in a batch."""
    notes = []
    rows, last = seen.batching.batch_size, int(seen.batching.sizes[-1])
    d = seen.model.features

    if seen.batching.steps_per_epoch > 1 and rows < d and seen.quadratic and not seen.model.l2:
        what = f"a batch has {rows} rows for {d} columns, so every batch is flat in some directions"
        remedy = "add l2 to make a certificate for every order possible"
        notes.append(Finding("batch", what, remedy))

    if seen.batching.fixed and last < rows:
        shorter = f"rows of the last, shorter batch ({counted(last, 'row')})"
        what = f"{shorter} count {rows / last:.3g} times as much"
        notes.append(Finding("batch", what, "use new batches each epoch (--batches new)"))

    return notes
