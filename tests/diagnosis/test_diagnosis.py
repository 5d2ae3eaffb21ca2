import dataclasses

import numpy as np

from ravine.diagnosis.diagnosis import best_of
from ravine.diagnosis.prediction import Outcome
from ravine.diagnosis.stability import Estimate


def test_the_recommendation_is_the_least_loss_of_what_is_safe(calm):
    best = calm.recommendation
    good = [p for p in calm.predictions if p.safe]
    assert best.loss <= 1.02 * min(p.loss for p in good)
    spoilt = tuple(dataclasses.replace(p, outcome=Outcome.ERRATIC) for p in calm.predictions)
    assert best_of(spoilt) is None


def test_a_usual_method_wins_where_it_is_better(calm):
    """Every row competes: also one that is not ravine's."""
    least = Estimate(1e-300, 0.0, 1.0, False)
    changed = [
        dataclasses.replace(p, excess_after=least) if p.candidate.key == "one-over-L" else p
        for p in calm.predictions
    ]
    assert best_of(tuple(changed)).candidate.key == "one-over-L"


def test_the_quick_one_is_first_at_one_per_cent(calm):
    reached = [
        p.steps_to_1_percent
        for p in calm.predictions
        if p.safe and np.isfinite(p.steps_to_1_percent)
    ]
    assert calm.quick.steps_to_1_percent == min(reached)


def test_of_two_equally_fast_ones_the_quick_one_does_not_average(calm):
    """The mean begins in the second half; who stops at 1 % never takes it."""
    same = [dataclasses.replace(p, steps_to_1_percent=3.0) for p in calm.predictions]
    averaged = next(p for p in same if p.candidate.recipe.averaged)
    rest = [p for p in same if not p.candidate.recipe.averaged]
    tied = dataclasses.replace(calm, predictions=(averaged, *rest))
    assert not tied.quick.candidate.recipe.averaged


def test_it_shows_itself_shortly_and_in_notebooks(calm):
    assert repr(calm).startswith("<Diagnosis of data: 96 rows, 4 columns, yours ")
    assert len(repr(calm)) < 200
    html = calm._repr_html_()
    assert "<table" in html
    assert "schedule" in html
    assert html.count(" *<") == 1


def test_a_frame_has_one_row_for_each_recipe(calm):
    frame = calm.to_dataframe()
    assert list(frame.index) == [p.candidate.key for p in calm.predictions]
    assert frame.loc["yours", "lr"] == 0.05


def test_the_report_is_returned_and_written(calm, tmp_path):
    path = tmp_path / "report.html"
    html = calm.to_html(path)
    assert html.startswith("<!doctype html>") or html.startswith("<!DOCTYPE html>")
    assert path.read_text(encoding="utf-8") == html
