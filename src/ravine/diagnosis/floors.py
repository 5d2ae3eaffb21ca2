"""The noise that a constant step leaves in the end: by exact moments, or by runs from x*."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ravine.diagnosis.candidates import Candidate
from ravine.diagnosis.estimate import Estimate, over_runs
from ravine.diagnosis.measurement import Runs, follow
from ravine.diagnosis.recipe import Recipe
from ravine.diagnosis.survey import Survey
from ravine.diagnosis.time_budget import TimeBudget
from ravine.diagnosis.work import loss_work, step_work
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.epochs import Growths

_SEEDS = (64, 32, 16)
"""Runs of each method: as many as the time allows, and none with fewer."""
_MOST_BLOCKS = 8
_KNOWN = 0.03
"""Relative standard error at which a floor counts as known."""
_LONGEST = 200_000
"""Steps of a run to its floor at most: what settles later is no floor that anyone will see."""
_SETTLED = 6.0
"""Memories, steps 1/(1 - rate), after which a run that began at x* is at its floor: e^-12."""
_FEWEST_EPOCHS = 20
_SHORT_MEMORY = 30.0
"""An epoch of so many memories hides from a run that its batches do not repeat."""
_ALIKE = 4.0
"""Methods whose memories differ by no more than this run side by side."""
_WATCHED = 24
"""Marks at which a loss that takes a pass over the data is taken."""


@dataclass(frozen=True, eq=False)
class Floors:
    """E‖y - x*‖² and E f - f* that are left in the end."""

    square: Estimate | None
    excess: Estimate | None


_NO_FLOOR = Floors(None, None)
_NOTHING = Estimate(0.0, 0.0, 0.0, True, "moments")
_ZERO = Floors(_NOTHING, _NOTHING)
"""Where x* minimises every batch, nothing is left but rounding."""


def floors(
    survey: Survey, judged: Sequence[Candidate], growth: Sequence[Growths], *,
    seed: int, share: float, budget: TimeBudget,
) -> list[Floors]:  # fmt: skip
    """The floor of every recipe with a constant step that converges.

    By exact moments where batches are drawn independently, or where an epoch is long against the
    memory of the method. Otherwise from runs that begin at x*, where they are long enough.
    """
    out = [_NO_FLOOR] * len(judged)
    memory: dict[int, float] = {}

    for i, (candidate, both) in enumerate(zip(judged, growth, strict=True)):
        fits = candidate.recipe.schedule.constant and not candidate.recipe.averaged
        if not fits or both.mean_square.diverges is not False:
            continue
        if survey.interpolates:
            out[i] = _ZERO
            continue

        steps = 1.0 / max(1.0 - both.mean_square.rate, 1e-12)
        free = survey.cut.sampling is Sampling.IID
        if free or steps * _SHORT_MEMORY < survey.cut.steps_per_epoch:
            out[i] = _moment_floor(survey, candidate.method)
        else:
            memory[i] = steps

    methods = [candidate.method for candidate in judged]
    for i, known in _measured(survey, methods, memory, seed, share, budget):
        out[i] = known

    return out


def _moment_floor(survey: Survey, method: Method) -> Floors:
    if not survey.every_direction or not survey.moments.is_stable(method):
        return _NO_FLOOR

    X = survey.moments.stationary(method)
    if X is None:
        return _NO_FLOOR

    total = float(np.trace(X))
    excess = float(0.5 * np.diag(X) @ survey.moments.eigenvalues)
    exact = survey.exact and survey.quadratic and survey.cut.sampling is Sampling.IID

    return Floors(
        Estimate(total, total, total, exact, "moments"),
        Estimate(excess, excess, excess, exact, "moments"),
    )


def _measured(
    survey: Survey, methods: list[Method], memory: dict[int, float], seed: int, share: float,
    budget: TimeBudget,
) -> list[tuple[int, Floors]]:  # fmt: skip
    """Runs from the minimiser, in groups of like memory, short ones first."""
    left = budget.allowed(share)
    order = sorted(memory, key=lambda i: memory[i])
    out: list[tuple[int, Floors]] = []

    while order:
        group = [i for i in order if memory[i] <= _ALIKE * memory[order[0]]]
        steps = _steps(survey, memory[group[-1]])
        block = _block(survey, len(group), steps, left)
        if block is None and len(group) > 1:
            group = group[:1]
            steps = _steps(survey, memory[group[0]])
            block = _block(survey, 1, steps, left)

        if block is None or budget.over:
            budget.leave_out("noise floors of slow methods")
            break

        order = [i for i in order if i not in group]
        each = _work(survey, len(group), steps, block)
        # What is left is shared with the groups that follow, which take longer.
        blocks = int(np.clip(0.5 * left / each, 1, _MOST_BLOCKS))
        runs, taken = _settled(survey, [methods[i] for i in group], steps, block, blocks, seed)
        left -= taken * each
        late = [r for r in runs.watched if runs.steps[r] >= steps // 2]

        for j, i in enumerate(group):
            squares = over_runs(runs.average[:, j])
            excess = over_runs(runs.excess[late][:, :, j].mean(axis=0))
            out.append((i, Floors(squares, excess)))

    return out


def _settled(
    survey: Survey, methods: list[Method], steps: int, block: int, blocks: int, seed: int
) -> tuple[Runs, int]:
    """Runs from x* until their late mean is known, and how many blocks of seeds they took."""
    runs: Runs | None = None
    number = 0

    for number in range(blocks):
        more = follow(
            survey.model, survey.cut, [Recipe(method) for method in methods],
            survey.minimiser, survey.minimiser, survey.watch, steps=steps, seeds=block,
            seed=[seed, 303, number], points=120, watched=None if survey.quadratic else _WATCHED,
            reference=math.sqrt(survey.start_square),
        )  # fmt: skip
        runs = more if runs is None else runs.joined(more)
        values = runs.average
        error = values.std(axis=0, ddof=1) / math.sqrt(len(values))

        if (error <= _KNOWN * values.mean(axis=0)).all():
            break

    assert runs is not None
    return runs, number + 1


def _steps(survey: Survey, memory: float) -> int:
    """Steps of runs whose second half is at the floor: whole epochs, of which there are many."""
    epochs = math.ceil(2.0 * _SETTLED * memory / survey.cut.steps_per_epoch)
    return max(2 * epochs, _FEWEST_EPOCHS) * survey.cut.steps_per_epoch


def _block(survey: Survey, methods: int, steps: int, seconds: float) -> int | None:
    """Seeds that run side by side, or None where even the fewest take too long."""
    if steps > _LONGEST:
        return None

    for seeds in _SEEDS:
        if _work(survey, methods, steps, seeds) <= 0.5 * seconds:
            return seeds

    return None


def _work(survey: Survey, methods: int, steps: int, seeds: int) -> float:
    """Counted seconds of one block of runs."""
    watched = 0 if survey.quadratic else _WATCHED
    return steps * step_work(survey.model, survey.cut, methods, seeds) + watched * loss_work(
        survey.model, methods, seeds
    )
