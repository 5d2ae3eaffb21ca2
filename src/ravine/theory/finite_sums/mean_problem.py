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

The growth of the sum follows from it. An eigenvector X of the operator on moments satisfies
(λ - Φ₀) X = α² G Gᵀ ⊗ N(X₁₁), with Φ₀ the operator of the mean and N the sandwich of the
deviations; so M = N(X₁₁) satisfies M = N(κ(λ)∘M). Let r(λ) be the spectral radius of
M ↦ N(κ(λ)∘M). It decreases in λ, and the growth is the λ at which r = 1.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.finite_sums.positive_map import Deviations, Operator, leading_pair, perron
from ravine.theory.ladder.rates import block_radius

_GUESSES = 60
"""Maximum number of guesses of the growth; a secant needs five to ten."""
_FLOOR = 1e-12
"""Growth below which a mean problem is solved in a few steps."""
_LOWEST = -25.0
"""Logarithm of the smallest relative increase of the growth by deviations: e⁻²⁵ is 1e-11."""
_HIGHEST = 80.0
"""Largest logarithm that is tried; beyond it, all are equally bad."""
_CERTAIN = 10.0
"""Distance of a radius from 1, in units of its error, that decides on which side the growth is."""
_SHARPEST = 1e-10
"""Relative error of a radius that is only rounding."""
_COARSEST = 1e-2
"""Relative error of a radius that suffices for the first guesses."""
_STEEPEST = -20.0
"""Slope of log r in t below which it is rounding: r falls like a power of λ - λ₀."""
_FLATTEST = -0.05
"""Slope above which r does not fall at all."""
_LONGEST = 6.0
"""Largest change of t at a time: λ - λ₀ by a factor of 400."""
_POWERS = 12
"""Products of the power method before Arnoldi's method takes over."""
_DENSE = 8
"""Maximum number of directions for which a radius is computed from a matrix, at most 36 x 36."""
_PLANE_DENSE = 4
_PLANE_ROUNDS = 18
_PLANE_POWERS = 10
"""For many methods at once: the same, with a matrix of 10 x 10; the number of guesses; products for
each."""


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


def noise_loop(deviations: Deviations, kappa: FloatArray) -> Operator:
    """The map M ↦ N(κ∘M).

    κ, from the mean problem, maps the second moment M of the gradients to that of the iterates, and
    the sandwich N maps it back. Both preserve positive semidefinite matrices, and both are
    self-adjoint: if M is an eigenvector, κ∘M is an eigenvector of the adjoint map.
    """
    return lambda M: deviations.sandwich(kappa * M)


def loop_radius(
    deviations: Deviations, kappa: FloatArray, M: FloatArray, tolerance: float
) -> tuple[float, FloatArray]:
    """Spectral radius (to a relative tolerance) and eigenvector of M ↦ N(κ∘M) from a guess M."""
    d = len(M)
    if deviations.largest == 0.0:
        return 0.0, M
    if d <= _DENSE:
        return leading_pair(deviations.table * kappa[np.triu_indices(d)][:, None], (d, d))

    move = noise_loop(deviations, kappa)
    M = M / max(float(np.trace(M)), 1e-300)
    radius = 0.0
    change = math.inf
    steady = 0
    for _ in range(_POWERS):
        moved = move(M)
        before, change_before = radius, change
        radius = float(np.trace(moved))
        if radius <= 1e-300:
            return 0.0, M
        M = moved / radius

        # Changes that shrink by a factor q add up to q/(1 - q) times the last one.
        change = abs(radius - before)
        shrink = change / change_before if change_before > 0.0 else 0.0
        left = change * shrink / (1.0 - shrink) if shrink < 1.0 else math.inf
        steady = steady + 1 if max(change, left) <= tolerance * radius else 0
        if steady == 2:
            return radius, M

    root, M = perron(
        move, M.shape, start=lambda: M, tolerance=max(tolerance, _SHARPEST), dense=0, kept=12
    )
    return root.value, M


