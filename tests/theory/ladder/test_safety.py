"""Safe steps and momenta sit exactly where the worst-case rate reaches one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ravine import Curvature, Method
from ravine.theory.ladder.safety import safe_momentum, safe_step
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


@pytest.mark.parametrize("beta", [1.0, -1.0, 1.5, np.nan])
def test_a_momentum_that_is_never_safe_is_refused(beta):
    with pytest.raises(ValueError, match="beta must be between -1 and 1"):
        safe_step(1.0, beta)
