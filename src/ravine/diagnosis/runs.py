"""Runs on the data: many recipes on the same batches at once, with their losses."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.diagnosis.candidates import Recipe, parameter_arrays
from ravine.diagnosis.survey import Survey
from ravine.diagnosis.work import loss_work, step_work
from ravine.engine.measures import divergence_limit
from ravine.engine.recursion import held, iterate
from ravine.problems import LinearModel

_BLOCKS = (64, 32, 16, 8, 6, 4, 3, 2)
"""Numbers of seeds that run together; the largest that the time allows is used."""
_MOST_SEEDS = 1280
"""Maximum number of runs of each recipe."""
_WATCHED = 40
_FEWEST_WATCHED = 8
"""Maximum and minimum number of marks with a loss, if computing it takes a pass over the data."""
_WATCHING = 0.3
"""Time for such passes, as a share of the time of the steps."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Errors of runs of several recipes and seeds, at the point that a recipe reports.

    This is the iterate y; for an averaged recipe, from the middle of the run on, it is the mean of
    the iterates since then.

    Attributes
    ----------
    steps
        Steps after which errors were computed, shape (t,).
    squares
        ‖y - x*‖², shape (t, seeds, recipes); infinite once a run has diverged.
    excess
        f(y) - f*, of the same shape; NaN at steps where it was not computed.
    diverged_at
        First step at which a run had diverged, shape (1, seeds, recipes); -1 if it did not.
    average
        Mean of ‖y - x*‖² over the second half of the steps, of the same shape; for runs from the
        minimiser.
    tail_excess
        f - f* at the mean of the iterates of the second half, whether or not it is reported.
    final
        The last points, (features * outputs, seeds, recipes).
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
        return int(self.squares.shape[1])

    @property
    def watched(self) -> npt.NDArray[np.intp]:
        """Indices of the marks with a loss."""
        return np.flatnonzero(~np.isnan(self.excess[:, 0, 0]))

    def joined(self, more: Runs) -> Runs:
        """These runs joined with runs on further seeds."""
        both = {
            f.name: np.concatenate([getattr(self, f.name), getattr(more, f.name)], axis=1)
            for f in fields(self)[1:]
        }
        return replace(self, **both)

    def of(self, recipes: Sequence[int]) -> Runs:
        """The runs of some of the recipes."""
        kept = {f.name: getattr(self, f.name)[:, :, recipes] for f in fields(self)[1:]}
        return replace(self, **kept)

    def steps_to(self, level: float) -> FloatArray:
        """Steps after which the mean excess loss is at most ``level``, inf if never: (recipes,).

        Between two marks the loss is interpolated log-linearly; from a start above the level, the
        result is at least one step.
        """
        kept = self.watched
        steps = self.steps[kept].astype(np.float64)
        mean = self.excess[kept].mean(axis=1)
        out = np.full(mean.shape[1], math.inf)

        for i, curve in enumerate(mean.T):
            reached = curve <= level
            k = int(reached.argmax())
            if reached.any():
                out[i] = steps[k]

            if k > 0 and math.isfinite(curve[k - 1]) and curve[k] > 0.0:
                share = math.log(curve[k - 1] / level) / math.log(curve[k - 1] / curve[k])
                out[i] = max(1.0, steps[k - 1] + share * (steps[k] - steps[k - 1]))

        return out

    def mean_losses(self, model: LinearModel) -> FloatArray:
        """Mean loss of other rows at the last points, shape (recipes,)."""
        _, seeds, recipes = self.final.shape
        points = self.final.reshape(model.features, model.outputs, -1).swapaxes(1, 2)
        losses = model.losses(points.reshape(1, model.features, -1))

        return np.asarray(losses.reshape(seeds, recipes).mean(axis=0))


def follow(
    survey: Survey,
    recipes: Sequence[Recipe],
    *,
    steps: int,
    seeds: int,
    seed: int | Sequence[int] = 0,
    points: int = 200,
    watched: int | None = None,
    from_minimiser: bool = False,
) -> Runs:
    """Run every recipe on every seed from zero; a seed gives all recipes the same batches.

    ``points`` is roughly the number of marks, and ``watched`` the number of marks with a loss. By
    default, and for a quadratic, whose loss is cheap, it is computed at all marks.
    """
    model = survey.model
    K = model.outputs
    draws = survey.batching.draws(seeds, np.random.default_rng(seed))
    best = model.repeated(survey.minimiser, 1, len(recipes))

    alpha, beta, gamma = np.repeat(parameter_arrays(recipes), K, axis=1)
    factors = np.stack([r.factors(steps) for r in recipes], axis=1)
    falling = not all(r.constant for r in recipes)
    states = iterate(
        lambda _, y: model.drawn_gradient(next(draws), y, model.slopes),
        np.repeat(best if from_minimiser else 0.0 * best, seeds, axis=0),
        steps=steps,
        alpha=alpha,
        betas=held(beta, steps),
        gammas=held(gamma, steps + 1),
        factors=np.repeat(factors, K, axis=1)[:, None, None, :] if falling else None,
    )
    limit = float(divergence_limit(math.sqrt(survey.start_square)))
    averaged = np.array([r.averaged for r in recipes])
    marks, with_loss = marked_steps(steps, points, None if survey.quadratic else watched)
    squares = np.full((len(marks), seeds, len(recipes)), np.inf)
    excess = np.full_like(squares, np.nan)
    diverged = np.full((seeds, len(recipes)), -1, dtype=np.intp)
    total = np.zeros((seeds, len(recipes)))
    tail = np.zeros((seeds, model.features, len(recipes) * K))
    half = steps // 2
    row = 0

    with np.errstate(over="ignore", invalid="ignore"):
        for state in states:
            marked = state.k == marks[row]
            late = state.k >= half
            if marked or state.k % 4 == 0 or (late and from_minimiser):
                error = model.squares(state.y - best)
                gone = ~(error < limit)
                if gone.any():
                    # Diverged runs continue from zero, to avoid overflow.
                    diverged[gone & (diverged < 0)] = state.k
                    zeroed = np.repeat(gone, K, axis=1)[:, None, :]
                    for values in (state.x, state.v, state.y, tail):
                        np.copyto(values, 0.0, where=zeroed)

            lost = diverged >= 0
            if late:
                total += np.where(lost, np.inf, error)
                tail += state.y

            if marked:
                mean = tail / max(state.k + 1 - half, 1)
                point = np.where(np.repeat(averaged & late, K), mean, state.y)
                squares[row] = np.where(lost, np.inf, model.squares(point - best))

                if row in with_loss:
                    excess[row] = np.where(lost, np.inf, survey.excess(point))

                row += 1

        tail_excess = np.where(lost, np.inf, survey.excess(mean))

    final = point.reshape(seeds, model.features, -1, K)
    return Runs(
        marks, squares, excess, diverged[None], total[None] / (steps + 1 - half),
        tail_excess[None], final.transpose(1, 3, 0, 2).reshape(-1, seeds, len(recipes)),
    )  # fmt: skip


