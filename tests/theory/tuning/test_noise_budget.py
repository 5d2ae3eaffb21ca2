"""Budgets of steps: known optima, and that nothing nearby or simpler is better."""

import numpy as np
import pytest

from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.noise.moments import second_moment
from ravine.theory.tuning.noise_budget import budget_error, fastest_budget


@pytest.mark.parametrize("steps", [1, 2, 7, 64, 1000])
@pytest.mark.parametrize("beta", [-0.6, 0.0, 0.9])
def test_doubling_is_the_recursion(steps, beta):
    lam, sigma2, start = np.array([0.3, 2.0, 9.0]), np.array([1.0, 0.2, 0.5]), np.array([1, 2, 0.5])
    found = budget_error(np.array([0.1]), np.array([beta]), lam, sigma2, start, steps)[0]
    expected = second_moment(lam, Method(0.1, beta), sigma2=sigma2, start=start, steps=steps)[-1]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_doubling_knows_the_look_ahead():
    one = np.ones(1)
    lam = np.array([0.3, 2.0])
    value = budget_error(
        0.1 * one, 0.7 * one, lam, np.float64(1), np.float64(2), 9, gamma=0.2 * one
    )
    method = Method(0.1, 0.7, 0.2)
    expected = second_moment(lam, method, sigma2=1.0, start=2.0, steps=9)[-1]
    np.testing.assert_allclose(value[0], expected, rtol=1e-10)


def test_overflow_is_infinite_without_a_warning():
    one = np.ones(1)
    assert budget_error(9 * one, 5 * one, one, np.float64(1), np.float64(1), 10**6)[0, 0] == np.inf


def test_one_step_in_one_direction_is_wiener_s_filter():
    # (1 - c lambda)² s² + c² sigma² is least at c = lambda s²/(lambda² s² + sigma²).
    found = fastest_budget([3.0], sigma2=2.0, start=0.7, steps=1)
    assert found.value == pytest.approx(0.49 * 2.0 / (9 * 0.49 + 2.0), rel=1e-10)


def test_without_noise_many_steps_reach_nesterovs_rate():
    # The worst of [mu, L] shrinks with at best 1 - 2/√(3Q+1) a step, times a polynomial.
    short, long = (fastest_budget(Curvature(1, 30), sigma2=0, steps=K).value for K in (40, 80))
    rate = (long / short) ** (1 / 80)
    assert rate == pytest.approx(1 - 2 / np.sqrt(91), abs=0.02)


@pytest.mark.parametrize(
    ("Q", "steps", "sigma2"), [(10.0, 5, 1.0), (32.0, 50, 0.1), (100.0, 30, 10.0)]
)
def test_no_point_of_a_random_cloud_beats_the_budget(Q, steps, sigma2):
    found = fastest_budget(Curvature(1, Q), sigma2=sigma2, steps=steps)
    lam = np.geomspace(1, Q, 3000)
    rng = np.random.default_rng(2)
    size = np.repeat([1e-3, 0.03, 1.0], 200)
    alpha = float(found.method.alpha) * np.exp(size * rng.standard_normal(600))
    beta = float(found.method.beta) + 0.4 * size * rng.standard_normal(600)
    one = np.float64(1)
    cloud = budget_error(alpha, beta, lam, np.float64(sigma2), one, steps).max(axis=-1)
    # Two sets of eigenvalues stand for [mu, L]; they differ in the sixth digit of the worst.
    assert cloud.min() >= found.value * (1 - 1e-5)
    errors = second_moment(lam, found.method, sigma2=sigma2, steps=steps)[-1]
    assert errors.max() == pytest.approx(found.value, rel=1e-5)


@pytest.mark.parametrize("steps", [3, 60])
@pytest.mark.parametrize("sigma2", [0.0, 0.1, 100.0])
def test_the_budget_is_never_worse_than_the_best_sgd(steps, sigma2):
    lam = np.array([1.0, 3.0, 40.0])
    found = fastest_budget(lam, sigma2=sigma2, start=[1.0, 0.5, 2.0], steps=steps)
    alpha = np.geomspace(1e-7, 0.1, 4000)
    start = np.array([1.0, 0.5, 2.0])
    sgd = budget_error(alpha, 0 * alpha, lam, np.float64(sigma2), start, steps).sum(axis=-1)
    assert found.value <= sgd.min() * (1 + 1e-9)
    again = second_moment(lam, found.method, sigma2=sigma2, start=start, steps=steps)[-1].sum()
    assert again == pytest.approx(found.value, rel=1e-8)


def test_negative_momentum_is_found_where_it_is_best():
    # Two steps are a polynomial of degree 2 in lambda: with beta = -.68 it is small at 1 and at 10.
    lam, start = np.array([1.0, 10.0]), np.ones(2)
    found = fastest_budget(lam, sigma2=0.01, start=start, steps=2)
    alpha, beta = np.meshgrid(np.geomspace(1e-3, 1, 300), np.linspace(0, 0.999, 200))
    positive = budget_error(alpha, beta, lam, np.float64(0.01), start, 2).sum(axis=-1).min()
    assert float(found.method.beta) == pytest.approx(-0.6825, abs=1e-4)
    assert found.value < positive / 10


def test_momentum_stays_below_one():
    # beta = -1.76 would be better still.
    found = fastest_budget([1.0, 1.5, 2.0], sigma2=0.0, steps=2)
    assert abs(float(found.method.beta)) < 1


def test_a_start_at_the_minimiser_is_left_alone():
    found = fastest_budget(Curvature(1, 5), sigma2=1.0, start=0.0, steps=10)
    assert (found.value, float(found.method.alpha)) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("problem", "options", "message"),
    [
        ([1.0, -2.0], {"steps": 5}, "eigenvalues must be positive"),
        ([[1.0, 2.0]], {"steps": 5}, "eigenvalues must be one row"),
        ([1.0, 2.0], {"steps": 0}, "steps must be at least 1"),
        ([1.0, 2.0], {"steps": 5, "start": [1, 2, 3]}, "broadcast"),
        (Curvature(1, [2, 3]), {"steps": 5}, "L must be a single number"),
        (Curvature(1, 2), {"steps": 5, "sigma2": -1}, "sigma2 must be zero or more"),
    ],
)
def test_refusals_take_one_line(problem, options, message):
    with pytest.raises(ValueError, match=message) as caught:
        fastest_budget(problem, **options)
    assert "\n" not in str(caught.value)


def test_a_budget_for_the_loss_is_the_best_for_the_loss():
    """In one direction loss and distance are the same question; over a range they are not."""
    alone = fastest_budget([3.0], sigma2=0.5, start=2.0, steps=7)
    loss = fastest_budget([3.0], sigma2=0.5, start=2.0, steps=7, quantity="objective")
    assert loss.value == pytest.approx(1.5 * alone.value, rel=1e-6)

    eigenvalues = np.array([0.1, 1.0, 10.0])
    distance = fastest_budget(eigenvalues, sigma2=0.5, start=2.0, steps=20)
    loss = fastest_budget(eigenvalues, sigma2=0.5, start=2.0, steps=20, quantity="objective")

    def excess(method):
        path = second_moment(
            eigenvalues, method, sigma2=0.5, start=2.0, steps=20, quantity="objective"
        )
        return float(path[-1].sum())

    assert excess(loss.method) == pytest.approx(loss.value, rel=1e-9)
    assert loss.value < 0.9 * excess(distance.method)
