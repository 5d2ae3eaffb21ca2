"""Figure 3: SGD stays under its bound, and attains its rate."""

import numpy as np
import pytest

from ravine.figures.regression import (
    DISTANCE,
    draw_sgd_finite_sum,
    findings,
    sgd_finite_sum,
    tightness,
)


@pytest.fixture(scope="module")
def data():
    return sgd_finite_sum(Q=(16.0,), trajectories=300, steps=300, samples=5000)


def test_sgd_stays_under_its_bound(data):
    """With two features every batch contracts by exactly (Q-1)/(Q+1), so the rate is attained."""
    assert float((data["mean"] / data["bound"]).max()) <= 1.0
    closeness = tightness(data)
    assert closeness["rate"][0] == pytest.approx(1.0, abs=1e-4)
    assert closeness["floor"][0] == pytest.approx(4.0, rel=0.1)  # √Q
    # rms >= mean, and for a nearly Gaussian plane mean = rms √(π)/2 = 0.886 rms.
    assert 0.8 < float(data["mean"][0, -75:].mean() / data["rms_floor"][0]) < 1.0


def test_every_run_starts_where_the_bound_does(data):
    assert data["runs"].shape == (1, 10, 301)
    assert data["runs"].values[0, :, 0] == pytest.approx(DISTANCE)
    assert (data["largest"] >= data["mean"]).all()


def test_tightness_sees_a_bound_that_is_crossed(data):
    crossed = data.assign(largest=data["bound"] * 1.5, mean=data["mean"] * 0.5)
    assert tightness(crossed)["largest"][0] == pytest.approx(1.5)
    assert tightness(crossed)["floor"][0] == pytest.approx(2.0 * tightness(data)["floor"][0])


def test_bound_mean_and_runs_are_drawn(data):
    axis = draw_sgd_finite_sum(data).axes[0]
    assert sum(len(line.get_xdata()) > 0 for line in axis.lines) == 10 + 3
    np.testing.assert_array_equal(axis.lines[10].get_ydata(), data["mean"][0])
    np.testing.assert_array_equal(axis.lines[11].get_ydata(), data["bound"][0])


def test_findings(data):
    first, rate, floor = findings(data)
    assert "Largest mean distance over the bound: " in first
    assert rate == (
        f"Rate of the transient over (Q-1)/(Q+1): {tightness(data)['rate'][0]:.5f} at Q = 16."
    )
    assert floor.startswith("The bound's floor over the measured one: ")
