import math

import numpy as np
import pytest

from ravine.diagnosis import diagnose
from ravine.diagnosis.prediction import Outcome, critical_batch, judge_outcome
from ravine.diagnosis.stability import over_runs
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.epochs import Growths
from ravine.theory.finite_sums.growth import Growth
from ravine.theory.finite_sums.terms import Sense


def a_growth(low, high, sense):
    return Growth(0.5 * (low + high), low, high, False, sense, Sampling.IID)


@pytest.mark.parametrize(
    ("square", "sure", "outcome"),
    [
        ((0.8, 0.9), (0.7, 0.9), Outcome.CONVERGES),
        ((1.1, 1.2), (1.01, 1.02), Outcome.DIVERGES),
        ((1.1, 1.2), (0.9, 0.95), Outcome.ERRATIC),
        ((1.1, 1.2), (0.9, 1.01), Outcome.ERRATIC),
        ((0.9, 1.1), (0.9, 1.0), Outcome.UNDECIDED),
    ],
)
def test_the_outcome_follows_from_both_growths(square, sure, outcome):
    both = Growths(a_growth(*square, Sense.MEAN_SQUARE), a_growth(*sure, Sense.ALMOST_SURE))
    assert judge_outcome(both) is outcome
    assert outcome.sentence


def test_runs_have_limits_and_a_lost_one_has_none():
    estimate = over_runs(np.array([1.0, 2.0, 3.0]))
    assert estimate.value == 2.0
    assert estimate.low < 2.0 < estimate.high
    assert over_runs(np.array([1.0, math.inf])) is None


def test_exact_moments_of_independent_draws_are_measured(data):
    """400 runs: within five standard errors, in distance and in loss, also of a falling step."""
    X, y = data(seed=1)
    result = diagnose(X, y, l2=0.1, batch_size=8, sampling="iid", alpha=0.05, beta=0.5, epochs=10,
                      seeds=400, try_remedies=False)  # fmt: skip
    checked = 0
    for i, p in enumerate(result.predictions):
        if p.outcome is not Outcome.CONVERGES or p.candidate.key in (
            "tuned-sgd",
            "fastest",
            "quick",
        ):
            continue  # tuned to where fourth moments are large: their runs tell less
        assert p.excess_after.exact
        for value, runs in (
            (p.error_after.value, result.runs.squares[-1][:, i]),
            (p.excess_after.value, result.runs.excess[-1][:, i]),
        ):
            error = runs.std(ddof=1) / 20.0
            assert abs(runs.mean() - value) < 5.0 * error, p.candidate.key
        checked += 1
    assert checked >= 5


def test_floors_of_new_batches_are_those_of_long_runs(calm):
    yours = calm.subject
    assert yours.floor.basis == "runs"
    # Without repeats in an epoch less noise is left than with independent draws.
    free = np.trace(calm.survey.moments.stationary(yours.candidate.method))
    assert yours.floor.value < free
    assert yours.excess_floor.value < 0.5 * calm.survey.start_excess


def test_a_method_that_ends_above_its_start_is_useless(data):
    X, y = data(rows=64, d=4)
    noisy = y + 200.0 * np.random.default_rng(0).standard_normal(64)
    given = {"batch_size": 2, "epochs": 20, "seeds": 16, "try_remedies": False}
    result = diagnose(X, noisy, alpha=0.1, beta=0.8, **given)
    assert result.subject.outcome in (Outcome.STALLS, Outcome.ERRATIC, Outcome.DIVERGES)
    small = diagnose(X, noisy, alpha=0.03, beta=0.8, **given)
    assert small.subject.rate < 1.0
    assert small.subject.outcome is Outcome.STALLS


def test_from_the_critical_batch_on_the_mean_square_converges(data, survey_of):
    X, y = data(rows=96, d=4)
    X[5] *= 6.0
    seen = survey_of(X, y, batch_size=2)
    method = Method(0.15, 0.5)
    size = critical_batch(seen, method)
    assert 2 < size < 96
    assert survey_of(X[: 96 // size * size], y[: 96 // size * size], batch_size=size).moments
    for m, stable in ((size + 4, True), (max(2, size - 6), False)):
        # All batches of one size, so that no short one counts.
        rows = 96 // m * m
        kept = np.r_[5, np.setdiff1d(np.arange(96), 5)][:rows]
        assert survey_of(X[kept], y[kept], batch_size=m).moments.is_stable(method) is stable


def test_a_falling_step_that_brings_every_run_back_is_not_said_to_diverge(broken):
    """The row would contradict itself: "diverges" beside a small loss."""
    falling = next(p for p in broken.predictions if p.candidate.key == "pytorch-decay")
    assert judge_outcome(Growths(falling.mean_square, falling.almost_sure)) is Outcome.DIVERGES
    assert falling.loss < broken.survey.start_excess
    assert falling.outcome is Outcome.ERRATIC
