"""The family and its usual parameters, run by the plain recursion."""

import numpy as np
import pytest

from ravine import (
    Curvature,
    Method,
    gradient_descent,
    heavy_ball,
    nesterov,
    quasi_hyperbolic,
    sgd,
    triple_momentum,
)


def test_look_ahead_defaults_to_momentum():
    assert Method(0.1, 0.9).gamma == 0.9
    assert Method(0.1, [0.5, 0.9]).is_nesterov
    assert not Method(0.1, 0.9, 0.0).is_nesterov
    assert Method(0.1).beta == 0.0


def test_negative_momentum_is_legal_and_a_negative_step_is_not():
    assert Method(0.1, -0.5, -0.7).gamma == -0.7
    with pytest.raises(ValueError, match=r"alpha must be zero or more, and finite, got -0\.1"):
        Method(-0.1)
    with pytest.raises(ValueError, match="beta must be finite, got nan"):
        Method(0.1, np.nan)
    with pytest.raises(ValueError, match="alpha and beta must be of shapes"):
        Method([0.1, 0.2], [0.1, 0.2, 0.3], 0.0)


def slowest_decay(method: Method, curvature: Curvature, steps: int = 400) -> float:
    """Measured rate of x - x* over the whole spectrum, by the recursion that defines the family."""
    eigenvalues = np.linspace(float(curvature.mu), float(curvature.L), 200)
    x = previous = np.ones_like(eigenvalues)
    sizes = []
    for _ in range(steps):
        y = x + method.gamma * (x - previous)
        x, previous = x + method.beta * (x - previous) - method.alpha * eigenvalues * y, x
        sizes.append(np.abs(x).max())
    return float((sizes[-1] / sizes[steps // 2]) ** (1.0 / (steps - 1 - steps // 2)))


@pytest.mark.parametrize(
    ("usual", "rate"),
    [
        (sgd, lambda s: (s**2 - 1) / (s**2 + 1)),
        (gradient_descent, lambda s: 1 - 1 / s**2),
        (nesterov, lambda s: 1 - 1 / s),
        (heavy_ball, lambda s: (s - 1) / (s + 1)),
        (triple_momentum, lambda s: 1 - 1 / s),
    ],
)
def test_usual_parameters_reach_their_published_rates(usual, rate):
    curvature = Curvature(0.5, 8.0)
    # At a double root the decay is k rate^k: over 200 steps that is 2^(1/200) - 1 = 0.35 % slower.
    assert slowest_decay(usual(curvature), curvature) == pytest.approx(rate(4.0), rel=4e-3)


def test_usual_parameters_broadcast():
    curvature = Curvature(1.0, np.array([2.0, 8.0, 32.0]))
    for usual in (sgd, gradient_descent, nesterov, heavy_ball, triple_momentum):
        assert np.shape(usual(curvature).alpha) == (3,)


def test_quasi_hyperbolic_momentum_runs_as_its_member_of_the_family():
    rng = np.random.default_rng(0)
    H = np.diag([1.0, 4.0, 9.0])
    alpha, beta, nu = 0.2, 0.8, 0.6
    y, average = rng.standard_normal(3), np.zeros(3)
    method = quasi_hyperbolic(alpha, beta, nu)
    x, before = y, y
    for _ in range(30):
        point = x + float(method.gamma) * (x - before)
        np.testing.assert_allclose(point, y, rtol=1e-9, atol=1e-12)
        average = beta * average + (1 - beta) * (H @ y)
        y = y - alpha * ((1 - nu) * (H @ y) + nu * average)
        step = float(method.beta) * (x - before) - float(method.alpha) * (H @ point)
        x, before = x + step, x


def test_quasi_hyperbolic_momentum_has_its_special_cases():
    assert quasi_hyperbolic(0.1, 0.9, 1.0).gamma == 0.0
    assert quasi_hyperbolic(0.1, 0.9, 0.9).gamma == pytest.approx(0.9)
    with pytest.raises(ValueError, match="beta must be below 1"):
        quasi_hyperbolic(0.1, 1.0, 0.5)
