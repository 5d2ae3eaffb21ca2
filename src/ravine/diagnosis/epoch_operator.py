"""Growth of second moments over whole epochs that were drawn at random.

An epoch takes the state s to P s, so that second moments go from X to E[P X Pᵀ]. The mean is taken
over the drawn epochs, and its spectral radius is the growth of E‖s‖² in an epoch.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

from ravine.arguments import FloatArray
from ravine.theory.finite_sums.positive_map import Operator, matrix_limits

TABLE = 48
"""Rows of P up to which the map is kept as a table of P ⊗ P, whose size is their fourth power."""
_TOLERANCE = 1e-8
"""Residual of an eigenvector, over its eigenvalue."""
_RESTARTS = 60
_KEPT = 24
"""Restarts of the search for an eigenvector, and vectors that it keeps."""
_DENSE = 320
"""Unknowns up to which all eigenvalues are computed where the search has not settled: 0.1 s."""
_POWERS = 72
"""Steps of the power method where there are more."""
_ROUNDING = 1e-7
"""How far the logarithm of a double eigenvalue may be too large by rounding."""
_LARGEST = 700.0
"""Logarithm of the largest growth that is told apart from others: beyond are no numbers."""
_PRODUCT = 0.06e-9
_SMALL_PRODUCT = 1e-6
_PASS = 0.5e-9
_ENTRY = 40e-9
_APPLICATION = 4e-5
"""Seconds of a multiplication in a product of matrices, of a small product beside that, of a number
of the table in one application, of its making, and of an application beside."""
_APPLICATIONS = 50
"""Applications of the map that most searches take."""
_ROOTS = 4
"""Roots that are sought: of all epochs, of the adjoint, and of both halves."""


class Products(NamedTuple):
    """Products P e^scale of the blocks of whole epochs: (epochs, 2k, 2k) and (epochs,)."""

    matrices: FloatArray
    scales: FloatArray


def root_work(epochs: int, size: int) -> float:
    """Seconds of :func:`mean_square_growth` for so many epochs of so many rows."""
    if _tabulated(epochs, size):
        table = size**4 * (epochs * _PRODUCT + _ENTRY)
        return table + _ROOTS * _APPLICATIONS * (_APPLICATION + 0.25 * size**4 * _PASS)

    once = epochs * (_SMALL_PRODUCT + 2.0 * size**3 * _PRODUCT)
    return _ROOTS * _APPLICATIONS * once


def _tabulated(epochs: int, size: int) -> bool:
    return size <= TABLE and epochs > size


def mean_square_growth(products: Products, steps: int) -> tuple[float, float, float]:
    """Growth of E‖s‖² per step, with limits from the spread of the drawn epochs."""
    top = float(products.scales.max())
    P = products.matrices * np.exp(products.scales - top)[:, None, None]
    halves = [_mean_map(P[part::2]) for part in (0, 1)]
    whole = _joined(*halves)
    start = np.eye(P.shape[1])
    root, X, doubt = _root(whole.apply, start)
    V = _root(whole.adjoint, start).X
    parts = np.einsum("sij,ji->s", P @ X @ np.swapaxes(P, 1, 2), V)
    mean = float(parts.mean())
    error = float(parts.std(ddof=1)) / (mean * math.sqrt(len(parts))) if mean > 0.0 else 0.0
    log = math.log(max(root, 1e-300)) + 2.0 * top

    # The root of a mean over few epochs is too large, by an amount that falls like one over their
    # number: half of them show it twice. It is taken out, and added to the limits.
    apart = [_root(half.apply, start).value for half in halves]
    excess = 0.0
    if root > 0.0 and min(apart) > 0.0:
        excess = 0.5 * math.log(apart[0] * apart[1] / root**2)
        log -= max(excess, 0.0)

    # E‖s‖² >= ‖E s‖² (Jensen), and E s moves by the mean product. That is not the product of exact
    # gradients: batches of one epoch exclude each other, which may make it slower or faster.
    slowest = float(np.abs(np.linalg.eigvals(P.mean(axis=0))).max())
    floor = 2.0 * (math.log(max(slowest, 1e-300)) + top)
    reach = 2.0 * error + abs(excess) + doubt
    value = max(log, floor)
    least = max(log - reach - _ROUNDING, floor - _ROUNDING)
    limits = (value, least, max(log + reach, value))

    value, low, high = (math.exp(min(log / steps, _LARGEST)) for log in limits)
    return value, low, high


class _Map(NamedTuple):
    """X ↦ E[P X Pᵀ] over some epochs: their products, and a table of it where that pays.

    The table acts on the numbers on and above the diagonal of a symmetric matrix.
    """

    P: FloatArray
    table: FloatArray | None

    def apply(self, X: FloatArray) -> FloatArray:
        if self.table is not None:
            return _symmetric(self.table @ _upper(X), len(X))

        return np.asarray((self.P @ X @ np.swapaxes(self.P, 1, 2)).mean(axis=0))

    def adjoint(self, V: FloatArray) -> FloatArray:
        """V ↦ E[Pᵀ V P]."""
        if self.table is not None:
            # In the inner product of matrices each number beside the diagonal counts twice.
            counts = np.where(_diagonal(len(V)), 1.0, 2.0)
            return _symmetric((counts * _upper(V)) @ self.table / counts, len(V))

        return np.asarray((np.swapaxes(self.P, 1, 2) @ V @ self.P).mean(axis=0))


def _upper(X: FloatArray) -> FloatArray:
    return X[np.triu_indices(len(X))]


def _diagonal(size: int) -> npt.NDArray[np.bool_]:
    rows, columns = np.triu_indices(size)
    return np.asarray(rows == columns)


def _symmetric(numbers: FloatArray, size: int) -> FloatArray:
    X = np.zeros((size, size))
    X[np.triu_indices(size)] = numbers
    return X + np.triu(X, 1).T


def _mean_map(P: FloatArray) -> _Map:
    size = P.shape[1]
    if not _tabulated(len(P), size):
        return _Map(P, None)

    flat = P.reshape(len(P), size * size)
    entries = (flat.T @ flat / len(P)).reshape((size,) * 4)  # P_ij P_kl at i, j, k, l
    rows, columns = np.triu_indices(size)
    # (P X Pᵀ)_ik is the sum over j, l of P_ij P_kl X_jl, in which X_jl and X_lj are one number.
    table = entries[rows[:, None], rows, columns[:, None], columns]
    mirrored = entries[rows[:, None], columns, columns[:, None], rows]
    return _Map(P, np.where(rows == columns, table, table + mirrored))


def _joined(a: _Map, b: _Map) -> _Map:
    """The map of all epochs of both."""
    P = np.concatenate([a.P, b.P])
    if a.table is None or b.table is None:
        return _Map(P, None)

    share = len(a.P) / len(P)
    return _Map(P, share * a.table + (1.0 - share) * b.table)


class _Root(NamedTuple):
    """An eigenvalue, its eigenvector with trace 1, and how far the logarithm may be off."""

    value: float
    X: FloatArray
    doubt: float


def _root(apply: Operator, first: FloatArray) -> _Root:
    """The spectral radius of a positive map, and its eigenvector, which is positive semidefinite.

    By Arnoldi's method from a positive definite matrix: usual parameters make a double eigenvalue,
    from which the power method is still 1 % away after two hundred steps. Where it does not settle,
    by all eigenvalues of a small map, or by powers with the limits of Collatz and Wielandt.
    """
    size = len(first)
    free = size * (size + 1) // 2

    def on_upper(x: FloatArray) -> FloatArray:
        return _upper(apply(_symmetric(x.ravel(), size)))

    operator = LinearOperator((free, free), matvec=on_upper, dtype=np.float64)
    try:
        values, vectors = eigs(
            operator, k=1, v0=_upper(first), tol=_TOLERANCE, maxiter=_RESTARTS, ncv=min(_KEPT, free)
        )
    except ArpackError:
        if free > _DENSE:
            return _by_powers(apply, first)
        values, vectors = np.linalg.eig(np.array([on_upper(unit) for unit in np.eye(free)]).T)

    lead = int(np.argmax(np.abs(values)))
    X = _symmetric(vectors[:, lead].real, size)
    trace = float(np.trace(X))
    if trace == 0.0:
        return _Root(0.0, first / size, 0.0)

    return _Root(float(abs(values[lead])), X / trace, 0.0)


def _by_powers(apply: Operator, X: FloatArray) -> _Root:
    """The power method, with limits that hold wherever it ends."""
    for _ in range(_POWERS):
        X = apply(X)
        X = X / np.trace(X)

    value = float(np.trace(apply(X)))
    low, high = matrix_limits(apply, X)
    if low <= 0.0:
        return _Root(value, X, math.inf)

    return _Root(value, X, max(math.log(high / value), math.log(value / low)))
