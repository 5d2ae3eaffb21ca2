import base64

import numpy as np

import ravine
from ravine.web.theme import DARK
from ravine.web.turning_picture import turning_figure
from ravine.web.view import View


def test_the_path_is_the_library_s_own():
    view = View(Q=32.0, K=60, seed=2)
    picture = turning_figure(view, DARK, 7)
    path = picture["data"][1]
    x = np.frombuffer(base64.b64decode(path["x"]["bdata"]), np.float64)
    trace = ravine.run(
        ravine.problems.turning_quadratics(1.0, 32.0, terms=4), view.method, 60,
        sampling="cyclic", seed=2,
    )  # fmt: skip
    np.testing.assert_allclose(x, trace.y[:8, 0])
    assert picture["layout"]["annotations"][0]["text"].startswith("step 7 of 60: distance ")


def test_a_frame_beyond_the_end_shows_the_end():
    assert "step 5 of 5" in turning_figure(View(K=5), DARK, 99)["layout"]["annotations"][0]["text"]
