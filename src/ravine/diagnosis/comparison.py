"""All recipes on the same batches, on as many seeds as it takes to know their losses."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ravine.diagnosis.measurement import Runs, follow
from ravine.diagnosis.recipe import Recipe
from ravine.diagnosis.survey import Survey
from ravine.diagnosis.time_budget import TimeBudget
from ravine.diagnosis.work import loss_work, step_work

_BLOCKS = (64, 32, 16, 8, 6, 4, 3, 2)
"""Seeds that run side by side: as many as the time allows."""
_MOST_SEEDS = 1024
_KNOWN = 0.03
"""Relative standard error at which a loss counts as known: well within what a reader would read
out of a number of one or two digits."""
_WATCHED = 40
_FEWEST_WATCHED = 8
"""Marks at which a loss that takes a pass over the data is taken, at most and at least."""
_WATCHING = 0.3
"""Of the time that a block's steps take, for such passes."""


def compare(
    survey: Survey, recipes: Sequence[Recipe], *, steps: int, seeds: int | None, seed: int,
    share: float, budget: TimeBudget,
) -> Runs:  # fmt: skip
    """Run every recipe in about ``share`` of the time, or on exactly ``seeds`` seeds.

    Blocks of seeds follow each other until the mean loss of every recipe that stays below its start
    is known to a few per cent. At least one block of two runs, which may take longer.
    """
    allowed = budget.allowed(share)
    block = _block(survey, len(recipes), steps, 0.5 * allowed) if seeds is None else seeds
    each = steps * step_work(survey.model, survey.cut, len(recipes), block)
    watched = None

    if not survey.quadratic:
        once = loss_work(survey.model, len(recipes), block)
        watched = int(np.clip(_WATCHING * each / once, _FEWEST_WATCHED, _WATCHED))
        each += watched * once

    blocks = 1
    if seeds is None:
        blocks = int(np.clip(allowed / each, 1, _MOST_SEEDS // block))

    runs: Runs | None = None
    for number in range(blocks):
        with budget.counting(each):
            more = follow(
                survey.model, survey.cut, recipes, survey.start, survey.minimiser, survey.watch,
                steps=steps, seeds=block, seed=[seed, number], watched=watched,
            )  # fmt: skip

        runs = more if runs is None else runs.joined(more)
        if losses_known(runs, survey.start_excess) or budget.over:
            break

    assert runs is not None
    return runs


def losses_known(runs: Runs, start_excess: float) -> bool:
    """Whether the loss of each recipe that falls is known to a few per cent."""
    last = runs.excess[-1]
    mean = last.mean(axis=0)
    # A run that was lost has an infinite mean, and stays out like one that ends above its start.
    values = last[:, mean < start_excess]

    if len(values) < 2:
        return False

    error = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return bool((error <= _KNOWN * values.mean(axis=0)).all())


def _block(survey: Survey, recipes: int, steps: int, seconds: float) -> int:
    for seeds in _BLOCKS:
        if steps * step_work(survey.model, survey.cut, recipes, seeds) <= seconds:
            return seeds

    return _BLOCKS[-1]
