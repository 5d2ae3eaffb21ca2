"""Budgets of steps: exact moments, known optima, and bounds that no curvature exceeds."""

from itertools import product

import numpy as np
import pytest

from ravine import Curvature, Method, second_moment
from ravine.theory.ladder.batch_noise import Batches, batch_noise
from ravine.theory.tuning.budget import fastest_budget, moment_after


def test_two_point_curvature_by_enumeration():
    """Terms of curvature 1 or 5, one of them in four: all paths of six steps, without noise."""
    method, steps, mean = Method(0.2, 0.5, 0.3), 6, 2.0
    total = 0.0
    for path in product((1.0, 5.0), repeat=steps):
        x = before = 2.0
        for curvature in path:
            y = x + 0.3 * (x - before)
            x, before = x + 0.5 * (x - before) - 0.2 * curvature * y, x
        chance = np.prod([0.75 if c == 1.0 else 0.25 for c in path])
        total += chance * (x + 0.3 * (x - before)) ** 2
    noise = batch_noise(Curvature(mean, mean), L_max=5.0, mu_min=1.0)
    found = moment_after(np.array([mean]), method, noise, distance=2.0, steps=steps)
    assert found[0] == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize("steps", [1, 2, 7, 64, 1000])
@pytest.mark.parametrize("method", [Method(0.1, -0.6), Method(0.1), Method(0.1, 0.9, 0.2)])
def test_without_random_curvature_it_is_the_recursion(steps, method):
    lam, sigma2, start = np.array([0.3, 2.0, 9.0]), np.array([1.0, 0.2, 0.5]), np.array([1, 2, 0.5])
    found = moment_after(lam, method, sigma2=sigma2, distance=start, steps=steps)
    expected = second_moment(lam, method, sigma2=sigma2, start=start, steps=steps)[-1]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_overflow_is_infinite_without_a_warning():
    assert moment_after(np.ones(1), Method(9.0, 5.0), steps=10**6)[0] == np.inf


def test_one_step_in_one_direction_is_wiener_s_filter():
    # (1 - c lambda)² s² + c² sigma² is least at c = lambda s²/(lambda² s² + sigma²).
    found = fastest_budget(Curvature(3, 3), sigma2=2.0, distance=0.7, steps=1)
    assert found.value == pytest.approx(0.49 * 2.0 / (9 * 0.49 + 2.0), rel=1e-6)


def test_without_noise_many_steps_reach_nesterovs_rate():
    # The worst of [mu, L] shrinks with at best 1 - 2/√(3Q+1) per step, times a polynomial.
    short, long = (fastest_budget(Curvature(1, 30), sigma2=0, steps=K).value for K in (40, 80))
    assert (long / short) ** (1 / 80) == pytest.approx(1 - 2 / np.sqrt(91), abs=0.02)


def test_errors_that_a_float_cannot_hold_are_told_apart():
    """Close to Nesterov's best rate 1 - 2/√(3Q+1), though the error is below 1e-320."""
    best = fastest_budget(Curvature(1, 2), sigma2=0, steps=430)
    assert 0.0 < best.value < 1e-320
    h = float(best.method.alpha) * np.array([1.0, 1.5, 2.0])
    beta = float(best.method.beta)
    roots = [np.roots([1.0, -(1 + beta) * (1 - x), beta * (1 - x)]) for x in h]
    assert np.abs(roots).max() == pytest.approx(1 - 2 / np.sqrt(7), rel=0.02)


@pytest.mark.parametrize("quantity", ["distance", "objective"])
@pytest.mark.parametrize(("Q", "steps", "sigma2"), [(10.0, 5, 1.0), (300.0, 70, 0.01)])
def test_no_curvature_exceeds_the_bound_and_no_neighbour_is_better(Q, steps, sigma2, quantity):
    best = fastest_budget(Curvature(1, Q), sigma2=sigma2, steps=steps, quantity=quantity)
    lam = np.concatenate([np.geomspace(1, Q, 3000), np.linspace(1, Q, 3000)])
    weight = 0.5 * lam if quantity == "objective" else 1.0
    errors = weight * moment_after(lam, best.method, sigma2=sigma2, steps=steps)
    assert best.certain
    assert errors.max() <= best.value
    assert errors.max() == pytest.approx(best.value, rel=1e-4)
    rng = np.random.default_rng(2)
    size = np.repeat([1e-3, 0.03, 1.0], 20)
    alpha = float(best.method.alpha) * np.exp(size * rng.standard_normal(60))
    beta = float(best.method.beta) + 0.4 * size * rng.standard_normal(60)
    cloud = Method(alpha[:, None], beta[:, None])
    others = weight * moment_after(lam, cloud, sigma2=sigma2, steps=steps)
    assert others.max(axis=-1).min() >= best.value * (1 - 1e-4)


def test_a_budget_beyond_the_bound_is_said_to_be_about(monkeypatch):
    monkeypatch.setattr("ravine.theory.tuning.budget._MOST_STEPS", 3)
    best = fastest_budget(Curvature(1, 10), sigma2=1.0, steps=4)
    assert not best.certain


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"steps": 0}, "steps must be at least 1"),
        ({"sigma2": -1.0}, "sigma2 must be zero or more"),
        ({"batches": Batches(batch_size=0)}, "batch_size must be positive"),
    ],
)
def test_bad_input_is_refused(options, line):
    with pytest.raises(ValueError, match=line):
        fastest_budget(Curvature(1, 10), **{"sigma2": 1.0, "steps": 5, **options})
