import base64

import numpy as np
import pytest

from ravine.web.data_pictures import curves_figure, data_plane_figure
from ravine.web.theme import DARK, LIGHT


def method(key, alpha, beta, excess, floor=None):
    return {
        "key": key, "name": f"the {key}", "alpha": alpha, "beta": beta,
        "measured": {"loss_steps": [0, 1, 2], "excess": excess},
        "excess_floor": None if floor is None else {"value": floor},
    }  # fmt: skip


@pytest.fixture
def result():
    methods = [
        method("usual", 0.5, 0.9, [1.0, None, None]),
        method("other", 0.1, 0.1, [1.0, 0.9, 0.8]),
        method("best", 0.25, 0.5, [1.0, 0.1, 0.01], floor=0.005),
    ]
    record = {"curvature": {"L": 4.0}, "methods": methods, "recommended": "best", "quick": None}
    return {
        "record": record,
        "plane": {
            "steps": [0.1, 1.0], "momenta": [0.0, 0.5],
            "exact_gradients": [[-1.0, -0.5], [-0.2, None]],
            "mean_square": [[-1.0, 0.5], [0.2, None]],
        },
    }  # fmt: skip


def test_the_plane_counts_what_converges(result):
    heat, points, asked = data_plane_figure(result, LIGHT)["data"]
    count = np.frombuffer(base64.b64decode(heat["z"]["bdata"]), np.uint8).reshape(2, 2)
    assert count.tolist() == [[2, 1], [1, 0]]
    assert points["x"] == [2.0, 0.4, 1.0]
    assert points["marker"]["color"] == ["#ffffff", "#ffffff", LIGHT.orange]
    assert points["text"] == ["the usual", "", "the best"]
    assert asked["x"] == []


def test_the_recommended_curve_comes_first_with_its_floor(result):
    traces = curves_figure(result, DARK)["data"]
    assert [trace["name"] for trace in traces] == ["the best", "the best", "the usual", "the other"]
    assert traces[1]["y"] == [0.005, 0.005]
    assert traces[1]["line"]["dash"] == "dot"
