from types import SimpleNamespace

import pytest

from ravine.diagnosis import time_budget
from ravine.diagnosis.time_budget import TimeBudget


@pytest.fixture
def clock(monkeypatch):
    """A clock that is moved by hand."""
    hands = SimpleNamespace(now=0.0)
    monkeypatch.setattr(time_budget, "time", SimpleNamespace(perf_counter=lambda: hands.now))
    return hands


def test_shares_do_not_depend_on_the_clock_while_there_is_time():
    budget = TimeBudget(1e6)
    assert budget.begin("first", 0.25) == 0.25e6
    assert budget.begin("second", 0.5) == 0.5e6
    assert not budget.over
    assert budget.left_out == []


def test_a_clock_that_has_run_out_cuts_and_is_named(clock):
    late = TimeBudget(10.0)
    clock.now = 11.0
    assert late.begin("late", 0.5) == 0.0
    assert late.over
    assert len(late.left_out) == 1
    assert "slow or busy" in late.left_out[0]
    assert "a repeat may differ" in late.left_out[0]


def test_a_slow_machine_gets_less_counted_work_only_where_it_must(clock):
    budget = TimeBudget(100.0)
    with budget.counting(2.0):
        clock.now += 8.0
    assert budget.slowness == pytest.approx(4.0)
    # 92 seconds are left, which are 23 counted ones.
    assert budget.allowed(0.2) == 20.0
    assert budget.left_out == []
    assert budget.allowed(0.3) == pytest.approx(23.0)
    assert len(budget.left_out) == 1


def test_stages_are_told_and_what_is_left_out_is_kept_once():
    told = []
    budget = TimeBudget(10.0, lambda stage, share: told.append((stage, share)))
    budget.begin("surveying", 0.1)
    budget.leave_out("floors")
    budget.leave_out("floors")
    assert told[0][0] == "surveying"
    assert 0.0 <= told[0][1] <= 1.0
    assert budget.left_out == ["floors"]
