"""One step, coordinate by coordinate, in plain Python: the same source that kernels compile."""

import numpy as np
import pytest

from ravine.engine.kernels.step import descend, look_ahead, modal_coefficients, modal_step

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("given", RNG.uniform(-1.0, 1.0, (5, 7)))
def test_the_recurrence_is_a_look_ahead_and_a_descent(given):
    x, x_prev, alpha, beta, gamma, eigenvalue, z = given
    y = look_ahead.py_func(x, x_prev, gamma)
    assert y == pytest.approx(x + gamma * (x - x_prev))
    expected = descend.py_func(x, x_prev, alpha, beta, eigenvalue * y + z)
    assert expected == pytest.approx(x + beta * (x - x_prev) - alpha * (eigenvalue * y + z))
    c1, c2 = modal_coefficients.py_func(alpha * eigenvalue, beta, gamma)
    assert modal_step.py_func(x, x_prev, c1, c2, -alpha * z) == pytest.approx(expected, abs=1e-14)


def test_without_momentum_it_is_gradient_descent():
    c1, c2 = modal_coefficients.py_func(0.25, 0.0, 0.0)
    assert (c1, c2) == (0.75, 0.0)
