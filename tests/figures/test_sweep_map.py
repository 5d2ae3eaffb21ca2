"""The map of a sweep holds what was measured and the rungs themselves; the drawing shows them."""

from itertools import pairwise

import numpy as np
import pytest

from ravine import Curvature, Method, contraction, spectral_radius, worst_case_rate
from ravine.engine.sweep import sweep
from ravine.figures.parameter_map import draw_sweep_map, shown_measure, sweep_plane
from ravine.problems import worst_case_quadratic
from ravine.theory.ladder.rungs import RUNGS

AXES = np.linspace(0.0, 0.3, 7), np.linspace(-0.5, 1.0, 5)


@pytest.fixture(scope="module")
def found():
    problem = worst_case_quadratic(8, 4)
    measures = ("rate", "floor", "floor_sup", "outcome", "diverged_at", "final_error")
    return sweep(problem, *AXES, steps=80, sigma2=1e-4, repeats=2, measure=measures)


def test_lines_are_those_of_the_rungs(found):
    plane = sweep_plane(found)
    np.testing.assert_allclose(plane.steps[[0, -1]], AXES[0][[0, -1]] * 8.0)
    method = Method(plane.steps[30] / 8.0, plane.momenta[90])
    curvature = Curvature(1.0, 8.0)
    rates = {region.rung.key: region.rate for region in plane.regions}
    for rung in (spectral_radius, worst_case_rate, contraction):
        # alpha is divided by L again: the last digit
        exact = pytest.approx(rung(curvature, method), rel=1e-12)
        assert rates[rung.__name__][90, 30] == exact
    order = [rung.key for rung in RUNGS]
    for low, high in pairwise(order[:-1]):
        assert (rates[low] <= rates[high]).all()


def test_axes_in_any_order_and_a_look_ahead_of_its_own():
    problem = worst_case_quadratic(8, 4)
    data = sweep(problem, AXES[0][::-1], AXES[1], gammas=0.25, steps=20)
    rho = sweep_plane(data).regions[0].rate
    assert rho.shape == (5, 7)
    method = Method(AXES[0][2], AXES[1][3], 0.25)
    assert rho[3, 2] == pytest.approx(spectral_radius(Curvature(1.0, 8.0), method), rel=1e-12)
    expected = data["final_error"].sel(alpha=AXES[0][2], beta=AXES[1][3])
    shown = shown_measure(data, "final_error")
    assert shown.values[2, 3] == float(expected)
    drawn = draw_sweep_map(data, "final_error").axes[0].collections[0]
    np.testing.assert_array_equal(drawn.get_array(), shown.values.T)


def test_every_measure_is_drawn_with_the_ladder(found, monkeypatch):
    monkeypatch.setattr(
        "ravine.figures.parameter_map._FINE", 24
    )  # contours need not be smooth here
    for name in found.data_vars:
        figure = draw_sweep_map(found, name)
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
    figure = draw_sweep_map(found, "rate")
    curvature = Curvature(1.0, 8.0)
    colour = RUNGS[0].contour[0]
    lines = [line for line in figure.axes[0].get_lines() if line.get_color() == colour]
    points = np.concatenate([line.get_xydata() for line in lines])
    rates = spectral_radius(curvature, Method(points[:, 0] / 8.0, points[:, 1]))
    # linear interpolation between 160 points an axis
    assert np.abs(rates - 1.0).max() < 0.02


def test_what_is_no_plane_is_refused(found):
    with pytest.raises(ValueError, match="plane of at least 2 x 2 pixels, got 3:"):
        shown_measure(sweep(worst_case_quadratic(8, 4), [0.1] * 3, [0.1] * 3, pairs=True, steps=5))
    with pytest.raises(ValueError, match="measure must be one of"):
        shown_measure(found, "speed")
