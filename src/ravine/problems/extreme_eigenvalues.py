"""Smallest and largest eigenvalue of XᵀWX, exact while it fits and by Lanczos beyond."""

from __future__ import annotations

from typing import Any

import numpy as np

from ravine.arguments import FloatArray

DENSE_LIMIT = 3000
"""Matrices up to this size are diagonalised exactly."""


def extreme_eigenvalues(X: Any, weights: FloatArray | None = None) -> tuple[float, float]:
    """Extreme eigenvalues of Σ_r w_r x_r x_rᵀ, with w_r = 1/m unless given.

    The smaller of the two Gram matrices is diagonalised when its size is at most
    ``DENSE_LIMIT``. Beyond, Lanczos gives both ends, widened by their residuals; where it does
    not settle, the lower end is zero, which always holds.
    """
    m, d = X.shape
    w = np.full(m, 1.0 / m) if weights is None else weights
    if min(m, d) <= DENSE_LIMIT:
        values = np.linalg.eigvalsh(_gram(X, w))
        return (max(0.0, float(values[0])) if m >= d else 0.0), float(values[-1])

    high = _lanczos(X, w, "LA")
    return (max(0.0, _lanczos(X, w, "SA")) if m >= d else 0.0), high


def is_sparse(X: Any) -> bool:
    """Whether ``X`` is a scipy sparse matrix, told without importing scipy."""
    return hasattr(X, "tocsr")


def _gram(X: Any, w: FloatArray) -> FloatArray:
    m, d = X.shape
    if is_sparse(X):
        scaled = X.multiply(np.sqrt(w)[:, None]).tocsr()
        product = scaled.T @ scaled if m >= d else scaled @ scaled.T
        return np.asarray(product.toarray())

    step = max(1, 2**22 // d)
    if m < d:
        scaled = np.sqrt(w)[:, None] * X
        return np.asarray(scaled @ scaled.T)

    total = np.zeros((d, d))
    for first in range(0, m, step):
        rows = X[first : first + step]
        total += rows.T @ (w[first : first + step, None] * rows)

    return total


def _lanczos(X: Any, w: FloatArray, which: str) -> float:
    # Imported here because it takes a third of a second that most problems never need.
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    d = X.shape[1]
    tol = 1e-7 if which == "LA" else 0.0
    operator = LinearOperator((d, d), lambda v: X.T @ (w * (X @ v.ravel())))
    # A fixed start keeps the answer the same from run to run.
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
