"""Second moments of the mean problem: four numbers for every pair of eigenvectors.

In the eigenvectors of the mean Hessian the mean block is B_i = B(λ_i) in direction i. The moments
Y = [[E r_i r_j, E r_i v_j], [E v_i r_j, E v_i v_j]] of a pair then move to B_i Y B_jᵀ, whatever the
other pairs do. So the slow part of second moments, which lies in the mean, can be inverted exactly.

A step with the gradient g takes the state s = (r, v) = (y - x*, x - x₋) to::

    r⁺ = r + a v - c q g,     v⁺ = b v - q g

Each block is made triangular by a unitary Q (Schur), B = Q T Qᴴ with its eigenvalues p, q on the
diagonal of T. The equation λ Y - B_i Y B_jᵀ = R turns into four of one unknown each, solved one
after the other, with divisors λ - p_i p_j and so on. They keep their digits at critical damping
too, where p = q, and a general solver would lose all of them near λ = p².
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.blocks import block
from ravine.theory.finite_sums.terms import Scalars
from ravine.theory.ladder.rates import block_radius

ComplexArray = npt.NDArray[np.complex128]


class Step(NamedTuple):
    """Coefficients of a step: numbers, or arrays that broadcast against the matrices."""

    a: Any
    """What the velocity adds to y: beta (1 + gamma) - gamma."""
    b: Any
    """What is kept of the velocity: beta."""
    c: Any
    """How much more the gradient takes from y than from the velocity: 1 + gamma."""
    q: Any
    """What the gradient takes from the velocity: alpha."""


def constant_step(method: Scalars) -> Step:
    """The step of a method with constant parameters."""
    return Step(method.c, method.beta, 1.0 + method.gamma, method.alpha)


def advance(states: FloatArray, eigenvalues: FloatArray, step: Step) -> FloatArray:
    """Columns of states, shape (..., 2d, w), after a step with the mean Hessian."""
    d = eigenvalues.size
    r = states[..., :d, :]
    v = states[..., d:, :]
    g = step.q * (eigenvalues[:, None] * r)
    return np.concatenate([r + step.a * v - step.c * g, step.b * v - g], axis=-2)


def advance_moments(
    X: FloatArray, eigenvalues: FloatArray, step: Step, noise: FloatArray
) -> FloatArray:
    """Second moments (..., 2d, 2d) after a step with the mean Hessian and so much gradient noise.

    ``noise`` is the covariance of the gradient, shape (..., d, d).
    """
    half = advance(X, eigenvalues, step)
    moved = advance(np.swapaxes(half, -1, -2), eigenvalues, step)
    slow = step.q**2 * noise
    mixed = step.c * slow
    return np.asarray(moved + np.block([[step.c * mixed, mixed], [mixed, slow]]))


class MeanBlocks:
    """Triangular forms of the mean blocks, of one method or of an array of them.

    Parameters
    ----------
    eigenvalues
        λ_i of the mean Hessian, shape (d,).
    method
        Parameters of any shape, which become leading axes.
    """

    def __init__(self, eigenvalues: FloatArray, method: Method) -> None:
        self.method = Method(
            *(np.asarray(value)[..., None] for value in (method.alpha, method.beta, method.gamma))
        )
        B = block(eigenvalues, self.method)
        parameters = (self.method.alpha, self.method.beta, self.method.gamma)
        p, q = _eigenvalues(B, np.asarray(block_radius(eigenvalues, *parameters)))
        self.Q = _schur_vectors(B, p)
        T = np.swapaxes(self.Q.conj(), -1, -2) @ B @ self.Q
        # The eigenvalues are known more sharply than the product gives them.
        self.p = p
        self.q = q
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
