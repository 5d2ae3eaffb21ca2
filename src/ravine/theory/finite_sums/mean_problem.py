"""Second moments of the mean problem, separately for every pair of its eigenvectors.

A step with the gradient g maps the state s = (r, v) = (y - x*, x - x₋) to::

    r⁺ = r + a v - c q g,     v⁺ = b v - q g

In the eigenvectors of the mean Hessian, λ_i, the response to a gradient error after k steps is r =
-alpha ((1 + gamma) h_k - gamma h_{k-1}) and v = -alpha (h_k - h_{k-1}), where h_k is the sum of all
products of k of the two eigenvalues p, q of the block B(λ_i). With the traces t, t' and the
determinants d, d' of two directions, the sums over all steps have a closed form (Cauchy)::

    Σ_k z^k h_k h'_k     = (1 - z² d d')/D,     Σ_k z^k h_{k+1} h'_k = (t - z d t')/D
    D = (1 - z p p') (1 - z p q') (1 - z q p') (1 - z q q')

So the slow part of second moments, which is due to the mean, is inverted exactly. The factors of D
are accurate at critical damping too, where p = q and a general solver would lose all digits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.ladder.rates import block_radius


class Step(NamedTuple):
    """Coefficients of a step: numbers, or arrays that broadcast against the matrices."""

    a: Any
    """Weight of the velocity in y: beta (1 + gamma) - gamma."""
    b: Any
    """Weight of the velocity in the new velocity: beta."""
    c: Any
    """Weight of the gradient in y relative to its weight in the velocity: 1 + gamma."""
    q: Any
    """Weight of the gradient in the new velocity: alpha."""


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
    """Second moments (..., 2d, 2d) after a step with the mean Hessian and gradient noise.

    ``noise`` is the covariance of the gradient noise, shape (..., d, d).
    """
    half = advance(X, eigenvalues, step)
    moved = advance(np.swapaxes(half, -1, -2), eigenvalues, step)
    slow = step.q**2 * noise
    mixed = step.c * slow
    return np.asarray(moved + np.block([[step.c * mixed, mixed], [mixed, slow]]))


class MeanProblem:
    """The mean problem for one method, or for an array of methods.

    Parameters
    ----------
    eigenvalues
        λ_i of the mean Hessian, shape (d,).
    method
        Parameters of any shape; their axes come first in results.
    """

    def __init__(self, eigenvalues: FloatArray, method: Method) -> None:
        parameters = (method.alpha, method.beta, method.gamma)
        alpha, beta, gamma = (np.asarray(value)[..., None] for value in parameters)
        h = alpha * eigenvalues
        self.alpha = alpha
        self.beta = beta
        self.gamma = gamma
        self.h = h
        self.trace = 1.0 + beta - h * (1.0 + gamma)
        self.determinant = beta - h * gamma
        radius = np.asarray(block_radius(eigenvalues, alpha, beta, gamma))
        self.rate = np.max(radius, axis=-1)
        """Spectral radius with exact gradients."""

        # A radius of half the trace means critical damping, despite rounding of the determinant.
        t = self.trace
        real = (2.0 * radius == np.abs(t)) | (t**2 >= 4.0 * self.determinant)
        larger = np.where(t >= 0.0, radius, -radius)
        height = np.sqrt(np.maximum(radius**2 - 0.25 * t**2, 0.0))
        self.p = np.where(real, larger, 0.5 * t + 1j * height)
        self.q = np.where(real, t - larger, 0.5 * t - 1j * height)

    def noise_response(self, value: FloatArray | float) -> FloatArray:
        """κ(λ), shape (..., d, d): E r rᵀ for unit gradient noise at growth λ.

        It is Σ_k λ^-(k+1) (B_i^k g)_1 (B_j^k g)_1 alpha², g = (1 + gamma, 1), finite for λ above
        the squared spectral radius of the mean. It is positive semidefinite, and so is its
        entrywise product with any positive semidefinite matrix (Schur).
        """
        z = 1.0 / np.asarray(value)[..., None, None]
        gamma = self.gamma[..., None]
        numbers = (self.trace, self.determinant, self.p, self.q)
        t, d, p, q = (one[..., :, None] for one in numbers)
        T, D, P, Q = (one[..., None, :] for one in numbers)
        p = z * p
        q = z * q
        divisor = ((1.0 - p * P) * (1.0 - q * Q) * (1.0 - p * Q) * (1.0 - q * P)).real
        even = ((1.0 + gamma) ** 2 + z * gamma**2) * (1.0 - z * z * d * D)
        uneven = gamma * (1.0 + gamma) * (t + T - z * (d * T + D * t))
        return np.asarray(self.alpha[..., None] ** 2 * z * (even - z * uneven) / divisor)

    def stationary_response(self) -> FloatArray:
        """All stationary moments E[s sᵀ] under unit gradient noise, shape (..., 2d, 2d).

        At λ = 1, 1 - t + d = h = alpha λ_i leaves only positive terms, so no digits are lost as h
        tends to 0 or beta to 1.
        """
        gamma = self.gamma[..., None]
        numbers = (self.h, 1.0 - self.beta + self.h * self.gamma)
        h, e = (one[..., :, None] for one in numbers)
        H, E = (one[..., None, :] for one in numbers)
        both = h * E + H * e
        one = e + E - e * E  # 1 - d D
        first = (h - H) + H * e  # h - d H
        second = (H - h) + h * E
        scale = self.alpha[..., None] ** 2 / (one * both - first * second)
        rr = one + gamma * (1.0 + gamma) * both
        rv = (1.0 + gamma) * first + gamma * second
        vr = (1.0 + gamma) * second + gamma * first
        return np.block([[scale * rr, scale * rv], [scale * vr, scale * both]])
