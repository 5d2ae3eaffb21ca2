"""Claims on exact gradients and the recursion: introduction, section 2, appendices."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.claims.claim import Claim, Data, Evidence, either
from ravine.curvature import Curvature
from ravine.methods import Method, nesterov, sgd
from ravine.problems.quadratic import Quadratic
from ravine.problems.worst_case import worst_case_quadratic
from ravine.theory.blocks import block, permutation, system
from ravine.theory.bounds.additive_noise import gradient_descent_bound, lower_bound, nesterov_bound
from ravine.theory.ladder.rates import spectral_radius

_RATIOS = (2.0, 8.0, 32.0, 128.0)
_ROUNDING = 1e-9


def _objectives(problem: Quadratic, method: Method, steps: int) -> FloatArray:
    """f(x_k) - f* of a noiseless run, k = 0, ..., steps."""
    x = last = problem.start
    out = [problem.objective(x) - problem.minimum]
    for _ in range(steps):
        y = x + float(method.gamma) * (x - last)
        x, last = (
            x + float(method.beta) * (x - last) - float(method.alpha) * problem.gradient(y),
            x,
        )
        out.append(problem.objective(x) - problem.minimum)
    return np.array(out)


def _distance(problem: Quadratic) -> float:
    return float(np.linalg.norm(problem.start - problem.minimiser))


def _gradient_descent(_: Evidence) -> Data:
    worst = 0.0
    for Q in _RATIOS:
        problem = worst_case_quadratic(Q, 40)
        bound = gradient_descent_bound(problem.curvature, steps=60, distance=_distance(problem))
        gaps = _objectives(problem, sgd(problem.curvature), 60)
        worst = max(worst, float((gaps / bound.values).max()))
    ends = Quadratic(np.diag([1.0, 32.0]), start=[1.0, 0.0])
    gaps = _objectives(ends, sgd(ends.curvature), 60)
    kappa = float(np.sqrt(gaps[60] / gaps[20]) ** (1.0 / 40.0))
    return {"largest_ratio": worst, "measured_rate": kappa, "rate": 31.0 / 33.0}


def _nesterov(_: Evidence) -> Data:
    worst, rates = 0.0, []
    for Q in _RATIOS:
        problem = worst_case_quadratic(Q, 40)
        bound = nesterov_bound(problem.curvature, steps=60, distance=_distance(problem))
        gaps = _objectives(problem, nesterov(problem.curvature), 60)
        worst = max(worst, float((gaps / bound.values).max()))
        rates.append(float(bound.rate))
    return {"largest_ratio": worst, "rates": rates}


def _lower(_: Evidence) -> Data:
    """Conjugate gradients minimise f over the span of all gradients, so they bound every method."""
    least = np.inf
    for Q in (8.0, 32.0, 128.0):
        problem = worst_case_quadratic(Q, 200)
        bound = lower_bound(problem.curvature, steps=40, distance=_distance(problem))
        x, H = problem.start.copy(), problem.hessian()
        g = problem.gradient(x)
        p = -g
        for k in range(41):
            gap = problem.objective(x) - problem.minimum
            if bound.values[k] > 1e-10:  # below that the difference of objectives is rounding
                least = min(least, gap / bound.values[k])
            step = g @ g / (p @ H @ p)
            x = x + step * p
            new = g + step * (H @ p)
            p, g = -new + (new @ new) / (g @ g) * p, new
    return {"least_ratio": float(least)}


def _recursion(_: Evidence) -> Data:
    """Equations (7) to (9) on arbitrary gradients: they hold for any sequence g_k."""
    rng = np.random.default_rng(0)
    worst = 0.0
    for beta in (-0.7, 0.0, 0.4, 0.95):
        alpha, d = 0.3, 5
        x = last = rng.standard_normal(d)
        r, v = x.copy(), np.zeros(d)
        for _step in range(50):
            g = rng.standard_normal(d)
            y = x + beta * (x - last)
            x, last = y - alpha * g, x
            r, v = r + beta**2 * v - alpha * (1.0 + beta) * g, beta * v - alpha * g
            there = x + beta * (x - last)
            worst = max(worst, float(np.abs(r - there).max()), float(np.abs(v - (x - last)).max()))
    return {"largest_difference": worst}


def _unrolled(_: Evidence) -> Data:
    """Equation (14): powers of A against the recursion with noise."""
    rng = np.random.default_rng(1)
    method, d, steps = Method(0.2, 0.6), 4, 30
    root = rng.standard_normal((d, d))
    H = root @ root.T + np.eye(d)
    H /= np.linalg.eigvalsh(H)[-1]
    A, noise = system(H, method), rng.standard_normal((steps, d))
    gain = np.concatenate([(1.0 + float(method.beta)) * np.eye(d), np.eye(d)])
    state = first = np.concatenate([rng.standard_normal(d), np.zeros(d)])
    for zeta in noise:
        state = A @ state - float(method.alpha) * gain @ zeta
    total = np.linalg.matrix_power(A, steps) @ first
    for j, zeta in enumerate(noise):
        power = np.linalg.matrix_power(A, steps - 1 - j)
        total = total - float(method.alpha) * power @ gain @ zeta
    return {"largest_difference": float(np.abs(total - state).max())}


def _averaged_hessian(_: Evidence) -> Data:
    """Equation (10) on a loss that is not quadratic, by Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(40)
    rng = np.random.default_rng(2)
    X, labels = rng.standard_normal((20, 3)), np.sign(rng.standard_normal(20))

    def slope(w: FloatArray) -> FloatArray:
        return np.asarray(-(X.T @ (labels / (1.0 + np.exp(labels * (X @ w))))) / 20 + 0.1 * w)

    def hessian(w: FloatArray) -> FloatArray:
        p = 1.0 / (1.0 + np.exp(-(X @ w)))
        return np.asarray((X.T * (p * (1.0 - p))) @ X / 20 + 0.1 * np.eye(3))

    x, y = rng.standard_normal(3), rng.standard_normal(3)
    mean = sum(
        0.5 * weight * hessian(x + 0.5 * (node + 1.0) * (y - x))
        for node, weight in zip(nodes, weights, strict=True)
    )
    return {"largest_difference": float(np.abs(slope(y) - slope(x) - mean @ (y - x)).max())}


