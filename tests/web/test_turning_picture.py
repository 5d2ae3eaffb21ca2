import base64

import numpy as np

import ravine
from ravine.web.theme import DARK
from ravine.web.turning_picture import turning_figure, turning_key
from ravine.web.view import View


def test_the_path_is_the_library_s_own():
    view = View(Q=32.0, K=60, seed=2)
    picture = turning_figure(view, DARK, 7)
    path = next(trace for trace in picture["data"] if trace["mode"] == "lines+markers")
    x = np.frombuffer(base64.b64decode(path["x"]["bdata"]), np.float64)
    trace = ravine.run(
        ravine.problems.turning_quadratics(1.0, 32.0, terms=4), view.method, 60,
        sampling="cyclic", seed=2,
    )  # fmt: skip
    np.testing.assert_allclose(x, trace.y[:8, 0])
    assert picture["layout"]["annotations"][0]["text"].startswith("step 7 of 60: distance ")


def test_a_frame_beyond_the_end_shows_the_end():
    assert "step 5 of 5" in turning_figure(View(K=5), DARK, 99)["layout"]["annotations"][0]["text"]


def test_level_lines_are_level():
    view = View(Q=32.0, K=60)
    problem = ravine.problems.turning_quadratics(1.0, 32.0, terms=4)
    hessian = problem.batch_hessian(7 % 4)
    first, second = turning_figure(view, DARK, 7)["data"][:2]
    heights = []
    for line in (first, second):
        points = [np.frombuffer(base64.b64decode(line[axis]["bdata"]), "f4") for axis in "xy"]
        height = np.sqrt(np.einsum("ik,ij,jk->k", points, hessian, points))
        np.testing.assert_allclose(height, height[0], rtol=1e-5)
        heights.append(height[0])

    assert abs(heights[1] / heights[0] - 2.0) < 1e-5


def test_every_frame_has_a_key_of_its_own():
    keys = {turning_key(View(Q=Q), DARK, frame) for Q in (8.0, 9.0) for frame in (1, 2)}
    assert len(keys) == 4
    assert turning_key(View(sigma2=0.5), DARK, 1) == turning_key(View(), DARK, 1)
