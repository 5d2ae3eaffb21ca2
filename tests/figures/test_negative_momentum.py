"""Tails with negative momentum: exact, measured, and at equal speed."""

import numpy as np
import pytest

from ravine.figures.noise_floors import (
    draw_negative_momentum,
    fixed_rate,
    negative_momentum,
    tail_findings,
)


@pytest.fixture(scope="module")
def data():
    return negative_momentum(lengths=(0, 1, 8, 64), trajectories=200, steps=300)


def test_tails_are_exact(data):
    z = np.abs(data["exact"] - data["measured"]) / data["measured_se"]
    assert float(z.max()) < 4.5  # twenty correlated comparisons
    assert float(data["measured_se"].max()) < 0.05
    last = data["exact"].values[:, -1]
    assert last[list(data["tail_beta"].values).index(-0.6)] < last[1] < 0.4
    assert data["exact"].values[:, 0] == pytest.approx(1.0)


@pytest.mark.parametrize(("name", "h"), [("variance_mu", 1 / 32), ("variance_L", 1.0)])
def test_at_a_fixed_step_the_least_variance_is_at_minus_one_over_one_plus_root_h(data, name, h):
    least = float(data["beta"].values[np.argmin(data[name].values)])
    assert least == pytest.approx(-1.0 / (1.0 + np.sqrt(h)), abs=0.011)


def test_fixed_rate_ends():
    negative, critical = fixed_rate(np.array([0.9, 0.999]))
    assert negative == pytest.approx([0.98, 1.0], abs=0.002)
    assert critical[1] == pytest.approx(0.5, abs=1e-3)


def test_every_tail_is_drawn(data):
    left, middle, right = draw_negative_momentum(data).axes
    labels = [text.get_text() for text in left.get_legend().get_texts()]
    betas = [f"β = {b:g}".replace("-", "−") for b in data["tail_beta"].values]
    assert labels == [*betas, "SGD at 2/(μ+L)"]
    np.testing.assert_array_equal(middle.lines[0].get_ydata(), data["variance_mu"])
    np.testing.assert_array_equal(right.lines[0].get_ydata(), data["fixed_rate_negative"])


def test_findings_compare_at_an_equal_rate(data):
    after, equal = tail_findings(data)
    assert after.startswith("Mean square after 64 steps of the tail, over that without: ")
    assert equal == (
        "At an equal rate of 0.9 the best negative momentum leaves 0.981 of SGD's variance, "
        "critical damping 0.510."
    )
