"""The figure's data are the table; the drawing shows them."""

import numpy as np
import pytest

from ravine import Curvature, batch_gain
from ravine.figures.batch_gain import batch_gain_data, draw_batch_gain


@pytest.fixture(scope="module")
def result():
    return batch_gain(Curvature(1, 30), L_max=200, batch_sizes=[1, 30, 900])


def test_data_are_the_table(result):
    data = batch_gain_data(result)
    np.testing.assert_array_equal(data["gain"], result.gain)
    np.testing.assert_array_equal(data["momentum_rate"], [one.rate for one in result.momentum])
    steps = data["sgd_steps"].values
    np.testing.assert_allclose(data["sgd_rate"].values ** steps, 0.1, rtol=1e-9)
    assert data.attrs["critical_batch_size"] == result.critical
    assert data.attrs["L_max"] == 200.0


def test_the_drawing_names_everything(result):
    figure = draw_batch_gain(batch_gain_data(result))
    left, right = figure.axes
    assert left.get_ylabel() == "steps to a tenth of the error"
    assert right.get_ylabel() == "times fewer steps than SGD"
    np.testing.assert_array_equal(right.get_lines()[0].get_ydata(), result.gain)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [
        "best SGD", "best with momentum", "standard Nesterov is safe beyond",
    ]  # fmt: skip
