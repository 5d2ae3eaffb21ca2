"""Safe steps and momenta sit exactly where the worst-case rate reaches one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ravine import Curvature, LinearMethod, Method, circle_rate
from ravine.theory.ladder.iid import critical_batch_size
from ravine.theory.ladder.safety import is_safe, safe_momentum, safe_step
from ravine.theory.ladder.worst_case import worst_case_rate

BETAS = np.linspace(-0.99, 0.99, 397)
MUS = np.geomspace(1e-9, 1.0, 250)[:, None]


def test_published_values():
    assert safe_step(1.0, 0.9) == pytest.approx(0.01163, abs=5e-6)
    assert safe_step(1.0, 1.0 / 3.0) == pytest.approx(1.0, rel=1e-14)
    assert safe_step(4.0, 0.0) == 0.5


def test_every_shorter_step_is_safe_for_every_mu():
    shares = np.array([0.01, 0.3, 0.7, 0.95, 1.0 - 1e-9])[:, None, None]
    # alpha mu must stay above rounding for a rate below one to be told from one.
    curvature = Curvature(np.maximum(MUS, 1e-6), 1.0)
    rate = worst_case_rate(curvature, Method(shares * safe_step(1.0, BETAS), BETAS))
    assert rate.max() < 1.0


def test_every_longer_step_fails_for_some_mu():
    rate = worst_case_rate(Curvature(MUS, 1.0), Method(1.001 * safe_step(1.0, BETAS), BETAS))
    assert rate.max(axis=0).min() > 1.0


def test_safe_momentum_value():
    # Root of 8 beta² q = 8 beta - (1 + beta)² q at q = 31/32.
    assert safe_momentum(Curvature(1, 32), 1 / 32) == pytest.approx(0.4464806362157005, rel=1e-12)


@pytest.mark.parametrize("Q", [2.0, 8.0, 32.0, 2000.0])
def test_safe_momentum_solves_its_equation_at_one_over_L(Q):
    beta, q = float(safe_momentum(Curvature(1.0, Q), 1.0 / Q)), 1.0 - 1.0 / Q
    assert 8.0 * beta**2 * q == pytest.approx(8.0 * beta - (1.0 + beta) ** 2 * q, abs=1e-12)


@given(st.floats(0.01, 2.2), st.floats(1.5, 1e4))
def test_safe_momentum_is_the_last_safe_one(step, Q):
    curvature = Curvature(1.0 / Q, 1.0)
    limit = float(safe_momentum(curvature, step))
    below, above = worst_case_rate(curvature, Method(step, limit + np.array([-1e-6, 1e-6])))
    assert below < 1.0
    assert above > 1.0
    beyond = worst_case_rate(curvature, Method(step, np.linspace(limit + 1e-6, limit + 2.0, 200)))
    assert beyond.min() >= 1.0


def test_safe_momentum_passes_one_where_the_sum_is_well_conditioned():
    assert safe_momentum(Curvature(1.0, 3.0), 1.0 / 3.0) == pytest.approx(1.0, rel=1e-12)
    assert safe_momentum(Curvature(1.0, 2.0), 0.5) > 1.4
    assert safe_momentum(Curvature(2.0, 2.0), 0.5) == np.inf


def test_no_momentum_saves_a_step_that_is_too_long():
    assert np.isnan(safe_momentum(Curvature(1.0, 32.0), 4.0 / 32.0))


def test_arrays_broadcast():
    limits = safe_momentum(Curvature(1.0, [8.0, 32.0]), np.array([[0.01], [0.02], [0.03]]))
    assert limits.shape == (3, 2)
    assert limits[2, 1] == safe_momentum(Curvature(1.0, 32.0), 0.03)


@pytest.mark.parametrize("beta", [1.0, -1.1, 1.5])
def test_a_momentum_that_is_never_safe_is_refused(beta):
    with pytest.raises(ValueError, match="beta must be between -1 and 1"):
        safe_step(1.0, beta)
    with pytest.raises(ValueError, match="beta must be between -1 and 1, got -1"):
        safe_step(1.0, -1.0, 0.0)


def test_momentum_minus_one_is_safe_below_two():
    assert safe_step(1.0, -1.0) == 2.0
    assert np.all(is_safe(Curvature(MUS, 1.0), Method(np.linspace(0.01, 1.999, 50), -1.0)))


def test_the_safe_step_of_the_whole_family():
    """Just below the limit every mu is safe; just above it some mu is not."""
    rng = np.random.default_rng(0)
    beta = rng.uniform(-0.99, 0.99, 500)
    gamma = rng.uniform(-1.5, 1.5, 500)
    limit = safe_step(1.0, beta, gamma)
    assert np.all(is_safe(Curvature(MUS, 1.0), Method((1.0 - 1e-9) * limit, beta, gamma)))
    above = is_safe(Curvature(MUS, 1.0), Method(1.001 * limit, beta, gamma))
    assert not above.all(axis=0).any()
    # Both cases of the formula are met: any order, and exact gradients.
    assert (beta * (1.0 + gamma) - gamma > 0.0).any()
    assert (beta * (1.0 + gamma) - gamma < 0.0).any()


def test_safety_is_the_worst_case_rate_below_one():
    rng = np.random.default_rng(1)
    n = 20_000
    Q = 10.0 ** rng.uniform(0.0, 6.0, n)
    curvature = Curvature(1.0 / Q, 1.0)
    beta = rng.uniform(-1.1, 1.1, n)
    gamma = np.where(rng.random(n) < 0.5, beta, rng.uniform(-1.0, 1.5, n))
    method = Method(3.0 * 10.0 ** rng.uniform(-3.0, 0.0, n), beta, gamma)
    rate = worst_case_rate(curvature, method)
    clear = np.abs(rate - 1.0) > 1e-9  # nearer to one a rounded rate decides nothing
    assert clear.mean() > 0.95
    np.testing.assert_array_equal(is_safe(curvature, method)[clear], (rate < 1.0)[clear])


def test_a_rate_that_rounds_to_one_does_not_hide_a_safe_momentum():
    # alpha mu = 1e-17: no float64 rate is below one. For mu -> 0 the limit is that of safe_step.
    limit = safe_momentum(Curvature(1.0, 1e16), 1e-17)
    assert safe_step(1e16, limit) == pytest.approx(1e-17, rel=1e-6)


def test_the_mean_square_safe_step():
    rng = np.random.default_rng(2)
    n = 300
    beta = rng.uniform(-0.95, 0.95, n)
    gamma = np.where(rng.random(n) < 0.5, beta, rng.uniform(-0.45, 1.2, n))
    size = np.floor(10.0 ** rng.uniform(0.0, 3.0, n))
    L_max = 10.0 ** rng.uniform(0.0, 2.0, n)
    limit = safe_step(1.0, beta, gamma, batch_size=size, L_max=L_max)
    for share in (0.1, 0.5, 0.9, 1.0 - 1e-9):
        for mu in (1e-9, 1e-3, 0.1, 1.0):
            curvature = Curvature(mu, 1.0)
            method = Method(share * limit, beta, gamma)
            assert np.all(critical_batch_size(curvature, method, L_max=L_max) < size)
    curvature = Curvature(1e-12, 1.0)
    beyond = critical_batch_size(curvature, Method(1.001 * limit, beta, gamma), L_max=L_max)
    assert np.all(beyond > size)
    assert np.all(limit <= 2.0 * size * (1.0 - beta) / L_max * (1.0 + 1e-12))


def test_the_mean_square_safe_momentum():
    curvature = Curvature(1.0, 32.0)
    limit = safe_momentum(curvature, 1 / 32, batch_size=[1, 8, 100], L_max=64.0)
    for shift, safe in ((-1e-9, True), (1e-9, False)):
        sizes = critical_batch_size(curvature, Method(1 / 32, limit + shift), L_max=64.0)
        assert np.all((sizes < [1, 8, 100]) == safe)


def test_options_that_would_be_ignored_are_refused():
    with pytest.raises(ValueError, match="L_max must be omitted without batch_size"):
        safe_step(1.0, 0.5, L_max=3.0)
    with pytest.raises(ValueError, match="L_max must be omitted without batch_size"):
        safe_momentum(Curvature(1, 2), 0.1, L_max=3.0)
    with pytest.raises(ValueError, match="L_max must be at least L"):
        safe_step(1.0, 0.5, batch_size=2, L_max=0.5)


@pytest.mark.parametrize("batches", [{}, {"batch_size": 3, "L_max": 20.0}])
@pytest.mark.parametrize(("beta", "gamma"), [(0.5, 0.5), (0.8, 0.0), (-0.4, 0.2), (0.0, 0.0)])
def test_a_linear_method_has_the_factor_of_the_closed_form(beta, gamma, batches):
    method = LinearMethod.of(Method(0.01, beta, gamma))
    limit = float(safe_step(4.0, beta, gamma, **batches))
    assert 0.01 * float(safe_step(4.0, method, **batches)) == pytest.approx(limit, rel=2e-6)


def test_late_gradients_are_safe_up_to_two_thirds():
    late = LinearMethod.multi_step([1], [0, 1.0])
    assert float(safe_step(1.0, late)) == pytest.approx(2 / 3, rel=1e-6)
    assert float(circle_rate(Curvature(1e-3, 1), late.scaled(0.66)).upper) < 1.0
    assert float(circle_rate(Curvature(1e-3, 1), late.scaled(0.72)).lower) > 1.0
