"""A race of step sizes, momenta and schedules on the data itself: the least loss wins."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

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
_FIRST_SEEDS = 2
"""Seeds of the first round of each level, which only has to miss nothing good."""
_WATCHED = 10
"""Marks at which a loss that takes a pass over the data is taken."""
FINALISTS = 2
"""Recipes of each kind that go from a level of the race to the final comparison."""
_NEAR = 1.0
"""The fast choice reaches this per cent of the loss at the start."""


class Level(NamedTuple):
    """How wide a race is: what it tries depends on nothing else.

    ``apart`` and ``momenta`` pick every so many step sizes of the grid and some of its momenta;
    ``second`` and ``seeds`` are the most recipes of the second round and their seeds.
    """

    apart: int
    momenta: tuple[int, ...]
    second: int
    seeds: int


LEVELS = (Level(4, (0, 4), 6, 2), Level(2, (0, 2, 4), 24, 2), Level(1, (0, 1, 2, 3, 4, 5), 40, 4))
"""From the narrowest to the widest, each grid part of the next. A wider race runs the narrower ones
too and adds their winners to its own: more time never loses what less time has found."""


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
        First at 1 % of the loss at the start, one for each level; empty where nothing gets there.
    entries
        All that ran in the last round of the widest level.
    """

    constant: list[Recipe]
    decayed: list[Recipe]
    averaged: list[Recipe]
    quick: list[Recipe]
    entries: list[Entry]


def race(
    survey: Survey, *, steps: int, seed: int, seconds: float, most: float | None = None
) -> Race | None:
    """Race at every level that ``seconds`` of counted work allow, the narrowest first.

    Each level has two rounds: its grid on few seeds, then the neighbours of the best. The narrowest
    level may take up to ``most``; None where not even that one can run ``steps`` steps.
    """
    longest = seconds if most is None else most
    if level_work(survey, LEVELS[0], steps) > longest:
        return None

    widest = 1
    while widest < len(LEVELS) and level_work(survey, LEVELS[widest], steps) <= seconds:
        widest += 1

    # The grids are nested: the widest one is run, and each level looks at its own part.
    grid = _grid(survey.moments.natural_step, LEVELS[widest - 1])
    runs = _run(survey, grid, steps, _FIRST_SEEDS, seed + 101)
    first = {entry.recipe.key: entry for entry in _entries(survey, grid, runs)}
    races = []
    for place, level in enumerate(LEVELS[:widest]):
        own = [first[r.key] for r in _grid(survey.moments.natural_step, level)]
        near = _neighbours(own)[: level.second]
        second = _run(survey, near, steps, level.seeds, seed + 202 + place)
        races.append(_winners(_entries(survey, near, second), second))

    return races[0] if len(races) == 1 else _united(races)


def level_work(survey: Survey, level: Level, steps: int) -> float:
    """Counted seconds of one level."""
    grid = 2 * len(range(0, _STEPS, level.apart)) * len(level.momenta)
    first = _work(survey, grid, steps, _FIRST_SEEDS)
    return first + _work(survey, level.second, steps, level.seeds)


def _united(races: list[Race]) -> Race:
    """The winners of all levels, the widest level's first, each once."""
    wide = races[::-1]
    return Race(
        _unique([recipe for r in wide for recipe in r.constant[:FINALISTS]]),
        _unique([recipe for r in wide for recipe in r.decayed[:FINALISTS]]),
        _unique([recipe for r in wide for recipe in r.averaged[:FINALISTS]]),
        _unique([recipe for r in wide for recipe in r.quick]),
        races[-1].entries,
    )


def _unique(recipes: list[Recipe]) -> list[Recipe]:
    return list({recipe.key: recipe for recipe in recipes}.values())


def _work(survey: Survey, recipes: int, steps: int, seeds: int) -> float:
    """Counted seconds of a round."""
    watched = 0 if survey.quadratic else _WATCHED
    return steps * step_work(survey.model, survey.cut, recipes, seeds) + watched * loss_work(
        survey.model, recipes, seeds
    )


def _grid(natural: float, level: Level) -> list[Recipe]:
    sizes = _LONGEST * natural / _FALL ** np.arange(0, _STEPS, level.apart)
    return [
        Recipe(rounded(float(a), _MOMENTA[j]), schedule)
        for j in level.momenta
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

    The kinds take turns, the best first, so that a shortened list keeps some of each.
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

    return _unique(chosen)


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


def _winners(entries: list[Entry], runs: Runs) -> Race:
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
    quick = [min(reached, key=lambda e: e.to_near).recipe] if reached else []
    return Race(constant, decayed, averaged, quick, entries)