def _plane_radii(
    deviations: Deviations, kappas: FloatArray, M: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Approximate radii for many κ, (P, d, d), and eigenvectors, from the previous ones."""
    d = kappas.shape[-1]
    if d <= _PLANE_DENSE:
        rows, columns = np.triu_indices(d)
        scaled = kappas[:, rows, columns][:, :, None] * deviations.table
        return np.asarray(np.linalg.eigvals(scaled).real.max(axis=-1)), M

    radius = np.zeros(len(M))
    for _ in range(_PLANE_POWERS):
        moved = deviations.sandwich(kappas * M)
        radius = np.einsum("pii->p", moved)
        M = moved / np.maximum(radius, 1e-300)[:, None, None]

    return radius, M


class _Secant:
    """Guesses of the growth λ = λ₀(1 + eᵗ) of P methods: log r is nearly linear in t."""

    def __init__(self, mean: MeanProblem, largest: float) -> None:
        self.base = np.maximum(np.atleast_1d(mean.rate) ** 2, _FLOOR)
        size = largest * np.abs(mean.alpha[..., 0])
        # Deviations add about alpha²Δ² per step, which accumulates if the mean decays slowly.
        self.t = np.log(np.maximum(np.maximum(size, 1e-6), size**2 / self.base))
        self.low = np.full(self.t.shape, _LOWEST)
        self.high = np.full(self.t.shape, _HIGHEST)
        self.t_before = np.full(self.t.shape, np.nan)
        self.excess = np.full(self.t.shape, np.nan)

    @property
    def value(self) -> FloatArray:
        """The guessed growth rates."""
        return np.asarray(self.base * (1.0 + np.exp(self.t)))

    def move(self, radius: FloatArray, error: float = 0.0) -> None:
        """Update the guesses from their radii r, each with a relative error."""
        excess = np.log(np.maximum(radius, 1e-300))
        # A radius close to 1 may be on the wrong side; used as a limit, it would end the search.
        self.low = np.where(excess > _CERTAIN * error, self.t, self.low)
        self.high = np.where(excess < -_CERTAIN * error, self.t, self.high)

        with np.errstate(invalid="ignore", divide="ignore"):
            slope = (excess - self.excess) / (self.t - self.t_before)
            falls = (slope > _STEEPEST) & (slope < _FLATTEST)
            step = np.where(falls, -excess / slope, excess)
            # r stays below 1 down to λ₀: the deviations do not affect the slowest direction.
            step = np.where((slope >= _FLATTEST) & (excess < -1e-3), -np.inf, step)

        ahead = self.t + np.clip(step, -_LONGEST, _LONGEST)
        inside = (self.low < ahead) & (ahead < self.high)
        self.t_before, self.excess = self.t, excess
        self.t = np.where(inside, ahead, 0.5 * (self.low + self.high))


class GrowthSolution(NamedTuple):
    """The result of the search for the growth."""

    value: float
    """The growth."""
    settled: bool
    """Whether it has the requested accuracy."""
    moments: FloatArray
    """E[r rᵀ] of the state that grows at this rate, of trace 1: κ∘M with M = N(κ∘M)."""


def search_growth(mean: MeanProblem, deviations: Deviations, *, tolerance: float) -> GrowthSolution:
    """Solve r(λ) = 1 for one method, with an error relative to the distance of λ from 1."""
    secant = _Secant(mean, deviations.largest)
    base = float(secant.base[0])
    M = np.eye(deviations.dimension)
    done = False
    sought = False  # close enough for the requested accuracy

    for _ in range(_GUESSES):
        value = float(secant.value[0])
        kappa = mean.noise_response(value)
        margin = tolerance * max(abs(1.0 - value), 1e-12 * value)

        # A guess far from the solution needs less accuracy.
        doubt = 0.0 if sought else 0.01 * abs(float(np.nan_to_num(secant.excess[0], nan=1.0)))
        sharpest = max(margin / (value - base), _SHARPEST)
        sharpness = min(_COARSEST, max(doubt, sharpest))

        radius, M = loop_radius(deviations, kappa, M, sharpness)
        secant.move(np.array([radius]), _SHARPEST if deviations.dimension <= _DENSE else sharpness)
        change = abs(float(secant.value[0]) - value)
        sought = change <= 1e3 * margin
        judged = sharpness <= 1.01 * sharpest
        done = (change <= margin and judged) or float(secant.t[0]) < _LOWEST + 1.0
        if done:
            break

    X = kappa * M
    return GrowthSolution(float(secant.value[0]), done, X / np.trace(X))


def search_growths(mean: MeanProblem, deviations: Deviations) -> FloatArray:
    """Solve r(λ) = 1 for P methods at once, with the same numbers of guesses and products."""
    d = deviations.dimension
    secant = _Secant(mean, deviations.largest)
    M = np.broadcast_to(np.eye(d) / d, (secant.t.size, d, d))
    for _ in range(_PLANE_ROUNDS):
        radius, M = _plane_radii(deviations, mean.noise_response(secant.value), M)
        secant.move(radius)

    return np.where(secant.t > _LOWEST + 1.0, secant.value, mean.rate**2)
