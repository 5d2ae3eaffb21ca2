"""Slopes of a row's loss in its scores, for every loss."""

import numpy as np
import pytest

from ravine.problems.losses import LOGISTIC, MULTINOMIAL

CODE = """
from ravine.engine.cuda.whole_gradient_kernel import row_reader, slopes_for

scores = {scores}
slopes = slopes_for({loss}, len(scores), np.{real})
read = row_reader(5, 4)

@cuda.jit
def kernel(target, rows, out, row):
    z = tuple(np.{real}(s) for s in scores)
    out[:] = slopes(z, np.{real}(0.5), target, 2)
    row[:] = read(rows, 8)

out, row = np.zeros(len(scores)), np.zeros(5)
kernel[1, 1](np.array([9.0, 9.0, 1.0, 0.0, 0.0]), np.arange(16, dtype=np.float32), out, row)
result = out.tolist(), row.tolist()
"""


@pytest.mark.parametrize(("real", "tolerance"), [("float64", 1e-14), ("float32", 1e-6)])
@pytest.mark.parametrize(
    ("loss", "scores", "probabilities"),
    [
        (LOGISTIC, [-0.4], [1 / (1 + np.exp(0.4))]),
        (LOGISTIC, [3.0], [1 / (1 + np.exp(-3.0))]),
        (MULTINOMIAL, [0.5, 600.0, 599.0], [0.0, 1 / (1 + np.exp(-1)), 1 / (1 + np.e)]),
    ],
)
def test_slopes(in_simulator, loss, scores, probabilities, real, tolerance):
    slopes, row = in_simulator(CODE.format(loss=loss, scores=scores, real=real))
    expected = 0.5 * (np.array(probabilities) - [1.0, 0.0, 0.0][: len(scores)])
    np.testing.assert_allclose(slopes, expected, tolerance, tolerance)
    assert row == [8, 9, 10, 11, 12]


UNKNOWN = """
from ravine.engine.cuda.whole_gradient_kernel import slopes_for

try:
    slopes_for(99, 1, np.float64)
    result = "made"
except ValueError as error:
    result = str(error)
"""


def test_a_loss_that_the_kernel_does_not_know_is_refused(in_simulator):
    assert "kernel_code 99" in in_simulator(UNKNOWN)
