"""Cells and panels."""

import numpy as np
import pytest

from ravine.figures.style import WIDE, cell_centres, draw_map, finish, panels


def test_cells_tile_the_axis():
    assert cell_centres(-1.0, 3.0, 8) == pytest.approx(np.arange(-0.75, 3.0, 0.5))


def test_panels_are_named_in_order():
    figure, axes = panels(1, 3, height=3.0)
    assert axes.shape == (1, 3)
    assert tuple(figure.get_size_inches()) == (WIDE, 3.0)
    axes[0, 2].set_title("third")
    axes[0, 0].plot([0, 1], label="a line")
    assert finish(figure, axes, 1) is figure
    assert [axis.get_title() for axis in axes.flat] == ["(a) ", "(b) ", "(c) third"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["a line"]


def test_a_map_leaves_out_what_is_not_finite():
    from matplotlib.colors import Normalize

    _, axes = panels(1, 1, height=3.0)
    values = np.array([[0.5, np.nan, 0.7], [np.inf, 0.2, 0.1]])
    mesh = draw_map(axes[0, 0], [1.0, 2.0], [0.0, 0.5, 1.0], values, Normalize(0.0, 1.0))
    np.testing.assert_array_equal(mesh.get_array().mask, ~np.isfinite(values).T)
    assert axes[0, 0].get_xlabel() == "step size αL"
