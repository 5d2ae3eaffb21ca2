"""Quadratics with additive noise, in the eigenbasis, a pixel a vector lane.

A block of ``LANES`` trajectories runs ``CHUNK`` steps of one coordinate before it turns to the
next, so that the state of a coordinate stays in registers and the sums of squares in the nearest
cache. The last block is padded: every lane goes through the same machine code, whatever its place.

With errors in the eigenbasis, and x₋ = x at the start, a step is ``modal_step``. What is recorded
is y = x + gamma (x - x₋) = (1+gamma)(x - g x₋), g = gamma/(1+gamma): one fused operation, and the
factor (1+gamma)² is applied to the sum of squares. After k steps that is y_{k+1}; y_1 = x_0.

Independent noise is scaled by -alpha sigma while it is still in single precision. Shared noise is
the same for all lanes, so there the state is kept in units of -alpha sigma instead, which saves a
product in each update. No noise at all is shared noise of zeros in units of one.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import local
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, in_words
from ravine.engine.draws.random import NOISE, fill_streams
from ravine.engine.kernels.compiled import FINGERPRINT, compiled, inner
from ravine.engine.kernels.quadratic_lanes import (
    BETA,
    CHUNK,
    FACTOR,
    GAMMA,
    LANES,
    LIMIT,
    SCALE,
    Floats,
    G,
    Singles,
    Words,
    aligned,
    chunk_independent,
    chunk_shared,
    draw_shared,
    modal_row,
)
from ravine.engine.kernels.threads import spread
from ravine.engine.measures import (
    FIELDS,
    Integers,
    bin_edges,
    divergence_limit,
    record,
    summarise,
    vanished,
)

if TYPE_CHECKING:
    from ravine.engine.spec import Spec

_SUP = FIELDS.index("floor_sup")
_FLOOR = FIELDS.index("floor_square")
_FARTHEST_SINGLE = 1e18  # whose square, 1e36, is still below 3e38, the end of single precision
_NOTHING = np.empty(0)
_SUP_SAMPLES = 64  # steps of the floor window at which the sup-norm is taken, at most

NO_NOISE, INDEPENDENT, SHARED = range(3)
"""Whose noise a trajectory feels: nobody's, its own, or that of all trajectories of its repeat."""


class QuadraticPlan(NamedTuple):
    """What all trajectories of a tile have in common."""

    eigenvalues: Floats  # (d,)
    start: Floats  # (d,) x_0 - x* in the eigenbasis
    seed: np.uint64
    sigma: float  # standard deviation of the noise of each coordinate
    noise: int  # NO_NOISE, INDEPENDENT or SHARED
    steps: int
    edges: Integers
    tiny: float  # squared error at which a noise-free lane has vanished
    eigenvectors: FloatArray  # (d, d), or (0, 0) where no sup-norm is wanted


class QuadraticTrajectories(NamedTuple):
    """What is each trajectory's own; (n,) in whole blocks."""

    alpha: FloatArray
    beta: FloatArray
    gamma: FloatArray
    g: FloatArray  # gamma / (1 + gamma)
    unit: FloatArray  # what the state is measured in
    factor: FloatArray  # ((1 + gamma) unit)², from recorded squares to squared errors
    limit: FloatArray  # squared error beyond which a lane has diverged
    stream: npt.NDArray[np.uint64]  # the identity that its noise depends on


