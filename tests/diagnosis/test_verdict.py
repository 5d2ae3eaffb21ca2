import dataclasses

import pytest

from ravine.diagnosis import diagnose
from ravine.diagnosis.causes import Scaling
from ravine.diagnosis.prediction import Outcome
from ravine.diagnosis.stability import Estimate
from ravine.diagnosis.verdict import growth, left_words, percent, times


def changed_subject(result, **changes):
    first = dataclasses.replace(result.subject, **changes)
    return dataclasses.replace(result, predictions=(first, *result.predictions[1:]))


def test_the_first_line_is_what_to_do(broken):
    do = broken.answer.do
    assert do.startswith("Use lr = ")
    assert "10 epochs" in do
    assert do.endswith("% of the excess loss remains.")


def test_the_second_line_names_the_heavy_row_and_its_columns(broken):
    assert broken.subject.outcome in (Outcome.ERRATIC, Outcome.DIVERGES)
    assert "The textbook setting" in broken.answer.why
    assert "Row 37 causes" in broken.answer.why
    assert "mostly along 'b'" in broken.answer.why


def test_the_winner_is_compared_with_the_judged_setting(calm):
    best = calm.recommendation
    assert best.candidate.recipe.words.split(", averag")[0] in calm.answer.do
    if best is not calm.subject:
        assert "times less than with your setting" in calm.answer.do


def test_what_is_as_good_is_kept(calm):
    """The winner judged by itself: nothing leaves less."""
    alone = dataclasses.replace(calm, predictions=(calm.recommendation,))
    assert alone.answer.do.startswith("Keep lr = ")
    assert "nothing that was tried does better" in alone.answer.do


def test_what_is_kept_is_the_recommended_row(calm):
    """A setting within 2 % of the best is kept: in words, in the table, in JSON and in the code."""
    best = calm.recommendation

    def with_loss(loss):
        rest = Estimate(loss, loss, loss, False)
        return changed_subject(calm, outcome=Outcome.CONVERGES, excess_after=rest)

    near = with_loss(1.01 * best.loss)
    assert near.answer.do.startswith("Keep lr = ")
    assert near.recommendation is near.subject
    worse = with_loss(1.05 * best.loss)
    assert worse.answer.do.startswith("Use lr = ")
    assert worse.recommendation is not worse.subject


def test_the_cause_of_an_instability_is_named(broken, found):
    why = broken.answer.why
    assert "Row 37 causes " in why
    assert " % of the instability: its curvature is " in why
    assert " times the average, mostly along '" in why

    def cause(**changes):
        driver = dataclasses.replace(found.disagreement, **changes)
        changed = changed_subject(found, outcome=Outcome.ERRATIC)
        return dataclasses.replace(changed, disagreement=driver).answer.why

    by_batch = {"batches": (3, 1), "shares": (0.8, 0.1), "ratios": (12.0, 2.0), "rows": (5, 7),
                "row_shares": (0.8, 0.1)}  # fmt: skip
    said = "Batch 3 causes 80 % of the instability: its curvature is 12 times the average"
    assert said in cause(**by_batch)
    assert cause(**by_batch).endswith(" (rows 5 and 7).")
    said = (
        "Rows 5 and 7 cause 90 % of the instability: the curvature of row 5 is 12 times the average"
    )
    assert said in cause(**{**by_batch, "batches": ()})
    said = "The batches disagree, mostly along "
    assert said in cause(**{**by_batch, "shares": (0.1, 0.1)})


def test_standardising_comes_first_where_it_gains(calm):
    recipe = calm.recommendation.candidate.recipe
    much = dataclasses.replace(calm, scaling=Scaling(1.5, 0.5, 0.001, recipe))
    assert much.answer.do.startswith("Standardise the columns first: 0.1 %")
    assert "Otherwise, use lr = " in much.answer.do or "Otherwise, keep" in much.answer.do
    little = dataclasses.replace(calm, scaling=Scaling(1.5, 0.5, 0.4, recipe))
    assert "Standardise" not in little.answer.do


