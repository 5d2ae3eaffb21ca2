"""Logistic regression: rates with momentum and without."""

import numpy as np
import pytest
import xarray as xr

from ravine.figures.regression import (
    advantage,
    draw_noisy_logistic,
    logistic_findings,
    noisy_logistic,
)


@pytest.fixture(scope="module")
def data():
    return noisy_logistic(resolution=16, steps=400)


def test_momentum_is_faster_on_logistic_regression(data):
    assert data["Q"].values == pytest.approx([30.0, 45.0, 60.0], rel=1e-3)
    gain = advantage(data)
    assert all(m < s < 1.0 for m, s in zip(gain["momentum"], gain["sgd"], strict=True))
    rate, rho = data["rate"], data["spectral_radius"]
    # The Hessian at the minimiser is flatter than the steepest one met: rates are a little lower.
    inside = (rho < 0.98) & (data["alpha_L"] < 1.2)
    assert float((np.abs(rate - rho) < 0.05).where(inside).mean()) > 0.9
    assert np.isnan(rate.values[:, -1, -1]).all()


def made_up(rate, sgd_rate):
    """A map of one problem with these rates at every pixel but one, which is a record."""
    rates = np.full((1, 8, 8), rate)
    rates[0, 4, 6] = 0.1
    return xr.Dataset(
        {
            "rate": (("Q", "alpha_L", "beta"), rates),
            "sgd_rate": (("Q", "alpha_L"), np.full((1, 8), sgd_rate)),
        },
        coords={"Q": [30.0], "alpha_L": np.arange(8.0), "beta": np.linspace(-0.5, 0.9, 8)},
    )


def test_advantage_reads_the_map_and_no_single_pixel():
    gain = advantage(made_up(0.81, 0.9))
    assert gain["momentum"] == pytest.approx([0.81])
    assert gain["speed_up"] == pytest.approx([2.0])
    assert advantage(made_up(0.99, 0.9))["speed_up"][0] < 1.0


def test_rates_are_drawn_with_the_speed_up(data):
    axes = draw_noisy_logistic(data).axes[:3]
    for axis, speed, rate in zip(axes, advantage(data)["speed_up"], data["rate"], strict=True):
        assert f"{speed:.2f} × SGD" in axis.get_title()
        np.testing.assert_array_equal(np.isnan(rate.T), axis.collections[0].get_array().mask)


def test_findings_are_made_from_the_map(data):
    lines = logistic_findings(data)
    assert len(lines) == 4
    assert f"{advantage(data)['speed_up'][0]:.2f} at Q = 30" in lines[2]
