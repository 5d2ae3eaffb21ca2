import numpy as np
import pytest

from ravine.diagnosis.comparison import compare, losses_known
from ravine.diagnosis.measurement import follow
from ravine.diagnosis.recipe import LINEAR, Recipe
from ravine.diagnosis.time_budget import TimeBudget
from ravine.methods import Method

RECIPES = [Recipe(Method(0.02, 0.5)), Recipe(Method(0.05), LINEAR)]


@pytest.fixture
def seen(data, survey_of):
    X, y = data(rows=64, d=3)
    return survey_of(X, y, batch_size=8)


def runs_of(seen, share, seeds=None, recipes=RECIPES):
    return compare(seen, recipes, steps=40, seeds=seeds, seed=3, share=share,
                   budget=TimeBudget(1e6))  # fmt: skip


def test_more_time_brings_seeds_until_the_losses_are_known(seen):
    few = runs_of(seen, 2e-9)
    many = runs_of(seen, 1e-3)
    assert few.squares.shape[1] < many.squares.shape[1] <= 1024
    assert losses_known(many, seen.start_excess)
    last = many.excess[-1]
    error = last.std(axis=0, ddof=1) / np.sqrt(len(last))
    assert (error <= 0.03 * last.mean(axis=0)).all()


def test_the_same_plan_gives_the_same_runs(seen):
    first = runs_of(seen, 1e-8)
    again = runs_of(seen, 1e-8)
    np.testing.assert_array_equal(first.excess, again.excess)


def test_blocks_are_of_different_seeds_and_joined_in_order(seen):
    runs = runs_of(seen, 1e-3)
    block = follow(seen.model, seen.cut, RECIPES, seen.start, seen.minimiser, seen.watch,
                   steps=40, seeds=64, seed=[3, 0])  # fmt: skip
    np.testing.assert_array_equal(runs.excess[:, :64], block.excess)
    assert not np.array_equal(runs.excess[:, 64:128], block.excess)


def test_seeds_that_are_asked_for_are_taken(seen):
    assert runs_of(seen, 1e-3, seeds=5).squares.shape[1] == 5


def test_a_lost_run_does_not_keep_the_others_waiting(seen):
    both = [*RECIPES, Recipe(Method(50.0))]
    runs = runs_of(seen, 1e-3, recipes=both)
    assert np.isinf(runs.excess[-1][:, 2]).all()
    assert losses_known(runs, seen.start_excess)