def test_what_was_left_out_is_said_with_the_time_that_would_do(calm):
    short = dataclasses.replace(calm, left_out=("noise floors",))
    line = "Not computed with --time 10: noise floors. Use --time 50 to include them."
    assert line in short.answer.notes


@pytest.mark.parametrize("outcome", list(Outcome))
def test_every_outcome_has_its_words(calm, outcome):
    words = {
        Outcome.CONVERGES: "converges", Outcome.STALLS: "does not learn",
        Outcome.ERRATIC: "is erratic", Outcome.DIVERGES: "diverges",
        Outcome.UNDECIDED: "at the edge of stability",
    }  # fmt: skip
    assert words[outcome] in changed_subject(calm, outcome=outcome).answer.why


def test_a_noise_floor_is_no_contradiction(calm):
    """A fast rate beside a large rest: the text says that the rest is a noise floor."""
    start = calm.survey.start_excess
    rest = Estimate(0.15 * start, 0.15 * start, 0.15 * start, False)
    settled = changed_subject(calm, excess_after=rest, excess_floor=rest)
    assert "until it reaches a noise floor of 15 % of the initial excess loss" in settled.answer.why
    low = Estimate(0.01 * start, 0.01 * start, 0.01 * start, False)
    on_its_way = changed_subject(calm, excess_after=rest, excess_floor=low)
    assert "15 % of the excess loss remains (its noise floor is 1 %)" in on_its_way.answer.why


def test_a_setting_that_does_not_learn_is_measured_by_its_start(calm):
    start = calm.survey.start_excess
    high = Estimate(7.6 * start, 7.0 * start, 8.0 * start, False)
    ends = changed_subject(calm, outcome=Outcome.STALLS, excess_after=high, excess_floor=None)
    assert "it is 7.6 times as far above its minimum as at the start." in ends.answer.why
    floor = changed_subject(calm, outcome=Outcome.STALLS, excess_floor=high)
    assert "7.6 times as high as the excess loss at the start." in floor.answer.why


def test_an_erratic_setting_is_judged_by_its_root_mean_square(calm):
    """The rate is that of the distance, not of its square."""
    wild = dataclasses.replace(calm.subject.mean_square, value=1.21, low=1.2, high=1.22)
    erratic = changed_subject(calm, outcome=Outcome.ERRATIC, mean_square=wild)
    assert "its root-mean-square error grows by 10 % per step" in erratic.answer.why


def test_an_exact_gradient_that_grows_is_said_to(data):
    X, y = data(rows=40)
    result = diagnose(X, y, alpha=10.0, epochs=2, seeds=2, try_remedies=False)
    assert "even with exact gradients" in result.answer.why


def test_nothing_that_converges_is_said(calm):
    spoilt = tuple(dataclasses.replace(p, outcome=Outcome.ERRATIC) for p in calm.predictions)
    none = dataclasses.replace(calm, predictions=spoilt)
    assert none.answer.do.startswith("No setting that was tried converges")


def test_numbers_are_written_with_the_digits_that_tell():
    assert percent(0.0042) == "0.42 %"
    assert percent(12.0) == "1,200 %"
    assert percent(0.00000061) == "less than 0.001 %"
    assert percent(0.00000061, short=True) == "< 0.001 %"
    assert percent(0.012345) == "1.23 %"
    assert growth(1.02) == "2 % per step"
    assert growth(2.5) == "a factor of 2.5 per step"
    assert times(140.4) == "140"
    assert times(1273.0) == "1,300"


def test_a_loss_is_one_number_where_it_is_known_and_two_where_not(calm):
    start = calm.survey.start_excess
    known = Estimate(0.1 * start, 0.09 * start, 0.11 * start, False)
    vague = Estimate(0.1 * start, 0.05 * start, 0.2 * start, False)
    assert left_words(calm, known) == "10 %"
    assert left_words(calm, vague) == "5 % to 20 %"
    tiny = Estimate(1e-9 * start, 1e-10 * start, 1e-8 * start, False)
    assert left_words(calm, tiny) == "less than 0.001 %"
    small = Estimate(1e-5 * start, 1e-7 * start, 3e-5 * start, False)
    assert left_words(calm, small) == "at most 0.003 %"
