"""Equations (4) to (6): bounds for exact gradients."""

import numpy as np
import pytest

from ravine.curvature import Curvature
from ravine.methods import gradient_descent, heavy_ball, nesterov, sgd, triple_momentum
from ravine.theory import bounds

# Room for the rounding of the compared quantities, which are exact otherwise.
ROUNDING = 1 + 1e-9


def _valley(curvature, d):
    """A non-quadratic f with second derivatives mu + (L-mu) sech², in a turned basis; x* = 0."""
    rng = np.random.default_rng(d)
    U, _ = np.linalg.qr(rng.standard_normal((d, d)))
    mu, L = float(curvature.mu), float(curvature.L)

    def value(x):
        return 0.5 * mu * np.sum(x**2) + (L - mu) * np.sum(np.log(np.cosh(U.T @ x)))

    def gradient(x):
        return mu * x + (L - mu) * (U @ np.tanh(U.T @ x))

    return value, gradient


def _bowl(curvature, d):
    """A quadratic whose spectrum holds both ends; x* = 0."""
    rng = np.random.default_rng(d)
    U, _ = np.linalg.qr(rng.standard_normal((d, d)))
    lam = np.geomspace(float(curvature.mu), float(curvature.L), d)
    H = U @ np.diag(lam) @ U.T
    return (lambda x: 0.5 * x @ H @ x), (lambda x: H @ x)


def _objective(problem, method, x, steps):
    """f(x_k) - f* for k = 0, ..., steps with exact gradients."""
    value, gradient = problem
    before, values = x, [value(x)]
    for _ in range(steps):
        y = x + float(method.gamma) * (x - before)
        x, before = x + float(method.beta) * (x - before) - float(method.alpha) * gradient(y), x
        values.append(value(x))
    return np.array(values)


@pytest.mark.parametrize("Q", [1.0, 3.0, 40.0, 900.0])
@pytest.mark.parametrize("problem", [_valley, _bowl])
@pytest.mark.parametrize(
    ("bound", "standard"), [(bounds.gradient_descent, sgd), (bounds.nesterov, nesterov)]
)
def test_exact_gradients_stay_below_equations_4_and_5(bound, standard, problem, Q):
    curvature = Curvature(0.7, 0.7 * Q)
    start = np.random.default_rng(3).standard_normal(5)
    found = _objective(problem(curvature, 5), standard(curvature), start, 80)
    envelope = bound(curvature).envelope(steps=80, distance=np.linalg.norm(start))
    assert envelope.kind == "upper"
    assert envelope.bounds == "f(x_k) - f*"
    assert envelope.steps.tolist() == list(range(81))
    assert np.all(found <= envelope.values * ROUNDING + 1e-28)


def test_equations_4_to_6_as_stated():
    """At Q = 16: κ = 15/17, 1 - 1/√Q = 3/4, (√Q-1)/(√Q+1) = 3/5; mu = 2, ‖x_0 - x*‖ = 3."""
    curvature, k = Curvature(2.0, 32.0), np.arange(6)
    options = {"steps": 5, "distance": 3.0}
    for envelope, stated in [
        (bounds.gradient_descent(curvature).envelope(**options), 16 * (15 / 17) ** (2 * k) * 9),
        (bounds.nesterov(curvature).envelope(**options), 32 * 0.75**k * 9),
        (bounds.first_order(curvature).envelope(**options), 1 * 0.6 ** (2 * k) * 9),
    ]:
        np.testing.assert_allclose(envelope.values, stated, rtol=1e-12)
        assert envelope.rate == pytest.approx(stated[1] / stated[0])
        assert envelope.floor == 0.0


def test_equation_4_is_attained_by_the_steep_direction():
    """On the axis of L the factor per step is exactly -(Q-1)/(Q+1)."""
    curvature = Curvature(1.0, 10.0)
    steep = (lambda x: 5.0 * x @ x), (lambda x: 10.0 * x)
    found = _objective(steep, sgd(curvature), np.array([2.0]), 30)
    envelope = bounds.gradient_descent(curvature).envelope(steps=30, distance=2.0)
    np.testing.assert_allclose(found, envelope.values, rtol=1e-12)


@pytest.mark.parametrize("standard", [nesterov, gradient_descent, sgd, heavy_ball, triple_momentum])
@pytest.mark.parametrize("Q", [10.0, 400.0])
def test_no_method_beats_equation_6_on_the_chain(standard, Q):
    """A long tridiagonal quadratic started at zero: k steps reach k of its 1500 coordinates."""
    d, steps = 1500, 60
    curvature = Curvature(1.0, Q)
    pull = (Q - 1) / 4

    def product(x):
        out = (1 + 2 * pull) * x
        out[1:] -= pull * x[:-1]
        out[:-1] -= pull * x[1:]
        return out

    root = (np.sqrt(Q) - 1) / (np.sqrt(Q) + 1)
    minimiser = root ** np.arange(1.0, d + 1)
    force = np.zeros(d)
    force[0] = pull
    np.testing.assert_allclose(product(minimiser), force, atol=1e-12)
    problem = (
        lambda x: 0.5 * (x - minimiser) @ product(x - minimiser),
        lambda x: product(x - minimiser),
    )
    found = _objective(problem, standard(curvature), np.zeros(d), steps)
    envelope = bounds.first_order(curvature).envelope(
        steps=steps, distance=np.linalg.norm(minimiser)
    )
    assert envelope.kind == "lower"
    assert np.all(found >= envelope.values)
