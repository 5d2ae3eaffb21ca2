"""Claims on exact gradients and the linear recursion: section 2, appendices A to C."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ravine.arguments import FloatArray
from ravine.claims.claim import ROUNDING, Measurements, stated
from ravine.curvature import Curvature
from ravine.engine.run import run
from ravine.methods import Method, nesterov, sgd
from ravine.problems import Quadratic, from_data, worst_case_quadratic
from ravine.theory import bounds
from ravine.theory.blocks import block, permutation, system
from ravine.theory.ladder.rates import spectral_radius

_RATIOS = (2.0, 8.0, 32.0, 128.0)
"""Condition numbers, from a nearly round problem to one where momentum is ten times faster."""

_STEPS = 60
"""Steps of a run: the bounds fall to 1e-57 at Q = 2, and to one sixth at Q = 128."""

_IDENTITY = 1e-10
"""Largest difference between two sides of an identity: numbers of order one, after about a thousand
operations of relative error 1e-16."""


def _objectives(problem: Quadratic, method: Method) -> FloatArray:
    """f(x_k) - f* of a noiseless run, k = 0, ..., _STEPS."""
    trace = run(problem, method, _STEPS, sampling=None)
    points = trace.y - method.gamma * trace.velocity
    return np.array([problem.objective(x) for x in points]) - problem.minimum


def _bound(
    problem: Quadratic, bound: Callable[[Curvature], bounds.Bound], steps: int = _STEPS
) -> FloatArray:
    """A bound on f(x_k) - f* from the start of a problem, k = 0, ..., steps."""
    distance = float(np.linalg.norm(problem.start - problem.minimiser))
    return bound(problem.curvature).envelope(steps=steps, distance=distance).values


def _largest_ratio(
    choose: Callable[[Curvature], Method], bound: Callable[[Curvature], bounds.Bound]
) -> float:
    """The largest f(x_k) - f* over its bound. The bounds hold in every dimension; here it is 40."""
    problems = [worst_case_quadratic(Q, 40) for Q in _RATIOS]
    gaps = [_objectives(problem, choose(problem.curvature)) for problem in problems]
    limits = [_bound(problem, bound) for problem in problems]
    return float((np.array(gaps) / np.array(limits)).max())


@stated(
    "equation-4",
    holds=lambda m: (
        m["largest_ratio"] <= 1.0 + ROUNDING and abs(m["measured_rate"] - m["rate"]) < 1e-6
    ),
)
def gradient_descent() -> Measurements:
    """Runs against the bound, and a run along a direction that attains the rate of the bound."""
    # Along mu, every step multiplies the error by 1 - alpha mu = (Q-1)/(Q+1), here 31/33.
    flat = Quadratic(np.diag([1.0, 32.0]), start=[1.0, 0.0])
    gaps = _objectives(flat, sgd(flat.curvature))

    # f falls with the square of the error, hence the root; then the mean over 40 steps.
    return {
        "largest_ratio": _largest_ratio(sgd, bounds.gradient_descent),
        "measured_rate": np.sqrt(gaps[60] / gaps[20]) ** (1.0 / 40.0),
        "rate": 31.0 / 33.0,
    }


@stated("equation-5", holds=lambda m: m["largest_ratio"] <= 1.0 + ROUNDING)
def accelerated() -> Measurements:
    """Runs on worst-case quadratics against the bound."""
    return {"largest_ratio": _largest_ratio(nesterov, bounds.nesterov)}


@stated("equation-6", holds=lambda m: m["least_ratio"] >= 1.0 - ROUNDING)
def lower_bound() -> Measurements:
    """Conjugate gradients against the lower bound.

    They minimise f over the span of all gradients so far, so no first-order method does better.
    """
    from scipy.sparse.linalg import cg

    # Forty steps in 200 coordinates: each step reaches one more coordinate, so the run never
    # reaches the end of the chain.
    steps = 40
    least = np.inf
    for Q in (8.0, 32.0, 128.0):
        problem = worst_case_quadratic(Q, 200)
        points = [problem.start]
        cg(
            problem.hessian(), problem.hessian() @ problem.minimiser, problem.start, rtol=0.0,
            maxiter=steps, callback=lambda x, points=points: points.append(x.copy()),
        )  # fmt: skip
        gaps = np.array([problem.objective(x) for x in points]) - problem.minimum
        bound = _bound(problem, bounds.first_order, steps)

        # f is of order one: differences below 1e-10 are rounding errors.
        seen = bound > 1e-10
        least = min(least, (gaps[seen] / bound[seen]).min())

    return {"least_ratio": least}


@stated("equations-7-9", holds=lambda m: m["largest_difference"] < _IDENTITY)
def recursion() -> Measurements:
    """Equations (7) to (9) on arbitrary gradients: they hold for any sequence g_k."""
    rng = np.random.default_rng(0)
    alpha = 0.3
    dimension = 5
    largest = 0.0
    for beta in (-0.7, 0.0, 0.4, 0.95):
        x = last = rng.standard_normal(dimension)

        # r = y_{k+1} - x* with x* = 0, and v = x_k - x_{k-1}; a run that starts at rest has these
        # values.
        r = x
        v = np.zeros(dimension)
        for gradient in rng.standard_normal((50, dimension)):
            # The method itself.
            y = x + beta * (x - last)
            x, last = y - alpha * gradient, x

            # The recursion.
            r, v = r + beta**2 * v - alpha * (1.0 + beta) * gradient, beta * v - alpha * gradient
            off = np.abs([r - (x + beta * (x - last)), v - (x - last)])
            largest = max(largest, off.max())

    return {"largest_difference": largest}


@stated("equation-10", holds=lambda m: m["largest_difference"] < _IDENTITY)
def averaged_hessian() -> Measurements:
    """Equation (10) on a loss that is not quadratic, by Gauss-Legendre quadrature."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((20, 3))
    problem = from_data(X, np.sign(rng.standard_normal(20)), loss="logistic", l2=0.1)
    x, y = rng.standard_normal((2, 3))

    # Forty nodes are exact for polynomials of degree 79, so for a function this smooth only
    # rounding errors remain. The nodes lie in [-1, 1], the segment in [0, 1].
    nodes, weights = np.polynomial.legendre.leggauss(40)
    places = x + 0.5 * (nodes[:, None] + 1.0) * (y - x)
    mean = 0.5 * sum(w * problem.hessian(z) for w, z in zip(weights, places, strict=True))
    change = problem.gradient(y) - problem.gradient(x)
    return {"largest_difference": np.abs(change - mean @ (y - x)).max()}


