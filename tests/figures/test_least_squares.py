"""The twin of Figure 1 on random least squares."""

import pytest

from ravine.figures.least_squares import (
    FIGURE,
    SIGMA,
    draw_noisy_least_squares,
    noisy_least_squares,
)
from ravine.figures.noise_plane import agreement


@pytest.fixture(scope="module")
def data():
    return noisy_least_squares(resolution=12, Q=(8.0,), rate_steps=1000, floor_steps=300)


def test_least_squares_agree_with_theory(data):
    shares = agreement(data)
    assert shares["outcome"][0] >= 0.995
    assert shares["rate"][0] >= 0.97
    assert shares["floor"][0] >= 0.95


def test_data_say_what_made_them(data):
    assert data.attrs["problem"] == "least_squares"
    assert data.attrs["sigma2"] == SIGMA**2
    assert data["Q"].values == pytest.approx([8.0])


def test_it_is_drawn_and_put_into_words(data):
    assert len(draw_noisy_least_squares(data).axes) == 6 + 2
    assert f"{float(agreement(data)['rate'][0]):.2%} at Q = 8" in FIGURE.findings(data)[1]
