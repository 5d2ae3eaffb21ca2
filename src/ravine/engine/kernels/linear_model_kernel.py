"""Sweeps of linear models: logistic losses, and squared ones of many features in mini-batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, WrongType
from ravine.engine.draws.index_sampling import LANES as STREAMS
from ravine.engine.draws.index_sampling import RULES, check_batch, draw_batch, new_draws, seed_lanes
from ravine.engine.draws.normals import cosine, radius, sine
from ravine.engine.draws.random import NOISE, advance, fill_streams, output
from ravine.engine.kernels.compiled import FINGERPRINT, compiled, inner
from ravine.engine.kernels.finite_sum import identities
from ravine.engine.kernels.linear_model_gradient import (
    LANES,
    LOGISTIC,
    MULTINOMIAL,
    ROWS,
    SQUARED,
    Data,
    drawn_gradient,
    gradient,
    objective_of,
)
from ravine.engine.kernels.quadratic_lanes import aligned
from ravine.engine.kernels.step import descend, look_ahead
from ravine.engine.kernels.threads import spread
from ravine.engine.measures import (
    DIVERGENCE,
    FIELDS,
    Integers,
    bin_edges,
    record,
    summarise,
    vanished,
)
from ravine.engine.restart import EVERY, NEVER, ON_GRADIENT, ON_SAMPLED, restart_rule
from ravine.engine.schedule import momenta
from ravine.sampling import Sampling

if TYPE_CHECKING:
    from ravine.engine.sweep import Spec

OPTIONS = ("batch", "restart", "schedule")
_SUP, _FLOOR = FIELDS.index("floor_sup"), FIELDS.index("floor_square")
_LOSSES = {"squared": SQUARED, "logistic": LOGISTIC, "multinomial": MULTINOMIAL}
_ROUNDING = {"float64": 1e-24, "float32": 1e-12}  # of squared errors, in units of ‖x*‖²


class Plan(NamedTuple):
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


class Desk(NamedTuple):
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
        state, second = words[4 * j * LANES :], spare[j * LANES :]
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
    data: Data, plan: Plan, desk: Desk, k: int, size: int, p: int, before: FloatArray
) -> bool:
    """Whether lane p, which stood at ``before``, restarts after step k."""
    if plan.restart == EVERY:
        return (k + 1) % plan.period == 0
    if plan.restart == ON_GRADIENT:
        along = 0.0
        for j in range(data.start.size):
            at = j * LANES + p
            along += desk.g[at] * (desk.x[at] - before[at])
        return along > 0.0
    of = size if plan.restart == ON_SAMPLED else 0
    after = objective_of(data, desk.picks, STREAMS, of, desk.x, p, desk.scores, desk.own)
    rise = after - objective_of(data, desk.picks, STREAMS, of, before, p, desk.scores, desk.own)
    return rise > 0.0


@inner
def move(data: Data, momentum: FloatArray, k: int, desk: Desk) -> None:
    """Descend in step k."""
    scale, shift, each = momentum[0, k], momentum[1, k], desk.each
    for j in range(data.start.size):
        a, b, slope = desk.x[j * LANES :], desk.x_prev[j * LANES :], desk.g[j * LANES :]
        for p in range(LANES):
            here, beta = a[p], scale * each[LANES + p] + shift
            a[p] = descend(here, b[p], each[p], beta, slope[p])
            b[p] = here


@inner
def look(data: Data, momentum: FloatArray, k: int, desk: Desk) -> None:
    """Look ahead after step k; measure ‖y - x*‖² and the largest |y_i - x*_i|."""
    scale, shift, each = momentum[2, k + 1], momentum[3, k + 1], desk.each
    square, largest = desk.measured[:LANES], desk.measured[LANES : 2 * LANES]
    for p in range(LANES):
        square[p] = largest[p] = 0.0
    for j in range(data.start.size):
        a, b, ahead = desk.x[j * LANES :], desk.x_prev[j * LANES :], desk.y[j * LANES :]
        best = data.minimiser[j]
        for p in range(LANES):
            ahead[p] = look_ahead(a[p], b[p], scale * each[2 * LANES + p] + shift)
            error = ahead[p] - best
            square[p] += error * error
            largest[p] = max(largest[p], abs(error))


def _new_driver(fingerprint: int, sampled: int, extras: int) -> Callable[..., None]:
    """Make a driver that has only what a run needs: the rest is not compiled."""

    @compiled
    def run_block(data: Data, plan: Plan, desk: Desk) -> None:
        edges, d, each, best = plan.edges, data.start.size, desk.each, data.minimiser
        steps, batches = edges[-1] if fingerprint >= 0 else 0, data.edges.size - 1
        if sampled == 1:
            seed_lanes(plan.seed, desk.identity, desk.words, desk.order)
        b = size = 0
        for k in range(steps):
            if sampled == 1:
                size = draw_batch(plan.sampling, batches, k, desk.words, desk.order, desk.picks)
                drawn_gradient(
                    data, desk.picks, STREAMS, size, desk.y, desk.g, desk.scores, desk.own,
                    desk.slopes,
                )  # fmt: skip
            else:
                gradient(data, desk.y, desk.g, desk.scores)
            if extras == 1 and plan.sigma > 0.0:
                add_noise(desk.noise_words, desk.spare, k, plan.sigma, desk.g)
            move(data, plan.momentum, k, desk)
            if extras == 1 and plan.restart != NEVER:
                for p in range(LANES):
                    if restarts(data, plan, desk, k, size, p, desk.x_prev):
                        for j in range(d):
                            desk.x_prev[j * LANES + p] = desk.x[j * LANES + p]
            look(data, plan.momentum, k, desk)
            b += k + 1 > edges[b + 1]
            record(
                desk.measured, each[4 * LANES :], each[3 * LANES :], k + 1, desk.bins[b],
                desk.latest, desk.diverged_at,
            )  # fmt: skip
            if plan.with_sup and 2 * (k + 1) > steps:
                for p in range(LANES):
                    desk.measured[2 * LANES + p] += desk.measured[LANES + p]
            # Lanes that diverged rest at the minimiser.
            running = LANES
            for p in range(LANES):
                if desk.diverged_at[p] > 0:
                    running -= 1
                    each[p] = each[LANES + p] = each[2 * LANES + p] = 0.0
                    for j in range(d):
                        at = j * LANES + p
                        desk.x[at] = desk.x_prev[at] = desk.y[at] = best[j]
            if running == 0:
                break

    return run_block


_drivers = {key: _new_driver(FINGERPRINT, *key) for key in ((0, 0), (0, 1), (1, 0), (1, 1))}


def check(spec: Spec) -> None:
    """Refuse what the kernel cannot do."""
    for name in spec.options:
        if name not in OPTIONS:
            rule = f"one of {', '.join(OPTIONS)}"
            raise WrongType("an option", rule, name, "leave it out")
    order = Sampling.CYCLIC if spec.sampling is None else spec.sampling
    terms = 1 if spec.sampling is None else spec.problem.terms
    check_batch(order, terms, spec.options.get("batch", 1))
    restart_rule(spec.options.get("restart"))
    momenta(spec.options.get("schedule"), spec.steps)


def new_data(problem: Any, start: FloatArray, sampled: bool) -> Data:
    """Lay out the data of a linear model."""
    X = problem.X.toarray() if hasattr(problem.X, "toarray") else np.asarray(problem.X)
    rows, columns = -(-len(X) // ROWS) * ROWS, -(-X.shape[1] // 8) * 8
    wide = np.zeros((rows, columns))
    wide[: len(X), : X.shape[1]] = X
    weights = np.zeros(rows)
    weights[: len(X)] = np.repeat(1.0 / (problem.terms * problem.batch_sizes), problem.batch_sizes)
    outputs, loss = problem.loss.outputs, _LOSSES[problem.loss.name]
    target = np.zeros((rows, outputs))
    if loss == SQUARED:
        target[: len(X), 0] = problem.loss.target
    elif loss == LOGISTIC:
        target[: len(X), 0] = problem.loss.sign > 0.0
    else:
        target[np.arange(len(X)), problem.loss.codes] = 1.0
    return Data(
        np.ascontiguousarray(wide[:, : X.shape[1]]),
        wide,
        target.ravel(),
        weights,
        float(problem.l2),
        loss,
        outputs,
        np.ascontiguousarray(problem.minimiser),
        np.ascontiguousarray(start),
        np.append(0, np.cumsum(problem.batch_sizes)),
        () if sampled else (0,) * problem.features,
        () if sampled else (0,) * outputs,
    )


def new_desk(data: Data, plan: Plan, batch: int, kind: npt.DTypeLike) -> Desk:
    """Make room for a block, whose state is kept in numbers of the given kind."""
    d, wide = data.start.size, data.outputs * data.wide.shape[1]
    noisy = d if plan.sigma > 0.0 else 0
    return Desk(
        aligned(5 * LANES, np.float64),
        aligned(d * LANES, kind),
        aligned(d * LANES, kind),
        aligned(d * LANES, kind),
        aligned(d * LANES, kind),
        aligned(ROWS * data.outputs * LANES, kind),
        np.zeros(wide),
        np.zeros(wide),
        aligned(4 * noisy * LANES, np.uint32),
        aligned(d * LANES, np.float64),
        *new_draws(plan.sampling, data.edges.size - 1, batch),
        np.zeros(STREAMS, np.uint64),
        np.empty((plan.edges.size - 1, LANES)),
        np.empty(LANES),
        np.empty(LANES, np.int64),
        np.empty(3 * LANES),
    )


def new_plan(spec: Spec, sampled: bool) -> Plan:
    """Gather what all trajectories have in common besides the data."""
    problem, sigma = spec.problem, float(np.sqrt(spec.sigma2))
    own = momenta(spec.options.get("schedule"), spec.steps)
    kept = momenta(None, spec.steps) if spec.gammas is not None else own
    best = problem.minimiser
    return Plan(
        np.uint64(spec.seed),
        RULES[spec.sampling] if sampled and spec.sampling is not None else 0,
        *restart_rule(spec.options.get("restart")),
        sigma > 0.0 or (sampled and not problem.interpolates),
        "floor_sup" in spec.measures,
        sigma,
        # The state is x, not x - x*: errors below the rounding of x* do not fall any further.
        max(vanished(spec.dtype), _ROUNDING[spec.dtype] * float(best @ best)),
        bin_edges(spec.steps),
        np.stack([own.scale, own.shift, kept.scale, kept.shift]),
    )


def new_rows(
    spec: Spec, data: Data, plan: Plan, sampled: bool, first: int, last: int
) -> tuple[FloatArray, float]:
    """Alpha, beta, gamma and limit of each trajectory, and ones; and ‖x_0 - x*‖²."""
    problem = spec.problem
    force = plan.sigma * np.sqrt(problem.dimension) + (problem.gradient_spread if sampled else 0.0)
    alpha, beta, gamma = spec.parameters(np.repeat(np.arange(first, last), spec.repeats))
    start_square = float(((data.start - data.minimiser) ** 2).sum())
    scale = np.sqrt(start_square) + alpha * force
    limit = np.where(scale > 0.0, (DIVERGENCE * scale) ** 2, 1.0)
    return np.stack([alpha, beta, gamma, limit, np.ones_like(alpha)]), start_square


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a linear model; see ``ravine.engine.sweep``.

    Options: ``batch`` terms a step, ``restart`` and ``schedule`` as in ``ravine.engine.run``.
    """
    problem, repeats = spec.problem, spec.repeats
    sampled = spec.sampling is not None and problem.terms > 1
    data, plan = new_data(problem, spec.start, sampled), new_plan(spec, sampled)
    rows, start_square = new_rows(spec, data, plan, sampled, first, last)
    count = rows.shape[1]
    fill = np.minimum(np.arange(-(-count // LANES) * LANES), count - 1)
    rows = rows[:, fill]
    identity = identities(spec, first, last)[fill]
    out = np.empty((len(fill), len(FIELDS)))
    extras = plan.sigma > 0.0 or plan.restart != NEVER
    drive = _drivers[int(sampled), int(extras)]
    late = spec.steps - spec.steps // 2

    def run(first: int, last: int) -> None:
        desk = new_desk(data, plan, spec.options.get("batch", 1), spec.dtype)
        for block in range(first, last):
            some = slice(block * LANES, (block + 1) * LANES)
            desk.each.reshape(5, LANES)[...] = rows[:, some]
            for point in (desk.x, desk.x_prev, desk.y):
                point.reshape(-1, LANES)[...] = data.start[:, None]
            desk.identity[:LANES] = identity[some]
            for each in (desk.picks, desk.bins, desk.latest, desk.diverged_at, desk.measured):
                each.fill(0)
            fill_streams(plan.seed, identity[some], False, NOISE, desk.noise_words)
            drive(data, plan, desk)
            here = out[some]
            summarise(
                desk.bins, plan.edges, start_square, desk.latest, desk.diverged_at, plan.noisy,
                plan.tiny, here,
            )  # fmt: skip
            known = plan.with_sup & ~np.isnan(here[:, _FLOOR])
            here[:, _SUP] = np.where(known, desk.measured[2 * LANES :] / late, np.nan)

    spread(run, len(fill) // LANES)
    shaped = out[:count].reshape(last - first, repeats, len(FIELDS))
    return {name: shaped[:, :, i] for i, name in enumerate(FIELDS)}
