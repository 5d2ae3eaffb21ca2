"""Sweeps of logistic and multinomial regression, with additive noise or mini-batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, complaint
from ravine.engine.compiled import FINGERPRINT, compiled, inner
from ravine.engine.finite_sum_kernel import on_threads
from ravine.engine.index_sampling import LANES as STREAMS
from ravine.engine.index_sampling import RULES, draw_batch, seed_lanes
from ravine.engine.measures import (
    DIVERGENCE,
    FIELDS,
    Integers,
    bin_edges,
    record,
    summarise,
    vanished,
)
from ravine.engine.normals import cosine, radius, sine
from ravine.engine.random import NOISE, advance, output, stream
from ravine.engine.schedule import momenta
from ravine.engine.softmax_gradient import LANES, ROWS, Data, drawn_gradient, gradient
from ravine.engine.step import descend, look_ahead

if TYPE_CHECKING:
    from ravine.engine.sweep import Spec

_SUP = FIELDS.index("floor_sup")


class Plan(NamedTuple):
    """What all trajectories have in common besides."""

    seed: np.uint64
    sampling: int  # of mini-batches; -1 for full gradients
    noisy: bool  # whether noise is left at the minimiser
    sigma: float
    edges: Integers
    scale: FloatArray  # the momentum in step k is scale[k] beta + shift[k]
    shift: FloatArray
    look_scale: FloatArray
    look_shift: FloatArray
    tiny: float


class Trajectories(NamedTuple):
    """What is each trajectory's own, in whole blocks."""

    alpha: FloatArray
    beta: FloatArray
    gamma: FloatArray
    limit: FloatArray
    identity: npt.NDArray[np.uint64]


