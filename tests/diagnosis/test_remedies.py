import numpy as np
import pytest

from ravine.diagnosis.causes import named_rows, remedies, standardised_race, worth_scaling
from ravine.diagnosis.prediction import Outcome
from ravine.diagnosis.stability import growths
from ravine.diagnosis.survey import survey
from ravine.diagnosis.work import Budget
from ravine.methods import nesterov


def tried_on(setup, rows, seconds=1e4):
    budget = Budget(seconds)
    before = survey(setup)
    tried = remedies(before, None, rows, budget=budget)
    return {r.kind: r for r in tried}, budget


@pytest.fixture
def heavy(data, setup_of):
    X, y = data()
    X[37] *= 12.0
    y[37] *= 12.0
    return setup_of(X, y, batch_size=16)


def test_dropping_the_heavy_row_helps_as_it_says(heavy, data, setup_of):
    tried, _ = tried_on(heavy, (37,))
    assert set(tried) >= {"batch size", "l2", "drop rows", "clip rows"}
    assert tried["drop rows"].action == "drop row 37"
    assert tried["drop rows"].works
    X, y = data()
    kept = np.setdiff1d(np.arange(96), [37])
    seen = survey(setup_of(X[kept], y[kept], batch_size=16))
    again = growths(seen, nesterov(seen.curvature), seconds=600.0)
    assert again.mean_square.rate == pytest.approx(tried["drop rows"].rate, rel=1e-6)


def test_a_larger_batch_is_found_without_trying_them_all(heavy):
    tried, _ = tried_on(heavy, (37,))
    assert tried["batch size"].works
    assert tried["batch size"].outcome is Outcome.CONVERGES


def test_without_time_remedies_are_left_out_and_said(heavy):
    tried, budget = tried_on(heavy, (37,), seconds=1e-9)
    assert len(tried) == 1
    assert budget.left_out[-1] == "some of the remedies"


def test_standardised_columns_leave_less_where_scale_is_the_problem(data, setup_of):
    X, y = data(rows=96)
    wide = X * [1.0, 30.0, 1.0, 1.0]
    setup = setup_of(wide, y)
    assert worth_scaling(setup)
    gain = standardised_race(survey(setup), None, 200, Budget(1e4))
    assert gain.share_before == 1.0
    assert gain.gain > 4.0
    assert gain.Q < 20.0
    assert not worth_scaling(setup_of((X - X.mean(axis=0)) / X.std(axis=0), y))


def test_rows_are_named_in_words():
    assert named_rows((7,)) == "row 7"
    assert named_rows((7, 12, 40)) == "rows 7, 12 and 40"
    assert named_rows(tuple(range(9))) == "rows 0, 1, 2, 3, 4 and 4 more"
