"""Deadlines: with and without an end."""

from ravine.theory.finite_sums.deadline import NEVER, Deadline


def test_a_deadline_without_end_never_passes():
    assert not NEVER.passed
    assert NEVER.left is None


def test_time_runs_out():
    assert Deadline(0.0).passed
    assert Deadline(0.0).left == 0.0
    far = Deadline(1e6)
    assert not far.passed
    assert 0.0 < far.left <= 1e6
