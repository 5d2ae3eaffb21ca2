"""The turning quadratics attain the worst case, on both sides of the threshold."""

import numpy as np
import pytest

from ravine import Curvature, nesterov, worst_case_rate
from ravine.figures.divergence import THRESHOLD, draw_turning, findings, turning


@pytest.fixture(scope="module")
def data():
    return turning(Q=(8.0, 11.6, 11.7, 32.0), steps=400)


def test_turning_quadratics_attain_the_worst_case(data):
    curvatures = [Curvature(1, Q) for Q in data["Q"].values]
    exact = [float(worst_case_rate(c, nesterov(c))) for c in curvatures]
    assert data["measured"].values == pytest.approx(exact, abs=1e-9)
    assert (data["measured"].values > 1.0).tolist() == [False, False, True, True]
    assert (data["commuting"] < data["worst_case"]).all()
    assert float(data["cyclic"][1, -1]) > 10.0 > 0.1 > float(data["cyclic"][0, -1])


def test_the_mean_is_perfectly_conditioned(data):
    """Full gradients converge on both sides of the threshold."""
    assert (data["full_gradient"].values[:, -1] < 1e-12).all()
    assert pytest.approx(11.656854, abs=1e-6) == THRESHOLD


def test_default_ratios_lie_right_beside_the_threshold():
    ratios = turning(steps=16)["Q"].values
    assert len(ratios) == 24
    assert np.abs(ratios / THRESHOLD - 1.0).min() == pytest.approx(1e-3)
    assert ((ratios[1:] - ratios[:-1]) > 0).all()


def test_measured_points_lie_on_the_drawn_curve(data):
    left = draw_turning(data).axes[0]
    curve, points = left.lines[0].get_ydata(), left.lines[1].get_ydata()
    assert curve == pytest.approx(points, abs=1e-9)


def test_findings_name_the_threshold(data):
    agreement, sides = findings(data)
    assert agreement.startswith("Measured growth agrees with √2 (1 - 1/√Q) to ")
    assert sides == ("Converges at Q = 11.6000, diverges at Q = 11.7000; the threshold is 11.6569.")