@inner
def takes_sup_norm(k: int, steps: int) -> bool:
    """Whether the sup-norm is taken after step ``k``, the last of a chunk."""
    stride = 1 + steps // (2 * CHUNK * _SUP_SAMPLES)
    return steps < 2 * k and k <= steps and (k // CHUNK) % stride == 0


@inner
def add_largest(
    eigenvectors: FloatArray, x: Floats, g: Floats, own: FloatArray, y: FloatArray, sup: FloatArray
) -> None:
    """Add to ``sup`` the sup-norm of y - x* of every lane, in the original basis."""
    d = eigenvectors.shape[0]
    for i in range(d):
        for p in range(LANES):
            newest = x[2 * i * LANES + p]
            before = x[(2 * i + 1) * LANES + p]
            y[i * LANES + p] = np.sqrt(own[FACTOR + p]) * (newest - g[p] * before)

    largest = y[d * LANES : (d + 1) * LANES]
    entry = y[(d + 1) * LANES : (d + 2) * LANES]

    for p in range(LANES):
        largest[p] = 0.0

    for r in range(d):
        for p in range(LANES):
            entry[p] = 0.0
        for i in range(d):
            weight = eigenvectors[r, i]
            for p in range(LANES):
                entry[p] += weight * y[i * LANES + p]

        for p in range(LANES):
            largest[p] = max(largest[p], abs(entry[p]))

    for p in range(LANES):
        sup[p] += largest[p]


class QuadraticBlock(NamedTuple):
    """The state of a block, flat rows of ``LANES``, and room to work in."""

    own: FloatArray  # alpha, beta, gamma, factor and limit of every lane
    x: Floats  # two rows a coordinate: newest and the one before
    row: Floats  # c1, c2 and g of a coordinate
    squares: Floats  # a row a step of the chunk
    noise: Singles  # four rows of normals, two of radii, one of scales
    words: Words
    states: Words  # streams: four rows a coordinate, or where shared for 128 coordinates
    shared: Singles  # a chunk of shared noise, a row a step, by 128 coordinates
    bins: FloatArray  # a row a bin
    latest: FloatArray
    diverged_at: Integers


def _new_driver(fingerprint: int, independent: int, with_sup: int) -> Callable[..., None]:
    """Make a driver for one kind of noise: what a sweep does not use is not compiled."""

    @compiled
    def run_block(
        eigenvalues: Floats,
        draws: bool,
        noisy: bool,
        tiny: float,
        edges: Integers,
        state: QuadraticBlock,
        eigenvectors: FloatArray,
        sup: FloatArray,
        room: FloatArray,
    ) -> None:
        own = state.own
        x = state.x
        row = state.row
        squares = state.squares
        noise = state.noise
        words = state.words
        states = state.states
        shared = state.shared
        latest = state.latest
        diverged_at = state.diverged_at
        d = eigenvalues.size
        steps = edges[-1]
        b = 0
        k = 0
        running = LANES if fingerprint >= 0 else 0
        while k < steps and running > 0:
            for entry in range(squares.size):
                squares[entry] = 0.0
            if independent == 0 and draws:
                draw_shared(states, words, noise, shared)
            for i in range(d):
                both = x[2 * i * LANES : 2 * (i + 1) * LANES]
                modal_row(eigenvalues[i], own, row)
                if independent == 1:
                    streams = states[4 * i * LANES : 4 * (i + 1) * LANES]
                    chunk_independent(both, row, streams, words, noise, squares)
                else:
                    at = i // LANES * CHUNK * LANES + i % LANES
                    chunk_shared(both, row, shared[at:], squares)

            for j in range(min(CHUNK, steps - k)):
                b += k + j + 1 > edges[b + 1]
                newest = squares[j * LANES :]
                sums = state.bins[b * LANES : (b + 1) * LANES]
                record(newest, own[FACTOR:], own[LIMIT:], k + j + 1, sums, latest, diverged_at)

            k += CHUNK
            # Lanes whose outcome is certain rest at zero, where they cost nothing extra: no
            # infinities, no subnormal numbers.
            running = LANES
            for p in range(LANES):
                if diverged_at[p] > 0 or (not noisy and latest[p] < tiny):
                    running -= 1
                    if own[p] != 0.0 or own[BETA + p] != 0.0 or own[GAMMA + p] != 0.0:
                        own[p] = own[BETA + p] = own[GAMMA + p] = 0.0
                        if independent == 1:
                            noise[SCALE + p] = np.float32(0.0)
                        for i in range(2 * d):
                            x[i * LANES + p] = 0.0

            if with_sup == 1 and running > 0 and takes_sup_norm(k, steps):
                add_largest(eigenvectors, x, row[G:], own, room, sup)

    return run_block


_drivers = {
    (independent, with_sup): _new_driver(FINGERPRINT, independent, with_sup)
    for independent in (0, 1)
    for with_sup in (0, 1)
}


def noise_mode(spec: Spec) -> int:
    """Whose noise the trajectories of a sweep feel."""
    if spec.sigma2 == 0.0:
        return NO_NOISE

    return INDEPENDENT if spec.noise == "independent" else SHARED


def new_block(plan: QuadraticPlan) -> QuadraticBlock:
    """Make room for a block."""
    d = plan.start.size
    kind = plan.start.dtype
    groups = -(-d // LANES)
    rows = {NO_NOISE: 0, INDEPENDENT: d, SHARED: groups}[plan.noise]
    shared = aligned(0 if plan.noise == INDEPENDENT else groups * CHUNK * LANES, np.float32)
    shared[:] = 0.0

    return QuadraticBlock(
        aligned(5 * LANES, np.float64),
        aligned(2 * d * LANES, kind),
        aligned(3 * LANES, kind),
        aligned(CHUNK * LANES, kind),
        aligned(7 * LANES, np.float32),
        aligned(4 * LANES, np.uint32),
        aligned(4 * rows * LANES, np.uint32),
        shared,
        aligned((plan.edges.size - 1) * LANES, np.float64),
        np.empty(LANES),
        np.empty(LANES, np.int64),
    )


def run_block(
    plan: QuadraticPlan,
    lanes: QuadraticTrajectories,
    state: QuadraticBlock,
    repeat: int,
    block: int,
    out: FloatArray,
) -> None:
    """Run a block of trajectories; write measures into ``out`` [lanes, fields]."""
    some = slice(block * LANES, (block + 1) * LANES)
    mode = plan.noise
    rows = (lanes.alpha, lanes.beta, lanes.gamma, lanes.factor, lanes.limit)
    np.concatenate([values[some] for values in rows], out=state.own)
    state.x.reshape(-1, 2, LANES)[...] = plan.start[:, None, None] / lanes.unit[some]
    state.row[G:] = lanes.g[some]
    state.noise[SCALE:] = -lanes.alpha[some] * plan.sigma if mode == INDEPENDENT else 1.0
    state.bins[:] = 0.0
    state.latest[:] = 0.0
    state.diverged_at[:] = 0
    if mode == INDEPENDENT:
        fill_streams(plan.seed, lanes.stream[some], False, NOISE, state.states)
    elif mode == SHARED:
        all_of_repeat = np.full(LANES, repeat << 32, np.uint64)
        fill_streams(plan.seed, all_of_repeat, True, NOISE, state.states)

    noisy = mode != NO_NOISE
    with_sup = plan.eigenvectors.size > 0
    steps = plan.steps
    sup = _NOTHING
    room = _NOTHING
    if with_sup:
        sup = np.zeros(LANES)
        room = np.empty((len(plan.eigenvectors) + 2) * LANES)

    _drivers[int(mode == INDEPENDENT), int(with_sup)](
        plan.eigenvalues, mode == SHARED, noisy, plan.tiny, plan.edges, state,
        plan.eigenvectors, sup, room,
    )  # fmt: skip
    if not noisy:
        state.latest[state.latest < plan.tiny] = 0.0

    start = float((plan.start.astype(np.float64) ** 2).sum())
    bins = state.bins.reshape(-1, LANES)
    summarise(
        bins, plan.edges, start, state.latest, state.diverged_at, noisy, plan.tiny, out
    )  # fmt: skip
    out[:, _SUP] = np.nan
    if with_sup:
        takes = cast("Any", takes_sup_norm).py_func
        samples = sum(takes(k, steps) for k in range(CHUNK, steps + 1, CHUNK))
        known = ~np.isnan(out[:, _FLOOR])
        out[known, _SUP] = sup[known] / samples if samples else np.nan


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a quadratic; see ``kernels.table``."""
    mode = noise_mode(spec)
    pixels = np.arange(first, last)
    # A block shares its noise, so where noise is shared a block holds pixels of one repeat.
    rows = spec.repeats if mode == SHARED else 1
    if mode != SHARED:
        pixels = np.repeat(pixels, spec.repeats)

    repeat = np.arange(len(pixels)) % spec.repeats
    padded = -(-len(pixels) // LANES) * LANES
    fill = np.minimum(np.arange(padded), len(pixels) - 1)
    plan = new_plan(spec, mode)
    lanes = new_trajectories(spec, plan, pixels[fill], repeat[fill])
    out = np.empty((rows, padded, len(FIELDS)))
    blocks = padded // LANES
    blocks_of_threads = local()

    def run(first: int, last: int) -> None:
        if not hasattr(blocks_of_threads, "own"):
            blocks_of_threads.own = new_block(plan)

        for number in range(first, last):
            row, block = divmod(number, blocks)
            here = out[row, block * LANES : (block + 1) * LANES]
            run_block(plan, lanes, blocks_of_threads.own, row, block, here)

    spread(run, rows * blocks)
    kept = out[:, : len(pixels)]
    if mode == SHARED:
        kept = kept.transpose(1, 0, 2)

    shaped = kept.reshape(last - first, spec.repeats, len(FIELDS))
    return {name: shaped[:, :, i] for i, name in enumerate(FIELDS)}


def check(spec: Spec) -> None:
    """Refuse what this kernel cannot do."""
    if spec.sampling is not None:
        rule = "left out for a quadratic, which is no sum"
        remedy = "give sigma2 for additive noise"
        raise Refusal("sampling", rule, spec.sampling.value, remedy)

    for name, usual in (("batch", 1), ("restart", None), ("schedule", None)):
        value = getattr(spec, name)
        if value is not usual:
            raise Refusal(name, "left out for a quadratic", in_words(value), "take it away")

    if spec.dtype == "float32":
        _check_single(spec)


def _check_single(spec: Spec) -> None:
    """Refuse a start whose square, in the units of the state, is no number of single precision."""
    away = float(np.linalg.norm(spec.start - spec.problem.minimiser))
    moving = spec.alphas[spec.alphas > 0.0]
    if spec.noise == "shared" and spec.sigma2 > 0.0 and moving.size:
        away /= float(moving.min()) * np.sqrt(spec.sigma2)

    if away > _FARTHEST_SINGLE:
        rule = (
            f"float64 for a start beyond {_FARTHEST_SINGLE:g} (in units of alpha sigma if shared)"
        )
        raise Refusal("dtype", rule, "float32", "leave dtype out")


def new_plan(spec: Spec, mode: int) -> QuadraticPlan:
    """Gather what all trajectories have in common."""
    problem = spec.problem
    dtype = np.dtype(spec.dtype)
    start = problem.eigenvectors.T @ (spec.start - problem.minimiser)
    with_sup = "floor_sup" in spec.measures

    return QuadraticPlan(
        eigenvalues=problem.eigenvalues.astype(dtype),
        start=start.astype(dtype),
        seed=np.uint64(spec.seed),
        sigma=float(np.sqrt(spec.sigma2)),
        noise=mode,
        steps=spec.steps,
        edges=bin_edges(spec.steps),
        tiny=vanished(dtype),
        eigenvectors=np.ascontiguousarray(problem.eigenvectors) if with_sup else np.empty((0, 0)),
    )


def new_trajectories(
    spec: Spec, plan: QuadraticPlan, pixels: Integers, repeats: Integers
) -> QuadraticTrajectories:
    """Gather what is each trajectory's own."""
    alpha, beta, gamma = spec.parameters(pixels)
    distance = float(np.linalg.norm(plan.start.astype(np.float64)))
    single = plan.start.dtype == np.float32
    ahead = 1.0 + gamma
    # Where 1 + gamma is zero, y = x₋; dividing by next to nothing says so to the last digit.
    ahead = np.where(np.abs(ahead) < (1e-8 if single else 1e-17), 1e-8 if single else 1e-17, ahead)
    unit = np.ones_like(alpha)
    if plan.noise == SHARED:
        # Where alpha is zero nothing moves: noise of 1e-20 of the distance does not show either.
        still = (1e-12 if single else 1e-20) * distance if distance > 0.0 else 1e-100
        unit = np.where(alpha > 0.0, -alpha * plan.sigma, still)

    scale = distance + alpha * plan.sigma * np.sqrt(plan.start.size)
    identity = pixels.astype(np.uint64) | (repeats.astype(np.uint64) << np.uint64(32))
    limit = divergence_limit(scale)

    return QuadraticTrajectories(
        alpha, beta, gamma, gamma / ahead, unit, (ahead * unit) ** 2, limit, identity
    )
