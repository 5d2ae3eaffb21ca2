import json

import pytest

from ravine import Curvature, batch_gain

ARGUMENTS = ["--Q", 30, "--L-max", 200, "--batch-size", 1, "--batch-size", 300]


def test_the_table_and_the_sentence(ravine):
    shown = ravine("batch", *ARGUMENTS)
    assert shown.code == 0
    result = batch_gain(Curvature(1, 30), L_max=200, batch_sizes=[1, 300])
    words = " ".join(shown.out.split())
    assert words.startswith("Smallest stable batch: 19")
    assert "Momentum pays off from batch size" in words
    assert "Largest useful batch" in words
    assert f"{result.gain[1]:.3g}" in shown.out
    assert max(len(line) for line in shown.out.splitlines()) <= 80


def test_json(ravine, tmp_path):
    out = tmp_path / "new" / "gain.png"
    data = json.loads(ravine("batch", *ARGUMENTS, "--out", out, "--json").out)
    assert set(data) == {
        "curvature", "L_max", "mu_min", "smallest_stable_batch", "momentum_pays_from",
        "useful_batch_size", "useful_batch_size_law", "useful_batch_size_sgd",
        "batches", "sentence", "out",
    }  # fmt: skip
    assert data["mu_min"] == 0.0
    assert [row["batch_size"] for row in data["batches"]] == [1.0, 300.0]
    assert data["batches"][0]["gain"] == 1.0
    assert data["batches"][1]["momentum"]["rate"] < data["batches"][1]["sgd"]["rate"]
    assert out.read_bytes().startswith(b"\x89PNG")
    assert [path.name for path in out.parent.iterdir()] == ["gain.png"]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--Q", 8, "--L-max", 4], "L_max must be at least L"),
        (["--Q", 8, "--batch-size", 0.5], "batch_size must be at least 1, got 0.5"),
        (["--Q", 8, "--out", "gain.txt"], "out must be a file ending in .png"),
        (["--L-max", 4], "mu must be given"),
    ],
)
def test_bad_input_is_one_line(refused, arguments, line):
    assert line in refused("batch", *arguments)
