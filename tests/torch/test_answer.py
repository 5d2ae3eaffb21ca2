import json

import numpy as np
import pytest

from ravine.torch.answer import Advice, Row
from ravine.torch.curvature import LocalCurvature

ROWS = [Row(0.1, 0.9, 80, 0.5, "won"), Row(0.4, 0.9, 5, float("inf"), "blew up")]
CURVATURE = LocalCurvature(
    np.array([2.0]), np.array([[1.0]]), np.array([1.0]), 5.0, 16, False, False
)


def answer(**changes):
    words = {
        "lr": 0.1, "momentum": 0.9, "lrs": [0.1], "improves": True, "start_loss": 2.0, "loss": 0.5,
        "rows": ROWS, "steps": 85, "curvature": CURVATURE, "gamma": 0.9, "budget": "race",
    }  # fmt: skip
    return Advice(**{**words, **changes})


def test_every_form_has_the_map():
    advice = answer()
    assert "won" in advice.table()
    assert "85 steps on copies" in str(advice)
    assert advice.map_table() in str(advice)
    assert len(advice.map_table().splitlines()) == 1 + 4 * 3
    assert "local: the curvature at these weights" in str(advice)
    assert advice._repr_html_().count("<tr>") == 1 + len(ROWS) + 1 + 4 * 3
    data = json.loads(advice.to_json())
    assert data["rows"][1]["loss"] is None
    assert data["map"][1] == {
        "momentum": 0.0, "batch_size": 16, "limit": advice.limits()[0.0, 16],
        "iid_limit": CURVATURE.iid_limit(0.0),
    }  # fmt: skip
    assert data["iid_limit"] == advice.iid_limit
    assert data["critical_batch_size"] == advice.critical_batch_size


def test_limits_grow_with_the_batch():
    limits = answer().limits(momenta=(0.0, 0.9), batch_sizes=(8, 64))
    assert limits[0.9, 8] < limits[0.9, 64]


@pytest.mark.parametrize(("quadratic", "complete", "word"), [
    (True, True, "exact"), (True, False, "leading directions"), (False, False, "local"),
])  # fmt: skip
def test_limits_say_what_they_hold_for(quadratic, complete, word):
    curvature = LocalCurvature(
        np.array([2.0]), np.array([[1.0]]), np.array([1.0]), 5.0, 16, quadratic, complete
    )
    assert word in answer(curvature=curvature).scope


def test_without_momentum_there_is_no_map():
    advice = answer(curvature=None, momentum=None, gamma=None)
    assert advice.map() == []
    assert advice.limit is None
    assert advice.iid_limit is None
    assert "limit" not in str(advice)
    assert advice._repr_html_().count("<table>") == 1
    assert json.loads(advice.to_json())["map"] == []
