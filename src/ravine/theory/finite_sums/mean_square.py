"""Mean-square growth of a finite sum, by the spectral radius of the operator on second moments.

A second moment E[s sᵀ] of s = (r, v) is kept as three d×d matrices, X = (E rrᵀ, E rvᵀ, E vvᵀ). A
step needs only H·E rrᵀ, H·E rvᵀ and H·E rrᵀ·H; no matrix of (2d)² rows is formed unless it is tiny.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.sampling import Sampling
from ravine.theory.finite_sums.terms import Scalars, Terms, blocks

Operator: TypeAlias = Callable[[FloatArray], FloatArray]

_DENSE = 160
_KRYLOV = 24
_CHUNK = 64
_KRYLOV_BYTES = 1 << 30
_EPOCH_STATES = 4096
_EPOCH_FLOPS = 2e9


def mean_square_growth(terms: Terms, method: Scalars, sampling: Sampling) -> float | None:
    """Growth of E‖s‖² per step, or None where an epoch is too large to average exactly."""
    if sampling is Sampling.CYCLIC:
        return cyclic_growth(terms, method) ** 2
    if terms.shared:
        if sampling is Sampling.IID:
            return float(np.max(iid_by_direction(terms, method)))
        found = [mean_square_growth(one, method, sampling) for one in terms.directions()]
        return None if None in found else max(g for g in found if g is not None)
    d = terms.hessians.shape[-1]
    m = terms.counts.size
    if sampling is Sampling.IID:
        return perron_root(iid_operator(terms, method), (3, d, d))
    if sampling is Sampling.IID_NO_REPEAT:
        return perron_root(no_repeat_operator(terms, method), (m, 3, d, d))
    if not epoch_is_small(terms):
        return None
    lifted = sampling is Sampling.RESHUFFLE_NO_REPEAT
    shape = (m, 3, d, d) if lifted else (3, d, d)
    root = perron_root(epoch_operator(terms, method, lifted=lifted), shape)
    return float(root ** (1.0 / terms.n))


def advance(X: FloatArray, K: FloatArray, P: FloatArray, M: FloatArray, by: Scalars) -> FloatArray:
    """One step of second moments (..., 3, d, d), given K = H X₁₁, P = H X₁₂, M = H X₁₁ H."""
    alpha, beta, g, c = by.alpha, by.beta, 1.0 + by.gamma, by.c
    X11, X12, X22 = X[..., 0, :, :], X[..., 1, :, :], X[..., 2, :, :]
    Kt, Pt, X21 = np.swapaxes(K, -1, -2), np.swapaxes(P, -1, -2), np.swapaxes(X12, -1, -2)
    out = np.empty(np.broadcast_shapes(X.shape, (*M.shape[:-2], 3, *M.shape[-2:])))
    out[..., 0, :, :] = (
        X11 + c * (X12 + X21) + c**2 * X22 - alpha * g * (K + Kt + c * (P + Pt) - alpha * g * M)
    )
    out[..., 1, :, :] = beta * (X12 + c * X22) - alpha * (
        Kt + c * Pt + g * beta * P - alpha * g * M
    )
    out[..., 2, :, :] = beta**2 * X22 - alpha * (beta * (P + Pt) - alpha * M)
    return out


def symmetric(X: FloatArray) -> FloatArray:
    """Moments with the two diagonal blocks made symmetric, as the operators take them to be."""
    out = X.copy()
    out[..., ::2, :, :] = 0.5 * (X[..., ::2, :, :] + np.swapaxes(X[..., ::2, :, :], -1, -2))
    return out


def apply_term(X: FloatArray, hessians: FloatArray, by: Scalars) -> FloatArray:
    """One step with given Hessians, broadcast against the moments."""
    K = hessians @ X[..., 0, :, :]
    return advance(X, K, hessians @ X[..., 1, :, :], K @ hessians, by)


def iid_operator(terms: Terms, by: Scalars) -> Operator:
    """Map X to the mean of A_b X A_bᵀ, in 2 n d³ multiplications."""
    H, weights = terms.hessians, terms.weights
    mean = np.tensordot(weights, H, axes=1)

    def apply(X: FloatArray) -> FloatArray:
        X = symmetric(X)
        M = np.zeros_like(X[..., 0, :, :])
        for first in range(0, len(H), _CHUNK):
            part = H[first : first + _CHUNK]
            pulled = weights[first : first + _CHUNK, None, None] * (part @ X[..., None, 0, :, :])
            M += np.tensordot(pulled, part, axes=([-3, -1], [0, 1]))
        return advance(X, mean @ X[..., 0, :, :], mean @ X[..., 1, :, :], M, by)

    return apply


def no_repeat_operator(terms: Terms, by: Scalars) -> Operator:
    """Markov-jump lift: X_j, the moment on the event that j came last, from the sum over i ≠ j.

    Equal terms share one X_j, of which there are ``counts``.
    """
    counts = terms.counts[:, None, None, None]

    def apply(X: FloatArray) -> FloatArray:
        X = symmetric(X)
        entering = (counts * X.sum(axis=-4, keepdims=True) - X) / (terms.n - 1.0)
        return apply_term(entering, terms.hessians, by)

    return apply


def epoch_is_small(terms: Terms) -> bool:
    """Whether the sets of visited terms are few enough to average over all orders of an epoch."""
    states = math.prod(int(count) + 1 for count in terms.counts)
    d = terms.hessians.shape[-1]
    return states <= _EPOCH_STATES and states * terms.counts.size * 6.0 * d**3 <= _EPOCH_FLOPS


def epoch_operator(terms: Terms, by: Scalars, *, lifted: bool) -> Operator:
    """Mean of P X Pᵀ over the orders of an epoch, by the multiset of terms that were visited.

    Lifted, an epoch must not begin with the term that ended the last one: moments are then kept for
    every last term, as in the lift of iid sampling without repeat.
    """
    n, counts, H = terms.n, terms.counts.astype(int), terms.hessians
    visited = np.stack([grid.ravel() for grid in np.indices(tuple(counts + 1))], axis=1)
    strides = np.array([math.prod(counts[c + 1 :] + 1) for c in range(counts.size)])
    size = visited.sum(axis=1)

    def step(Z: FloatArray, c: int, rows: npt.NDArray[np.intp]) -> FloatArray:
        before = visited[rows, c] - 1
        chance = (counts[c] - before) / (n - size[rows] + 1.0)
        came = Z[rows - strides[c]] * chance.reshape(-1, *[1] * (Z.ndim - 1))
        return apply_term(came, H[c], by)

    def apply(X: FloatArray) -> FloatArray:
        X = symmetric(X)
        one = X[..., 0, :, :, :] if lifted else X
        Z = np.zeros((len(visited), *one.shape))
        Z[0] = one
        last = np.zeros_like(X)
        for layer in range(1, n + 1):
            for c in range(counts.size):
                rows = np.flatnonzero((size == layer) & (visited[:, c] > 0))
                if lifted and layer == 1:
                    entering = counts[c] * X.sum(axis=-4) - X[..., c, :, :, :]
                    moved = apply_term(entering / (n - 1.0), H[c], by)[None]
                elif rows.size:
                    moved = step(Z, c, rows)
                else:
                    continue
                Z[rows] += moved
                if lifted and layer == n:
                    last[..., c, :, :, :] = moved[0]
        return last if lifted else Z[-1]

    return apply


def iid_by_direction(terms: Terms, by: Scalars) -> FloatArray:
    """Growth of E‖s‖² under iid sampling in every direction of a sum with shared eigenvectors."""
    first = terms.weights @ terms.hessians
    second = terms.weights @ terms.hessians**2
    return lift_radius(
        np.float64(by.alpha), np.float64(by.beta), np.float64(by.gamma), first, second
    )


def lift_radius(
    alpha: FloatArray | np.float64,
    beta: FloatArray | np.float64,
    gamma: FloatArray | np.float64,
    first: FloatArray,
    second: FloatArray,
) -> FloatArray:
    """Spectral radius of one direction's operator on (E r², E rv, E v²); all arguments broadcast.

    ``first`` and ``second`` are the mean curvature and the mean squared curvature of the direction:
    nothing else of its law matters.
    """
    g = 1.0 + gamma
    c = beta * g - gamma
    h, h2 = alpha * first, alpha**2 * second
    shape = np.broadcast_shapes(np.shape(h), np.shape(c))
    T = np.empty((*shape, 3, 3))
    T[..., 0, 0], T[..., 0, 1], T[..., 0, 2] = 1 - 2 * g * h + g**2 * h2, 2 * c * (1 - g * h), c**2
    T[..., 1, 0], T[..., 1, 1], T[..., 1, 2] = g * h2 - h, beta * (1 - g * h) - c * h, c * beta
    T[..., 2, 0], T[..., 2, 1], T[..., 2, 2] = h2, -2 * beta * h, beta**2
    return np.asarray(np.abs(np.linalg.eigvals(T)).max(axis=-1))


def cyclic_growth(terms: Terms, by: Scalars) -> float:
    """Growth of the norm per step when the terms are visited in their order, over and over."""
    if terms.shared:
        return max(cyclic_growth(one, by) for one in terms.directions())
    A = blocks(terms.hessians, by)
    norms = np.linalg.norm(A, axis=(1, 2))
    product, log_scale = np.eye(A.shape[-1]), 0.0
    for b in terms.order:
        product = A[b] @ product
        size = float(np.linalg.norm(product))
        if size <= 64.0 * np.finfo(float).eps * norms[b]:
            return 0.0  # what is left is the rounding of an exact zero
        product, log_scale = product / size, log_scale + math.log(size)
    radius = float(np.abs(np.linalg.eigvals(product)).max())
    return 0.0 if radius == 0.0 else math.exp((log_scale + math.log(radius)) / terms.n)


def perron_root(apply: Operator, shape: tuple[int, ...], *, tolerance: float = 1e-12) -> float:
    """Spectral radius of an operator that keeps second moments positive.

    It is an eigenvalue and none has a larger real part: that is what Arnoldi's method is asked for.
    """
    size = math.prod(shape)
    if size <= _DENSE:
        unit = np.eye(size).reshape(size, *shape)
        rows = [apply(unit[i : i + 16]).reshape(-1, size) for i in range(0, size, 16)]
        return float(np.abs(np.linalg.eigvals(np.concatenate(rows))).max())
    start = _identity_moments(shape)
    if size * 8 * _KRYLOV > _KRYLOV_BYTES:
        return power_iteration(apply, start)
    from scipy.sparse.linalg import ArpackError, LinearOperator, eigs

    operator = LinearOperator(
        (size, size), matvec=lambda v: apply(v.reshape(shape)).ravel(), dtype=np.float64
    )
    asked = {"which": "LR", "tol": tolerance, "ncv": _KRYLOV, "return_eigenvectors": False}
    try:
        values = eigs(operator, k=1, v0=start.ravel(), **asked)
    except ArpackError:  # no convergence, or a product that is exactly zero
        return power_iteration(apply, start)
    return float(np.abs(values[0]))


def power_iteration(apply: Operator, X: FloatArray, *, iterations: int = 5000) -> float:
    """Spectral radius by X ← X/2 + apply(X)/(2 growth); the half kept breaks cycles.

    The iterates stay positive, so that the growth of the trace settles at the spectral radius.
    """
    growth, settled = 0.0, 0
    for _ in range(iterations):
        moved = apply(X)
        before = growth
        growth = _trace(moved) / _trace(X)
        if growth <= 0.0:
            return 0.0
        X = 0.5 * (X + moved / growth)
        X /= _trace(X)
        settled = settled + 1 if abs(growth - before) <= 1e-14 * growth else 0
        if settled == 3:
            break
    return growth


def _identity_moments(shape: tuple[int, ...]) -> FloatArray:
    X = np.zeros(shape)
    X[..., ::2, :, :] = np.eye(shape[-1])
    return X


def _trace(X: FloatArray) -> float:
    return float(np.einsum("...kii->...k", X)[..., ::2].sum())
