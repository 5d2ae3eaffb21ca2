"""Runs on the data: many recipes on the same batches at once, watching the loss."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.diagnosis.batching import Batching
from ravine.diagnosis.recipe import Recipe
from ravine.engine.measures import divergence_limit
from ravine.engine.recursion import held, iterate
from ravine.problems.row_model import RowModel

Watch: TypeAlias = Callable[[FloatArray], FloatArray]
"""Excess loss f(y) - f* of points (seeds, features, runs * outputs): (seeds, runs)."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Errors of runs of several recipes over several seeds, of the point that a recipe reports.

    That is the iterate y, and for an averaged recipe, from the middle of the run on, the mean of
    the iterates since then.

    Attributes
    ----------
    steps
        Steps after which errors were taken, shape (t,).
    squares
        ‖y - x*‖², shape (t, seeds, recipes); infinite once a run has diverged.
    excess
        f(y) - f*, of the same shape; NaN at steps where it was not taken.
    diverged_at
        First step at which a run had diverged, shape (seeds, recipes); -1 for none.
    average
        Mean of ‖y - x*‖² of the iterates over the last half of the steps, shape (seeds, recipes).
    tail_excess
        f - f* of the mean of the iterates over the last half, whether it is reported or not.
    final
        The last points, (seeds, features, recipes * outputs).
    """

    steps: npt.NDArray[np.intp]
    squares: FloatArray
    excess: FloatArray
    diverged_at: npt.NDArray[np.intp]
    average: FloatArray
    tail_excess: FloatArray
    final: FloatArray

    @property
    def seeds(self) -> int:
        """Number of runs of each recipe."""
        return int(self.diverged_at.shape[0])

    @property
    def watched(self) -> npt.NDArray[np.intp]:
        """Indices of the marks at which the loss was taken."""
        return np.flatnonzero(~np.isnan(self.excess[:, 0, 0]))

    def joined(self, more: Runs) -> Runs:
        """These runs and those of further seeds."""
        return Runs(
            self.steps,
            np.concatenate([self.squares, more.squares], axis=1),
            np.concatenate([self.excess, more.excess], axis=1),
            np.concatenate([self.diverged_at, more.diverged_at]),
            np.concatenate([self.average, more.average]),
            np.concatenate([self.tail_excess, more.tail_excess]),
            np.concatenate([self.final, more.final]),
        )

    def of(self, recipes: Sequence[int]) -> Runs:
        """The runs of some of the recipes."""
        outputs = self.final.shape[2] // self.diverged_at.shape[1]
        wide = (np.asarray(recipes)[:, None] * outputs + np.arange(outputs)).ravel()
        return Runs(
            self.steps, self.squares[:, :, recipes], self.excess[:, :, recipes],
            self.diverged_at[:, recipes], self.average[:, recipes], self.tail_excess[:, recipes],
            self.final[:, :, wide],
        )  # fmt: skip


def follow(
    model: RowModel,
    cut: Batching,
    recipes: Sequence[Recipe],
    start: FloatArray,
    minimiser: FloatArray,
    watch: Watch,
    *,
    steps: int,
    seeds: int,
    seed: int | Sequence[int] = 0,
    points: int = 200,
    watched: int | None = None,
    reference: float | None = None,
) -> Runs:
    """Run every recipe on every seed; on one seed all recipes see the same batches.

    A run has diverged at the engine's limit for the ``reference`` distance, the start's unless
    given. ``watched`` is the number of marks at which the loss is taken, all unless given.
    """
    draws = cut.draws(seeds, np.random.default_rng(seed))
    K = model.outputs
    states = iterate(
        lambda _, y: model.drawn_gradient(next(draws), y, model.slopes),
        model.repeated(start, seeds, len(recipes)),
        steps=steps,
        alpha=_by_output([float(r.method.alpha) for r in recipes], K),
        betas=held(_by_output([float(r.method.beta) for r in recipes], K), steps),
        gammas=held(_by_output([float(r.method.gamma) for r in recipes], K), steps + 1),
        factors=_factors(recipes, steps, K),
    )

    best = model.repeated(minimiser, 1, len(recipes))
    far = float(np.linalg.norm(start - minimiser)) if reference is None else reference
    limit = float(divergence_limit(far))
    averaged = np.array([r.averaged for r in recipes])
    marks = marked_steps(steps, points)
    with_loss = _watched_marks(len(marks), watched)
    squares = np.full((len(marks), seeds, len(recipes)), np.inf)
    excess = np.full_like(squares, np.nan)
    diverged = np.full((seeds, len(recipes)), -1, dtype=np.intp)
    total = np.zeros((seeds, len(recipes)))
    tail = np.zeros((seeds, model.features, len(recipes) * K))
    half = steps // 2
    row = 0

    with np.errstate(over="ignore", invalid="ignore"):
        for state in states:
            error = model.squares(state.y - best)
            gone = ~(error < limit)
            if gone.any():
                diverged[gone & (diverged < 0)] = state.k
                _reset((state.x, state.v, state.y, tail), gone, K)

            lost = diverged >= 0
            error[lost] = np.inf
            if state.k >= half:
                total += error
                tail += state.y

            if state.k == marks[row]:
                mean = tail / max(state.k + 1 - half, 1)
                reported = np.repeat(averaged & (state.k >= half), K)
                point = np.where(reported, mean, state.y) if reported.any() else state.y
                squares[row] = np.where(lost, np.inf, model.squares(point - best))
                if row in with_loss:
                    excess[row] = np.where(lost, np.inf, watch(point))

                row += 1

        tail_excess = np.where(lost, np.inf, watch(mean))

    return Runs(marks, squares, excess, diverged, total / (steps + 1 - half), tail_excess, point)


def _factors(recipes: Sequence[Recipe], steps: int, outputs: int) -> FloatArray | None:
    """What the step sizes are multiplied by in each step; None where all are constant."""
    if all(r.schedule.constant for r in recipes):
        return None

    factors = np.stack([r.schedule.factors(steps) for r in recipes], axis=1)
    return np.repeat(factors, outputs, axis=1)[:, None, None, :]


def quadratic_watch(model: RowModel, minimiser: FloatArray, roots: FloatArray) -> Watch:
    """Excess of a quadratic: ½ ‖R (y - x*)‖² with RᵀR the Hessian, R of shape (k, d)."""
    if model.outputs != 1:
        raise AssertionError("a quadratic loss has one output")

    return partial(_quadratic_excess, minimiser[:, None], roots)


def _quadratic_excess(centre: FloatArray, roots: FloatArray, points: FloatArray) -> FloatArray:
    turned = roots @ (points - centre)
    return np.asarray(0.5 * np.einsum("skr,skr->sr", turned, turned))


def objective_watch(model: RowModel, minimum: float) -> Watch:
    """Excess of any loss: the whole objective at every point, less its least value."""
    # At the minimiser the difference of two equal losses may round to less than zero.
    return lambda points: np.maximum(model.objectives(points) - minimum, 0.0)


def marked_steps(steps: int, points: int = 200) -> npt.NDArray[np.intp]:
    """Steps at which errors are taken: evenly, and more of them early."""
    even = np.linspace(0, steps, max(points // 2, 2))
    early = np.geomspace(1, max(steps, 1), max(points // 2, 2))

    return np.unique(np.concatenate([even, early]).round().astype(np.intp))


def steps_to(runs: Runs, level: float) -> FloatArray:
    """Steps after which the mean excess loss is at most ``level``: (recipes,), inf if never."""
    kept = runs.watched
    mean = runs.excess[kept].mean(axis=1)
    out = np.full(mean.shape[1], math.inf)

    for i in range(mean.shape[1]):
        below = np.flatnonzero(mean[:, i] <= level)
        if below.size:
            out[i] = _crossing(runs.steps[kept], mean[:, i], int(below[0]), level)

    return out


def _crossing(steps: npt.NDArray[np.intp], curve: FloatArray, first: int, level: float) -> float:
    """Where a curve falls through a level, log-linear between two marks."""
    if first == 0 or not (math.isfinite(curve[first - 1]) and curve[first] > 0.0):
        return float(steps[first])

    high = math.log(curve[first - 1])
    low = math.log(curve[first])
    share = (high - math.log(level)) / max(high - low, 1e-300)

    return float(steps[first - 1] + share * (steps[first] - steps[first - 1]))


def _by_output(values: list[float], outputs: int) -> FloatArray:
    return np.repeat(np.array(values), outputs)[None, None, :]


def _reset(states: tuple[FloatArray, ...], gone: npt.NDArray[np.bool_], outputs: int) -> None:
    """Put runs that have diverged back to zero, so that they cost no overflow."""
    wide = np.repeat(gone, outputs, axis=1)[:, None, :]
    for state in states:
        np.copyto(state, 0.0, where=wide)


def _watched_marks(marks: int, watched: int | None) -> set[int]:
    if watched is None or watched >= marks:
        return set(range(marks))

    # More of them early, as a loss falls fastest there; the first and the last in any case.
    spaced = np.linspace(0.0, 1.0, max(watched, 2)) ** 1.5
    return {round(float(s) * (marks - 1)) for s in spaced}
