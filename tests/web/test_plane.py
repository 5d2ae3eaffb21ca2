import base64

import numpy as np
import pytest

import ravine
from ravine.sampling import Sampling
from ravine.theory.ladder.rungs import RUNGS
from ravine.web.plane import (
    COARSE,
    FINE,
    _all_rungs,
    alpha_axis,
    beta_axis,
    methods,
    plane_figure,
    plane_key,
    plane_legend,
    rungs_at,
)
from ravine.web.quantities import QUANTITIES
from ravine.web.theme import DARK, LIGHT
from ravine.web.view import Axis, View


def unpacked(array):
    kinds = {"f4": np.float32, "f8": np.float64, "u1": np.uint8}
    flat = np.frombuffer(base64.b64decode(array["bdata"]), kinds[array["dtype"]])
    shape = [int(side) for side in array["shape"].split(",")] if "shape" in array else [-1]
    return flat.reshape(shape)


@pytest.mark.parametrize("axis", Axis)
def test_regions_count_the_rungs_below_one(axis):
    view = View(Q=8.0, axis=axis)
    picture = plane_figure(view, LIGHT, fine=False)
    counted = unpacked(picture["data"][0]["z"])
    i, j = 50, 10
    method = ravine.Method(alpha_axis(view, COARSE)[j] / 8.0, beta_axis(COARSE)[i])
    expected = sum(float(rung.rate(view.curvature, method).upper) < 1.0 for rung in RUNGS)
    assert counted.shape == (COARSE, COARSE)
    assert counted[i, j] == expected


@pytest.mark.parametrize("colour", [name for name in QUANTITIES if name != "regions"])
def test_colours_are_the_library_s_own_numbers(colour):
    view = View(Q=8.0, colour=colour, K=30)
    shown = unpacked(plane_figure(view, DARK, fine=False)["data"][0]["z"])
    i, j = 40, 12
    alpha = alpha_axis(view, COARSE)[j] / 8.0
    beta = beta_axis(COARSE)[i]
    value = QUANTITIES[colour].values(view, ravine.Method(alpha, beta))
    expected = value if QUANTITIES[colour].rate else np.log10(value)
    assert shown[i, j] == pytest.approx(float(np.squeeze(expected)), rel=1e-5)


def test_the_fine_picture_has_the_promised_pixels():
    picture = plane_figure(View(), LIGHT, fine=True)
    assert unpacked(picture["data"][0]["z"]).shape == (FINE, FINE)


@pytest.mark.parametrize("axis", Axis)
@pytest.mark.parametrize("ratio", [1.0, 3.0])
def test_the_commuting_rung_is_right_wherever_it_decides(axis, ratio):
    view = View(Q=32.0, axis=axis, ratio=ratio)
    shown = _all_rungs(view, COARSE)["commuting_rate"]
    exact = rungs_at(view, methods(view, COARSE))["commuting_rate"]
    np.testing.assert_array_equal(shown < 1.0, exact < 1.0)
    if ratio > 1.0:  # terms may be flat: nothing is certain in every order
        assert not (exact < 1.0).any()
        return

    beside = (exact[1:] < 1.0) != (exact[:-1] < 1.0)
    computed = np.isclose(shown, exact, rtol=1e-12)
    # A line through 1 between two pixels is interpolated from their values, unless the rungs around
    # it pass within the same pixel.
    assert (computed[1:] & computed[:-1])[beside].mean() > 0.5


@pytest.mark.parametrize("colour", QUANTITIES)
def test_two_pictures_have_one_key_exactly_when_they_are_the_same(colour):
    def picture(view):
        return str(plane_figure(view, LIGHT, fine=False))

    usual = View(colour=colour)
    changes = {
        "K": 20,
        "sigma2": 0.5,
        "n": 7,
        "Q": 9.0,
        "ratio": 3.0,
        "seed": 5,
        "sampling": Sampling.CYCLIC,
    }
    for name, value in changes.items():
        other = View(**{"colour": colour, name: value})
        same = plane_key(usual, LIGHT, fine=False) == plane_key(other, LIGHT, fine=False)
        assert same == (picture(usual) == picture(other)), name
    assert plane_key(usual, LIGHT, fine=True) != plane_key(usual, LIGHT, fine=False)
    assert plane_key(usual, LIGHT, fine=True) != plane_key(usual, DARK, fine=True)


def test_the_legend_is_of_regions_or_of_lines():
    filled = plane_legend(View())[0]
    line = plane_legend(View(colour="rate"))[1]
    assert filled == {"words": RUNGS[0].region_label, "fill": RUNGS[0].colour}
    assert line["words"] == RUNGS[1].contour_label
    assert (line["colour"], line["dash"]) == (RUNGS[1].contour[0], "dashed")


@pytest.mark.parametrize("axis", Axis)
@pytest.mark.parametrize("colour", ["regions", "error"])
def test_everything_is_at_a_place_that_needs_no_measuring(axis, colour):
    layout = plane_figure(View(axis=axis, colour=colour), LIGHT, fine=False)["layout"]
    for line in (layout["xaxis"], layout["yaxis"]):
        assert len(line["tickvals"]) == len(line["ticktext"]) > 3
    assert set(layout["margin"]) == {"l", "r", "t", "b"}
