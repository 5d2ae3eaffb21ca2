"""The search for the mean-square growth of a sum whose mean is inverted exactly.

An eigenvector X of the operator on moments satisfies (λ - Φ₀) X = α² G Gᵀ ⊗ N(X₁₁), with Φ₀ the
operator of the mean and N the sandwich of the deviations; so M = N(X₁₁) satisfies M = N(κ(λ)∘M).
Let r(λ) be the spectral radius of M ↦ N(κ(λ)∘M). It falls with λ, and the growth is where r = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.finite_sums.deadline import Deadline
from ravine.theory.finite_sums.noise_loop import NoiseLoop
from ravine.theory.finite_sums.pairs import MeanBlocks, noise_response, response
from ravine.theory.finite_sums.positive_map import Root, matrix_limits

_GUESSES = 60
"""Guesses of the growth; a secant needs five to ten."""
_FLOOR = 1e-12
"""Growth below which a mean problem counts as solved in a few steps."""
_LOWEST_EXCESS = -25.0
"""Logarithm of the least share by which deviations can raise the growth: e⁻²⁵ is 1e-11."""
_LIMITING = 1e-7
"""Sharpness of a radius that decides on which side of a guess the growth is."""
_SHARPEST = 1e-10
"""Relative error of a radius below which it is rounding."""
_COARSEST = 1e-2
"""Relative error of a radius that tells on which side of 1 a first guess is."""
_STEEPEST = -20.0
"""Slope of log r over t below which it is rounding: r falls like a power of λ - λ₀."""
_FLATTEST = -0.05
"""Slope above which r does not fall at all."""
_LONGEST = 6.0
"""Most that t moves at a time: λ - λ₀ by a factor of 400."""


@dataclass(frozen=True, eq=False)
class GrowthSolution:
    """Where the search for the growth ended.

    Attributes
    ----------
    root
        The growth with its limits.
    mean_value
        The growth of the mean problem alone.
    response
        κ at the last guess, shape (d, d).
    M
        The matrix with M = N(κ∘M), up to the error of the growth.
    tolerance
        What was asked for, as a share of 1 - growth.
    """

    root: Root
    mean_value: float
    response: FloatArray
    M: FloatArray
    tolerance: float


def search_growth(
    eigenvalues: FloatArray,
    loop: NoiseLoop,
    method: Method,
    *,
    mean_value: float,
    tolerance: float,
    deadline: Deadline,
    checked: bool = True,
) -> GrowthSolution:
    """Solve r(λ) = 1 by a secant in t = log(λ/λ₀ - 1), in which log r is nearly a straight line.

    Parameters
    ----------
    eigenvalues
        Of the mean Hessian, shape (d,).
    loop
        The sandwich of the deviations.
    method
        One value for each parameter.
    mean_value
        λ₀, the squared spectral radius of the mean problem.
    tolerance
        Of the growth, as a share of its distance from 1.
    deadline
        When to hand over a bracket instead.
    checked
        Whether limits that hold are wanted where the guesses do not settle.
    """
    base = max(mean_value, _FLOOR)
    blocks = MeanBlocks(eigenvalues, method)
    M = np.eye(eigenvalues.size)

    # Deviations add about alpha²Δ² in a step; where the mean decays slowly, it adds up.
    size = loop.spread.largest * float(method.alpha)
    t = math.log(max(size, 1e-6, size**2 / base))

    low = _LOWEST_EXCESS
    high = math.inf
    trail: list[tuple[float, float]] = []
    done = False
    sought = False  # close enough to judge as sharply as was asked

    for _ in range(_GUESSES):
        value = base * (1.0 + math.exp(t))
        kappa = noise_response(blocks, method, value)[0]
        margin = tolerance * max(abs(1.0 - value), 1e-12 * value)

        # A guess that is far off need not be judged sharply.
        doubt = 0.01 * abs(trail[-1][1]) if trail else _COARSEST
        if sought:
            doubt = 0.0
        sharpness = min(_COARSEST, max(doubt, margin / (value - base), _SHARPEST))

        radius, M = loop.radius(kappa, M, sharpness)
        excess = math.log(radius) if radius > 0.0 else -1e3
        # A coarse radius may be on the wrong side of 1: taken for a limit, it would end the search.
        if sharpness <= _LIMITING:
            low, high = (t, high) if excess > 0.0 else (low, t)

        trail.append((t, excess))
        t_next = t + _secant(trail)
        if math.isfinite(high) and not low < t_next < high:
            t_next = 0.5 * (low + high)

        change = base * abs(math.exp(t_next) - math.exp(t))
        sought = change <= 1e3 * margin
        t = t_next
        judged = sharpness <= 1.01 * max(margin / (value - base), _SHARPEST)
        done = (change <= margin and judged) or t < _LOWEST_EXCESS + 1.0
        if done or deadline.passed:
            break

    value = base * (1.0 + math.exp(t))
    root = Root(value, value, value, done)
    if checked and not done:
        root = _bracket(eigenvalues, loop, method, base, t, M)

    return GrowthSolution(root, mean_value, kappa, M, tolerance)


def _bracket(
    eigenvalues: FloatArray, loop: NoiseLoop, method: Method, base: float, t: float, M: FloatArray
) -> Root:
    """Limits of the growth by Collatz and Wielandt's of r, which is 1 at the growth."""
    value = base * (1.0 + math.exp(t))
    low = base
    high = math.inf

    # Ever further to both sides of t, from a millionth on, until both sides are known.
    for reach in 2.0 ** np.arange(-20.0, 6.0, 2.0):
        for side in (-1.0, 1.0):
            guess = base * (1.0 + math.exp(max(t + side * reach, _LOWEST_EXCESS)))
            kappa = response(eigenvalues, method, guess)[0]
            limits = matrix_limits(loop.map(kappa), M)
            if limits[0] > 1.0:
                low = max(low, guess)
            if limits[1] < 1.0:
                high = min(high, guess)

        if low > base and math.isfinite(high):
            break

    return Root(float(np.clip(value, low, high)), low, high, False)


def _secant(trail: list[tuple[float, float]]) -> float:
    """How far to move t: by the slope through the last two points, or by slope -1."""
    t, excess = trail[-1]
    move = excess
    if len(trail) > 1 and t != trail[-2][0]:
        slope = (excess - trail[-2][1]) / (t - trail[-2][0])
        if _STEEPEST < slope < _FLATTEST:
            move = -excess / slope
        elif slope >= _FLATTEST and excess < -1e-3:
            # r stays below 1 down to λ₀: the deviations leave the slowest direction alone.
            move = -math.inf

    return float(np.clip(move, -_LONGEST, _LONGEST))
