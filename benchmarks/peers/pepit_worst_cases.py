"""PEPit: worst cases after a few steps, of the same method on the same classes.

On quadratics the worst case of ‖x_N - x*‖² over ‖x_0 - x*‖² + ‖x_{-1} - x*‖² <= 1 is the largest
squared norm of one row of B(λ)^N over the curvatures λ, which ravine computes directly.
For gradient descent on strongly convex functions it is the rate to the power 2N.
"""

from __future__ import annotations

import warnings
from importlib.metadata import version

import numpy as np
from cvxpy.error import SolverError
from PEPit import PEP
from PEPit.functions import SmoothStronglyConvexFunction, SmoothStronglyConvexQuadraticFunction

import ravine
from benchmarks.peers.comparison import relative_difference, tell, timed
from benchmarks.peers.plane import CURVATURE, STEPS, methods, pairs
from ravine.theory.blocks import block

PEER = f"PEPit {version('pepit')} with Clarabel {version('clarabel')}"

MAP_STEPS = 2  # of a pixel of the map: the programme grows with the square of the steps
DESCENT_STEPS = 5
NESTEROV_STEPS = 8
SOLVER = {"solver": "CLARABEL", "tol_feas": 1e-10, "tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10}
CURVATURES = 201  # among which the worst is looked for before it is refined


def worst_case(function: type, alpha: float, beta: float, steps: int) -> float:
    """PEPit's worst ‖x_N - x*‖², NaN where its solver gave up."""
    problem = PEP()
    f = problem.declare_function(function, mu=CURVATURE.mu, L=CURVATURE.L)
    solution = f.stationary_point()
    x = problem.set_initial_point()
    before = problem.set_initial_point()
    problem.set_initial_condition((x - solution) ** 2 + (before - solution) ** 2 <= 1)
    for _ in range(steps):
        y = x + beta * (x - before)
        before, x = x, y - alpha * f.gradient(y)
    problem.set_performance_metric((x - solution) ** 2)
    try:
        return float(problem.solve(wrapper="cvxpy", verbose=0, **SOLVER))
    except SolverError:
        return float("nan")


def largest_row(method: ravine.Method, steps: int) -> np.ndarray:
    """Ravine's answer on quadratics: the largest gain from (x_0, x_{-1}) to x_N.

    The block acts on r = x + beta v and v = x - x': so x = r - beta v.
    """
    beta = np.asarray(method.beta)
    reading = np.stack([np.ones_like(beta), -beta], axis=-1)[..., None, :]
    entering = np.stack(
        [np.stack([1 + beta, -beta], axis=-1), np.broadcast_to([1.0, -1.0], (*beta.shape, 2))],
        axis=-2,
    )

    def gain(curvature: np.ndarray) -> np.ndarray:
        row = reading @ np.linalg.matrix_power(block(curvature, method), steps) @ entering
        return np.asarray((row**2).sum(axis=(-2, -1)))

    ends = np.linspace(CURVATURE.mu, CURVATURE.L, CURVATURES)
    step = ends[1] - ends[0]
    gains = np.stack([gain(np.full(beta.shape, end)) for end in ends])
    peak = ends[gains.argmax(axis=0)]

    # The peak of the parabola through the best and its neighbours; the ends stay where they are.
    left = gain(np.clip(peak - step, CURVATURE.mu, None))
    right = gain(np.clip(peak + step, None, CURVATURE.L))
    bend = left - 2 * gains.max(axis=0) + right
    shift = np.where(bend < 0, (left - right) / np.where(bend < 0, 2 * bend, 1.0), 0.0)
    moved = np.clip(peak + step * np.clip(shift, -1, 1), CURVATURE.mu, CURVATURE.L)
    return np.maximum(gains.max(axis=0), gain(moved))


def quadratics() -> None:
    """The map: quadratics, two steps, every pixel."""
    peer, seconds = timed(
        lambda: np.array(
            [
                worst_case(SmoothStronglyConvexQuadraticFunction, alpha, beta, MAP_STEPS)
                for alpha, beta in pairs()
            ]
        )
    )
    ours, ravine_seconds = timed(lambda: largest_row(methods(), MAP_STEPS))
    tell(
        PEER,
        f"worst error after {MAP_STEPS} steps on quadratics, 32 x 32 parameters",
        peer,
        (seconds, ravine_seconds),
        relative_difference(peer, ours),
    )


def descent() -> None:
    """Gradient descent on strongly convex functions: the rate to the power 2N."""
    function = SmoothStronglyConvexFunction
    peer, seconds = timed(
        lambda: np.array([worst_case(function, float(a), 0.0, DESCENT_STEPS) for a in STEPS])
    )
    ours, ravine_seconds = timed(
        lambda: ravine.worst_case_rate(CURVATURE, ravine.Method(STEPS, 0.0)) ** (2 * DESCENT_STEPS),
        tries=5,
    )
    tell(
        PEER,
        f"worst error of gradient descent after {DESCENT_STEPS} steps, 32 step sizes",
        peer,
        (seconds, ravine_seconds),
        relative_difference(peer, ours),
    )


def objective(steps: int) -> float:
    """PEPit's worst f(x_N) - f* of Nesterov's usual method from x_{-1} = x_0, ‖x_0 - x*‖ <= 1."""
    method = ravine.nesterov(CURVATURE)
    problem = PEP()
    f = problem.declare_function(SmoothStronglyConvexFunction, mu=CURVATURE.mu, L=CURVATURE.L)
    solution = f.stationary_point()
    start = problem.set_initial_point()
    problem.set_initial_condition((start - solution) ** 2 <= 1)
    before = start
    x = start
    for _ in range(steps):
        y = x + float(method.beta) * (x - before)
        before, x = x, y - float(method.alpha) * f.gradient(y)
    problem.set_performance_metric(f(x) - f(solution))
    return float(problem.solve(wrapper="cvxpy", verbose=0, **SOLVER))


def usual_method() -> None:
    """Nesterov's usual method on strongly convex functions: equation (5) is above the truth."""
    peer, seconds = timed(lambda: np.array([objective(k) for k in range(1, NESTEROV_STEPS + 1)]))
    bounds, ravine_seconds = timed(
        lambda: [
            bound(CURVATURE).envelope(steps=NESTEROV_STEPS).values[1:]
            for bound in (ravine.bounds.first_order, ravine.bounds.nesterov)
        ],
        tries=5,
    )
    lower, upper = bounds
    within = bool(np.all(lower <= peer) and np.all(peer <= upper))
    last = upper[-1] / peer[-1]
    tell(
        PEER,
        f"worst f - f* of Nesterov's method, 1 to {NESTEROV_STEPS} steps",
        peer,
        (seconds, ravine_seconds),
        (
            f"{'inside' if within else 'OUTSIDE'} the bounds (6) to (5); "
            f"(5) is {last:.2g} times the truth after {NESTEROV_STEPS} steps"
        ),
    )


def main() -> None:
    """All comparisons."""
    warnings.simplefilter("ignore")
    descent()
    usual_method()
    quadratics()


if __name__ == "__main__":
    main()
