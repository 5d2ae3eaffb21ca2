import numpy as np
import pytest

from ravine.diagnosis import diagnose
from ravine.report.diagnosis_page import diagnosis_page
from ravine.report.diagnosis_pictures import plane


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3)) * [0.5, 1.0, 2.0]
    y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(80)
    X[5] *= 10.0
    return diagnose(X, y, l2=0.1, batch_size=8, epochs=10, columns=("a", "b", "<c>"), time=600.0)


def test_the_verdict_comes_first_and_pictures_are_embedded(result):
    html = diagnosis_page(result).html()
    assert html.index('class="lead') < html.index("<table>")
    assert html.count("<svg") == 3
    for heading in ("The methods", "Where it converges", "The data"):
        assert f"<h2>{heading}</h2>" in html
    assert "<c>" not in html


def test_rates_over_the_plane_are_nested(result):
    rates = plane(result)
    # The plane is right to about 1e-3 of the distance from exact gradients.
    assert (rates.mean_square >= rates.exact_gradients - 1e-9).all()
    assert rates.any_order is not None
    assert (rates.any_order < 0.0).sum() <= (rates.mean_square < 0.0).sum()
    assert (rates.any_order < 0.0).any()
