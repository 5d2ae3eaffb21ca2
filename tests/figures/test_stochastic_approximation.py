"""Figure 1: its data are those of a plane on worst-case quadratics."""

import pytest

from ravine.figures.stochastic_approximation import FIGURE, SIGMA2, stochastic_approximation


@pytest.fixture(scope="module")
def data():
    return stochastic_approximation(
        resolution=8, Q=(2.0, 8.0), d=10, rate_steps=100, floor_steps=50, repeats=2, seed=3
    )


def test_data_say_what_made_them(data):
    assert data["Q"].values.tolist() == pytest.approx([2.0, 8.0], rel=0.2)
    assert dict(data.sizes) == {"Q": 2, "alpha_L": 8, "beta": 8}
    assert data.attrs["sigma2"] == SIGMA2
    assert data.attrs["dimension"] == 10
    assert data.attrs["seed"] == 3


def test_findings_give_a_share_for_every_ratio(data):
    for line in FIGURE.findings(data):
        assert line.count(" at Q = ") == 2
        assert "nan" not in line