@inner
def add_noise(
    words: npt.NDArray[np.uint32], spare: FloatArray, k: int, sigma: float, g: FloatArray
) -> None:
    """Add the normals of step k to the gradient; a pair of words serves two steps."""
    for j in range(g.shape[0] // LANES):
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
def new_words(plan: Plan, identity: npt.NDArray[np.uint64], d: int) -> npt.NDArray[np.uint32]:
    """Streams of noise, four rows a coordinate."""
    words = np.empty(4 * d * LANES, np.uint32)
    for j in range(d):
        for p in range(LANES):
            s0, s1, s2, s3 = stream(plan.seed, identity[p], np.uint32(j), NOISE)
            words[4 * j * LANES + p], words[(4 * j + 1) * LANES + p] = s0, s1
            words[(4 * j + 2) * LANES + p], words[(4 * j + 3) * LANES + p] = s2, s3
    return words


@inner
def retire_certain(
    each: FloatArray,
    x: FloatArray,
    x_prev: FloatArray,
    y: FloatArray,
    best: FloatArray,
    diverged_at: Integers,
) -> int:
    """Let diverged lanes rest at the minimiser; return how many are still running."""
    running = LANES
    for p in range(LANES):
        if diverged_at[p] > 0:
            running -= 1
            for row in range(3):
                each[row * LANES + p] = 0.0
            for j in range(best.shape[0]):
                x[j * LANES + p] = x_prev[j * LANES + p] = y[j * LANES + p] = best[j]
    return running


@inner
def step(
    data: Data,
    plan: Plan,
    k: int,
    each: FloatArray,
    x: FloatArray,
    x_prev: FloatArray,
    y: FloatArray,
    g: FloatArray,
    error: FloatArray,
) -> None:
    """Descend in step k, look ahead, and put ‖y - x*‖² into ``error``."""
    scale, shift = plan.scale[k], plan.shift[k]
    look_scale, look_shift = plan.look_scale[k + 1], plan.look_shift[k + 1]
    error[:] = 0.0
    for j in range(data.start.size):
        a, b, look, slope = x[j * LANES :], x_prev[j * LANES :], y[j * LANES :], g[j * LANES :]
        best = data.minimiser[j]
        for p in range(LANES):
            here = a[p]
            beta = scale * each[LANES + p] + shift
            ahead = descend(here, b[p], each[p], beta, slope[p])
            b[p] = here
            a[p] = ahead
            look[p] = look_ahead(ahead, here, look_scale * each[2 * LANES + p] + look_shift)
            error[p] += (look[p] - best) ** 2


@inner
def run_block(data: Data, plan: Plan, block: Trajectories, at: int, out: FloatArray) -> None:
    """Run the trajectories from ``at`` on; write measures into ``out`` [lanes, fields]."""
    edges, steps, d = plan.edges, plan.edges[-1], data.start.size
    x, x_prev, y = np.empty(d * LANES), np.empty(d * LANES), np.empty(d * LANES)
    g, scores = np.empty(d * LANES), np.empty(ROWS * len(data.classes) * LANES)
    for j in range(d):
        x[j * LANES : (j + 1) * LANES] = data.start[j]
    x_prev[:] = x
    y[:] = x
    each = np.empty(3 * LANES)
    each[:LANES] = block.alpha[at : at + LANES]
    each[LANES : 2 * LANES] = block.beta[at : at + LANES]
    each[2 * LANES :] = block.gamma[at : at + LANES]
    words = new_words(plan, block.identity[at : at + LANES], d if plan.sigma > 0.0 else 0)
    spare = np.empty(d * LANES)
    bin_sums = np.zeros((edges.size - 1, LANES))
    latest, diverged_at = np.zeros(LANES), np.zeros(LANES, np.int64)
    error, ones, limit = np.empty(LANES), np.ones(LANES), block.limit[at : at + LANES]
    batches = data.edges.size - 1
    indices, order = np.empty(5 * STREAMS, np.uint32), np.empty(batches * STREAMS, np.uint32)
    drawn, own = np.zeros(STREAMS, np.uint32), np.zeros(STREAMS, np.uint64)
    own[:LANES] = block.identity[at : at + LANES]
    seed_lanes(plan.seed, own, indices, order)
    b = 0
    for k in range(steps):
        if plan.sampling < 0:
            gradient(data, y, g, scores)
        else:
            draw_batch(plan.sampling, batches, k, indices, order, drawn)
            drawn_gradient(data, drawn, y, g, scores)
        if plan.sigma > 0.0:
            add_noise(words, spare, k, plan.sigma, g)
        step(data, plan, k, each, x, x_prev, y, g, error)
        b += k + 1 > edges[b + 1]
        record(error, ones, limit, k + 1, bin_sums[b], latest, diverged_at)
        if retire_certain(each, x, x_prev, y, data.minimiser, diverged_at) == 0:
            break
    start = np.sum((data.start - data.minimiser) ** 2)
    summarise(bin_sums, edges, start, latest, diverged_at, plan.noisy, plan.tiny, out)
    for p in range(LANES):
        out[p, _SUP] = np.nan


def _new_driver(fingerprint: int) -> Callable[..., None]:
    @compiled
    def drive(
        data: Data, plan: Plan, block: Trajectories, out: FloatArray, first: int, last: int
    ) -> None:
        for number in range(first, last if fingerprint >= 0 else first):
            at = number * LANES
            run_block(data, plan, block, at, out[at : at + LANES])

    return drive


drive = _new_driver(FINGERPRINT)
"""Run the blocks first..last-1 without holding the GIL."""


def check(spec: Spec) -> None:
    """Refuse what the kernel cannot do."""
    for name in spec.options:
        if name != "schedule":
            raise TypeError(
                complaint("an option", "schedule here", name, "leave it out, or use run")
            )
    if spec.problem.loss.name == "squared":
        found = "the squared loss"
        raise ValueError(complaint("problem", "of a logistic loss", found, "sweep its quadratics"))
    if spec.noise == "shared" or spec.dtype != "float64":
        found = f"noise={spec.noise!r}, dtype={spec.dtype!r}"
        rule = "independent and float64 for this problem"
        raise ValueError(complaint("noise and dtype", rule, found, "leave them out"))


def new_data(problem: Any, start: FloatArray) -> Data:
    """Lay out the data of a linear model with a logistic loss."""
    X = problem.X.toarray() if hasattr(problem.X, "toarray") else np.asarray(problem.X)
    rows = -(-len(X) // ROWS) * ROWS
    padded = np.zeros((rows, X.shape[1]))
    padded[: len(X)] = X
    weights = np.zeros(rows)
    weights[: len(X)] = np.repeat(1.0 / (problem.terms * problem.batch_sizes), problem.batch_sizes)
    classes = problem.loss.outputs
    target = np.zeros((rows, classes))
    if classes == 1:
        target[: len(X), 0] = problem.loss.sign > 0.0
    else:
        target[np.arange(len(X)), problem.loss.codes] = 1.0
    return Data(
        padded,
        target.ravel(),
        weights,
        problem.l2,
        problem.minimiser,
        start,
        np.append(0, np.cumsum(problem.batch_sizes)),
        (0,) * problem.features,
        (0,) * classes,
    )


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a logistic loss; see ``ravine.engine.sweep``.

    The sup-norm is not measured.
    """
    problem = spec.problem
    data = new_data(problem, spec.start)
    momentum = momenta(spec.options.get("schedule"), spec.steps)
    ones, zeros = np.ones(spec.steps + 1), np.zeros(spec.steps + 1)
    follows = spec.gammas is None
    sigma = float(np.sqrt(spec.sigma2))
    batches = spec.sampling is not None and problem.terms > 1
    force = sigma * np.sqrt(problem.dimension) + (problem.gradient_spread if batches else 0.0)
    away = float(np.linalg.norm(spec.start - problem.minimiser))
    # The state is x, not x - x*: errors below the rounding of x* do not fall any further.
    tiny = max(vanished(np.float64), 1e-24 * float(problem.minimiser @ problem.minimiser))
    plan = Plan(
        np.uint64(spec.seed),
        RULES[spec.sampling] if batches and spec.sampling is not None else -1,
        sigma > 0.0 or (batches and not problem.interpolates),
        sigma,
        bin_edges(spec.steps),
        momentum.scale,
        momentum.shift,
        momentum.scale if follows else ones,
        momentum.shift if follows else zeros,
        tiny,
    )
    pixels = np.repeat(np.arange(first, last), spec.repeats)
    repeat = np.arange(len(pixels)) % spec.repeats
    identity = pixels.astype(np.uint64) | (repeat.astype(np.uint64) << np.uint64(32))
    alpha, beta, gamma = spec.parameters(pixels)
    scale = away + alpha * force
    limit = np.where(scale > 0.0, (DIVERGENCE * scale) ** 2, 1.0)
    fill = np.minimum(np.arange(-(-len(pixels) // LANES) * LANES), len(pixels) - 1)
    block = Trajectories(alpha[fill], beta[fill], gamma[fill], limit[fill], identity[fill])
    out = np.empty((len(fill), len(FIELDS)))
    on_threads(drive, len(fill) // LANES, data, plan, block, out)
    shaped = out[: len(pixels)].reshape(last - first, spec.repeats, len(FIELDS))
    return {name: shaped[:, :, i] for i, name in enumerate(FIELDS)}