@stated("equation-14", holds=lambda m: m["largest_difference"] < _IDENTITY)
def unrolled() -> Measurements:
    """Equation (14): powers of A against the recursion with noise."""
    rng = np.random.default_rng(1)
    method = Method(0.2, 0.6)
    dimension = 4
    steps = 30

    # A random Hessian with largest eigenvalue 1.
    root = rng.standard_normal((dimension, dimension))
    H = root @ root.T + np.eye(dimension)
    A = system(H / np.linalg.eigvalsh(H)[-1], method)

    # Noise enters y with 1 + beta and the velocity with 1.
    identity = np.eye(dimension)
    gain = np.concatenate([(1.0 + method.beta) * identity, identity])
    kicks = method.alpha * rng.standard_normal((steps, dimension)) @ gain.T

    first = np.concatenate([rng.standard_normal(dimension), np.zeros(dimension)])
    state = first
    for kick in kicks:
        state = A @ state - kick

    total = np.linalg.matrix_power(A, steps) @ first
    for j, kick in enumerate(kicks):
        total = total - np.linalg.matrix_power(A, steps - 1 - j) @ kick

    return {"largest_difference": np.abs(total - state).max()}


@stated("lemma-2", holds=lambda m: m["largest_difference"] < 1e-6)
def closed_radius() -> Measurements:
    """The closed form against numerical eigenvalues of random systems."""
    rng = np.random.default_rng(3)
    curvature = Curvature(0.1, 1.0)
    largest = 0.0
    for _ in range(60):
        # A range that extends beyond the stable region on every side.
        method = Method(rng.uniform(0.0, 3.0), rng.uniform(-1.2, 1.2))

        # A Hessian with both ends of the spectrum and four eigenvalues between them, in random
        # axes.
        values = np.concatenate([[0.1], rng.uniform(0.1, 1.0, 4), [1.0]])
        basis = np.linalg.qr(rng.standard_normal((6, 6)))[0]
        A = system((basis * values) @ basis.T, method)
        numerical = np.abs(np.linalg.eigvals(A)).max()
        largest = max(largest, abs(numerical - spectral_radius(curvature, method)))

    return {"largest_difference": largest}


@stated(
    "appendix-b-powers",
    holds=lambda m: m["largest_difference"] < 1e-9 and m["coefficient"] < 1e-9,
)
def powers() -> Measurements:
    """Appendix B: B(mu)^k at the standard parameters, and the resulting noise coefficient."""
    largest = 0.0
    algebra = 0.0
    for Q in _RATIOS:
        s = np.sqrt(Q)
        rho = (s - 1.0) / s
        method = nesterov(Curvature(1.0, Q))
        for k in (1, 2, 5, 20, 60):
            # rho = 1 - 1/√Q is a double eigenvalue, hence the factors k.
            upper = [(1 + k / (s + 1)) * rho**k, k * ((s - 1) / (s + 1)) ** 2 * rho ** (k - 1)]
            lower = [-k / Q * rho ** (k - 1), (1 - k / (s + 1)) * rho**k]
            power = np.linalg.matrix_power(block(1.0, method), k)
            largest = max(largest, np.abs(power - [upper, lower]).max())

        left = ((1 + method.beta) ** 2 + 1) / (1 - rho**2)
        right = (5 * Q**2 + 2 * Q**1.5 + Q) / ((s + 1) ** 2 * (2 * s - 1))
        algebra = max(algebra, abs(left / right - 1.0))

    return {"largest_difference": largest, "coefficient": algebra}


@stated("appendix-c-permutation", holds=lambda m: m["largest_difference"] == 0.0)
def sorting() -> Measurements:
    """P M Pᵀ entry by entry: sorting moves numbers without changing them."""
    from scipy.linalg import block_diag

    rng = np.random.default_rng(4)
    largest = 0.0
    for dimension in (1, 2, 5):
        a, b, c, d = rng.standard_normal((4, dimension))
        M = np.block([[np.diag(a), np.diag(b)], [np.diag(c), np.diag(d)]])
        P = permutation(dimension)
        blocks = [[[a[j], b[j]], [c[j], d[j]]] for j in range(dimension)]
        largest = max(largest, np.abs(P @ M @ P.T - block_diag(*blocks)).max())

    return {"largest_difference": largest}
