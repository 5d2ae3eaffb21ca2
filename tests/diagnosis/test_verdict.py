import dataclasses

import pytest

from ravine.diagnosis import diagnose
from ravine.diagnosis.estimate import Estimate
from ravine.diagnosis.prediction import Fate
from ravine.diagnosis.remedies import Scaling
from ravine.diagnosis.verdict import digits, growing, left_words, pace, percent, verdict


def test_the_heavy_row_is_the_cause(broken):
    assert broken.subject.fate in (Fate.ERRATIC, Fate.DIVERGES)
    assert "row 37 makes" in broken.verdict
    assert "Least loss after 10 epochs" in broken.verdict


def test_the_measured_winner_is_named_with_its_schedule(calm):
    best = calm.recommendation
    assert best.loss == pytest.approx(min(p.loss for p in calm.predictions), rel=0.021)
    if best is not calm.subject:
        assert best.candidate.recipe.words in calm.verdict


def test_what_is_as_good_is_not_called_better(calm):
    """The winner judged by itself: nothing leaves less."""
    best = calm.recommendation
    alone = dataclasses.replace(calm, predictions=(best,))
    assert "nothing leaves less" in alone.verdict


def test_standardising_comes_first_where_it_gains(calm):
    recipe = calm.recommendation.candidate.recipe
    much = dataclasses.replace(calm, scaling=Scaling(1.5, 0.5, 0.001, recipe))
    assert verdict(much)[0].startswith("Standardise the columns first")
    little = dataclasses.replace(calm, scaling=Scaling(1.5, 0.5, 0.4, recipe))
    assert "Standardise" not in little.verdict


def test_what_was_left_out_is_said(calm):
    short = dataclasses.replace(calm, left_out=("noise floors",))
    assert "Left out for want of time (--time): noise floors." in short.verdict


@pytest.mark.parametrize("fate", list(Fate))
def test_every_fate_has_an_opening(calm, fate):
    changed = dataclasses.replace(calm.subject, fate=fate)
    opening = verdict(dataclasses.replace(calm, predictions=(changed, *calm.predictions[1:])))[0]
    words = {
        Fate.CONVERGES: "converges at", Fate.USELESS: "of no use", Fate.ERRATIC: "is erratic",
        Fate.DIVERGES: "diverges on this data", Fate.UNDECIDED: "on the edge",
    }  # fmt: skip
    assert words[fate] in opening


def test_an_exact_gradient_that_grows_is_said_to(data):
    X, y = data(rows=40)
    result = diagnose(X, y, alpha=10.0, epochs=2, seeds=2, try_remedies=False)
    assert "even exact gradients grow" in result.verdict


def test_numbers_are_written_with_the_digits_that_tell():
    assert digits(0.99991) == "0.999910"
    assert digits(1.0 - 1e-9) == "1 - 1.0e-09"
    assert percent(0.0042) == "0.42 %"
    assert percent(12.0) == "12 times"
    assert growing(1.02) == "2 % a step"
    assert pace(0.5) == "0.500 a step, halving the error every 1.0 steps"


def test_a_loss_is_one_number_where_it_is_known_and_two_where_not(calm):
    start = calm.survey.start_excess
    known = Estimate(0.1 * start, 0.09 * start, 0.11 * start, False)
    vague = Estimate(0.1 * start, 0.05 * start, 0.2 * start, False)
    assert left_words(calm, known) == "10 %"
    assert left_words(calm, vague) == "between 5 % and 20 %"
