from dataclasses import replace

import numpy as np
import pytest

from ravine.diagnosis.candidates import LINEAR, Recipe
from ravine.diagnosis.runs import compare, follow, known, marked_steps
from ravine.methods import Method


def plain_run(X, y, lr, momentum, batches, rates):
    """PyTorch's SGD with nesterov=True, spelled out."""
    p = np.zeros(X.shape[1])
    buffer = np.zeros_like(p)
    trace = [p]
    for rows, rate in zip(batches, rates, strict=True):
        g = X[rows].T @ (X[rows] @ p - y[rows]) / len(rows)
        buffer = momentum * buffer + g
        p = p - lr * rate * (g + momentum * buffer)
        trace.append(p)
    return np.array(trace)


@pytest.mark.parametrize("schedule", [None, LINEAR])
def test_a_run_is_that_of_a_training_loop(data, survey_of, schedule):
    X, y = data(rows=20, d=3)
    seen = survey_of(X, y, batch_size=6)
    recipe = Recipe(Method(0.05, 0.8)) if schedule is None else Recipe(Method(0.05, 0.8), schedule)
    runs = follow(seen, [recipe, Recipe(Method(0.01))], steps=12, seeds=2, seed=5)
    draws = seen.batching.draws(2, np.random.default_rng(5))
    batches = [next(draws).rows[1] for _ in range(12)]
    trace = plain_run(X, y, 0.05, 0.8, batches, recipe.factors(12))
    squares = ((trace - seen.minimiser) ** 2).sum(axis=1)
    np.testing.assert_allclose(runs.squares[:, 1, 0], squares[runs.steps], rtol=1e-9)
    np.testing.assert_allclose(runs.final[:, 1, 0], trace[-1], rtol=1e-9)


def test_an_averaged_recipe_reports_its_average(data, survey_of):
    """From the middle on, the curve is that of the average, and ends with what is reported."""
    X, y = data(rows=20, d=3)
    seen = survey_of(X, y, batch_size=6)
    recipes = [Recipe(Method(0.05, 0.8), averaged=True), Recipe(Method(0.05, 0.8))]
    runs = follow(seen, recipes, steps=12, seeds=2, seed=5)
    draws = seen.batching.draws(2, np.random.default_rng(5))
    trace = plain_run(X, y, 0.05, 0.8, [next(draws).rows[1] for _ in range(12)], np.ones(12))
    means = [trace[k] if k < 6 else trace[6 : k + 1].mean(axis=0) for k in range(13)]
    squares = ((np.array(means) - seen.minimiser) ** 2).sum(axis=1)
    np.testing.assert_allclose(runs.squares[:, 1, 0], squares[runs.steps], rtol=1e-9)
    np.testing.assert_allclose(runs.final[:, 1, 0], means[-1], rtol=1e-9)
    np.testing.assert_allclose(runs.excess[-1, :, 0], runs.tail_excess[0, :, 0], rtol=1e-9)
    assert (runs.excess[-1, :, 0] != runs.excess[-1, :, 1]).all()


def test_excess_of_a_quadratic_is_that_of_its_objective(data, survey_of):
    X, y = data(rows=20, d=3)
    seen = survey_of(X, y, l2=0.1)
    points = np.random.default_rng(0).standard_normal((2, 3, 4))
    expected = seen.model.objectives(points) - seen.minimum.value
    np.testing.assert_allclose(seen.excess(points), expected, rtol=1e-9)


def test_excess_never_rounds_to_less_than_zero(data, survey_of):
    X, _ = data(rows=20, d=3)
    seen = survey_of(X, np.arange(20) % 2, l2=0.1)
    above = replace(seen, minimum=replace(seen.minimum, value=seen.minimum.value + 1e-15))
    assert above.excess(seen.model.repeated(seen.minimiser, 1, 1))[0, 0] == 0.0


