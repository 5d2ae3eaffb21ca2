"""The drawing shows the table."""

import numpy as np
import pytest

from ravine import Curvature, batch_gain, batch_sizes
from ravine.figures.batch_curves import draw_batch_gain
from ravine.theory.tuning.useful_batch import tradeoff_law


@pytest.fixture(scope="module")
def result():
    return batch_gain(Curvature(1, 30), L_max=200, batch_sizes=[1, 30, 900])


def test_the_drawing_names_everything(result):
    three = batch_sizes(Curvature(1, 30), L_max=200)
    figure = draw_batch_gain(result, three)
    left, right = figure.axes
    assert left.get_ylabel() == "steps to a tenth of the error"
    assert right.get_ylabel() == "samples to a tenth of the error"
    steps = [one.steps_per_digit for one in result.momentum]
    np.testing.assert_allclose(right.get_lines()[1].get_ydata(), [1, 30, 900] * np.array(steps))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels[:3] == ["best SGD", "best with momentum", "law for large Q"]
    assert "more than half of the samples are wasted from here" in labels


def test_the_law_trades_steps_for_samples():
    sizes, steps = tradeoff_law(1e6, 10.0, 1.0 + np.geomspace(1e-3, 1e3, 50))
    fewest, samples = np.log(10.0) * np.sqrt(0.75e6), sizes * steps
    least = 10.0 * np.log(10.0) * 1e6 * 2.0
    np.testing.assert_allclose((fewest / steps) ** 2 + np.sqrt(least / samples), 1.0, rtol=1e-9)
