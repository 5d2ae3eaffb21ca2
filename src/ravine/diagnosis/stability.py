"""Growth of a method on the batches in their order, and its noise floor with a constant step.

Both use second moments if batches are drawn independently, and otherwise random epochs or runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ravine.arguments import FloatArray
from ravine.diagnosis.candidates import Candidate
from ravine.diagnosis.runs import in_blocks, known, run_work, watched_marks
from ravine.diagnosis.survey import MOMENT_DIRECTIONS, Survey
from ravine.diagnosis.work import Budget, step_work
from ravine.engine.recursion import held, iterate
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.epochs import EpochGrowth, Growths, Products, root_work
from ravine.theory.finite_sums.terms import interval
from ravine.theory.ladder.rates import spectral_radius

_EPOCHS = (12288, 3072, 768, 256, 64, 24, 8)
"""Numbers of epochs for an estimate: the largest that the time allows, or none. Rates far below 1
depend on rare batches, which a few dozen epochs miss."""
_SEEDS = (64, 32, 16)
"""Numbers of runs of each method: the largest that the time allows, or none."""


def growths(survey: Survey, method: Method, *, seconds: float) -> Growths:
    """Growth of a method in mean square and almost surely, in the order of the batches."""
    known = EpochGrowth(
        exact_gradients=float(spectral_radius(survey.curvature, method)) ** 2,
        independent=lambda: survey.moments.growth(method),
        exact=survey.exact,
        sampling=survey.batching.sampling,
        steps=survey.batching.steps_per_epoch,
        directions=survey.moments.dimension,
    )
    drawn = partial(epoch_products, survey, method, seconds=seconds)
    return known.growths(drawn, survey.setup.seed)


def epoch_products(survey: Survey, method: Method, *, seconds: float) -> Products | None:
    """Matrices of a whole epoch on (y - x*, x - x₋) near the minimiser, for random epochs.

    Computed in the curved directions, as columns of one run on the data. None if there are too many
    directions, or too few ``seconds`` of counted work.
    """
    k = survey.moments.dimension
    epochs = _affordable_epochs(survey, seconds)
    if epochs is None:
        return None

    model, n = survey.model, survey.batching.steps_per_epoch
    slopes = model.hessian_slopes(survey.minimiser)
    draws = survey.batching.draws(epochs, np.random.default_rng([survey.setup.seed, 11]))
    basis = survey.moments.basis.reshape(model.features, model.outputs, k)
    columns = basis.swapaxes(1, 2).reshape(model.features, -1)
    units = np.concatenate([columns, np.zeros_like(columns)], axis=1)
    speeds = np.roll(units, k * model.outputs, axis=1)
    gamma = float(method.gamma)

    # y = x + gamma v is the state r, so that x = r - gamma v.
    states = iterate(
        lambda _, y: model.drawn_gradient(next(draws), y, slopes),
        np.repeat((units - gamma * speeds)[None], epochs, axis=0),
        np.repeat(speeds[None], epochs, axis=0),
        steps=n,
        alpha=float(method.alpha),
        betas=held(method.beta, n),
        gammas=held(method.gamma, n + 1),
    )
    scales = np.zeros(epochs)
    for state in states:
        size = np.maximum(np.abs(state.x).max(axis=(1, 2)), np.abs(state.v).max(axis=(1, 2)))
        size = np.maximum(size, 1e-300)
        # Rescaled long before they overflow.
        if (np.abs(np.log(size)) > 50.0).any():
            for points in (state.x, state.v, state.y):
                points /= size[:, None, None]

            scales += np.log(size)

    # Coordinates in the basis: (epochs, k, 2k) of y - x* and of the velocity.
    both = (one.reshape(epochs, -1, 2 * k, model.outputs) for one in (state.y, state.v))
    rows = [np.einsum("fok,sfro->skr", basis, points, optimize=True) for points in both]
    return Products(np.concatenate(rows, axis=1), scales)


def _affordable_epochs(survey: Survey, seconds: float) -> int | None:
    """Number of epochs to draw; None if not even a few fit into ``seconds``."""
    k = survey.moments.dimension
    if not survey.every_direction or k > MOMENT_DIRECTIONS:
        return None
    if not survey.batching.sampling.traits.random:
        return 1

    # The 2k columns of the product are separate runs; 8e6 numbers are 64 MB.
    model, batching = survey.model, survey.batching
    for epochs in _EPOCHS:
        steps = batching.steps_per_epoch * step_work(model, batching, 2 * k, epochs)
        few = epochs * model.dimension * 2 * k <= 8e6
        if few and steps + root_work(epochs, 2 * k) <= seconds:
            return epochs

    return None


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % limits; they equal the number if it is exact.

    ``basis`` is its origin: "moments" (computed) or "runs" (measured on the data).
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
    """Mean of runs with Student's 95 % limits; None if a run diverged."""
    if not np.isfinite(values).all():
        return None
    if len(values) < 2:
        return Estimate(float(values[0]), 0.0, math.inf, False)

    # Squares of large losses would overflow in the variance.
    scale = max(float(np.abs(values).max()), 1e-300)
    mean, low, high = (scale * limit for limit in interval(values / scale))

    return Estimate(mean, max(0.0, low), high, False)


