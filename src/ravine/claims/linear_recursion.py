"""Claims on the linear recursion behind the method: equations (7) to (15), appendices A to C."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.claims.claim import Evidence, Measurements, judgement, stated
from ravine.curvature import Curvature
from ravine.methods import Method, nesterov
from ravine.theory.blocks import block, permutation, system
from ravine.theory.ladder.rates import spectral_radius

_RATIOS = (2.0, 8.0, 32.0, 128.0)
"""Condition numbers at which closed forms are compared with products."""

_IDENTITY = 1e-10
"""Largest difference of two sides of an identity: numbers of order one, some thousand operations
of relative error 1e-16."""


def _recursion(_: Evidence) -> Measurements:
    """Equations (7) to (9) on arbitrary gradients: they hold for any sequence g_k."""
    rng = np.random.default_rng(0)
    alpha = 0.3
    dimension = 5

    largest = 0.0
    for beta in (-0.7, 0.0, 0.4, 0.95):
        x = rng.standard_normal(dimension)
        last = x

        # r = y_{k+1} - x* with x* = 0, and v = x_k - x_{k-1}: at rest the two start as below.
        r = x.copy()
        v = np.zeros(dimension)

        for _step in range(50):
            gradient = rng.standard_normal(dimension)

            # The method itself.
            y = x + beta * (x - last)
            x, last = y - alpha * gradient, x

            # The recursion.
            r, v = r + beta**2 * v - alpha * (1.0 + beta) * gradient, beta * v - alpha * gradient

            ahead = x + beta * (x - last)
            off_r = float(np.abs(r - ahead).max())
            off_v = float(np.abs(v - (x - last)).max())
            largest = max(largest, off_r, off_v)

    return {"largest_difference": largest}


def _unrolled(_: Evidence) -> Measurements:
    """Equation (14): powers of A against the recursion with noise."""
    rng = np.random.default_rng(1)
    method = Method(0.2, 0.6)
    alpha = float(method.alpha)
    dimension = 4
    steps = 30

    # A random Hessian with largest eigenvalue 1.
    root = rng.standard_normal((dimension, dimension))
    H = root @ root.T + np.eye(dimension)
    H /= np.linalg.eigvalsh(H)[-1]

    A = system(H, method)
    noise = rng.standard_normal((steps, dimension))

    # Noise enters y with 1 + beta and the velocity with 1.
    gain = np.concatenate([(1.0 + float(method.beta)) * np.eye(dimension), np.eye(dimension)])

    first = np.concatenate([rng.standard_normal(dimension), np.zeros(dimension)])
    state = first
    for zeta in noise:
        state = A @ state - alpha * gain @ zeta

    total = np.linalg.matrix_power(A, steps) @ first
    for j, zeta in enumerate(noise):
        power = np.linalg.matrix_power(A, steps - 1 - j)
        total = total - alpha * power @ gain @ zeta

    return {"largest_difference": float(np.abs(total - state).max())}


def _averaged_hessian(_: Evidence) -> Measurements:
    """Equation (10) on a loss that is not quadratic, by Gauss-Legendre quadrature."""
    rng = np.random.default_rng(2)
    rows = 20
    features = 3
    l2 = 0.1
    X = rng.standard_normal((rows, features))
    labels = np.sign(rng.standard_normal(rows))

    def slope(w: FloatArray) -> FloatArray:
        """Gradient of the mean of ln(1 + exp(-label x·w)), and of the regulariser."""
        weights = labels / (1.0 + np.exp(labels * (X @ w)))
        return np.asarray(-(X.T @ weights) / rows + l2 * w)

    def hessian(w: FloatArray) -> FloatArray:
        p = 1.0 / (1.0 + np.exp(-(X @ w)))
        return np.asarray((X.T * (p * (1.0 - p))) @ X / rows + l2 * np.eye(features))

    x = rng.standard_normal(features)
    y = rng.standard_normal(features)

    # Forty nodes are exact for polynomials of degree 79: rounding is all that is left on a
    # function as smooth as this. Nodes lie in [-1, 1], the segment in [0, 1].
    nodes, weights = np.polynomial.legendre.leggauss(40)
    mean = np.zeros((features, features))
    for node, weight in zip(nodes, weights, strict=True):
        place = 0.5 * (node + 1.0)
        mean = mean + 0.5 * weight * hessian(x + place * (y - x))

    return {"largest_difference": float(np.abs(slope(y) - slope(x) - mean @ (y - x)).max())}


def _spectral_radius(_: Evidence) -> Measurements:
    """The closed form against numerical eigenvalues of random systems."""
    rng = np.random.default_rng(3)
    curvature = Curvature(0.1, 1.0)

    largest = 0.0
    for _draw in range(60):
        # Beyond the stable region on every side.
        method = Method(rng.uniform(0.0, 3.0), rng.uniform(-1.2, 1.2))

        # A Hessian with both ends of the spectrum, and four eigenvalues between, in random axes.
        values = np.concatenate([[0.1], rng.uniform(0.1, 1.0, 4), [1.0]])
        basis = np.linalg.qr(rng.standard_normal((6, 6)))[0]
        A = system((basis * values) @ basis.T, method)

        numerical = float(np.abs(np.linalg.eigvals(A)).max())
        closed = float(spectral_radius(curvature, method))
        largest = max(largest, abs(numerical - closed))

    return {"largest_difference": largest}


def _powers(_: Evidence) -> Measurements:
    """Appendix B: B(mu)^k at the standard parameters, and the noise coefficient that follows."""
    largest = 0.0
    algebra = 0.0
    for Q in _RATIOS:
        s = np.sqrt(Q)
        method = nesterov(Curvature(1.0, Q))
        flat = block(1.0, method)

        for k in (1, 2, 5, 20, 60):
            off = np.abs(np.linalg.matrix_power(flat, k) - _stated_power(Q, k)).max()
            largest = max(largest, float(off))

        rho = (s - 1.0) / s
        left = ((1 + float(method.beta)) ** 2 + 1) / (1 - rho**2)
        right = (5 * Q**2 + 2 * Q**1.5 + Q) / ((s + 1) ** 2 * (2 * s - 1))
        algebra = max(algebra, abs(float(left / right) - 1.0))

    return {"largest_difference": largest, "coefficient": algebra}


def _stated_power(Q: float, k: int) -> FloatArray:
    """B(mu)^k as the appendix has it: rho = 1 - 1/√Q is a double root, hence the factors k."""
    s = np.sqrt(Q)
    rho = (s - 1.0) / s
    upper = [(1 + k / (s + 1)) * rho**k, k * ((s - 1) / (s + 1)) ** 2 * rho ** (k - 1)]
    lower = [-k / Q * rho ** (k - 1), (1 - k / (s + 1)) * rho**k]
    return np.array([upper, lower])


def _permutation(_: Evidence) -> Measurements:
    """P M Pᵀ entry by entry: sorting moves numbers and changes none."""
    rng = np.random.default_rng(4)

    largest = 0.0
    for dimension in (1, 2, 5):
        a, b, c, d = rng.standard_normal((4, dimension))
        M = np.block([[np.diag(a), np.diag(b)], [np.diag(c), np.diag(d)]])

        P = permutation(dimension)
        sorted_blocks = P @ M @ P.T

        expected = np.zeros((2 * dimension, 2 * dimension))
        for j in range(dimension):
            rows = slice(2 * j, 2 * j + 2)
            expected[rows, rows] = [[a[j], b[j]], [c[j], d[j]]]

        largest = max(largest, float(np.abs(sorted_blocks - expected).max()))

    return {"largest_difference": largest}


CLAIMS = (
    stated("equations-7-9", _recursion, lambda m: judgement(m["largest_difference"] < _IDENTITY)),
    stated(
        "equation-10", _averaged_hessian, lambda m: judgement(m["largest_difference"] < _IDENTITY)
    ),
    stated("equation-14", _unrolled, lambda m: judgement(m["largest_difference"] < _IDENTITY)),
    stated("lemma-2", _spectral_radius, lambda m: judgement(m["largest_difference"] < 1e-6)),
    stated(
        "appendix-b-powers",
        _powers,
        lambda m: judgement(m["largest_difference"] < 1e-9 and m["coefficient"] < 1e-9),
    ),
    stated(
        "appendix-c-permutation", _permutation, lambda m: judgement(m["largest_difference"] == 0.0)
    ),
)
"""In the order of the paper."""
