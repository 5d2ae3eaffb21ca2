"""The search finds the least value, in narrow and crooked valleys, with kinks and walls."""

import numpy as np
import pytest

from ravine.theory.tuning.search import least, valleys

AXES = [np.linspace(-5.0, 3.0, 41), np.linspace(-1.0, 1.0, 41)]


def test_one_axis():
    (x,), value = least(lambda x: np.abs(x - 0.3217), [np.linspace(-1.0, 1.0, 101)])
    assert x == pytest.approx(0.3217, abs=1e-4)
    assert value < 1e-9


def test_a_crooked_valley_with_a_kink():
    def valley(x, y):
        return np.maximum(100.0 * np.abs(y - x**2), np.abs(x - 0.7)) + 0.1 * (x - 0.7) ** 2

    (x, y), value = least(valley, [np.linspace(-2.0, 2.0, 65), np.linspace(-1.0, 3.0, 65)])
    assert (x, y) == pytest.approx((0.7, 0.49), abs=2e-3)
    assert value < 1e-3


def test_a_corner_and_what_is_no_number():
    axes = [np.linspace(0.0, 1.0, 11), np.linspace(0.0, 2.0, 11)]
    (x, y), value = least(lambda x, y: np.where(x < 0.5, np.nan, -x - y), axes)
    assert (x, y, value) == (1.0, 2.0, -3.0)


def test_a_minimum_close_to_an_edge_is_not_taken_for_the_edge():
    axis = np.linspace(0.0, 1.0, 11)
    (x,), value = least(lambda x: np.abs(x - 0.99), [axis], precision=1e-12)
    assert x == pytest.approx(0.99, abs=1e-9)
    assert value < 1e-9


def test_a_slanted_kink_is_followed_to_its_end():
    def tent(x, y):
        return 1 + np.maximum(np.maximum(3 * x + y - 0.3, -3 * x + 2 * y - 0.6), -2 * y - x + 0.5)

    meeting = np.linalg.solve([[3, 1, -1], [-3, 2, -1], [-1, -2, -1]], [0.3, 0.6, -0.5])
    assert least(tent, AXES).value == pytest.approx(1 + meeting[2], abs=1e-8)


def test_the_lower_of_two_valleys_wins():
    def two(x, y):
        wide = 0.5 + 0.1 * (x + 3) ** 2 + 0.1 * (y - 0.5) ** 2
        narrow = 0.4 + 9 * (x - 1) ** 2 + 9 * (y + 0.5) ** 2
        return np.minimum(wide, narrow)

    assert len(valleys(two, AXES)) == 2
    assert least(two, AXES).value == pytest.approx(0.4, abs=1e-9)


def test_infinite_values_are_walls():
    found = least(lambda x, y: np.where(y < 0.3, np.inf, 1 + x**2 + y), AXES)
    assert found.value == pytest.approx(1.3, abs=1e-6)
