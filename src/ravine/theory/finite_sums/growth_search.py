"""The search for the mean-square growth of a sum, with an exact inverse of its mean part.

An eigenvector X of the operator on moments satisfies (λ - Φ₀) X = α² G Gᵀ ⊗ N(X₁₁), with Φ₀ the
operator of the mean and N the sandwich of the deviations; so M = N(X₁₁) satisfies M = N(κ(λ)∘M).
Let r(λ) be the spectral radius of M ↦ N(κ(λ)∘M). It decreases in λ, and the growth is the λ at
which r = 1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ravine.arguments import FloatArray
from ravine.theory.finite_sums.deviations import Deviations
from ravine.theory.finite_sums.mean_problem import MeanProblem
from ravine.theory.finite_sums.positive_map import Operator, leading_pair, perron

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
