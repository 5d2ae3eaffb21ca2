"""Second moments of the mean problem: four numbers for every pair of eigenvectors.

In the eigenvectors of the mean Hessian the mean block is B_i = B(λ_i) in direction i. The moments
Y = [[E r_i r_j, E r_i v_j], [E v_i r_j, E v_i v_j]] of a pair then move to B_i Y B_jᵀ, whatever the
other pairs do. So the slow part of second moments, which lies in the mean, can be inverted exactly.

Each block is made triangular by a unitary Q (Schur), B = Q T Qᴴ with its eigenvalues p, q on the
diagonal of T. The equation λ Y - B_i Y B_jᵀ = R turns into four of one unknown each, solved one
after the other, with divisors λ - p_i p_j and so on. They keep their digits at critical damping
too, where p = q, and a general solver would lose all of them near λ = p².
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.blocks import block
from ravine.theory.finite_sums.positive_map import Resolvent
from ravine.theory.ladder.rates import block_radius

_TINY = 1e-12
"""Growth of a mean problem that is solved in one step: a positive number instead of zero."""

ComplexArray = npt.NDArray[np.complex128]


class MeanBlocks:
    """Triangular forms of the mean blocks, of one method or of an array of them.

    Parameters
    ----------
    eigenvalues
        λ_i of the mean Hessian, shape (d,).
    method
        Parameters of any shape, which become leading axes.
    steps
        Steps of the method in one: B_i to this power.
    """

    def __init__(self, eigenvalues: FloatArray, method: Method, steps: int = 1) -> None:
        self.method = Method(
            *(np.asarray(value)[..., None] for value in (method.alpha, method.beta, method.gamma))
        )
        B = block(eigenvalues, self.method)
        parameters = (self.method.alpha, self.method.beta, self.method.gamma)
        p, q = _eigenvalues(B, np.asarray(block_radius(eigenvalues, *parameters)))
        self.Q = _schur_vectors(B, p)
        T = np.swapaxes(self.Q.conj(), -1, -2) @ B @ self.Q
        # The eigenvalues are known more sharply than the product gives them.
        T[..., 0, 0] = p
        T[..., 1, 1] = q
        T[..., 1, 0] = 0.0
        T = np.linalg.matrix_power(T, steps)
        self.p = T[..., 0, 0]
        self.q = T[..., 1, 1]
        self.s = T[..., 0, 1]

    def solve(self, value: FloatArray | float, R: FloatArray) -> FloatArray:
        """X with λ X - Ā X Āᵀ = R, λ = ``value``, for moments of shape (..., 2d, 2d)."""
        d = self.p.shape[-1]
        parts = [[R[..., :d, :d], R[..., :d, d:]], [R[..., d:, :d], R[..., d:, d:]]]
        left = self.Q.conj()
        turned = [
            np.asarray(
                sum(
                    left[..., c, a][..., :, None] * parts[c][e] * left[..., e, b][..., None, :]
                    for c in (0, 1)
                    for e in (0, 1)
                )
            )
            for a in (0, 1)
            for b in (0, 1)
        ]
        return self._solve_turned(value, turned, (0, 1))

    def noise_response(
        self, value: FloatArray | float, halves: tuple[int, ...] = (0,)
    ) -> FloatArray:
        """κ(λ), shape (..., d, d): the E r rᵀ that unit gradient noise leaves at growth λ.

        It solves λ Y - B_i Y B_jᵀ = alpha² g gᵀ, g = (1 + gamma, 1), and is finite for λ above the
        squared spectral radius of the mean. It is Σ_k λ^-(k+1) (B_i^k g)(B_j^k g)ᵀ alpha²: a
        positive semidefinite matrix, and so is its entrywise product with any positive
        semidefinite matrix (Schur). With ``halves`` (0, 1) all moments, shape (..., 2d, 2d).
        """
        left = self.Q.conj()
        g = 1.0 + np.asarray(self.method.gamma)
        u = [self.method.alpha * (g * left[..., 0, a] + left[..., 1, a]) for a in (0, 1)]
        turned = [u[a][..., :, None] * u[b][..., None, :] for a in (0, 1) for b in (0, 1)]
        return self._solve_turned(value, turned, halves)

    def _solve_turned(
        self, value: FloatArray | float, S: list[ComplexArray], halves: tuple[int, ...]
    ) -> FloatArray:
        """The solution for S = Q_iᴴ R conj(Q_j), and of it the rows and columns of ``halves``."""
        lam = np.asarray(value)[..., None, None]
        p, q, s = (one[..., :, None] for one in (self.p, self.q, self.s))
        P, Q, R = (one[..., None, :] for one in (self.p, self.q, self.s))
        S11, S12, S21, S22 = S

        y22 = S22 / (lam - q * Q)
        y12 = (S12 + s * Q * y22) / (lam - p * Q)
        y21 = (S21 + q * R * y22) / (lam - q * P)
        y11 = (S11 + p * R * y12 + s * P * y21 + s * R * y22) / (lam - p * P)

        # Back: X = Q_i Y Q_jᵀ, which is real.
        left = self.Q[..., :, None, :, :]
        right = self.Q[..., None, :, :, :]
        rows = [
            [
                (
                    left[..., a, 0] * (y11 * right[..., b, 0] + y12 * right[..., b, 1])
                    + left[..., a, 1] * (y21 * right[..., b, 0] + y22 * right[..., b, 1])
                ).real
                for b in halves
            ]
            for a in halves
        ]
        return np.concatenate([np.concatenate(row, axis=-1) for row in rows], axis=-2)


def _eigenvalues(B: FloatArray, radius: FloatArray) -> tuple[ComplexArray, ComplexArray]:
    """The two eigenvalues of each block, the larger first, in agreement with its closed radius."""
    trace = B[..., 0, 0] + B[..., 1, 1]
    determinant = B[..., 0, 0] * B[..., 1, 1] - B[..., 0, 1] * B[..., 1, 0]
    # A radius of half the trace is critical damping, whatever rounding made of the determinant.
    real = (2.0 * radius == np.abs(trace)) | (trace**2 >= 4.0 * determinant)
    first = np.where(trace >= 0.0, radius, -radius)
    height = np.sqrt(np.maximum(radius**2 - 0.25 * trace**2, 0.0))
    p = np.where(real, first, 0.5 * trace + 1j * height)
    q = np.where(real, trace - first, 0.5 * trace - 1j * height)
    return p, q


def _schur_vectors(B: FloatArray, p: ComplexArray) -> ComplexArray:
    """Unitary Q whose first column is the eigenvector of p: from the larger row of B - p."""
    upper = np.stack([B[..., 0, 1] + 0.0 * p, p - B[..., 0, 0]], axis=-1)
    lower = np.stack([p - B[..., 1, 1], B[..., 1, 0] + 0.0 * p], axis=-1)
    size = np.linalg.norm(upper, axis=-1)
    other = np.linalg.norm(lower, axis=-1)
    x = np.where((size >= other)[..., None], upper, lower)
    norm = np.maximum(size, other)
    # A multiple of the identity has every vector as an eigenvector.
    some = (norm > 0.0)[..., None]
    x = np.where(some, x / np.where(some, norm[..., None], 1.0), [1.0, 0.0])
    Q = np.empty((*p.shape, 2, 2), dtype=np.complex128)
    Q[..., :, 0] = x
    Q[..., 0, 1] = -x[..., 1].conj()
    Q[..., 1, 1] = x[..., 0].conj()
    return Q


def mean_resolvent(
    eigenvalues: FloatArray, method: Method, *, steps: int = 1, shares: FloatArray | None = None
) -> Resolvent:
    """(σ - Φ₀)⁻¹ for the moments of ``steps`` steps with the mean Hessian, pair by pair.

    Close to the inverse of a map whose terms differ little, and so a guide to its slow directions.
    With ``shares`` of m terms it acts on moments kept for every last term: their sum moves by the
    mean, and what differs from an even split is forgotten in a step.
    """
    blocks = MeanBlocks(eigenvalues, method, steps)

    def resolve(sigma: float, B: FloatArray) -> FloatArray:
        if shares is None:
            return blocks.solve(sigma, B)

        together = B.sum(axis=0)
        split = shares[:, None, None]
        return np.asarray(split * blocks.solve(sigma, together) + (B - split * together) / sigma)

    radius = max(float(np.abs(blocks.p).max()), float(np.abs(blocks.q).max()))
    return Resolvent(resolve, max(radius**2, _TINY))
