import math

import numpy as np
import pytest

from ravine.diagnosis.candidates import LINEAR, Candidate, Recipe
from ravine.diagnosis.stability import floors, growths, over_runs
from ravine.diagnosis.work import Budget
from ravine.methods import Method


def floors_of(seen, recipes, seconds=200.0):
    judged = [Candidate("yours", recipe) for recipe in recipes]
    growth = [growths(seen, c.method, seconds=5.0) for c in judged]
    budget = Budget(seconds)
    return floors(seen, judged, growth, budget=budget), budget


def test_independent_draws_have_the_floor_of_the_moments(data, survey_of):
    X, y = data()
    seen = survey_of(X, y, sampling="iid")
    method = Method(0.05, 0.5)
    (known,), _ = floors_of(seen, [Recipe(method)])
    assert known.square.exact
    assert known.square.value == pytest.approx(np.trace(seen.moments.stationary(method)))


def test_a_measured_floor_is_that_of_a_long_plain_run(data, survey_of):
    X, y = data(rows=24, d=2)
    seen = survey_of(X, y, batch_size=8)
    (known,), _ = floors_of(seen, [Recipe(Method(0.1))])
    rng = np.random.default_rng(1)
    p = seen.minimiser.copy()
    squares = []
    for _ in range(4000):
        order = rng.permutation(24)
        for first in range(0, 24, 8):
            rows = order[first : first + 8]
            p = p - 0.1 * X[rows].T @ (X[rows] @ p - y[rows]) / 8
            squares.append(np.sum((p - seen.minimiser) ** 2))
    # Blocks of 300 steps are nearly independent; four standard errors of both.
    blocks = np.array(squares).reshape(-1, 300).mean(axis=1)
    error = blocks.std(ddof=1) / math.sqrt(len(blocks))
    own = (known.square.high - known.square.low) / 4.0
    assert abs(known.square.value - blocks.mean()) < 4.0 * math.hypot(error, own)
    assert own < 0.05 * known.square.value


def test_nothing_is_left_where_every_batch_has_its_minimum_at_the_same_point(data, survey_of):
    X, _ = data()
    (known,), _ = floors_of(survey_of(X, X @ np.ones(4)), [Recipe(Method(0.05))])
    assert (known.square.value, known.excess.value, known.square.exact) == (0.0, 0.0, True)


def test_falling_steps_and_growing_methods_have_no_floor(data, survey_of):
    X, y = data()
    seen = survey_of(X, y)
    found, _ = floors_of(seen, [Recipe(Method(0.05), LINEAR), Recipe(Method(9.0))])
    assert [f.square for f in found] == [None, None]


def test_what_takes_too_long_is_left_out_and_said(data, survey_of):
    X, y = data()
    seen = survey_of(X, y)
    (known,), budget = floors_of(seen, [Recipe(Method(1e-6))])
    assert known.square is None
    assert "noise floors of slow methods" in budget.left_out[0]


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