def _spectral_radius(_: Evidence) -> Data:
    rng = np.random.default_rng(3)
    worst = 0.0
    for _draw in range(60):
        alpha, beta = rng.uniform(0.0, 3.0), rng.uniform(-1.2, 1.2)
        values = np.concatenate([[0.1], rng.uniform(0.1, 1.0, 4), [1.0]])
        basis = np.linalg.qr(rng.standard_normal((6, 6)))[0]
        A = system((basis * values) @ basis.T, Method(alpha, beta))
        found = float(np.abs(np.linalg.eigvals(A)).max())
        worst = max(
            worst, abs(found - float(spectral_radius(Curvature(0.1, 1.0), Method(alpha, beta))))
        )
    return {"largest_difference": worst}


def _powers(_: Evidence) -> Data:
    """Appendix B: B(mu)^k at the usual parameters, and the noise coefficient that follows."""
    worst = algebra = 0.0
    for Q in _RATIOS:
        s = np.sqrt(Q)
        method, rho = nesterov(Curvature(1.0, Q)), (s - 1.0) / s
        flat = block(1.0, method)
        for k in (1, 2, 5, 20, 60):
            exact = np.array(
                [
                    [(1 + k / (s + 1)) * rho**k, k * ((s - 1) / (s + 1)) ** 2 * rho ** (k - 1)],
                    [-k / Q * rho ** (k - 1), (1 - k / (s + 1)) * rho**k],
                ]
            )
            worst = max(worst, float(np.abs(np.linalg.matrix_power(flat, k) - exact).max()))
        left = ((1 + float(method.beta)) ** 2 + 1) / (1 - rho**2)
        right = (5 * Q**2 + 2 * Q**1.5 + Q) / ((s + 1) ** 2 * (2 * s - 1))
        algebra = max(algebra, abs(left / right - 1.0))
    return {"largest_difference": worst, "coefficient": algebra}


