"""Figure 1 and least squares: runs against exact rates and variances, and their drawing."""

import numpy as np
import pytest

from ravine import Method, second_moment
from ravine.figures.noise_plane import (
    agreement,
    draw_noise_plane,
    findings,
    mean_square_from_rest,
    noise_plane,
    noisy_least_squares,
    stochastic_approximation,
)
from ravine.problems import worst_case_quadratic


@pytest.fixture(scope="module")
def plane():
    return stochastic_approximation(
        resolution=16, Q=(2.0, 32.0), rate_steps=1000, floor_steps=400, repeats=12
    )


@pytest.fixture(scope="module")
def small():
    problems = [worst_case_quadratic(Q, 6) for Q in (2.0, 32.0)]
    return noise_plane(
        problems, sigma2=0.01, resolution=12, rate_steps=200, floor_steps=100, repeats=2
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


def test_same_scales_in_every_panel(small):
    figure = draw_noise_plane(small)
    maps = [axis.collections[0] for axis in figure.axes[:12]]
    assert len({(image.norm.vmin, image.norm.vmax) for image in maps}) == 2
    assert len(figure.axes) == 12 + 2


def test_what_is_unstable_is_left_empty(small):
    figure = draw_noise_plane(small)
    unstable = small["spectral_radius"].values[0].T >= 1.0
    for axis in figure.axes[:5]:
        assert (axis.collections[0].get_array().mask == unstable).all()
    diverged = small["diverged"].values[0].T > 0.0
    assert figure.axes[5].collections[0].get_array().mask[diverged].all()


def test_rows_are_named_by_their_ratio(small):
    labels = [axis.get_ylabel() for axis in draw_noise_plane(small).axes]
    assert [label.splitlines()[0] for label in labels if label.startswith("Q")] == [
        f"Q = {Q:g}" for Q in small["Q"].values
    ]
    assert np.all(small["Q"].values > 1.0)


def test_figure_1_says_what_made_it_and_what_it_shows():
    data = stochastic_approximation(
        resolution=8, Q=(2.0, 8.0), d=10, rate_steps=100, floor_steps=50, repeats=2, seed=3
    )
    assert data["Q"].values.tolist() == pytest.approx([2.0, 8.0], rel=0.2)
    assert dict(data.sizes) == {"Q": 2, "alpha_L": 8, "beta": 8}
    assert [data.attrs[name] for name in ("sigma2", "dimension", "seed")] == [0.0025, 10, 3]
    for line in findings(data):
        assert line.count(" at Q = ") == 2
        assert "nan" not in line


def test_least_squares_agree_with_theory():
    data = noisy_least_squares(resolution=12, Q=(8.0,), rate_steps=1000, floor_steps=300)
    shares = agreement(data)
    assert shares["outcome"][0] >= 0.995
    assert shares["rate"][0] >= 0.97
    assert shares["floor"][0] >= 0.95
    assert data.attrs["problem"] == "least_squares"
    assert data.attrs["sigma2"] == 0.25**2
    assert f"{float(shares['rate'][0]):.2%} at Q = 8" in findings(data)[1]
