"""Second moments of the mean problem: one 4x4 system for every pair of eigenvectors.

In the eigenvectors of the mean Hessian the mean block is B(λ_i) in direction i. Moments
(E r_i r_j, E r_i v_j, E v_i r_j, E v_i v_j) of a pair then move by B(λ_i) ⊗ B(λ_j), whatever the
other pairs do. So the slow part of second moments, which lies in the mean, can be inverted exactly.
"""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.blocks import block
from ravine.theory.finite_sums.positive_map import Resolvent
from ravine.theory.finite_sums.terms import Scalars


def pair_maps(eigenvalues: FloatArray, method: Method, steps: int = 1) -> FloatArray:
    """B(λ_i)^steps ⊗ B(λ_j)^steps of all pairs, shape (..., d, d, 4, 4).

    The parameters of the method have the shape of the leading axes.
    """
    alone = Method(
        np.asarray(method.alpha)[..., None],
        np.asarray(method.beta)[..., None],
        np.asarray(method.gamma)[..., None],
    )
    A = np.linalg.matrix_power(block(eigenvalues, alone), steps)
    pairs = np.einsum("...iab,...jcd->...ijacbd", A, A)
    return np.asarray(pairs.reshape(*pairs.shape[:-4], 4, 4))


def noise_entry(method: Method) -> FloatArray:
    """alpha² g gᵀ of a pair as four numbers, g = (1 + gamma, 1), shape (..., 4)."""
    g = 1.0 + np.asarray(method.gamma)
    square = np.asarray(method.alpha) ** 2
    return np.stack([square * g * g, square * g, square * g, square * np.ones_like(g)], axis=-1)


def response(eigenvalues: FloatArray, method: Method, value: FloatArray | float) -> FloatArray:
    """κ(λ), shape (..., 4, d, d): what unit gradient noise leaves at growth λ = ``value``.

    It is (λ - B(λ_i) ⊗ B(λ_j))⁻¹ alpha² (g ⊗ g), finite for λ above the squared spectral radius of
    the mean. As Σ_k λ^-(k+1) (B_i^k g)(B_j^k g)ᵀ alpha², the first of the four matrices is positive
    semidefinite, and so is its entrywise product with any positive semidefinite matrix (Schur).
    """
    pairs = pair_maps(eigenvalues, method)
    shift = np.asarray(value)[..., None, None, None, None] * np.eye(4)
    right = noise_entry(method)[..., None, None, :, None]
    solved = np.linalg.solve(shift - pairs, np.broadcast_to(right, (*pairs.shape[:-1], 1)))
    return np.moveaxis(np.asarray(solved[..., 0], dtype=np.float64), -1, -3)


def one(method: Scalars) -> Method:
    """A method again from its three numbers."""
    return Method(method.alpha, method.beta, method.gamma)


def mean_resolvent(
    eigenvalues: FloatArray,
    method: Scalars,
    *,
    steps: int = 1,
    shares: FloatArray | None = None,
) -> Resolvent:
    """(σ - Φ₀)⁻¹ for the moments of ``steps`` steps with the mean Hessian, pair by pair.

    Close to the inverse of a map whose terms differ little, and so a guide to its slow directions.
    With ``shares`` of m terms it acts on moments kept for every last term: their sum moves by the
    mean, and what differs from an even split is forgotten in a step.
    """
    maps = pair_maps(eigenvalues, one(method), steps)

    def resolve(sigma: float, B: FloatArray) -> FloatArray:
        rr, rv, vv = B if shares is None else B.sum(axis=0)
        right = np.stack([rr, rv, rv.T, vv], axis=-1)
        solved = np.linalg.solve(sigma * np.eye(4) - maps, right[..., None])[..., 0]
        mean = np.stack([solved[..., 0], solved[..., 1], solved[..., 3]])
        if shares is None:
            return mean
        split = shares[:, None, None, None]
        return np.asarray(split * mean + (B - split * B.sum(axis=0)) / sigma)

    return resolve
