from itertools import pairwise

from ravine.diagnosis.candidates import Recipe
from ravine.diagnosis.race import LEVELS, level_work, race
from ravine.diagnosis.runs import follow
from ravine.methods import Method


def winners_of(found, kind):
    return [c.recipe for c in found.winners if c.key == kind]


def test_the_winner_leaves_less_than_usual_parameters(data, survey_of):
    seen = survey_of(*data(rows=200, d=4, seed=1), batch_size=16)
    steps = 20 * seen.batching.steps_per_epoch
    found = race(seen, steps=steps, seconds=600.0)
    schedule, constant = winners_of(found, "schedule")[0], winners_of(found, "constant")[0]
    usual = [Recipe(Method(0.01, 0.9)), Recipe(Method(1.0 / float(seen.curvature.L)))]
    recipes = [schedule, constant, *usual]
    runs = follow(seen, recipes, steps=steps, seeds=32, seed=9)
    mean = runs.excess[-1].mean(axis=0)
    # New seeds: the mean of 32 is known to about 20 %.
    assert mean[:2].min() < 1.2 * mean[2:].min()
    assert not schedule.constant


def test_the_best_is_the_first_of_its_kind(data, survey_of):
    seen = survey_of(*data(rows=60, d=3), batch_size=10)
    seconds = 1.001 * level_work(seen, LEVELS[0], 60)
    found = race(seen, steps=60, seconds=seconds)
    first = [winners_of(found, kind)[0] for kind in ("constant", "schedule")]
    assert found.best in first
    assert 0.0 < found.excess < seen.start_excess


def test_there_is_no_race_without_time(data, survey_of):
    seen = survey_of(*data(rows=60, d=3), batch_size=10)
    assert race(seen, steps=10**7, seconds=1e-3) is None


def test_a_wider_race_keeps_what_a_narrower_one_found(data, survey_of):
    """More time never loses a finalist: the larger budget's candidates contain the smaller's."""
    seen = survey_of(*data(rows=60, d=3), batch_size=10)
    found = []
    for level in LEVELS:
        seconds = level_work(seen, level, 60)
        found.append(race(seen, steps=60, seconds=1.001 * seconds))
    for less, more in pairwise(found):
        kept = {(c.key, c.recipe.key) for c in more.winners}
        assert {(c.key, c.recipe.key) for c in less.winners} <= kept
    assert len(found[-1].winners) > len(found[0].winners)