def test_a_run_that_diverges_says_when(data, survey_of):
    X, y = data(rows=20, d=3)
    seen = survey_of(X, y)
    runs = follow(seen, [Recipe(Method(5.0)), Recipe(Method(0.01))], steps=60, seeds=3)
    assert (runs.diverged_at[0, :, 0] > 0).all()
    assert np.isinf(runs.excess[-1, :, 0]).all()
    assert np.isinf(runs.tail_excess[0, :, 0]).all()
    assert (runs.diverged_at[0, :, 1] == -1).all()
    assert np.isfinite(runs.average[0, :, 1]).all()


def test_marks_begin_and_end_where_they_should():
    marks, with_loss = marked_steps(1000, watched=10)
    assert marks[0] == 0
    assert marks[-1] == 1000
    assert (np.diff(marks) > 0).all()
    assert {0, len(marks) - 1} <= with_loss
    assert len(with_loss) == 10
    assert len(marked_steps(1000)[1]) == len(marks)


def test_steps_to_a_level_are_found_between_marks(data, survey_of):
    X, _ = data(rows=20, d=3)
    seen = survey_of(X, X @ np.ones(3), l2=0.0, batch_size=20)
    runs = follow(seen, [Recipe(Method(0.02)), Recipe(Method(1e-9))], steps=400, seeds=1, points=20)
    reached = runs.steps_to(0.1 * seen.start_excess)
    assert 0.0 < reached[0] < 400.0
    assert np.isinf(reached[1])


def test_a_level_below_the_start_takes_a_step_at_least(data, survey_of):
    X, _ = data(rows=20, d=1)
    seen = survey_of(X, X[:, 0], l2=0.0, batch_size=20)
    best = Recipe(Method(1.0 / seen.curvature.L))
    assert follow(seen, [best], steps=4, seeds=1).steps_to(0.01 * seen.start_excess) == [1.0]


RECIPES = [Recipe(Method(0.02, 0.5)), Recipe(Method(0.05), LINEAR)]


@pytest.fixture
def seen(data, survey_of):
    X, y = data(rows=64, d=3)
    return survey_of(X, y, batch_size=8)


def runs_of(seen, share, seeds=None, recipes=RECIPES):
    every = list(range(len(recipes)))
    return compare(
        seen, recipes, lambda runs: every, steps=40, seeds=seeds, seconds=1e6 * share,
    )[0]  # fmt: skip


def test_more_time_brings_seeds_until_the_losses_are_known(seen):
    few = runs_of(seen, 2e-9)
    many = runs_of(seen, 1e-3)
    assert few.squares.shape[1] < many.squares.shape[1] <= 320
    assert known(many.excess[-1])
    last = many.excess[-1]
    error = last.std(axis=0, ddof=1) / np.sqrt(len(last))
    assert (error <= 0.03 * last.mean(axis=0)).all()


def test_the_same_plan_gives_the_same_runs(seen):
    first = runs_of(seen, 1e-8)
    again = runs_of(seen, 1e-8)
    np.testing.assert_array_equal(first.excess, again.excess)


def test_blocks_are_of_different_seeds_and_joined_in_order(seen):
    runs = runs_of(seen, 1e-3)
    block = follow(seen, RECIPES, steps=40, seeds=64, seed=[0, 0])
    np.testing.assert_array_equal(runs.excess[:, :64], block.excess)
    assert not np.array_equal(runs.excess[:, 64:128], block.excess)


def test_seeds_that_are_asked_for_are_taken(seen):
    assert runs_of(seen, 1e-3, seeds=5).squares.shape[1] == 5


def test_a_lost_run_does_not_keep_the_others_waiting(seen):
    both = [*RECIPES, Recipe(Method(50.0))]
    runs = runs_of(seen, 1e-3, recipes=both)
    assert np.isinf(runs.excess[-1][:, 2]).all()
    assert known(runs.excess[-1][:, :2])
    assert runs.seeds < 320


def test_more_seeds_are_taken_by_those_that_were_chosen(seen):
    runs, kept = compare(
        seen, RECIPES, lambda runs: [1], steps=40, seeds=None, seconds=1e3,
    )  # fmt: skip
    assert kept == [1]
    both = runs_of(seen, 1e-3)
    np.testing.assert_array_equal(runs.excess[:, :64, 0], both.excess[:, :64, 1])
