"""Pixels are means of their repeats, with standard errors, and say the worst that happened."""

import numpy as np
import pytest

from ravine.engine.measures import FIELDS, Outcome
from ravine.engine.repeats import MEASURES, reduce_repeats, variable_names

NAN = np.nan


def reduced(measure, **fields):
    """One pixel for each row of the given fields."""
    rows = len(next(iter(fields.values())))
    repeats = len(next(iter(fields.values()))[0])
    blank = {name: np.zeros((rows, repeats)) for name in FIELDS}
    given = {name: np.array(values, dtype=float) for name, values in fields.items()}
    variables = reduce_repeats(blank | given, (measure,), repeats)
    return {name: values.tolist() for name, values in variables.items()}


def test_rates_are_means_of_those_that_were_fitted():
    pixels = reduced(
        "rate",
        rate=[[0.5, 0.7], [0.5, NAN], [NAN, NAN]],
        rate_start=[[10, 20], [10, -1], [-1, -1]],
        rate_stop=[[50, 40], [30, -1], [-1, -1]],
    )
    np.testing.assert_allclose(pixels["rate"], [0.6, 0.5, NAN])
    # sd 0.1414 of two repeats, over sqrt(2).
    np.testing.assert_allclose(pixels["rate_se"], [0.1, NAN, NAN])
    assert pixels["rate_start"] == [10, 10, -1]
    assert pixels["rate_stop"] == [50, 30, -1]


def test_floors_are_roots_of_mean_squares():
    pixels = reduced("floor", floor_square=[[3.0, 5.0], [0.0, 0.0]])
    assert pixels["floor"] == [2.0, 0.0]
    # The mean square has the standard error 1, and d sqrt(m) = dm / (2 sqrt(m)).
    assert pixels["floor_se"] == pytest.approx([0.25, 0.0])


def test_the_worst_outcome_and_the_first_divergence_count():
    done, lost = float(Outcome.CONVERGED), float(Outcome.DIVERGED)
    pixels = reduced("outcome", outcome=[[done, lost, done, done], [done] * 4])
    assert pixels["outcome"] == [lost, done]
    assert pixels["diverged_share"] == [0.25, 0.0]
    when = reduced("diverged_at", diverged_at=[[-1, 30, 20], [-1, -1, -1]])
    assert when["diverged_at"] == [20, -1]


def test_standard_errors_are_those_of_the_mean():
    pixels = reduced("rate", rate=[[1.0, 2.0, 4.0], [1.0, NAN, 3.0], [NAN, NAN, 2.0]])
    np.testing.assert_allclose(pixels["rate"], [7 / 3, 2.0, 2.0])
    expected = [np.std([1, 2, 4], ddof=1) / np.sqrt(3), np.sqrt(2) / np.sqrt(2), NAN]
    np.testing.assert_allclose(pixels["rate_se"], expected)


def test_an_infinite_mean_has_no_standard_error():
    pixels = reduced("final_error", final_error=[[1.0, 2.0, np.inf], [1.0, 3.0, 2.0]])
    assert pixels["final_error"] == [np.inf, 2.0]
    np.testing.assert_allclose(pixels["final_error_se"], [NAN, 1.0 / np.sqrt(3)])


def test_names_are_those_of_the_variables():
    assert "rate_se" not in variable_names(MEASURES, 1)
    assert {"rate_se", "floor_se", "floor_sup_se", "final_error_se"} <= set(
        variable_names(MEASURES, 2)
    )
