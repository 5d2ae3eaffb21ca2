"""The plane of Figure 1: runs against exact rates and variances."""

import numpy as np
import pytest

from ravine import Method, second_moment
from ravine.figures.noise_plane import agreement, mean_square_from_rest
from ravine.figures.stochastic_approximation import stochastic_approximation


@pytest.fixture(scope="module")
def plane():
    return stochastic_approximation(
        resolution=16, Q=(2.0, 32.0), rate_steps=1000, floor_steps=400, repeats=12
    )


@pytest.mark.parametrize("beta", [-0.8, 0.0, 0.5, 0.9])
def test_mean_square_from_rest_is_the_mean_of_exact_second_moments(beta):
    method = Method(np.array([0.02, 0.3, 1.0]), np.array([beta] * 3))
    eigenvalues = np.array([0.1, 0.7, 1.0])
    exact = sum(
        second_moment(lam, method, start=0.0, steps=60)[31:].mean(axis=0) for lam in eigenvalues
    )
    assert mean_square_from_rest(eigenvalues, method, 31, 60) == pytest.approx(exact, rel=1e-9)


def test_runs_agree_with_theory(plane):
    found = agreement(plane)
    assert (found["outcome"] >= 0.995).all()
    assert (found["rate"] >= 0.99).all()
    # P(|t| > 4) with 11 degrees of freedom is 0.2 %; 170 stable pixels: 97 % leaves five of them.
    assert (found["floor"] >= 0.97).all()
    assert found["below_paper"][1] > found["below_paper"][0] > 0.0


def test_agreement_sees_what_is_wrong(plane):
    wrong = plane.copy(deep=True)
    wrong["diverged"][:] = 1.0 - wrong["diverged"]
    wrong["measured_rate"][:] += 0.02
    wrong["measured_coefficient"][:] *= 3.0
    found = agreement(wrong)
    assert (found["outcome"] < 0.01).all()
    assert (found["rate"] < 0.3).all()
    assert (found["floor"] < 0.1).all()


def test_exact_coefficients_nest(plane):
    """The mean over directions lies below the worst one; both are infinite outside."""
    stable = plane["spectral_radius"] < 1.0
    assert bool(
        (plane["exact_coefficient"] <= plane["worst_coefficient"]).where(stable, True).all()
    )
    assert np.isinf(plane["exact_coefficient"].values[~stable.values]).all()
