import numpy as np
import pytest

from ravine import Method
from ravine.engine.run import run
from ravine.engine.schedule import Tail, momenta
from ravine.problems import Quadratic


def test_every_form_becomes_a_table():
    assert momenta(None, 3).of(0.9).tolist() == [0.9] * 4
    assert momenta(None, 3).steady
    assert momenta(0.3, 3).of(0.9).tolist() == [0.3] * 4
    assert momenta([0.1, 0.2, -0.3], 3).of(0.9).tolist() == [0.1, 0.2, -0.3, -0.3]
    assert momenta(lambda k: k / 10, 3).of(0.9).tolist() == [0.0, 0.1, 0.2, 0.2]
    tail = momenta(Tail(1, -0.5), 3)
    assert tail.of(0.9).tolist() == [0.9, 0.9, -0.5, -0.5]
    assert not tail.steady


def test_a_run_uses_the_momentum_of_each_step():
    # One coordinate, curvature 1, written out: x⁺ = x + b_k (x - x₋) - a y, y = x + b_k (x - x₋).
    table = [0.0, 0.5, -0.3, 0.2]
    trace = run(Quadratic([[1.0]]), Method(0.1, 0.9), 4, sampling=None, schedule=table, start=[1.0])
    x = x_prev = 1.0
    for k, b in enumerate(table):
        y = x + b * (x - x_prev)
        assert trace.y[k, 0] == pytest.approx(y, abs=1e-15)
        x, x_prev = x + b * (x - x_prev) - 0.1 * y, x
    assert trace.momentum.tolist() == table


def test_a_look_ahead_of_its_own_stays():
    heavy = run(
        Quadratic([[1.0]]), Method(0.1, 0.9, gamma=0), 5, sampling=None, schedule=0.5, start=[1.0]
    )
    x = x_prev = 1.0
    for k in range(5):
        assert heavy.y[k, 0] == pytest.approx(x, abs=1e-15)
        x, x_prev = x + 0.5 * (x - x_prev) - 0.1 * x, x


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        ([0.1, 0.2], "schedule must be 3 momenta, got an array of shape"),
        ([0.1, np.nan, 0.2], "schedule must be finite, got nan"),
        (["a", "b", "c"], "schedule must be a real number or an array"),
    ],
)
def test_bad_input_is_one_line(schedule, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        momenta(schedule, 3)
    assert "\n" not in str(caught.value)


def test_a_bad_tail_is_refused():
    with pytest.raises(ValueError, match="steps must be at least 0"):
        Tail(-1, 0.0)
    with pytest.raises(ValueError, match="beta must be finite"):
        Tail(1, np.inf)
