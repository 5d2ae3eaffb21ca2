"""Spectral radius and fixed points of positive linear maps on symmetric matrices.

A map Φ on (stacks of) symmetric matrices that keeps positive semidefinite ones so has its spectral
radius ρ as an eigenvalue, with a positive semidefinite eigenvector (Perron, Frobenius, Krein,
Rutman). For every X ≻ 0, with Collatz and Wielandt::

    least eigenvalue of (Φ(X), X)  <=  ρ  <=  largest eigenvalue of (Φ(X), X)

since Φ(X) ⪯ c X gives Φᵏ(X) ⪯ cᵏ X. An iteration may thus be ended at any time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.theory.finite_sums.limits import NEVER, Deadline, Root, settled
from ravine.theory.finite_sums.moments import symmetric

Operator: TypeAlias = Callable[[FloatArray], FloatArray]


class Resolvent(NamedTuple):
    """The inverse of σ - Φ, roughly: that of a map close to Φ whose spectral radius is known."""

    apply: Callable[[float, FloatArray], FloatArray]
    """(σ, B) to (σ - Φ₀)⁻¹ B."""
    radius: float
    """Spectral radius of Φ₀."""


DENSE = 260
"""Unknowns up to which the matrix is formed: its eigenvalues take a tenth of a second."""
_LAST_DENSE = 1100
"""Unknowns up to which it is formed where the iteration has not settled: two to three seconds."""
_DENSE_SOLVE = 400
"""Unknowns up to which a linear system is written out: a hundredth of a second."""
_INDEFINITE = 1e-6
"""Negative eigenvalue of an eigenvector, over its largest, that can be an error of iteration."""
_AT_ONCE = 64
"""Columns of the matrix that are computed together."""
_PRODUCTS = 400
"""Products after which the search is ended with a bracket."""
_SUBSPACE = 40
"""Vectors kept between restarts: 24 suffice for eigenvalues that stand apart."""
_FIRST_GAPS = (1.0, 1e-2, 1e-4, 1e-6)
"""Distances from the known radius, over it, at which the first vectors are taken."""
_KEPT = 6
"""Of these, Ritz vectors that survive a restart."""
_BLENDS = 10.0 ** -np.arange(0.0, 13.0, 2.0)
"""Shares of the identity mixed into an eigenvector that is nearly singular."""


def perron_root(
    apply: Operator,
    shape: tuple[int, ...],
    *,
    tolerance: float = 1e-12,
    resolvent: Resolvent | None = None,
    products: int = _PRODUCTS,
    deadline: Deadline = NEVER,
) -> Root:
    """Spectral radius of a positive map on moments of a given shape (..., s, s).

    Small ones by their matrix. Larger ones by Davidson's method: the best eigenvector of a
    subspace, which grows by the residual, taken through the ``resolvent`` of something close to the
    operator; without one this is Arnoldi's method. It stops at a residual of ``tolerance``, after
    so many ``products`` or at the deadline; then the limits are those of Collatz and Wielandt.

    ``apply`` takes further leading axes.
    """
    unknowns = _free(shape).size
    if unknowns <= DENSE:
        return settled(dense_radius(apply, shape))

    value, X, residual = _davidson(apply, shape, tolerance, resolvent, products, deadline)
    if value == 0.0 or (residual <= tolerance * value and _is_positive(X)):
        return settled(value)
    if unknowns <= _LAST_DENSE and not deadline.passed:
        return settled(dense_radius(apply, shape))

    low, high = collatz_wielandt(apply, X)
    return Root(float(np.clip(value, low, high)), low, high, False)


def _is_positive(X: FloatArray) -> bool:
    """Whether moments are positive semidefinite, up to the error of an eigenvector.

    The eigenvector of the spectral radius is; no other one is, as all others are orthogonal to a
    positive eigenvector of the adjoint.
    """
    values = np.linalg.eigvalsh(symmetric(X))
    return bool(values.min() >= -_INDEFINITE * values.max())


@cache
def _free(shape: tuple[int, ...]) -> npt.NDArray[np.intp]:
    """Where the numbers on and above the diagonals of (..., s, s) are in the flat array."""
    upper = np.triu(np.ones(shape[-2:], dtype=bool))
    return np.flatnonzero(np.broadcast_to(upper, shape))


@cache
def _mirrored(shape: tuple[int, ...]) -> npt.NDArray[np.intp]:
    """For every entry of (..., s, s), flat, which of the numbers of ``_free`` it is."""
    free = _free(shape)
    place = np.zeros(math.prod(shape), dtype=np.intp)
    place[free] = np.arange(free.size)
    place = place.reshape(shape)
    return np.maximum(place, np.swapaxes(place, -1, -2)).ravel()


def from_upper(numbers: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """Symmetric matrices (k, *shape) of rows with the numbers on and above the diagonals."""
    return numbers.take(_mirrored(shape), axis=1).reshape(-1, *shape)


def to_upper(X: FloatArray, shape: tuple[int, ...]) -> FloatArray:
    """The numbers on and above the diagonals, (k, numbers), of matrices (k, *shape)."""
    return X.reshape(len(X), -1).take(_free(shape), axis=1)


def matrix_of(apply: Operator, shape: tuple[int, ...]) -> FloatArray:
    """The map as a matrix on the numbers on and above the diagonals, which acts on rows."""
    count = _free(shape).size
    rows = [
        to_upper(apply(from_upper(np.eye(_AT_ONCE, count, first), shape)), shape)
        for first in range(0, count, _AT_ONCE)
    ]
    return np.concatenate(rows)[:count]


def sandwich_table(products: FloatArray) -> FloatArray:
    """The matrix, as of :func:`matrix_of`, of X ↦ Σ_b w_b F_b X F_bᵀ.

    ``products`` holds Σ_b w_b (F_b)_ij (F_b)_kl, shape (s, s, s, s).
    """
    rows, columns = np.triu_indices(len(products))
    # X_kl enters entry ij with Σ_b w_b (F_b)_ik (F_b)_jl, and X_lk is the same number.
    half = products.transpose(0, 2, 1, 3)[rows, columns]
    both = half[:, rows, columns] + half[:, columns, rows]
    both[:, rows == columns] *= 0.5
    return np.ascontiguousarray(both.T)


def dense_radius(apply: Operator, shape: tuple[int, ...]) -> float:
    """Spectral radius from the matrix of the map."""
    return float(np.abs(np.linalg.eigvals(matrix_of(apply, shape))).max())


def leading_pair(matrix: FloatArray, shape: tuple[int, int]) -> tuple[float, FloatArray]:
    """Largest real eigenvalue and eigenvector, of trace 1, of a map given by its matrix."""
    values, vectors = np.linalg.eig(matrix.T)
    lead = int(np.argmax(values.real))
    return _scaled(float(values[lead].real), vectors[:, lead].real, shape)


def arnoldi(
    apply: Operator, start: FloatArray, tolerance: float, *, kept: int, restarts: int
) -> tuple[float, FloatArray] | None:
    """Largest real eigenvalue and eigenvector, of trace 1, by ARPACK; None if not settled."""
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

    shape = start.shape
    free = _free(shape).size

    def on_upper(x: FloatArray) -> FloatArray:
        return np.asarray(to_upper(apply(from_upper(x.reshape(1, -1), shape)), shape)[0])

    operator = LinearOperator((free, free), matvec=on_upper, dtype=np.float64)
    first = to_upper(start[None], shape)[0]
    try:
        values, vectors = eigs(
            operator, k=1, which="LR", v0=first, tol=tolerance, maxiter=restarts,
            ncv=min(kept, free),
        )  # fmt: skip
    except ArpackError:
        return None

    return _scaled(float(abs(values[0])), vectors[:, 0].real, shape)


def _scaled(value: float, upper: FloatArray, shape: tuple[int, ...]) -> tuple[float, FloatArray]:
    """An eigenpair with a trace of 1; zero and the identity where the map is nilpotent."""
    X = from_upper(upper[None], shape)[0]
    trace = float(np.trace(X))
    if not value > 0.0 or trace == 0.0:
        return 0.0, np.eye(shape[-1]) / shape[-1]

    return value, X / trace


def _davidson(
    apply: Operator,
    shape: tuple[int, ...],
    tolerance: float,
    resolvent: Resolvent | None,
    products: int,
    deadline: Deadline,
) -> tuple[float, FloatArray, float]:
    """Largest eigenvalue, its eigenvector and the norm of the residual."""
    start = _identity(shape)
    V = np.empty((0, start.size))
    W = np.empty((0, start.size))
    new: FloatArray | None = start.ravel()
    value = 0.0
    X = start
    size = math.inf

    def smoothed(sigma: float, B: FloatArray) -> FloatArray:
        """(σ - Φ)⁻¹B = (B + Φ(σ - Φ)⁻¹B)/σ: Φ adds what the rough inverse leaves out."""
        assert resolvent is not None
        return (B + apply(resolvent.apply(sigma, B))) / sigma

    waiting: list[FloatArray] = []
    if resolvent is not None:
        # Near the radius of Φ₀ its resolvent turns the identity into the moments that last longest.
        waiting = [smoothed(resolvent.radius * (1.0 + gap), start).ravel() for gap in _FIRST_GAPS]

    for _ in range(products if resolvent is None else products // 3):
        if waiting:
            new = waiting.pop()
        assert new is not None
        new = _orthogonalised(new, V)
        if new is None:
            break  # the subspace is invariant
        V = np.concatenate([V, new[None]])
        W = np.concatenate([W, apply(new.reshape(shape)).reshape(1, -1)])

        values, coefficients = np.linalg.eig(V @ W.T)
        order = np.argsort(-values.real)
        lead = coefficients[:, order[0]].real
        value = float(values[order[0]].real)
        x = lead @ V
        norm = float(np.linalg.norm(x))
        if norm == 0.0:
            break
        x = x / norm
        residual = (lead @ W) / norm - value * x
        X = x.reshape(shape)
        size = float(np.linalg.norm(residual))
        if size <= tolerance * max(abs(value), 1e-300) or deadline.passed:
            break

        new = residual
        if resolvent is not None:
            # Just above the estimate, where the resolvent is positive. An exact resolvent would
            # turn the residual back into x; the part along x is taken out (Olsen's correction).
            shift = value + max(0.1 * size, 1e-10 * abs(value))
            turned = smoothed(shift, residual.reshape(shape)).ravel()
            itself = smoothed(shift, X).ravel()
            along = float(x @ itself)
            new = turned if along == 0.0 else turned - (float(x @ turned) / along) * itself

        if len(V) == _SUBSPACE:
            kept = _real_basis(coefficients[:, order[:_KEPT]])
            V, W = kept.T @ V, kept.T @ W

    # An eigenvector has a sign of its own; that of the radius has a positive trace.
    return max(value, 0.0), X if _trace(X) >= 0.0 else -X, size


def _orthogonalised(vector: FloatArray, V: FloatArray) -> FloatArray | None:
    """The part of a vector orthogonal to the rows of V, of length one; None if there is none."""
    before = float(np.linalg.norm(vector))
    for _ in range(2):  # the second time removes the rounding of the first
        vector = vector - (V @ vector) @ V

    norm = float(np.linalg.norm(vector))
    if not norm > 1e-14 * before or not math.isfinite(norm):
        return None

    return vector / norm


def _real_basis(vectors: FloatArray) -> FloatArray:
    """Orthonormal real vectors that span the given complex ones."""
    both = np.concatenate([vectors.real, vectors.imag], axis=1)
    U, sizes, _ = np.linalg.svd(both, full_matrices=False)
    return np.asarray(U[:, sizes > 1e-10 * sizes[0]])


def collatz_wielandt(apply: Operator, X: FloatArray) -> tuple[float, float]:
    """The best limits of the spectral radius from a matrix near its eigenvector.

    An eigenvector may be singular, or indefinite by its error; some of the identity makes it
    positive definite, and how much of it serves best is tried.
    """
    start = _identity(X.shape)
    X = X * (_trace(start) / max(_trace(X), 1e-300))
    low = 0.0
    high = math.inf
    for blend in _BLENDS:
        mixed = symmetric(X + blend * start)
        try:
            L = np.linalg.cholesky(mixed)
        except np.linalg.LinAlgError:
            continue

        half = np.linalg.solve(L, symmetric(apply(mixed)))
        values = np.linalg.eigvalsh(np.linalg.solve(L, np.swapaxes(half, -1, -2)))
        low = max(low, float(values.min()))
        high = min(high, float(values.max()))

    return low, high


def _identity(shape: tuple[int, ...]) -> FloatArray:
    return np.array(np.broadcast_to(np.eye(shape[-1]), shape))


def _trace(X: FloatArray) -> float:
    return float(np.trace(X, axis1=-2, axis2=-1).sum())


def fixed_point(
    apply: Operator, right: FloatArray, guide: Operator | None = None
) -> FloatArray | None:
    """Solve X = apply(X) + right for symmetric matrices; None where GMRES does not converge.

    ``guide`` maps a right side to roughly its solution.
    """
    shape = right.shape
    if _free(shape).size <= _DENSE_SOLVE:
        matrix = matrix_of(apply, shape)
        solved = np.linalg.solve(np.eye(len(matrix)) - matrix.T, to_upper(right[None], shape)[0])
        return np.asarray(from_upper(solved[None], shape)[0])

    from scipy.sparse.linalg import LinearOperator, gmres

    def operator(matvec: Operator) -> LinearOperator:
        return LinearOperator((right.size, right.size), matvec=matvec, dtype=np.float64)

    solved, failed = gmres(
        operator(lambda x: x - apply(symmetric(x.reshape(shape))).ravel()),
        right.ravel(),
        M=None if guide is None else operator(lambda x: guide(x.reshape(shape)).ravel()),
        rtol=1e-12,
        atol=0.0,
        restart=60,
        maxiter=20,
    )
    return None if failed else symmetric(np.asarray(solved).reshape(shape))
