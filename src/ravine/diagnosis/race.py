"""A race of step sizes, momenta and schedules on the data itself: the least loss wins."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from ravine.arguments import FloatArray
from ravine.diagnosis.measurement import Runs, follow, steps_to
from ravine.diagnosis.recipe import CONSTANT, LINEAR, Recipe, Schedule, rounded
from ravine.diagnosis.survey import Survey
from ravine.diagnosis.work import loss_work, step_work

_MOMENTA = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98)
"""Momenta of the grid: 1 - beta halves or so each time."""
_LONGEST = 4.0
"""The longest step, in units of the natural one: beyond it nothing is stable."""
_FALL = 2.2
"""Each step size of the grid is so many times shorter than the one before."""
_STEPS = 10
"""Step sizes of the grid: down to 1/1200 of the longest."""
_FEWER = ((6, 3), (3, 2))
"""Where time is short, the grid keeps so few step sizes and momenta, ever further apart."""
_FIRST_SEEDS = 2
_SECOND_SEEDS = 4
"""Seeds of the wide round, which only has to miss nothing good, and of the second."""
_FEWEST = 4
"""Recipes of the second round at least."""
_WATCHED = 10
"""Marks at which a loss that takes a pass over the data is taken."""
_NEAR = 1.0
"""The fast choice reaches this per cent of the loss at the start."""


@dataclass(frozen=True, eq=False)
class Entry:
    """One recipe of the race.

    Attributes
    ----------
    recipe
        Step size, momentum and schedule.
    excess
        Mean of f - f* in the end.
    to_near
        Steps to 1 % of the excess at the start; infinite if that was not reached.
    """

    recipe: Recipe
    excess: float
    to_near: float


@dataclass(frozen=True, eq=False)
class Race:
    """The winners.

    Attributes
    ----------
    constant, decayed, averaged
        Least loss in the end with a constant step, with one that falls, and with the last half
        averaged.
    quick
        First at 1 % of the loss at the start, or None where nothing gets there.
    entries
        All that ran in the last round.
    """

    constant: list[Recipe]
    decayed: list[Recipe]
    averaged: list[Recipe]
    quick: Recipe | None
    entries: list[Entry]


def race(
    survey: Survey, *, steps: int, seed: int, seconds: float, most: float | None = None
) -> Race | None:
    """Two rounds: a wide grid on few seeds, then the neighbours of the best on more.

    In about ``seconds`` of counted work, with the smallest grid in up to ``most``; None where not
    even that one can run ``steps`` steps.
    """
    longest = seconds if most is None else most
    grid = _affordable_grid(survey, steps, 0.5 * seconds, 0.5 * longest)
    if grid is None:
        return None

    first = _run(survey, grid, steps, _FIRST_SEEDS, seed + 101)
    entries = _entries(survey, grid, first)
    near = _neighbours(entries)

    # The second round takes no longer than the first did: on fewer seeds, then of fewer recipes.
    allowed = max(0.5 * seconds, _work(survey, len(grid), steps, _FIRST_SEEDS))
    seeds = _SECOND_SEEDS
    if _work(survey, len(near), steps, seeds) > allowed:
        seeds = _FIRST_SEEDS

    cost = _work(survey, len(near), steps, seeds)
    if cost > allowed:
        near = near[: max(_FEWEST, int(len(near) * allowed / cost))]

    second = _run(survey, near, steps, seeds, seed + 202)
    final = _entries(survey, near, second)
    return _winners(survey, final, second)


def _affordable_grid(
    survey: Survey, steps: int, seconds: float, most: float
) -> list[Recipe] | None:
    natural = survey.moments.natural_step
    grid: list[Recipe] = []
    cost = 0.0

    for lengths, momenta in ((_STEPS, len(_MOMENTA)), *_FEWER):
        grid = _grid(natural, lengths, momenta)
        cost = _work(survey, len(grid), steps, _FIRST_SEEDS)
        if cost <= seconds:
            return grid

    return grid if cost <= most else None


def _work(survey: Survey, recipes: int, steps: int, seeds: int) -> float:
    """Counted seconds of a round."""
    watched = 0 if survey.quadratic else _WATCHED
    return steps * step_work(survey.model, survey.cut, recipes, seeds) + watched * loss_work(
        survey.model, recipes, seeds
    )


def _grid(natural: float, lengths: int, momenta: int) -> list[Recipe]:
    spacing = _FALL ** ((_STEPS - 1) / max(lengths - 1, 1))
    sizes = _LONGEST * natural / spacing ** np.arange(lengths)
    chosen = np.unique(np.linspace(0, len(_MOMENTA) - 1, momenta).round().astype(int))

    return [
        Recipe(rounded(float(a), _MOMENTA[j]), schedule)
        for j in chosen
        for a in sizes
        for schedule in (CONSTANT, LINEAR)
    ]


def _run(survey: Survey, recipes: list[Recipe], steps: int, seeds: int, seed: int) -> Runs:
    # A quadratic's loss is cheap to watch; any other takes a pass over the data.
    watched = None if survey.quadratic else _WATCHED
    return follow(
        survey.model, survey.cut, recipes, survey.start, survey.minimiser, survey.watch,
        steps=steps, seeds=seeds, seed=seed, points=60, watched=watched,
    )  # fmt: skip


def _entries(survey: Survey, recipes: list[Recipe], runs: Runs) -> list[Entry]:
    excess = _cautious(runs.excess[-1])
    near = steps_to(runs, 0.01 * _NEAR * survey.start_excess)
    return [Entry(r, float(e), float(t)) for r, e, t in zip(recipes, excess, near, strict=True)]


def _cautious(values: FloatArray) -> FloatArray:
    """Mean over the seeds, infinite where a run was lost."""
    with np.errstate(invalid="ignore"):
        mean = values.mean(axis=0)

    return np.where(np.isfinite(mean), mean, np.inf)


def _neighbours(entries: list[Entry]) -> list[Recipe]:
    """Around the best two of each kind: shorter and longer steps, more and less momentum.

    The kinds take turns, the best first, so that a list that is cut short keeps some of each.
    """
    families = []
    for kind in (True, False):
        same = [e for e in entries if e.recipe.schedule.constant is kind]
        same.sort(key=lambda e: e.excess)
        families.append([r for entry in same[:2] for r in _around(entry.recipe)])

    chosen = [r for turn in zip_longest(*families) for r in turn if r is not None]
    reached = [e for e in entries if np.isfinite(e.to_near)]
    if reached:
        quickest = min(reached, key=lambda e: e.to_near)
        chosen += [quickest.recipe.scaled(f) for f in (0.7, 1.0, 1.4)]

    unique = {(float(r.method.alpha), float(r.method.beta), r.schedule): r for r in chosen}
    return list(unique.values())


def _around(recipe: Recipe) -> list[Recipe]:
    alpha = float(recipe.method.alpha)
    beta = float(recipe.method.beta)
    near = [recipe.scaled(f) for f in (1.0, 0.67, 1.5)]

    for factor in (0.6, 1.7):
        # The same effective step alpha/(1 - beta), with another memory.
        other = 1.0 - min(1.0, factor * (1.0 - beta))
        step = alpha * (1.0 - other) / (1.0 - beta)
        near.append(Recipe(rounded(step, other), recipe.schedule))

    if not recipe.schedule.constant:
        near.append(Recipe(recipe.method, Schedule(0.5)))

    return near


def _winners(survey: Survey, entries: list[Entry], runs: Runs) -> Race:
    order = sorted(entries, key=lambda e: e.excess)
    constant = [e.recipe for e in order if e.recipe.schedule.constant]
    decayed = [e.recipe for e in order if not e.recipe.schedule.constant]
    tails = _cautious(runs.tail_excess)
    by_tail = np.argsort(tails)
    averaged = [
        Recipe(entries[i].recipe.method, CONSTANT, averaged=True)
        for i in by_tail
        if entries[i].recipe.schedule.constant
    ]

    reached = [e for e in entries if np.isfinite(e.to_near) and e.recipe.schedule.constant]
    quick = min(reached, key=lambda e: e.to_near).recipe if reached else None
    return Race(constant, decayed, averaged, quick, entries)
