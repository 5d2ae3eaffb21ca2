"""The drawing of a plane: same scales, and nothing where runs diverge."""

import numpy as np
import pytest

from ravine.figures.noise_plane import noise_plane
from ravine.figures.noise_plane_drawing import draw_noise_plane
from ravine.problems import worst_case_quadratic


@pytest.fixture(scope="module")
def plane():
    problems = [worst_case_quadratic(Q, 6) for Q in (2.0, 32.0)]
    return noise_plane(
        problems, sigma2=0.01, resolution=12, rate_steps=200, floor_steps=100, repeats=2
    )


def test_same_scales_in_every_panel(plane):
    figure = draw_noise_plane(plane)
    maps = [axis.images[0] for axis in figure.axes[:12]]
    assert len({(image.norm.vmin, image.norm.vmax) for image in maps}) == 2
    assert len(figure.axes) == 12 + 2


def test_what_is_unstable_is_left_empty(plane):
    figure = draw_noise_plane(plane)
    unstable = plane["spectral_radius"].values[0].T >= 1.0
    for axis in figure.axes[:5]:
        assert (axis.images[0].get_array().mask == unstable).all()
    diverged = plane["diverged"].values[0].T > 0.0
    assert figure.axes[5].images[0].get_array().mask[diverged].all()


def test_rows_are_named_by_their_ratio(plane):
    labels = [axis.get_ylabel() for axis in draw_noise_plane(plane).axes]
    assert [label.splitlines()[0] for label in labels if label.startswith("Q")] == [
        f"Q = {Q:g}" for Q in plane["Q"].values
    ]
    assert np.all(plane["Q"].values > 1.0)
