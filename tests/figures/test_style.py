"""Cells and panels."""

import numpy as np
import pytest

from ravine.figures.style import WIDE, cell_centres, cell_edges, name_panels, panels


def test_cells_tile_the_axis():
    centres = cell_centres(-1.0, 3.0, 8)
    assert centres == pytest.approx(np.arange(-0.75, 3.0, 0.5))
    assert cell_edges(centres) == pytest.approx((-1.0, 3.0))
    assert cell_edges([2.0]) == (1.5, 2.5)


def test_panels_are_named_in_order():
    figure, axes = panels(2, 2, height=3.0)
    assert axes.shape == (2, 2)
    assert tuple(figure.get_size_inches()) == (WIDE, 3.0)
    axes[1, 0].set_title("third")
    name_panels(axes)
    assert [axis.get_title() for axis in axes.flat] == ["(a) ", "(b) ", "(c) third", "(d) "]
