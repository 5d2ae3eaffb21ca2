"""Claims on exact gradients: the classical bounds from above and below, section 2."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.claims.claim import Evidence, Measurements, judgement, stated
from ravine.methods import Method, nesterov, sgd
from ravine.problems import Quadratic, worst_case_quadratic
from ravine.theory import bounds

_RATIOS = (2.0, 8.0, 32.0, 128.0)
"""Condition numbers, from one that is nearly round to one where momentum is worth ten times."""

_DIMENSION = 40
"""Coordinates of the worst-case quadratics; the bounds hold in every dimension."""

_STEPS = 60
"""Steps of a run: the bounds fall to 1e-57 at Q = 2 and to a sixth at Q = 128."""

_ROUNDING = 1e-9
"""Relative excess over a bound that is put down to rounding."""


def _objectives(problem: Quadratic, method: Method, steps: int) -> FloatArray:
    """f(x_k) - f* of a noiseless run, k = 0, ..., steps."""
    alpha = float(method.alpha)
    beta = float(method.beta)
    gamma = float(method.gamma)

    x = problem.start
    last = problem.start
    gaps = [problem.objective(x) - problem.minimum]

    for _ in range(steps):
        velocity = x - last
        y = x + gamma * velocity
        x, last = x + beta * velocity - alpha * problem.gradient(y), x
        gaps.append(problem.objective(x) - problem.minimum)

    return np.array(gaps)


def _distance(problem: Quadratic) -> float:
    """‖x_0 - x*‖."""
    return float(np.linalg.norm(problem.start - problem.minimiser))


def _gradient_descent(_: Evidence) -> Measurements:
    """Runs against the bound, and a run in a direction in which the bound's rate is attained."""
    largest = 0.0
    for Q in _RATIOS:
        problem = worst_case_quadratic(Q, _DIMENSION)
        promise = bounds.gradient_descent(problem.curvature)
        bound = promise.envelope(steps=_STEPS, distance=_distance(problem))
        gaps = _objectives(problem, sgd(problem.curvature), _STEPS)
        largest = max(largest, float((gaps / bound.values).max()))

    # Along mu every step multiplies the error by 1 - alpha mu = (Q-1)/(Q+1), here 31/33.
    flat = Quadratic(np.diag([1.0, 32.0]), start=[1.0, 0.0])
    gaps = _objectives(flat, sgd(flat.curvature), _STEPS)

    # f falls with the square of the error: hence the root, then the mean over 40 steps.
    factor = float(np.sqrt(gaps[60] / gaps[20]) ** (1.0 / 40.0))
    return {"largest_ratio": largest, "measured_rate": factor, "rate": 31.0 / 33.0}


def _nesterov(_: Evidence) -> Measurements:
    """Runs on worst-case quadratics against the bound."""
    largest = 0.0
    rates = []
    for Q in _RATIOS:
        problem = worst_case_quadratic(Q, _DIMENSION)
        promise = bounds.nesterov(problem.curvature)
        bound = promise.envelope(steps=_STEPS, distance=_distance(problem))
        gaps = _objectives(problem, nesterov(problem.curvature), _STEPS)

        largest = max(largest, float((gaps / bound.values).max()))
        rates.append(float(bound.rate))

    return {"largest_ratio": largest, "rates": rates}


def _lower(_: Evidence) -> Measurements:
    """Conjugate gradients against the bound from below.

    They minimise f over the span of all gradients met so far, so no first-order method gets lower.
    """
    # Forty steps in 200 coordinates: the information of a step travels one coordinate, so that
    # the run never meets the end of the chain.
    steps = 40
    dimension = 200

    # f is of order one, and a difference of two of them is rounding from here on.
    resolved = 1e-10

    least = np.inf
    for Q in (8.0, 32.0, 128.0):
        problem = worst_case_quadratic(Q, dimension)
        promise = bounds.first_order(problem.curvature)
        bound = promise.envelope(steps=steps, distance=_distance(problem))
        gaps = _conjugate_gradients(problem, steps)

        seen = bound.values > resolved
        least = min(least, float((gaps[seen] / bound.values[seen]).min()))

    return {"least_ratio": float(least)}


def _conjugate_gradients(problem: Quadratic, steps: int) -> FloatArray:
    """f(x_k) - f* of the method of conjugate gradients, k = 0, ..., steps."""
    H = problem.hessian()
    x = problem.start.copy()
    gradient = problem.gradient(x)
    direction = -gradient
    gaps = []

    for _ in range(steps + 1):
        gaps.append(problem.objective(x) - problem.minimum)

        length = gradient @ gradient / (direction @ H @ direction)
        x = x + length * direction

        # Fletcher and Reeves: the next direction is conjugate to all before.
        after = gradient + length * (H @ direction)
        kept = (after @ after) / (gradient @ gradient)
        direction = -after + kept * direction
        gradient = after

    return np.array(gaps)


CLAIMS = (
    stated(
        "equation-4",
        _gradient_descent,
        lambda m: judgement(
            m["largest_ratio"] <= 1.0 + _ROUNDING and abs(m["measured_rate"] - m["rate"]) < 1e-6
        ),
    ),
    stated("equation-5", _nesterov, lambda m: judgement(m["largest_ratio"] <= 1.0 + _ROUNDING)),
    stated("equation-6", _lower, lambda m: judgement(m["least_ratio"] >= 1.0 - _ROUNDING)),
)
"""In the order of the paper."""