class Floors(NamedTuple):
    """E‖y - x*‖² and E f - f* in the long run."""

    square: Estimate | None = None
    excess: Estimate | None = None


def floors(
    survey: Survey, judged: Sequence[Candidate], growth: Sequence[Growths], *, budget: Budget
) -> list[Floors]:
    """The noise floor of every converging recipe with a constant step.

    Computed by exact moments if batches are drawn independently, or if an epoch is long compared
    with the memory of the method. Otherwise measured in runs from x*, if they are long enough.
    """
    out = [Floors()] * len(judged)
    memory: dict[int, float] = {}
    for i, (candidate, both) in enumerate(zip(judged, growth, strict=True)):
        fits = candidate.recipe.constant and not candidate.recipe.averaged
        if not fits or both.mean_square.diverges is not False:
            continue

        steps = 1.0 / max(1.0 - both.mean_square.rate, 1e-12)
        independent = survey.batching.sampling is Sampling.IID
        if survey.interpolates:
            # If x* minimises every batch, only rounding remains.
            out[i] = Floors(computed(0.0), computed(0.0))
        # If an epoch is this much longer than the memory, fixed and random batches are equivalent.
        elif independent or steps * 30.0 < survey.batching.steps_per_epoch:
            out[i] = _moment_floor(survey, candidate.method)
        else:
            memory[i] = steps

    seconds = budget.begin("following runs to their noise floors")
    order = sorted(memory, key=lambda i: memory[i])
    while order:
        # Methods of similar memory run side by side from x*, the shortest first.
        alike = [i for i in order if memory[i] <= 4.0 * memory[order[0]]]

        # One at a time if they do not all fit.
        for group in (alike, alike[:1]):
            plan = _plan(survey, len(group), memory[group[-1]], 0.5 * seconds)
            if plan is not None:
                break
        else:
            budget.leave_out("noise floors of slow methods")
            break

        # The remaining time is shared with the next groups, which take longer.
        runs_of, work = plan
        blocks = int(np.clip(0.5 * seconds / work, 1, 8))
        recipes = [judged[i].recipe for i in group]
        runs = in_blocks(
            survey, recipes, blocks, lambda runs: known(runs.average[0]), stream=[303],
            points=120, from_minimiser=True, **runs_of,
        )  # fmt: skip
        seconds -= runs.seeds // runs_of["seeds"] * work
        order = order[len(group) :]

        late = [r for r in runs.watched if runs.steps[r] >= runs_of["steps"] // 2]
        excess = runs.excess[late].mean(axis=0)
        for j, i in enumerate(group):
            out[i] = Floors(over_runs(runs.average[0, :, j]), over_runs(excess[:, j]))

    return out


def _moment_floor(survey: Survey, method: Method) -> Floors:
    stable = survey.every_direction and survey.moments.is_stable(method)
    X = survey.moments.stationary(method) if stable else None
    if X is None:
        return Floors()

    excess = float(0.5 * np.diag(X) @ survey.moments.eigenvalues)
    exact = survey.exact and survey.quadratic and survey.batching.sampling is Sampling.IID

    return Floors(computed(float(np.trace(X)), exact), computed(excess, exact))


def _plan(
    survey: Survey, methods: int, memory: float, seconds: float
) -> tuple[dict[str, Any], float] | None:
    """Runs whose second half is at the floor, on as many seeds as ``seconds`` allow; their work."""
    per_epoch = survey.batching.steps_per_epoch
    # A run from x* is at its floor after six memories of 1/(1 - rate) steps each: e^-12 remains.
    epochs = math.ceil(2.0 * 6.0 * memory / per_epoch)
    steps = max(2 * epochs, 20) * per_epoch

    for seeds in _SEEDS:
        watched = watched_marks(survey, methods, steps, seeds)
        work = run_work(survey, methods, steps, seeds, watched)
        # Slower transients are not reported as a floor.
        if work <= seconds and steps <= 200_000:
            return {"steps": steps, "seeds": seeds, "watched": watched}, work

    return None
