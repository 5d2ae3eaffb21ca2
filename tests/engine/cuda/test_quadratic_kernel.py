"""Layouts of quadratics whose trajectories share no noise, and the types of their kernels."""

import numpy as np
import pytest

from ravine.engine.cuda.quadratic import group_for, layout_for, shared_layout_for
from ravine.engine.kernels.quadratic_kernel import INDEPENDENT, NO_NOISE


@pytest.mark.parametrize(
    ("d", "lanes", "coordinates"),
    [(1, 8, 1), (8, 8, 1), (9, 8, 2), (104, 8, 13), (105, 16, 7), (209, 32, 7), (1024, 32, 32)],
)
def test_coordinates_are_spread_over_a_group(d, lanes, coordinates):
    assert group_for(d) == (lanes, coordinates)
    layout = layout_for(d, NO_NOISE, single=True, with_sup=False)
    assert (layout.lanes, layout.coordinates) == (lanes, coordinates)
    assert layout.real is np.float32
    assert layout_for(d, INDEPENDENT, single=False, with_sup=True).real is np.float64


@pytest.mark.parametrize(("d", "together"), [(3, 4), (48, 4), (49, 2), (100, 2), (420, 1)])
def test_trajectories_that_share_noise_fit_the_registers(d, together):
    layout = shared_layout_for(d, single=True, nesterov=True, with_sup=False)
    assert layout.trajectories == together
    assert layout.trajectories * layout.coordinates <= max(26, layout.coordinates)
    assert layout.piece == 4
    with_sup = shared_layout_for(d, single=False, nesterov=True, with_sup=True)
    assert (with_sup.trajectories, with_sup.piece) == (1, 2)
