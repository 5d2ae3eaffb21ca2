"""Sweeps of linear models: logistic losses, and squared ones of many features in mini-batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.draws.index_sampling import IID, draw_batch, new_draws, rule_number, seed_lanes
from ravine.engine.draws.index_sampling import LANES as STREAMS
from ravine.engine.draws.normals import cosine, radius, sine
from ravine.engine.draws.random import NOISE, advance, fill_streams, output
from ravine.engine.kernels.compiled import compiled, inner
from ravine.engine.kernels.finite_sum import identities
from ravine.engine.kernels.linear_model_gradient import (
    LANES,
    ROWS,
    WIDE,
    LinearModelData,
    drawn_gradient,
    gradient,
    objective_of,
)
from ravine.engine.kernels.quadratic_lanes import aligned
from ravine.engine.kernels.step import descend, look_ahead
from ravine.engine.kernels.threads import on_all_threads, padded
from ravine.engine.measures import (
    FIELDS,
    Integers,
    bin_edges,
    divergence_limit,
    fields_of,
    record,
    summarise,
    vanished,
)
from ravine.engine.restart import EVERY, NEVER, ON_GRADIENT, ON_SAMPLED, restart_rule
from ravine.engine.schedule import momenta

if TYPE_CHECKING:
    from ravine.engine.spec import Spec

_ROUNDING = {"float64": 1e-24, "float32": 1e-12}
"""Rounding of squared errors, in units of ‖x*‖²: some units in the last place of x*, squared."""


class LinearModelPlan(NamedTuple):
    """What all trajectories have in common besides."""

    seed: np.uint64
    sampling: int  # of mini-batches
    restart: int
    period: int
    noisy: bool  # whether noise is left at the minimiser
    with_sup: bool
    sigma: float
    tiny: float
    edges: Integers
    momentum: FloatArray  # (4, steps + 1): in step k row 0 times beta plus row 1, rows 2, 3 ahead


class LinearModelBlock(NamedTuple):
    """The state of a block, flat rows of ``LANES``, and room to work in."""

    each: FloatArray  # alpha, beta, gamma and the limit of every lane, and ones
    x: FloatArray
    x_prev: FloatArray
    y: FloatArray
    g: FloatArray
    scores: FloatArray
    own: FloatArray  # the weights of one lane, output by output
    slopes: FloatArray
    noise_words: npt.NDArray[np.uint32]  # streams of noise, four rows a coordinate
    spare: FloatArray  # normals of the odd steps
    words: npt.NDArray[np.uint32]  # streams of indices, and what comes with them
    order: npt.NDArray[np.uint32]
    picks: npt.NDArray[np.uint32]
    identity: npt.NDArray[np.uint64]
    bins: FloatArray  # (bins, lanes)
    latest: FloatArray
    diverged_at: Integers
    measured: FloatArray  # squared errors, largest errors, sums of these


@inner
def add_noise(
    words: npt.NDArray[np.uint32], spare: FloatArray, k: int, sigma: float, g: FloatArray
) -> None:
    """Add the normals of step k to the gradient; a pair of words serves two steps."""
    for j in range(g.size // LANES):
        state = words[4 * j * LANES :]
        second = spare[j * LANES :]
        slope = g[j * LANES :]
        if k % 2 == 1:
            for p in range(LANES):
                slope[p] += sigma * second[p]
            continue

        for p in range(LANES):
            s0, s1 = state[p], state[LANES + p]
            s2, s3 = state[2 * LANES + p], state[3 * LANES + p]
            r = radius(output(s0, s3))
            s0, s1, s2, s3 = advance(s0, s1, s2, s3)
            angle = output(s0, s3)
            slope[p] += sigma * (r * cosine(angle))
            second[p] = r * sine(angle)
            s0, s1, s2, s3 = advance(s0, s1, s2, s3)
            state[p], state[LANES + p] = s0, s1
            state[2 * LANES + p], state[3 * LANES + p] = s2, s3


@inner
def restarts(
    data: LinearModelData,
    plan: LinearModelPlan,
    state: LinearModelBlock,
    k: int,
    size: int,
    p: int,
    before: FloatArray,
) -> bool:
    """Whether lane p, which stood at ``before``, restarts after step k."""
    if plan.restart == EVERY:
        return (k + 1) % plan.period == 0

    if plan.restart == ON_GRADIENT:
        along = 0.0
        for j in range(data.start.size):
            at = j * LANES + p
            along += state.g[at] * (state.x[at] - before[at])
        return along > 0.0

    of = size if plan.restart == ON_SAMPLED else 0
    after = objective_of(data, state.picks, STREAMS, of, state.x, p, state.scores, state.own)
    rise = after - objective_of(data, state.picks, STREAMS, of, before, p, state.scores, state.own)
    return rise > 0.0


@inner
def move(data: LinearModelData, momentum: FloatArray, k: int, state: LinearModelBlock) -> None:
    """Descend in step k."""
    scale = momentum[0, k]
    shift = momentum[1, k]
    each = state.each
    for j in range(data.start.size):
        x = state.x[j * LANES :]
        x_prev = state.x_prev[j * LANES :]
        slope = state.g[j * LANES :]
        for p in range(LANES):
            here = x[p]
            beta = scale * each[LANES + p] + shift
            x[p] = descend(here, x_prev[p], each[p], beta, slope[p])
            x_prev[p] = here


@inner
def look(data: LinearModelData, momentum: FloatArray, k: int, state: LinearModelBlock) -> None:
    """Look ahead after step k; measure ‖y - x*‖² and the largest |y_i - x*_i|."""
    scale = momentum[2, k + 1]
    shift = momentum[3, k + 1]
    each = state.each
    square = state.measured[:LANES]
    largest = state.measured[LANES : 2 * LANES]
    for p in range(LANES):
        square[p] = largest[p] = 0.0

    for j in range(data.start.size):
        x = state.x[j * LANES :]
        x_prev = state.x_prev[j * LANES :]
        ahead = state.y[j * LANES :]
        best = data.minimiser[j]
        for p in range(LANES):
            ahead[p] = look_ahead(x[p], x_prev[p], scale * each[2 * LANES + p] + shift)
            error = ahead[p] - best
            square[p] += error * error
            largest[p] = max(largest[p], abs(error))


def _new_driver(sampled: int, extras: int) -> Callable[..., None]:
    """Make a driver that has only what a run needs: the rest is not compiled."""

    @compiled
    def run_block(data: LinearModelData, plan: LinearModelPlan, state: LinearModelBlock) -> None:
        edges = plan.edges
        d = data.start.size
        each = state.each
        best = data.minimiser
        steps = edges[-1]
        batches = data.edges.size - 1
        if sampled == 1:
            seed_lanes(plan.seed, state.identity, state.words, state.order)

        b = size = 0
        for k in range(steps):
            if sampled == 1:
                size = draw_batch(plan.sampling, batches, k, state.words, state.order, state.picks)
                drawn_gradient(
                    data, state.picks, STREAMS, size, state.y, state.g, state.scores, state.own,
                    state.slopes,
                )  # fmt: skip
            else:
                gradient(data, state.y, state.g, state.scores)

            if extras == 1 and plan.sigma > 0.0:
                add_noise(state.noise_words, state.spare, k, plan.sigma, state.g)
            move(data, plan.momentum, k, state)
            if extras == 1 and plan.restart != NEVER:
                for p in range(LANES):
                    if restarts(data, plan, state, k, size, p, state.x_prev):
                        for j in range(d):
                            state.x_prev[j * LANES + p] = state.x[j * LANES + p]

            look(data, plan.momentum, k, state)

            b += k + 1 > edges[b + 1]
            record(
                state.measured, each[4 * LANES :], each[3 * LANES :], k + 1, state.bins[b],
                state.latest, state.diverged_at,
            )  # fmt: skip
            if plan.with_sup and 2 * (k + 1) > steps:
                for p in range(LANES):
                    state.measured[2 * LANES + p] += state.measured[LANES + p]

            # Lanes that diverged rest at the minimiser.
            running = LANES
            for p in range(LANES):
                if state.diverged_at[p] > 0:
                    running -= 1
                    each[p] = each[LANES + p] = each[2 * LANES + p] = 0.0
                    for j in range(d):
                        at = j * LANES + p
                        state.x[at] = state.x_prev[at] = state.y[at] = best[j]

            if running == 0:
                break

    return run_block


_drivers = {key: _new_driver(*key) for key in ((0, 0), (0, 1), (1, 0), (1, 1))}


def new_data(problem: Any, start: FloatArray, sampled: bool) -> LinearModelData:
    """Lay out the data of a linear model."""
    X = problem.X.toarray() if hasattr(problem.X, "toarray") else np.asarray(problem.X)
    rows = -(-len(X) // ROWS) * ROWS
    columns = -(-X.shape[1] // WIDE) * WIDE
    wide = np.zeros((rows, columns))
    wide[: len(X), : X.shape[1]] = X
    weights = np.zeros(rows)
    weights[: len(X)] = np.repeat(1.0 / (problem.terms * problem.batch_sizes), problem.batch_sizes)
    outputs = problem.loss.outputs
    target = np.zeros((rows, outputs))
    target[: len(X)] = problem.loss.kernel_target()

    return LinearModelData(
        X=np.ascontiguousarray(wide[:, : X.shape[1]]),
        wide=wide,
        target=target.ravel(),
        weights=weights,
        l2=float(problem.l2),
        loss=problem.loss.kernel_code,
        outputs=outputs,
        minimiser=np.ascontiguousarray(problem.minimiser),
        start=np.ascontiguousarray(start),
        edges=np.append(0, np.cumsum(problem.batch_sizes)),
        features=() if sampled else (0,) * problem.features,
        classes=() if sampled else (0,) * outputs,
    )


def new_block(
    data: LinearModelData, plan: LinearModelPlan, batch: int, kind: npt.DTypeLike
) -> LinearModelBlock:
    """Make room for a block, whose state is kept in numbers of the given kind."""
    d = data.start.size
    wide = data.outputs * data.wide.shape[1]
    noisy = d if plan.sigma > 0.0 else 0
    words, order, picks = new_draws(plan.sampling, data.edges.size - 1, batch)

    return LinearModelBlock(
        each=aligned(5 * LANES, np.float64),
        x=aligned(d * LANES, kind),
        x_prev=aligned(d * LANES, kind),
        y=aligned(d * LANES, kind),
        g=aligned(d * LANES, kind),
        scores=aligned(ROWS * data.outputs * LANES, kind),
        own=np.zeros(wide),
        slopes=np.zeros(wide),
        noise_words=aligned(4 * noisy * LANES, np.uint32),
        spare=aligned(d * LANES, np.float64),
        words=words,
        order=order,
        picks=picks,
        identity=np.zeros(STREAMS, np.uint64),
        bins=np.empty((plan.edges.size - 1, LANES)),
        latest=np.empty(LANES),
        diverged_at=np.empty(LANES, np.int64),
        measured=np.empty(3 * LANES),
    )


def new_plan(spec: Spec, sampled: bool) -> LinearModelPlan:
    """Gather what all trajectories have in common besides the data."""
    problem = spec.problem
    sigma = float(np.sqrt(spec.sigma2))
    momentum = momenta(spec.schedule, spec.steps)
    # Nesterov's method looks ahead with its momentum, others with a gamma that does not change.
    look_momentum = momentum if spec.gammas is None else momenta(None, spec.steps)
    restart, period = restart_rule(spec.restart)
    best = problem.minimiser

    return LinearModelPlan(
        seed=np.uint64(spec.seed),
        sampling=rule_number(spec.sampling) if sampled else IID,
        restart=restart,
        period=period,
        noisy=sigma > 0.0 or (sampled and not problem.interpolates),
        with_sup="floor_sup" in spec.measures,
        sigma=sigma,
        # The state is x, not x - x*: errors below the rounding of x* do not fall any further.
        tiny=max(vanished(spec.dtype), _ROUNDING[spec.dtype] * float(best @ best)),
        edges=bin_edges(spec.steps),
        momentum=np.stack([*momentum, *look_momentum]),
    )


def new_rows(
    spec: Spec, data: LinearModelData, plan: LinearModelPlan, sampled: bool, first: int, last: int
) -> tuple[FloatArray, float]:
    """Alpha, beta, gamma and limit of each trajectory, and ones; and ‖x_0 - x*‖²."""
    problem = spec.problem
    force = plan.sigma * np.sqrt(problem.dimension)
    force += problem.mean_gradient_norm if sampled else 0.0
    alpha, beta, gamma = spec.parameters(np.repeat(np.arange(first, last), spec.repeats))
    start_square = float(((data.start - data.minimiser) ** 2).sum())
    scale = np.sqrt(start_square) + alpha * force
    limit = divergence_limit(scale)
    return np.stack([alpha, beta, gamma, limit, np.ones_like(alpha)]), start_square


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a linear model; see ``kernels.table``."""
    sampled = spec.sampled
    data = new_data(spec.problem, spec.start, sampled)
    plan = new_plan(spec, sampled)
    rows, start_square = new_rows(spec, data, plan, sampled, first, last)

    fill = padded(rows.shape[1], LANES)
    rows = rows[:, fill]
    identity = identities(spec, first, last)[fill]
    out = np.empty((len(fill), len(FIELDS)))

    extras = plan.sigma > 0.0 or plan.restart != NEVER
    drive = _drivers[int(sampled), int(extras)]
    late = spec.steps - spec.steps // 2  # steps of the second half, at each of which sup is taken

    def run(first: int, last: int) -> None:
        state = new_block(data, plan, spec.batch, spec.dtype)
        for block in range(first, last):
            some = slice(block * LANES, (block + 1) * LANES)
            state.each.reshape(5, LANES)[...] = rows[:, some]
            for point in (state.x, state.x_prev, state.y):
                point.reshape(-1, LANES)[...] = data.start[:, None]
            state.identity[:LANES] = identity[some]
            for each in (state.picks, state.bins, state.latest, state.diverged_at, state.measured):
                each.fill(0)
            fill_streams(plan.seed, identity[some], False, NOISE, state.noise_words)
            drive(data, plan, state)
            summarise(
                state.bins, plan.edges, start_square, state.latest, state.diverged_at, plan.noisy,
                plan.tiny, out[some],
                sup=state.measured[2 * LANES :] if plan.with_sup else None, samples=late,
            )  # fmt: skip

    on_all_threads(run, len(fill) // LANES)
    return fields_of(out[: (last - first) * spec.repeats], spec.repeats)
