"""Extreme eigenvalues of XᵀWX and Newton's method: the linear algebra of linear models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ravine.arguments import FloatArray

DENSE_LIMIT = 3000
"""Matrices up to this size are diagonalised exactly."""
CHUNK = 2**22
"""Numbers processed at once (32 MiB), so that the data are never copied."""


def is_sparse(X: Any) -> bool:
    """Whether ``X`` is a scipy sparse matrix; does not import scipy."""
    return hasattr(X, "tocsr")


def dense(X: Any) -> FloatArray:
    """``X`` as an array."""
    return np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)


def weighted_gram(X: Any, w: FloatArray) -> FloatArray:
    """Σ_r w_r x_r x_rᵀ, shape (d, d)."""
    if is_sparse(X):
        return np.asarray((X.T @ X.multiply(w[:, None]).tocsr()).toarray())

    m, d = X.shape
    step = max(1, CHUNK // d)
    total = np.zeros((d, d))
    for first in range(0, m, step):
        rows = X[first : first + step]
        total += rows.T @ (w[first : first + step, None] * rows)

    return total


def extreme_eigenvalues(X: Any) -> tuple[float, float]:
    """Smallest and largest eigenvalue of XᵀX / m.

    The smaller of the two Gram matrices is diagonalised if its size is at most ``DENSE_LIMIT``.
    Beyond that, Lanczos gives both ends, widened by their residuals; if it does not converge, the
    lower end is zero, which always holds.
    """
    m, d = X.shape
    if m < d and m <= DENSE_LIMIT:
        return 0.0, float(np.linalg.eigvalsh(dense(X @ X.T))[-1]) / m
    if d <= DENSE_LIMIT:
        values = np.linalg.eigvalsh(weighted_gram(X, np.full(m, 1.0 / m)))
        return max(0.0, float(values[0])), float(values[-1])

    high = _lanczos(X, "LA")
    return (max(0.0, _lanczos(X, "SA")) if m >= d else 0.0), high


def _lanczos(X: Any, which: str) -> float:
    # Imported here because it takes a third of a second, and most problems do not need it.
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    m, d = X.shape
    tol = 1e-7 if which == "LA" else 0.0
    operator = LinearOperator((d, d), lambda v: X.T @ (X @ v.ravel()) / m)
    # A fixed start gives the same answer in every run.
    v0 = np.random.default_rng(0).standard_normal(d)

    try:
        values, vectors = eigsh(
            operator, k=1, which=which, v0=v0, ncv=min(d, 40), maxiter=50, tol=tol
        )
    except ArpackNoConvergence:
        if which == "SA":
            return 0.0
        values, vectors = eigsh(operator, k=1, which=which, v0=v0, ncv=min(d, 80), tol=1e-3)

    v = vectors[:, 0]
    residual = float(np.linalg.norm(operator @ v - values[0] * v))
    return float(values[0]) + (residual if which == "LA" else -residual)


def newton(
    start: FloatArray,
    gradient: Callable[[FloatArray], FloatArray],
    solve: Callable[[FloatArray, FloatArray], Any],
    *,
    objective: Callable[[FloatArray], float] | None = None,
    iterations: int = 200,
) -> FloatArray:
    """Find a zero of ``gradient`` from ``start``, until its norm no longer falls.

    ``solve(x, g)`` returns H(x)⁻¹ g. Steps are halved until the gradient norm falls: for a strongly
    convex function this is a descent condition that accepts full steps near the minimiser. If the
    ``objective`` is given, it must fall instead: far from the minimiser of a logistic loss, the
    gradient norm allows tiny steps only. The search then also ends when the norm is at rounding
    error and no longer halves.
    """
    x = start
    g = gradient(start)
    size = first = float(np.linalg.norm(g))
    for _ in range(iterations):
        if size == 0.0:
            break
        step = solve(x, g)
        slope = float(g @ step)
        value = None if objective is None else objective(x)
        scale = 1.0
        while scale > 1e-6:
            ahead = x - scale * step
            g_ahead = gradient(ahead)
            size_ahead = float(np.linalg.norm(g_ahead))
            falls = size_ahead < (1.0 - 1e-4 * scale) * size
            if objective is not None and value is not None:
                # Differences within the rounding error of the objective are decided by the
                # gradient.
                fall = value - objective(ahead)
                rounding = 1e-12 * abs(value)
                falls = fall > max(0.1 * scale * slope, rounding) or (
                    abs(fall) <= rounding and falls
                )
            if falls:
                break
            scale /= 2
        else:
            break

        # At rounding level, the norm still falls slightly now and then.
        at_rounding = size_ahead < 1e-13 * first and size_ahead > 0.5 * size
        x, g, size = ahead, g_ahead, size_ahead
        if at_rounding and objective is not None:
            break

    return x
