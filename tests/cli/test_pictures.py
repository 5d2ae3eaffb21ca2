import sys

import pytest


@pytest.fixture
def without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)


@pytest.mark.parametrize(
    "arguments",
    [
        ("map", "--Q", "8", "--resolution", "4", "--out", "map.png"),
        ("batch", "--Q", "8", "--L-max", "80", "--out", "batch.svg"),
        ("plot", "no.zarr", "--out", "plot.png"),
        ("diagnose", "no.csv", "--out", "report.html"),
        ("reproduce", "--quick"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_picture_without_matplotlib_is_refused_before_the_work(
    refused, without_matplotlib, tmp_path, monkeypatch, arguments
):
    monkeypatch.chdir(tmp_path)
    said = refused(*arguments)
    assert said.endswith("needs matplotlib, which is not installed: pip install 'ravine[plot]'")
    assert list(tmp_path.iterdir()) == []


def test_numbers_need_no_matplotlib(ravine, without_matplotlib, tmp_path):
    out = tmp_path / "map.csv"
    assert ravine("map", "--Q", 8, "--resolution", 4, "--out", out).code == 0
    assert out.exists()
