import math

import numpy as np
import pytest

from ravine.diagnosis.estimate import over_runs


def test_limits_are_those_of_student():
    # 4.302653 is Student's quantile for 95 % and 2 degrees of freedom.
    known = over_runs(np.array([1.0, 2.0, 3.0]))
    assert known.value == 2.0
    assert known.high == pytest.approx(2.0 + 4.302653 / math.sqrt(3.0), rel=1e-6)
    assert known.low == 0.0


def test_one_run_says_nothing_of_its_limits_and_a_lost_one_nothing_at_all():
    alone = over_runs(np.array([2.0]))
    assert (alone.value, alone.low, alone.high) == (2.0, 0.0, math.inf)
    assert over_runs(np.array([1.0, np.inf])) is None
