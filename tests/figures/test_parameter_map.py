"""The map's data are the rungs themselves; the drawing shows them."""

from itertools import pairwise

import numpy as np
import pytest

from ravine import Curvature, Method, exact_noise_coefficient, worst_case_rate
from ravine.figures.parameter_map import QUANTITIES, draw_parameter_map, parameter_map
from ravine.theory.ladder.rungs import RUNGS


def test_data_are_the_rungs():
    data = parameter_map(32, resolution=12, alpha_range=(0.0, 3.0), beta_range=(-0.5, 1.0))
    np.testing.assert_allclose(data["alpha_L"], 0.125 + 0.25 * np.arange(12))
    np.testing.assert_allclose(data["beta"], -0.4375 + 0.125 * np.arange(12))
    curvature = Curvature(1 / 32, 1.0)
    for i, j in ((0, 0), (5, 7), (11, 11)):
        method = Method(data["alpha_L"].values[i], data["beta"].values[j])
        assert data["worst_case_rate"].values[i, j] == worst_case_rate(curvature, method)
        assert data["noise_floor"].values[i, j] == exact_noise_coefficient(curvature, method)


def test_rungs_are_nested_pixel_by_pixel():
    data = parameter_map(8, resolution=40)
    names = ["spectral_radius", "commuting_lower", "commuting_rate", "worst_case_rate"]
    for low, high in pairwise(names):
        assert (data[low] <= data[high]).all()
    assert (data["worst_case_rate"] <= data["contraction"] * (1 + 1e-12)).all()


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_every_quantity_is_drawn_with_labels(quantity):
    figure = draw_parameter_map(parameter_map(8, resolution=16), quantity)
    axes = figure.axes[0]
    assert axes.get_xlabel() == "step size αL"
    assert axes.get_ylabel() == "momentum β"
    assert "Q = 8" in axes.get_title()
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "standard Nesterov" in labels
    # The regions and the ground outside, or one line; then the two marks and the safe step.
    expected = len(RUNGS) + 1 if quantity == "regions" else 1
    assert len(labels) == expected + 3


def test_an_unknown_quantity_is_refused():
    with pytest.raises(ValueError, match="quantity must be one of regions, spectral-radius"):
        draw_parameter_map(parameter_map(8, resolution=4), "speed")
