"""Zooming finds the least value, in narrow and crooked valleys and at the edge."""

import numpy as np
import pytest

from ravine.theory.tuning.grid_zoom import zoom


def test_one_axis():
    (x,), value = zoom(lambda x: np.abs(x - 0.3217), [(-1.0, 1.0)])
    assert x == pytest.approx(0.3217, abs=1e-12)
    assert value < 1e-12


def test_a_crooked_valley_with_a_kink():
    def valley(x, y):
        return np.maximum(100.0 * np.abs(y - x**2), np.abs(x - 0.7)) + 0.1 * (x - 0.7) ** 2

    (x, y), value = zoom(valley, [(-2.0, 2.0), (-1.0, 3.0)])
    assert (x, y) == pytest.approx((0.7, 0.49), abs=1e-4)
    assert value < 1e-3


def test_a_corner_and_what_is_no_number():
    (x, y), value = zoom(lambda x, y: np.where(x < 0.5, np.nan, -x - y), [(0.0, 1.0), (0.0, 2.0)])
    assert (x, y, value) == (1.0, 2.0, -3.0)
