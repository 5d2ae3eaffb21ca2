import numpy as np
import pytest

from ravine.diagnosis import diagnose
from ravine.report.diagnosis_page import diagnosis_page, write_diagnosis
from ravine.report.diagnosis_pictures import plane


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 3)) * [0.5, 1.0, 2.0]
    y = X @ [1.0, 2.0, 3.0] + rng.standard_normal(80)
    X[5] *= 10.0
    return diagnose(X, y, l2=0.1, batch_size=8, sampling="iid", columns=("a", "b", "<c>"))


def test_the_verdict_comes_first_and_pictures_are_embedded(found):
    html = diagnosis_page(found).html()
    first = found.verdict.split(" ")[0]
    assert html.index('class="lead') < html.index(first) < html.index("<table>")
    assert html.count("<svg") == 3
    for heading in ("The methods", "Where it converges", "What would change it", "The data"):
        assert f"<h2>{heading}</h2>" in html
    assert "<c>" not in html


def test_regions_of_the_plane_are_nested(found):
    regions = plane(found)
    assert (regions.mean_square <= regions.exact_gradients).all()
    assert regions.any_order is not None
    assert regions.any_order.sum() <= regions.mean_square.sum()
    assert regions.any_order.any()


def test_it_is_written(found, tmp_path):
    write_diagnosis(found, tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 20_000
