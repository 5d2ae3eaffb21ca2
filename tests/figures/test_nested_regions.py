"""The regions of the ladder lie inside each other."""

import numpy as np
import pytest

from ravine.figures.parameter_map import areas, draw_nested_regions, findings, nested_regions
from ravine.theory.ladder.rungs import RUNGS


@pytest.fixture(scope="module")
def data():
    return nested_regions(resolution=24, Q=(2.0, 32.0))


def test_regions_are_nested(data):
    shares = areas(data)
    assert shares["nested"] == [1.0, 1.0]
    sizes = np.array([shares[rung.key] for rung in RUNGS])
    assert (np.diff(sizes, axis=0) <= 0.0).all()
    turned = data.assign(contraction=0.5 * data["spectral_radius"])
    assert areas(turned)["nested"] == [0.0, 0.0]


def test_every_rung_is_drawn_and_named(data):
    figure = draw_nested_regions(data)
    assert [axis.get_title() for axis in figure.axes] == ["(a) Q = 2", "(b) Q = 32"]
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[1 : len(RUNGS) + 1] == [rung.region_label for rung in RUNGS]


def test_findings_give_the_share_of_every_rung(data):
    lines = findings(data)
    assert len(lines) == len(RUNGS) + 1
    share = areas(data)["contraction"][0]
    assert f"{share:.1%} at Q = 2" in lines[-2]
    assert lines[-1] == "The rungs are in order on 100.0% of the pixels."
