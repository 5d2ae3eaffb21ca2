"""The noise that a constant step leaves in the end: by exact moments, or by runs from x*."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ravine.arguments import FloatArray
from ravine.diagnosis.candidates import Candidate
from ravine.diagnosis.recipe import Recipe
from ravine.diagnosis.runs import in_blocks, known, run_work, watched_marks
from ravine.diagnosis.survey import Survey
from ravine.diagnosis.work import TimeBudget
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.epochs import Growths
from ravine.theory.finite_sums.limits import interval

_SEEDS = (64, 32, 16)
"""Runs of each method: as many as the time allows, and none with fewer."""
_MOST_BLOCKS = 8
_LONGEST = 200_000
"""Steps of a run to its floor at most: slower transients are not reported as a floor."""
_SETTLED = 6.0
"""Memories, steps 1/(1 - rate), after which a run that began at x* is at its floor: e^-12."""
_FEWEST_EPOCHS = 20
_SHORT_MEMORY = 30.0
"""An epoch of so many memories hides from a run that its batches do not repeat."""
_ALIKE = 4.0
"""Methods whose memories differ by no more than this run side by side."""


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % limits, which are equal to it where it is exact.

    ``basis`` says where it comes from: "moments" (computed) or "runs" (measured on the data).
    """

    value: float
    low: float
    high: float
    exact: bool
    basis: str = "runs"


def computed(value: float, exact: bool = True) -> Estimate:
    """A number from second moments."""
    return Estimate(value, value, value, exact, "moments")


def over_runs(values: FloatArray) -> Estimate | None:
    """Mean of runs with Student's 95 % limits; None where a run diverged."""
    if not np.isfinite(values).all():
        return None
    if len(values) < 2:
        return Estimate(float(values[0]), 0.0, math.inf, False)

    # Squares of large losses would overflow in the variance.
    scale = max(float(np.abs(values).max()), 1e-300)
    mean, low, high = (scale * limit for limit in interval(values / scale))
    return Estimate(mean, max(0.0, low), high, False)


class Floors(NamedTuple):
    """E‖y - x*‖² and E f - f* that are left in the end."""

    square: Estimate | None = None
    excess: Estimate | None = None


def floors(
    survey: Survey, judged: Sequence[Candidate], growth: Sequence[Growths], *,
    seed: int, seconds: float, budget: TimeBudget,
) -> list[Floors]:  # fmt: skip
    """The floor of every recipe with a constant step that converges.

    By exact moments where batches are drawn independently, or where an epoch is long against the
    memory of the method. Otherwise from runs that begin at x*, where they are long enough.
    """
    out = [Floors()] * len(judged)
    memory: dict[int, float] = {}
    for i, (candidate, both) in enumerate(zip(judged, growth, strict=True)):
        fits = candidate.recipe.schedule.constant and not candidate.recipe.averaged
        if not fits or both.mean_square.diverges is not False:
            continue

        steps = 1.0 / max(1.0 - both.mean_square.rate, 1e-12)
        independent = survey.batching.sampling is Sampling.IID
        if survey.interpolates:
            # Where x* minimises every batch, nothing is left but rounding.
            out[i] = Floors(computed(0.0), computed(0.0))
        elif independent or steps * _SHORT_MEMORY < survey.batching.steps_per_epoch:
            out[i] = _moment_floor(survey, candidate.method)
        else:
            memory[i] = steps

    recipes = {i: Recipe(judged[i].method) for i in memory}
    for i, floor in _measured(survey, recipes, memory, seed, seconds, budget).items():
        out[i] = floor

    return out


def _moment_floor(survey: Survey, method: Method) -> Floors:
    if not survey.every_direction or not survey.moments.is_stable(method):
        return Floors()

    X = survey.moments.stationary(method)
    if X is None:
        return Floors()

    excess = float(0.5 * np.diag(X) @ survey.moments.eigenvalues)
    exact = survey.exact and survey.quadratic and survey.batching.sampling is Sampling.IID
    return Floors(computed(float(np.trace(X)), exact), computed(excess, exact))


def _measured(
    survey: Survey, recipes: dict[int, Recipe], memory: dict[int, float], seed: int,
    seconds: float, budget: TimeBudget,
) -> dict[int, Floors]:  # fmt: skip
    """Runs from the minimiser, in groups of like memory, short ones first."""
    order = sorted(memory, key=lambda i: memory[i])
    out: dict[int, Floors] = {}
    while order:
        alike = [i for i in order if memory[i] <= _ALIKE * memory[order[0]]]
        # One at a time where all together do not fit.
        plans = [_plan(survey, group, memory, 0.5 * seconds) for group in (alike, alike[:1])]
        plan = next((p for p in plans if p is not None), None)
        if plan is None or budget.over:
            budget.leave_out("noise floors of slow methods")
            break

        group, steps, block, watched, work = plan
        order = order[len(group) :]
        # What is left is shared with the groups that follow, which take longer.
        blocks = int(np.clip(0.5 * seconds / work, 1, _MOST_BLOCKS))
        runs = in_blocks(
            survey, [recipes[i] for i in group], blocks, lambda runs: known(runs.average[0]),
            steps=steps, seeds=block, seed=[seed, 303], points=120, watched=watched,
            from_minimiser=True,
        )  # fmt: skip
        seconds -= runs.seeds // block * work
        late = [r for r in runs.watched if runs.steps[r] >= steps // 2]
        excess = runs.excess[late].mean(axis=0)
        for j, i in enumerate(group):
            out[i] = Floors(over_runs(runs.average[0, :, j]), over_runs(excess[:, j]))

    return out


class _Plan(NamedTuple):
    """Runs of some methods to their floors: how long, on how many seeds, and their work."""

    group: list[int]
    steps: int
    seeds: int
    watched: int | None
    work: float


def _plan(
    survey: Survey, group: list[int], memory: dict[int, float], seconds: float
) -> _Plan | None:
    """Runs whose second half is at the floor, on as many seeds as ``seconds`` allow."""
    per_epoch = survey.batching.steps_per_epoch
    epochs = math.ceil(2.0 * _SETTLED * memory[group[-1]] / per_epoch)
    steps = max(2 * epochs, _FEWEST_EPOCHS) * per_epoch
    for seeds in _SEEDS:
        watched = watched_marks(survey, len(group), steps, seeds)
        work = run_work(survey, len(group), steps, seeds, watched)
        if work <= seconds and steps <= _LONGEST:
            return _Plan(group, steps, seeds, watched, work)

    return None
