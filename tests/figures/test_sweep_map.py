"""The map of a sweep holds what was measured and the rungs themselves; the drawing shows them."""

from itertools import pairwise

import numpy as np
import pytest

from ravine import Curvature, Method, contraction, spectral_radius, worst_case_rate
from ravine.engine.sweep import sweep
from ravine.figures.sweep_map import draw_sweep_map, sweep_map
from ravine.problems import worst_case_quadratic
from ravine.theory.ladder.rungs import RUNGS

AXES = np.linspace(0.0, 0.3, 7), np.linspace(-0.5, 1.0, 5)


@pytest.fixture(scope="module")
def found():
    problem = worst_case_quadratic(8, 4)
    measures = ("rate", "floor", "floor_sup", "outcome", "diverged_at", "final_error")
    return sweep(problem, *AXES, steps=80, sigma2=1e-4, repeats=2, measure=measures)


def test_data_are_what_was_measured_and_the_rungs(found):
    data = sweep_map(found, "floor")
    np.testing.assert_array_equal(data["measured"].values, found["floor"].values)
    np.testing.assert_allclose(data["alpha_L"], AXES[0] * 8.0)
    method = Method(data["alpha_L_fine"].values[30] / 8.0, data["beta_fine"].values[90])
    curvature = Curvature(1.0, 8.0)
    for name, rung in (
        ("spectral_radius", spectral_radius),
        ("worst_case_rate", worst_case_rate),
        ("contraction", contraction),
    ):
        # alpha is divided by L again: the last digit
        assert data[name].values[30, 90] == pytest.approx(rung(curvature, method), rel=1e-12)
    order = [rung.key for rung in RUNGS]
    for low, high in pairwise(order[:-1]):
        assert (data[low] <= data[high]).all()


def test_axes_in_any_order_and_a_look_ahead_of_its_own():
    problem = worst_case_quadratic(8, 4)
    data = sweep(problem, AXES[0][::-1], AXES[1], gammas=0.25, steps=20)
    drawn = sweep_map(data, "final_error")
    assert drawn["spectral_radius"].shape == (7, 5)
    method = Method(AXES[0][2], AXES[1][3], 0.25)
    assert drawn["spectral_radius"].values[2, 3] == spectral_radius(Curvature(1.0, 8.0), method)
    expected = data["final_error"].sel(alpha=AXES[0][2], beta=AXES[1][3])
    assert drawn["measured"].values[2, 3] == float(expected)


def test_every_measure_is_drawn_with_the_ladder(found, monkeypatch):
    monkeypatch.setattr("ravine.figures.sweep_map._FINE", 24)  # contours need not be smooth here
    for name in found.data_vars:
        figure = draw_sweep_map(sweep_map(found, name))
        axes = figure.axes[0]
        assert axes.get_xlabel() == "step size αL"
        assert "Q = 8" in axes.get_title()
        labels = [text.get_text() for text in figure.legends[0].get_texts()]
        assert labels[-len(RUNGS) - 2 : -2] == [rung.contour_label for rung in RUNGS]
        if name == "outcome":
            assert labels[:4] == ["converged", "noise floor", "undecided", "diverged"]
        else:
            assert figure.axes[1].get_ylabel() == found[name].attrs["long_name"]


def test_contours_lie_where_the_rung_is_one(found):
    figure = draw_sweep_map(sweep_map(found, "rate"))
    curvature = Curvature(1.0, 8.0)
    colour = RUNGS[0].contour[0]
    lines = [line for line in figure.axes[0].get_lines() if line.get_color() == colour]
    points = np.concatenate([line.get_xydata() for line in lines])
    rates = spectral_radius(curvature, Method(points[:, 0] / 8.0, points[:, 1]))
    # linear interpolation between 160 points an axis
    assert np.abs(rates - 1.0).max() < 0.02


def test_what_is_no_plane_is_refused(found):
    with pytest.raises(ValueError, match="plane of at least 2 x 2 pixels, got 3:"):
        sweep_map(sweep(worst_case_quadratic(8, 4), [0.1] * 3, [0.1] * 3, pairs=True, steps=5))
    with pytest.raises(ValueError, match="measure must be one of"):
        sweep_map(found, "speed")
