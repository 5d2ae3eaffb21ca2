import json
import re

import numpy as np
import pytest

from ravine import Curvature, recommend


def test_sgd_for_any_sampling(ravine):
    shown = ravine("recommend", "--mu", 0.05, "--L", 100)
    assert shown.code == 0
    assert "alpha = 0.01999, beta = 0" in shown.out
    assert "in every order, the error" in shown.out
    assert max(len(line) for line in shown.out.splitlines()) <= 80


def test_json_is_the_recommendation(ravine):
    advice = recommend(Curvature(1, 32), beta=0.9)
    data = json.loads(ravine("recommend", "--Q", 32, "--beta", 0.9, "--json").out)
    assert set(data) == {
        "setting", "curvature", "method", "value", "quantity", "reason", "guarantee", "gain",
        "ladder",
    }  # fmt: skip
    assert data["method"]["alpha"] == float(advice.method.alpha)
    assert data["value"] == advice.value
    assert data["ladder"]["worst_case_rate"] == advice.value


def test_no_number_of_a_theorem_is_printed(ravine):
    for arguments in ([], ["--beta", 0.9]):
        shown = ravine("recommend", "--Q", 32, *arguments).out
        assert not re.search(r"\bT\d", shown)
        assert "docs/theory.md" in shown


def test_batches(ravine):
    arguments = ["--Q", 1000, "--L-max", 10_000, "--batch-size", 100]
    data = json.loads(ravine("recommend", *arguments, "--json").out)
    assert data["setting"] == "mini-batches"
    assert data["gain"] == pytest.approx(2.913, abs=2e-3)
    assert data["ladder"]["iid_rate"] == pytest.approx(data["value"])


def test_a_budget(ravine):
    arguments = ["--setting", "additive-noise", "--sigma2", 0.1, "--steps", 20, "--distance", 5]
    data = json.loads(ravine("recommend", "--Q", 8, *arguments, "--json").out)
    assert data["quantity"] == "E‖y - x*‖² after 20 steps"
    assert 0.0 < data["value"] < 25.0


def test_hessians_from_a_file(ravine, tmp_path):
    path = tmp_path / "batches.npy"
    np.save(path, np.array([[32.0, 1.0, 1.0]] * 4 + [[32.0, 1.0, 32.0]]))
    arguments = ["--setting", "finite-sum", "--hessians", path]
    data = json.loads(ravine("recommend", "--Q", 32, *arguments, "--json").out)
    # The paper's example with Q = 32, n = 5 under iid sampling.
    assert data["value"] == pytest.approx(0.9272811, abs=5e-8)


def test_bad_input_is_one_line(refused, tmp_path):
    assert "beta must be between -1 and 1, got 1.5" in refused("recommend", "--Q", 8, "--beta", 1.5)
    noise = ["recommend", "--Q", 8, "--setting", "additive-noise"]
    assert "sigma2 must be given for setting additive-noise" in refused(*noise)
    assert "steps must be at least 1" in refused(*noise, "--sigma2", 1, "--steps", 0)
    assert "steps must be omitted for setting any-sampling" in refused(
        "recommend", "--Q", 8, "--steps", 3
    )
    text = tmp_path / "text.npy"
    text.write_text("not numbers")
    finite = ["recommend", "--Q", 8, "--setting", "finite-sum"]
    assert "hessians must be an NPY file of numbers" in refused(*finite, "--hessians", text)
    gone = tmp_path / "gone.npy"
    assert "hessians must be an NPY file" in refused(*finite, "--hessians", gone)
