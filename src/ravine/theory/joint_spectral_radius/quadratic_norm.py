"""Quadratic norms √(xᵀPx) in which no matrix of a set is much larger than it must be."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.theory.joint_spectral_radius.products import EPS, all_products

_ROUNDS = 40
"""Changes of the weights: the norm settles within some dozens."""
_POWER_STEPS = 12
"""Steps of the power iteration between two of them: the weights move on before it converges."""
_FLAT = 1e-13
"""Least eigenvalue, at trace 1, of a P that is still a norm in float64."""
_LIFTED = 1e3 * _FLAT
"""Multiple of the identity that is added to a flatter one."""
_EAGERNESS = 4
"""Power of the sizes by which the weights move: smaller is slow, larger oscillates."""
_SQUARINGS = 48
"""Squarings of a power: A^(2^48) tells a rate from its limit to the last digit of float64."""
_LOST = 1e3
"""Error of a power, over its norm, at which squaring has lost every digit."""


def best_quadratic_norm(matrices: FloatArray) -> FloatArray:
    """A positive definite P for which the largest ‖A_i‖_P is small.

    P is the leading eigenmatrix of X -> sum_i w_i A_iᵀ X A_i, found by power iteration; the
    weights move towards the matrices that are largest in the norm so far.
    """
    n = matrices.shape[-1]
    count = len(matrices)
    transposed = matrices.transpose(0, 2, 1)

    weights = np.full(count, 1.0 / count)
    P = best = np.eye(n)
    least = norm_of_products(matrices, P, 1)

    for _ in range(_ROUNDS):
        # The leading eigenmatrix of X -> sum_i w_i A_iᵀ X A_i, which is positive semidefinite.
        for _ in range(_POWER_STEPS):
            P = np.tensordot(weights, transposed @ P @ matrices, 1)
            size = np.trace(P)
            if not size > 0.0:
                return best
            P = (P + P.T) / (2.0 * size)

        if np.linalg.eigvalsh(P)[0] < _FLAT:
            P = P + _LIFTED * np.eye(n)

        # ‖A‖_P is the spectral norm of L A L⁻¹ with P = LᵀL.
        root = _root(P)
        sizes = np.linalg.norm(root @ matrices @ np.linalg.inv(root), ord=2, axis=(1, 2))
        largest = float(sizes.max())
        if largest < least:
            best = P
            least = largest

        weights = weights * (sizes / largest) ** _EAGERNESS
        weights /= weights.sum()

    return best


def norm_of_products(matrices: FloatArray, P: FloatArray, length: int) -> float:
    """Largest ‖product‖_P^(1/length) over all products of that length, rounding included."""
    n = len(P)
    root = _root(P)
    moved = root @ matrices @ np.linalg.inv(root)
    scale = float(np.max(np.linalg.norm(moved, ord=2, axis=(1, 2))))
    if scale == 0.0:
        return 0.0

    # L A L⁻¹ takes two products of n terms and an inverse: n eps each, times the condition of L.
    rounding = 4 * n * EPS * float(np.linalg.cond(root))
    norms = np.linalg.norm(all_products(moved / scale, length), ord=2, axis=(1, 2))

    # Every factor is at most 1 long and known up to the rounding, so that the errors add up; the
    # root and the two products of the last line round a few times more.
    longest = norms.max() + length * rounding
    return float(longest ** (1.0 / length) * scale * (1.0 + 8.0 * EPS))


def lyapunov_norm(matrix: FloatArray, share: float = 0.01) -> FloatArray:
    """P = sum of (Aᵀ)^k A^k / r^(2k), in which A is less than r, its radius and a share more.

    The sum solves P - AᵀPA/r² = I, so that ‖Ax‖_P² = r² (‖x‖_P² - ‖x‖²) < r² ‖x‖_P².
    """
    n = len(matrix)
    r = (1.0 + share) * float(np.abs(np.linalg.eigvals(matrix)).max())
    scaled = matrix / r

    # The rows of kron(Aᵀ, Aᵀ) act on P read row by row.
    system = np.eye(n * n) - np.kron(scaled.T, scaled.T)
    P = np.linalg.solve(system, np.eye(n).ravel()).reshape(n, n)
    P = (P + P.T) / (2.0 * np.trace(P))

    return P if np.linalg.eigvalsh(P)[0] > _FLAT else np.eye(n)


def power_bound(matrix: FloatArray, P: FloatArray) -> tuple[int, float]:
    """Length 2^j and least ‖A^(2^j)‖_P^(1/2^j) over j, with the rounding of repeated squaring."""
    n = len(matrix)
    root = _root(P)
    power = root @ matrix @ np.linalg.inv(root)
    error = 4 * n * EPS * float(np.linalg.cond(root) * np.linalg.norm(power))

    # A^(2^j) = e^(2^j log) power, with ``power`` known to ``error``.
    log = 0.0
    best = np.inf
    length = 1
    for j in range(_SQUARINGS):
        size = float(np.linalg.norm(power, ord=2))
        if size == 0.0:
            return 2**j, 0.0 if error == 0.0 else best

        power = power / size
        error = error / size
        log += np.log(size) / 2.0**j

        bound = float(np.exp(log + np.log1p(error) / 2.0**j))
        if bound < best:
            best = bound
            length = 2**j

        # (X + E)² = X² + XE + EX + E² with ‖X‖ = 1, and the rounding of the product itself.
        error = 2.0 * error + error**2 + (n + 2) * np.sqrt(n) * EPS
        power = power @ power
        if error > _LOST:
            break

    return length, best * (1.0 + 64.0 * EPS)


def ball_radii(P: FloatArray) -> tuple[float, float]:
    """Radii of the balls inside and around the ellipsoid xᵀPx <= 1."""
    values = np.linalg.eigvalsh(P)
    return float(values[-1] ** -0.5), float(values[0] ** -0.5)


def _root(P: FloatArray) -> FloatArray:
    """L with LᵀL = P."""
    root: FloatArray = np.linalg.cholesky(P).T.astype(np.float64)
    return root