def _permutation(_: Evidence) -> Data:
    rng = np.random.default_rng(4)
    worst = 0.0
    for d in (1, 2, 5):
        parts = rng.standard_normal((4, d))
        M = np.block(
            [[np.diag(parts[0]), np.diag(parts[1])], [np.diag(parts[2]), np.diag(parts[3])]]
        )
        P = permutation(d)
        found, wished = P @ M @ P.T, np.zeros((2 * d, 2 * d))
        for j in range(d):
            wished[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = parts[:, j].reshape(2, 2)
        worst = max(worst, float(np.abs(found - wished).max()))
    return {"largest_difference": worst}


CLAIMS = (
    Claim(
        "equation-4",
        "Equation (4)",
        "Gradient descent with step 2/(mu+L) and exact gradients: f(x_k) - f* is at most "
        "L/2 ((Q-1)/(Q+1))^(2k) times the squared distance of the start.",
        "largest f(x_k) - f* over its bound, Q = 2 to 128: {largest_ratio:.4f}; rate in the worst "
        "direction at Q = 32: {measured_rate:.6f}",
        "(Q-1)/(Q+1) = {rate:.6f}, attained by a quadratic",
        _gradient_descent,
        lambda d: either(
            d["largest_ratio"] <= 1.0 + _ROUNDING and abs(d["measured_rate"] - d["rate"]) < 1e-6
        ),
    ),
    Claim(
        "equation-5",
        "Equation (5)",
        "Nesterov's method with the usual parameters and exact gradients: f(x_k) - f* is at most "
        "L (1 - 1/√Q)^k times the squared distance of the start.",
        "largest f(x_k) - f* over its bound, Q = 2 to 128: {largest_ratio:.4f}",
        "at most 1",
        _nesterov,
        lambda d: either(d["largest_ratio"] <= 1.0 + _ROUNDING),
    ),
    Claim(
        "equation-6",
        "Equation (6)",
        "On the worst-case quadratic no first-order method gets f(x_k) - f* below "
        "mu/2 ((√Q-1)/(√Q+1))^(2k) times the squared distance of the start.",
        "conjugate gradients, the best of all, d = 200: least f(x_k) - f* over the bound "
        "{least_ratio:.3f}",
        "at least 1 while k is far below d",
        _lower,
        lambda d: either(d["least_ratio"] >= 1.0 - _ROUNDING),
    ),
    Claim(
        "equations-7-9",
        "Equations (7) to (9)",
        "The pair (y_{k+1} - x*, x_k - x_{k-1}) obeys a linear recursion driven by the gradients.",
        "largest difference to the method itself: {largest_difference:.1e}",
        "an identity, for any gradients",
        _recursion,
        lambda d: either(d["largest_difference"] < 1e-10),
    ),
    Claim(
        "equation-10",
        "Equation (10)",
        "The difference of two gradients is the Hessian averaged over the segment between the "
        "points, times their difference.",
        "largest difference on a logistic loss: {largest_difference:.1e}",
        "an identity",
        _averaged_hessian,
        lambda d: either(d["largest_difference"] < 1e-10),
    ),
    Claim(
        "equation-14",
        "Equations (11) to (15)",
        "On a quadratic the state is A^k times the start, less alpha times the sum of A^(k-j) "
        "times the noise of step j.",
        "largest difference to the recursion: {largest_difference:.1e}",
        "an identity",
        _unrolled,
        lambda d: either(d["largest_difference"] < 1e-10),
    ),
    Claim(
        "lemma-2",
        "Lemma 2, Appendix A",
        "The spectral radius of A is the larger of rho at mu and rho at L, each in closed form.",
        "largest difference to numerical eigenvalues, 60 random matrices, stable or not: "
        "{largest_difference:.1e}",
        "an identity; numerical eigenvalues of a double root err by 1e-8",
        _spectral_radius,
        lambda d: either(d["largest_difference"] < 1e-6),
    ),
    Claim(
        "appendix-b-powers",
        "Appendix B",
        "At the usual parameters B(mu)^k has a closed form, and the noise coefficient becomes "
        "(5Q² + 2Q^(3/2) + Q)/((√Q+1)² (2√Q-1)) / L².",
        "largest difference of an entry {largest_difference:.1e}, of the coefficient "
        "{coefficient:.1e}",
        "identities",
        _powers,
        lambda d: either(d["largest_difference"] < 1e-9 and d["coefficient"] < 1e-9),
    ),
    Claim(
        "appendix-c-permutation",
        "Appendix C",
        "A permutation sorts a matrix of four diagonal blocks into blocks of two rows.",
        "largest difference: {largest_difference:.1e}",
        "an identity",
        _permutation,
        lambda d: either(d["largest_difference"] == 0.0),
    ),
)
"""In the order of the paper."""
