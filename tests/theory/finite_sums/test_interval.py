"""Student's interval: against tables, and against its own promise."""

import numpy as np
import pytest

from ravine.theory.finite_sums.interval import interval, means_and_reaches


def test_the_half_width_is_students():
    # Four numbers: the 97.5 % point of Student's law with 3 degrees of freedom is 3.182446.
    found = interval(np.array([1.0, 2.0, 3.0, 6.0]))
    error = np.std([1, 2, 3, 6], ddof=1) / 2
    assert found.value == 3.0
    assert found.high - found.value == pytest.approx(3.182446 * error, rel=1e-6)
    assert found.value - found.low == pytest.approx(found.high - found.value)
    assert found.width == pytest.approx(2 * 3.182446 * error, rel=1e-6)


def test_nineteen_of_twenty_intervals_hold_the_mean():
    replicas = np.random.default_rng(0).standard_normal((6, 4000)) + 2.0
    mean, reach = means_and_reaches(replicas)
    share = np.mean(np.abs(mean - 2.0) <= reach)
    # A share of 4000: its standard error is 0.0034.
    assert share == pytest.approx(0.95, abs=4 * 0.0034)
