"""Noise floors grow like Q^(3/2) with momentum and like Q without."""

import numpy as np
import pytest

from ravine.figures.noise_floors import (
    CHOSEN,
    draw_noise_floor_slopes,
    findings,
    noise_floor_slopes,
    slopes,
)


@pytest.fixture(scope="module")
def data():
    return noise_floor_slopes(Q=(100.0, 400.0, 1600.0), repeats=8)


def test_noise_floors_have_the_slopes_three_halves_and_one(data):
    fitted = slopes(data["measured"])
    # The exact slope over this range is 1.47; the measured variances err by one per cent.
    assert fitted["nesterov"] == pytest.approx(1.47, abs=0.03)
    assert fitted["sgd"] == pytest.approx(1.0, abs=0.03)
    off = np.abs(data["measured"] - data["variance_at_mu"]) / data["measured_se"]
    assert float(off.max()) < 6.0  # nine t variables with 7 degrees of freedom


def test_closed_forms(data):
    """SGD at 1/L: Var y = 1/(1 - (1 - 1/Q)²) = Q²/(2Q - 1), in units of sigma/L."""
    Q = data["Q"].values
    plain = data["variance_at_mu"].sel(algorithm="gradient_descent").values
    assert plain == pytest.approx(Q**2 / (2.0 * Q - 1.0), rel=1e-12)
    assert (data["variance"] >= data["variance_at_mu"] * (1.0 - 1e-12)).all()


def test_points_are_drawn_for_every_method(data):
    left, right = draw_noise_floor_slopes(data).axes
    assert len(right.lines) == len(CHOSEN)
    labels = [text.get_text() for text in left.get_legend().get_texts()]
    assert "standard Nesterov: slope 1.4" in " ".join(labels)


def test_findings_compare_the_floors(data):
    _, ratio, agreement = findings(data)
    assert ratio.startswith("At Q = 1600 the noise floor of standard Nesterov is ")
    assert agreement.endswith("over 9 comparisons.")