def run_work(survey: Survey, recipes: int, steps: int, seeds: int, watched: int = 0) -> float:
    """Counted seconds of several recipes on several seeds; the loss of a quadratic is free."""
    passes = 0 if survey.quadratic else watched * loss_work(survey.model, recipes, seeds)
    return steps * step_work(survey.model, survey.batching, recipes, seeds) + passes


def watched_marks(survey: Survey, recipes: int, steps: int, seeds: int) -> int:
    """Number of marks with a loss, if computing it takes a pass over the data."""
    once = loss_work(survey.model, recipes, seeds)
    affordable = _WATCHING * run_work(survey, recipes, steps, seeds) / once

    return int(np.clip(affordable, _FEWEST_WATCHED, _WATCHED))


def compare(
    survey: Survey,
    recipes: Sequence[Recipe],
    choose: Callable[[Runs], list[int]],
    *,
    steps: int,
    seeds: int | None,
    seconds: float,
) -> tuple[Runs, list[int]]:
    """Run every recipe, select some by the results, and run those on more seeds.

    Blocks of seeds run for about ``seconds`` of counted work, until the mean loss of every recipe
    that stays below its start is known to a few per cent. If ``seeds`` is given, each recipe has
    exactly that many runs. There is at least one block of two runs, which may take longer.
    """

    def enough(runs: Runs) -> bool:
        last = runs.excess[-1]
        # A diverged run has an infinite mean, and is excluded like a run that ends above its start.
        return known(last[:, last.mean(axis=0) < survey.start_excess])

    count = len(recipes)
    fits = (block for block in _BLOCKS if run_work(survey, count, steps, block) <= 0.5 * seconds)
    block = next(fits, _BLOCKS[-1]) if seeds is None else seeds
    watched = watched_marks(survey, count, steps, block)
    options: dict[str, Any] = {"steps": steps, "seeds": block, "watched": watched}
    runs = follow(survey, recipes, seed=[survey.setup.seed, 0], **options)
    kept = choose(runs)
    runs = runs.of(kept)

    blocks = 1
    if seeds is None:
        left = seconds - run_work(survey, count, steps, block, watched)
        more = left / run_work(survey, len(kept), steps, block, watched)
        blocks += int(np.clip(more, 0, _MOST_SEEDS // block - 1))

    few = [recipes[i] for i in kept]
    return in_blocks(survey, few, blocks, enough, runs, **options), kept


def in_blocks(
    survey: Survey,
    recipes: Sequence[Recipe],
    blocks: int,
    enough: Callable[[Runs], bool],
    first: Runs | None = None,
    *,
    stream: Sequence[int] = (),
    **options: Any,
) -> Runs:
    """Run blocks on new seeds, until they suffice or there are as many as ``blocks``."""
    seed = [survey.setup.seed, *stream]
    runs = follow(survey, recipes, seed=[*seed, 0], **options) if first is None else first
    for number in range(1, blocks):
        if enough(runs):
            break

        runs = runs.joined(follow(survey, recipes, seed=[*seed, number], **options))

    return runs


def known(values: FloatArray) -> bool:
    """Whether the means over the first axis, of two or more, are known to a few per cent."""
    error = values.std(axis=0, ddof=1) / math.sqrt(len(values))
    # As accurate as a number with one or two digits suggests.
    return bool((error <= 0.03 * values.mean(axis=0)).all())


def marked_steps(
    steps: int, points: int = 200, watched: int | None = None
) -> tuple[npt.NDArray[np.intp], set[int]]:
    """Steps at which errors are computed, and those of them with a loss.

    Both are denser at the beginning, where losses fall fastest, and include the first and the last
    step.
    """
    count = max(points // 2, 2)
    both = [np.linspace(0, steps, count), np.geomspace(1, max(steps, 1), count)]
    marks = np.unique(np.concatenate(both).round().astype(np.intp))

    if watched is None or watched >= len(marks):
        return marks, set(range(len(marks)))

    spaced = np.linspace(0.0, 1.0, max(watched, 2)) ** 1.5
    return marks, {round(float(s) * (len(marks) - 1)) for s in spaced}
