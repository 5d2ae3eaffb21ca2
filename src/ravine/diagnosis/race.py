"""A race of step sizes, momenta and schedules on the data itself: the smallest loss wins."""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest
from typing import NamedTuple

import numpy as np

from ravine.arguments import FloatArray
from ravine.diagnosis.candidates import CONSTANT, LINEAR, Candidate, Recipe, rounded
from ravine.diagnosis.runs import Runs, follow, run_work
from ravine.diagnosis.survey import Survey
from ravine.methods import Method

_MOMENTA = (0.0, 0.5, 0.8, 0.9, 0.95, 0.98)
"""Momenta of the grid: 1 - beta roughly halves each time."""
_LONGEST = 4.0
"""The longest step, in units of the natural one; no longer step is stable."""
_FALL = 2.2
"""Ratio of successive step sizes of the grid."""
_STEPS = 10
"""Number of step sizes of the grid, down to 1/1200 of the longest."""
_FIRST_SEEDS = 2
"""Seeds of the first round of each level; few suffice to keep every good recipe."""
_WATCHED = 10
"""Number of marks with a loss, if computing it takes a pass over the data."""
_FINALISTS = 2
"""Recipes of each kind that advance from a level of the race to the final comparison."""
NEAR = 0.01
"""Share of the initial loss that the fast choice must reach."""


class Level(NamedTuple):
    """The width of a race, which determines how much it tries.

    ``apart`` and ``momenta`` select every n-th step size of the grid and some of its momenta;
    ``second`` and ``seeds`` limit the recipes of the second round and their seeds.
    """

    apart: int
    momenta: tuple[int, ...]
    second: int
    seeds: int


LEVELS = (Level(4, (0, 4), 6, 2), Level(2, (0, 2, 4), 24, 2), Level(1, (0, 1, 2, 3, 4, 5), 40, 4))
"""From the narrowest to the widest; each grid is part of the next. A wider race also runs the
narrower ones and adds their winners to its own, so a longer search never loses the result of a
shorter one."""

_KINDS = ("constant", "schedule", "averaged", "quick")
"""The keys of candidates that win a race."""


class Race(NamedTuple):
    """The winners of all levels, to be measured again on new seeds.

    ``best`` is the recipe with the smallest loss in the widest level, and ``excess`` is that loss.
    """

    winners: list[Candidate]
    best: Recipe
    excess: float


def race(survey: Survey, *, steps: int, seconds: float, most: float | None = None) -> Race | None:
    """Race at every level that ``seconds`` of counted work allow, the narrowest first.

    Each level has two rounds: its grid on few seeds, then the neighbours of the best. The narrowest
    level may take up to ``most``. None if not even that one can run ``steps`` steps.
    """
    if level_work(survey, LEVELS[0], steps) > (seconds if most is None else most):
        return None

    levels = [LEVELS[0]]
    levels += [one for one in LEVELS[1:] if level_work(survey, one, steps) <= seconds]

    # The grids are nested: the widest one is run, and each level uses its own part.
    grid = _grid(survey, levels[-1])
    first = _run(survey, grid, steps, _FIRST_SEEDS, 101)
    place = {recipe.key: i for i, recipe in enumerate(grid)}
    best_of: dict[str, list[Recipe]] = {kind: [] for kind in _KINDS}

    for number, level in enumerate(levels):
        own = [place[recipe.key] for recipe in _grid(survey, level)]
        near = _neighbours(survey, [grid[i] for i in own], first.of(own))[: level.second]
        second = _run(survey, near, steps, level.seeds, 202 + number)

        for kind, recipes in _winners(survey, near, second).items():
            best_of[kind] += recipes

    winners = [Candidate(kind, recipe) for kind in _KINDS for recipe in _unique(best_of[kind])]
    excess = _cautious(second.excess[-1])

    return Race(winners, near[int(excess.argmin())], float(excess.min()))


def level_work(survey: Survey, level: Level, steps: int) -> float:
    """Counted seconds of one level."""
    first = run_work(survey, len(_grid(survey, level)), steps, _FIRST_SEEDS, _WATCHED)
    return first + run_work(survey, level.second, steps, level.seeds, _WATCHED)


def _run(survey: Survey, recipes: list[Recipe], steps: int, seeds: int, stream: int) -> Runs:
    seed = survey.setup.seed + stream
    return follow(survey, recipes, steps=steps, seeds=seeds, seed=seed, points=60, watched=_WATCHED)


def _unique(recipes: list[Recipe]) -> list[Recipe]:
    return list({recipe.key: recipe for recipe in recipes}.values())


def _grid(survey: Survey, level: Level) -> list[Recipe]:
    longest = _LONGEST * survey.moments.natural_step
    return [
        Recipe(rounded(Method(longest / _FALL**i, _MOMENTA[j])), constant_share)
        for j in level.momenta
        for i in range(0, _STEPS, level.apart)
        for constant_share in (CONSTANT, LINEAR)
    ]


def _cautious(values: FloatArray) -> FloatArray:
    """Mean over the seeds, infinite if a run diverged."""
    mean = values.mean(axis=0)
    return np.where(np.isfinite(mean), mean, np.inf)


def _neighbours(survey: Survey, recipes: list[Recipe], runs: Runs) -> list[Recipe]:
    """Variations of the best two of each kind: shorter and longer steps, more and less momentum.

    The kinds alternate, the best first, so that a shortened list has some of each.
    """
    order = np.argsort(_cautious(runs.excess[-1]), kind="stable")
    families = []
    for kind in (True, False):
        same = [recipes[i] for i in order if recipes[i].constant is kind]
        families.append([near for recipe in same[:2] for near in _around(recipe)])

    chosen = [r for turn in zip_longest(*families) for r in turn if r is not None]
    reached = runs.steps_to(NEAR * survey.start_excess)
    if np.isfinite(reached).any():
        chosen += [recipes[int(reached.argmin())].scaled(f) for f in (0.7, 1.0, 1.4)]

    return _unique(chosen)


def _around(recipe: Recipe) -> list[Recipe]:
    alpha = float(recipe.method.alpha)
    beta = float(recipe.method.beta)
    near = [recipe.scaled(f) for f in (1.0, 0.67, 1.5)]

    for factor in (0.6, 1.7):
        # The same effective step alpha/(1 - beta) with another memory.
        other = 1.0 - min(1.0, factor * (1.0 - beta))
        step = alpha * (1.0 - other) / (1.0 - beta)
        near.append(Recipe(rounded(Method(step, other)), recipe.constant_share))

    if not recipe.constant:
        near.append(Recipe(recipe.method, constant_share=0.5))

    return near


def _winners(survey: Survey, recipes: list[Recipe], runs: Runs) -> dict[str, list[Recipe]]:
    """The best few of each kind."""

    def first(values: FloatArray, constant: bool, count: int = _FINALISTS) -> list[Recipe]:
        order = [recipes[i] for i in np.argsort(values, kind="stable")]
        return [r for r in order if r.constant is constant][:count]

    excess = _cautious(runs.excess[-1])
    averaged = first(_cautious(runs.tail_excess[0]), True)
    reached = runs.steps_to(NEAR * survey.start_excess)

    return {
        "constant": first(excess, True),
        "schedule": first(excess, False),
        "averaged": [replace(recipe, averaged=True) for recipe in averaged],
        "quick": first(reached, True, 1) if np.isfinite(reached).any() else [],
    }
