"""Spectral radius of a positive linear map, with a bracket that holds wherever one stops.

A map that keeps positive semidefinite matrices so has its spectral radius ρ as an eigenvalue, with
a positive semidefinite eigenvector (Perron, Frobenius, Krein, Rutman). For every X ≻ 0, with
Collatz and Wielandt::

    least eigenvalue of (Φ(X), X)  <=  ρ  <=  largest eigenvalue of (Φ(X), X)

since Φ(X) ⪯ c X gives Φᵏ(X) ⪯ cᵏ X. An iteration may thus be ended at any time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.theory.finite_sums.deadline import NEVER, Deadline

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
_INDEFINITE = 1e-6
"""Negative eigenvalue of an eigenvector, over its largest, that can be an error of iteration."""
_AT_ONCE = 16
"""Columns of the matrix that are computed together."""
PRODUCTS = 400
"""Products after which the search is ended with a bracket."""
_SUBSPACE = 40
"""Vectors kept between restarts: 24 suffice for eigenvalues that stand apart."""
_FIRST_GAPS = (1.0, 1e-2, 1e-4, 1e-6)
"""Distances from the known radius, over it, at which the first vectors are taken."""
_KEPT = 6
"""Of these, Ritz vectors that survive a restart."""
_BLENDS = 10.0 ** -np.arange(0.0, 13.0, 2.0)
"""Shares of the identity mixed into an eigenvector that is nearly singular."""


class Root(NamedTuple):
    """A spectral radius: its value, limits that hold, and whether the value is settled."""

    value: float
    low: float
    high: float
    settled: bool


def settled(value: float) -> Root:
    """A radius known to rounding."""
    return Root(value, value, value, True)


def perron_root(
    apply: Operator,
    shape: tuple[int, ...],
    *,
    tolerance: float = 1e-12,
    resolvent: Resolvent | None = None,
    products: int = PRODUCTS,
    deadline: Deadline = NEVER,
) -> Root:
    """Spectral radius of an operator on second moments, shape (..., 3, d, d).

    Small ones by their matrix. Larger ones by Davidson's method: the best eigenvector of a
    subspace, which grows by the residual, taken through the ``resolvent`` of something close to the
    operator; without one this is Arnoldi's method. It stops at a residual of ``tolerance``, after
    so many ``products`` or at the deadline; then the limits are those of Collatz and Wielandt.

    ``apply`` takes further leading axes.
    """
    if _unknowns(shape) <= DENSE:
        return settled(_by_matrix(apply, shape))

    value, X, residual = _davidson(
        apply, identity_moments(shape), tolerance, resolvent, products, deadline
    )
    if value == 0.0 or (residual <= tolerance * value and _is_positive(X)):
        return settled(value)
    if _unknowns(shape) <= _LAST_DENSE and not deadline.passed:
        return settled(_by_matrix(apply, shape))

    low, high = collatz_wielandt(apply, X)
    return Root(float(np.clip(value, low, high)), low, high, False)


def _is_positive(X: FloatArray) -> bool:
    """Whether moments are positive semidefinite, up to the error of an eigenvector.

    The eigenvector of the spectral radius is; no other one is, as all others are orthogonal to a
    positive eigenvector of the adjoint.
    """
    values = np.linalg.eigvalsh(_whole(X))
    return bool(values.min() >= -_INDEFINITE * values.max())


def _unknowns(shape: tuple[int, ...]) -> int:
    """Free numbers of moments (..., 3, d, d): two symmetric matrices and one that is not."""
    d = shape[-1]
    return math.prod(shape[:-3]) * (2 * d * d + d)


def _by_matrix(apply: Operator, shape: tuple[int, ...]) -> float:
    """Spectral radius from the matrix of the map, on the free numbers alone."""
    free = free_numbers(shape)
    rows = []
    for first in range(0, free.size, _AT_ONCE):
        part = free[first : first + _AT_ONCE]
        moved = apply(unit_moments(shape, part))
        rows.append(moved.reshape(part.size, -1)[:, free])

    return float(np.abs(np.linalg.eigvals(np.concatenate(rows))).max())


def free_numbers(shape: tuple[int, ...]) -> npt.NDArray[np.intp]:
    """Where the free numbers of moments (..., 3, d, d) are in the flat array.

    The second matrix has all of its own; the first and the third are symmetric and have theirs on
    and above the diagonal.
    """
    d = shape[-1]
    upper = np.triu(np.ones((d, d), dtype=bool))
    free = np.broadcast_to(np.stack([upper, np.ones_like(upper), upper]), shape)
    return np.flatnonzero(free)


def unit_moments(shape: tuple[int, ...], where: npt.NDArray[np.intp]) -> FloatArray:
    """Moments of which one free number is 1 and the others 0, (where.size, *shape)."""
    unit = np.zeros((where.size, math.prod(shape)))
    unit[np.arange(where.size), where] = 1.0
    unit = unit.reshape(-1, *shape)
    # The mirror image of an entry above the diagonal goes with it.
    unit[..., ::2, :, :] += np.swapaxes(np.triu(unit[..., ::2, :, :], 1), -1, -2)
    return unit


def _davidson(
    apply: Operator,
    start: FloatArray,
    tolerance: float,
    resolvent: Resolvent | None,
    products: int,
    deadline: Deadline,
) -> tuple[float, FloatArray, float]:
    """Largest eigenvalue, its eigenvector and the norm of the residual."""
    shape = start.shape
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

    trace = _trace(X)
    return max(value, 0.0), X / trace if trace != 0.0 else X, size


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
    """The best limits of the spectral radius from a vector near its eigenvector.

    An eigenvector may be singular, or indefinite by its error; some of the identity makes it
    positive definite, and how much of it serves best is tried.
    """
    shape = X.shape
    start = identity_moments(shape)
    X = X / max(abs(_trace(X)), 1e-300) * _trace(start)
    low = 0.0
    high = math.inf
    for blend in _BLENDS:
        mixed = X + blend * start
        found = _limits(_whole(mixed), _whole(apply(mixed)))
        if found is not None:
            low, high = max(low, found[0]), min(high, found[1])

    return low, high


def _limits(X: FloatArray, moved: FloatArray) -> tuple[float, float] | None:
    """Extreme eigenvalues of the pencils (moved, X); None unless every X is positive definite."""
    try:
        L = np.linalg.cholesky(X)
    except np.linalg.LinAlgError:
        return None

    half = np.linalg.solve(L, moved)
    values = np.linalg.eigvalsh(np.linalg.solve(L, np.swapaxes(half, -1, -2)))
    return float(values.min()), float(values.max())


def matrix_limits(apply: Operator, M: FloatArray) -> tuple[float, float]:
    """Collatz and Wielandt's limits for a positive map on symmetric d x d matrices."""
    d = len(M)
    M = M * (d / max(abs(float(np.trace(M))), 1e-300))
    low = 0.0
    high = math.inf
    for blend in _BLENDS:
        mixed = M + blend * np.eye(d)
        found = _limits(mixed, apply(mixed))
        if found is not None:
            low, high = max(low, found[0]), min(high, found[1])

    return low, high


def identity_moments(shape: tuple[int, ...]) -> FloatArray:
    """E r rᵀ = E v vᵀ = I, E r vᵀ = 0."""
    X = np.zeros(shape)
    X[..., ::2, :, :] = np.eye(shape[-1])
    return X


def _trace(X: FloatArray) -> float:
    return float(np.einsum("...kii->...k", X)[..., ::2].sum())


def _whole(X: FloatArray) -> FloatArray:
    """Matrices (..., 2d, 2d) of three blocks (..., 3, d, d)."""
    rr = X[..., 0, :, :]
    rv = X[..., 1, :, :]
    vv = X[..., 2, :, :]
    top = np.concatenate([rr, rv], axis=-1)
    bottom = np.concatenate([np.swapaxes(rv, -1, -2), vv], axis=-1)
    whole = np.concatenate([top, bottom], axis=-2)
    return np.asarray(0.5 * (whole + np.swapaxes(whole, -1, -2)))
