"""Quadratics with additive noise in the eigenbasis, one pixel per vector lane.

A block of ``LANES`` trajectories runs ``CHUNK`` steps of one coordinate before the next, so that
the state of a coordinate stays in registers and the sums of squares in the L1 cache. The last block
is padded, so that every lane runs the same machine code, whatever its place.

With errors in the eigenbasis, and x₋ = x at the start, a step is ``modal_step``. The recorded point
is y = x + gamma (x - x₋) = (1+gamma)(x - g x₋), g = gamma/(1+gamma): one fused operation, with the
factor (1+gamma)² applied to the sum of squares. After k steps it is y_{k+1}; y_1 = x_0.

Independent noise is scaled by -alpha sigma in single precision. Shared noise is the same for all
lanes, so the state is stored in units of -alpha sigma instead, which saves a product per update. No
noise is treated as shared noise of zeros in units of one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, cast

import numpy as np

from ravine.arguments import FloatArray, Refusal, in_words
from ravine.engine.draws.random import LANES, NOISE, Identities, fill_streams
from ravine.engine.kernels.blocks import padded, paged, run_blocks
from ravine.engine.kernels.quadratic_driver import (
    CHUNK,
    SCALE,
    G,
    QuadraticBlock,
    QuadraticPlan,
    Singles,
    draw_shared,
    driver,
    takes_sup_norm,
)
from ravine.engine.measures import (
    Integers,
    Records,
    divergence_limit,
    fields_of,
    new_setting,
    vanished,
)
from ravine.engine.spec import Spec

_FARTHEST_SINGLE = 1e18  # whose square, 1e36, is below 3e38, the end of single precision
# Errors of a coordinate at the end of their format. Their square is zero even after multiplication
# by 1e17 (1e8 in single precision) for gamma next to -1, and by 1e4 for transient growth in a
# stable direction, so omitting them changes no bit of a sum of squares.
_LEAST_64 = 1e-300
_LEAST_32 = 1e-36
_MOST_NOISE = 1 << 26  # bytes of shared noise that is drawn once for all blocks of a tile

NO_NOISE, INDEPENDENT, SHARED = range(3)
"""No noise, independent noise per trajectory, or the same noise for all trajectories of a
repeat."""


class QuadraticTrajectories(NamedTuple):
    """Values that differ between trajectories, in whole blocks."""

    own: FloatArray  # (5, n), see ``QuadraticBlock``
    g: FloatArray  # gamma / (1 + gamma)
    unit: FloatArray  # unit of the state
    stream: Identities  # identity that selects its noise


def noise_mode(spec: Spec) -> int:
    """The kind of noise of a sweep."""
    if spec.sigma2 == 0.0:
        return NO_NOISE

    return INDEPENDENT if spec.noise == "independent" else SHARED


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a quadratic; see ``engine.device``."""
    mode = noise_mode(spec)
    plan = new_plan(spec, mode)
    # A block shares its noise, so with shared noise a block contains pixels of one repeat.
    rows, inside = (spec.repeats, 1) if mode == SHARED else (1, spec.repeats)
    count = (last - first) * inside
    fill = padded(count, LANES)
    lanes = new_trajectories(spec, plan, first + fill // inside, fill % inside)
    blocks = len(fill) // LANES
    drive = driver(int(mode == INDEPENDENT), int(plan.eigenvectors.size > 0))
    seed = np.uint64(spec.seed)
    sigma = np.sqrt(spec.sigma2)
    d = plan.start.size
    chunks = -(-spec.steps // CHUNK)
    drawn: list[Singles] = []
    if mode == SHARED and 4 * rows * chunks * CHUNK * -(-d // LANES) * LANES <= _MOST_NOISE:
        drawn = [next(shared_noise(spec.seed, row << 32, d, chunks)) for row in range(rows)]

    def run_block(state: QuadraticBlock, records: Records, number: int) -> None:
        row, block = divmod(number, blocks)
        some = slice(block * LANES, (block + 1) * LANES)
        state.own.reshape(5, LANES)[...] = lanes.own[:, some]
        state.row[G:] = lanes.g[some]
        state.x.reshape(-1, 2, LANES)[...] = (plan.start[:, None] / lanes.unit[some])[:, None]
        shared, stride = state.shared, 0
        if drawn:
            shared, stride = drawn[row].ravel(), drawn[row][0].size
        elif mode == SHARED:
            state.noise[SCALE:] = 1.0
            all_lanes = np.full(LANES, row << 32, np.uint64)
            fill_streams(seed, all_lanes, True, NOISE, state.states)
        elif mode == INDEPENDENT:
            state.noise[SCALE:] = -lanes.own[0, some] * sigma
            fill_streams(seed, lanes.stream[some], False, NOISE, state.states)

        drive(plan, state, shared, stride, records)
        if mode == NO_NOISE:
            records.latest[records.latest < plan.setting.tiny] = 0.0

    new_state = partial(new_block, plan, mode)
    out = run_blocks(plan.setting, rows * blocks, LANES, new_state, run_block)
    kept = out.reshape(rows, len(fill), -1)[:, :count]
    return fields_of(kept.transpose(1, 0, 2) if mode == SHARED else kept, spec.repeats)


def new_block(plan: QuadraticPlan, mode: int) -> QuadraticBlock:
    """Allocate a block."""
    d = plan.start.size
    kind = plan.start.dtype
    groups = -(-d // LANES)
    rows = {NO_NOISE: 0, INDEPENDENT: d, SHARED: groups}[mode]
    shared = paged(0 if mode == INDEPENDENT else groups * CHUNK * LANES, np.float32)
    shared[:] = 0.0

    return QuadraticBlock(
        own=paged(5 * LANES, np.float64),
        x=paged(2 * d * LANES, kind),
        row=paged(3 * LANES, kind),
        modal=paged(0 if mode == INDEPENDENT else 2 * d * LANES, kind),
        squares=paged(CHUNK * LANES, kind),
        noise=paged(7 * LANES, np.float32),
        words=paged(4 * LANES, np.uint32),
        states=paged(4 * rows * LANES, np.uint32),
        shared=shared,
        y=np.empty((d + 2) * LANES if plan.eigenvectors.size else 0),
    )


def shared_noise(seed: int, identity: int, d: int, chunks: int) -> Iterator[Singles]:
    """Draw the noise that all lanes share, ``chunks`` of ``CHUNK`` steps at a time, without end.

    Yields arrays (chunks, coordinates, CHUNK); d is rounded up to a multiple of ``LANES``.
    """
    width = -(-d // LANES) * LANES
    states = paged(4 * width, np.uint32)
    fill_streams(np.uint64(seed), np.full(LANES, identity, np.uint64), True, NOISE, states)
    words = paged(4 * LANES, np.uint32)
    scaled = np.ones(7 * LANES, np.float32)
    while True:
        drawn = paged(chunks * width * CHUNK, np.float32)
        draw_shared(states, words, scaled, width * CHUNK, drawn)
        yield drawn.reshape(chunks, width, CHUNK)


def normals_of(seed: int, identity: int, d: int, steps: int) -> FloatArray:
    """Standard normals (steps, d) from the streams of an identity, as every kernel draws them."""
    chunks = islice(shared_noise(seed, identity, d, 1), -(-steps // CHUNK))
    return np.concatenate([chunk[0, :d].T.astype(np.float64) for chunk in chunks])[:steps]


def check(spec: Spec) -> None:
    """Refuse what this kernel cannot do."""
    if spec.sampling is not None:
        rule = "omitted for a quadratic, which is not a sum"
        remedy = "give sigma2 for additive noise"
        raise Refusal("sampling", rule, spec.sampling.value, remedy)

    for name, default in (("batch", 1), ("restart", None), ("schedule", None)):
        value = getattr(spec, name)
        if value is not default:
            raise Refusal(name, "omitted for a quadratic", in_words(value), "remove it")

    away = float(np.linalg.norm(spec.start - spec.problem.minimiser))
    moving = spec.alphas[spec.alphas > 0.0]
    if spec.noise == "shared" and spec.sigma2 > 0.0 and moving.size:
        away /= float(moving.min()) * np.sqrt(spec.sigma2)

    # The square of the start, in the units of the state, must not overflow.
    if spec.dtype == "float32" and away > _FARTHEST_SINGLE:
        rule = (
            f"float64 for a start beyond {_FARTHEST_SINGLE:g} (in units of alpha sigma if shared)"
        )
        raise Refusal("dtype", rule, "float32", "leave dtype out")


def new_plan(spec: Spec, mode: int) -> QuadraticPlan:
    """Collect the values that all trajectories share."""
    problem = spec.problem
    dtype = np.dtype(spec.dtype)
    start = (problem.eigenvectors.T @ (spec.start - problem.minimiser)).astype(dtype)
    with_sup = "floor_sup" in spec.measures
    least = _LEAST_64
    if dtype == np.float32:
        # Sup-norms are computed in double precision, where 1e-36 next to 1e-17 could be the last
        # digit.
        least = 0.0 if with_sup else _LEAST_32

    takes = cast("Any", takes_sup_norm).py_func
    chunks = range(CHUNK, spec.steps + 1, CHUNK) if with_sup else ()
    samples = sum(takes(k, spec.steps) for k in chunks)
    return QuadraticPlan(
        eigenvalues=problem.eigenvalues.astype(dtype),
        start=start,
        setting=new_setting(spec.steps, start, mode != NO_NOISE, vanished(dtype), samples),
        least=least,
        eigenvectors=np.ascontiguousarray(problem.eigenvectors) if with_sup else np.empty((0, 0)),
    )


def new_trajectories(
    spec: Spec, plan: QuadraticPlan, pixels: Integers, repeats: Integers
) -> QuadraticTrajectories:
    """Collect the values of each trajectory."""
    alpha, beta, gamma = spec.parameters(pixels)
    distance = float(np.linalg.norm(plan.start.astype(np.float64)))
    sigma = float(np.sqrt(spec.sigma2))
    single = spec.dtype == "float32"
    ahead = 1.0 + gamma
    # If 1 + gamma is zero, y = x₋; dividing by a tiny number gives this to the last digit.
    ahead = np.where(np.abs(ahead) < (1e-8 if single else 1e-17), 1e-8 if single else 1e-17, ahead)
    unit = np.ones_like(alpha)
    if noise_mode(spec) == SHARED:
        # If alpha is zero nothing moves; noise of 1e-20 times the distance is invisible too.
        still = (1e-12 if single else 1e-20) * distance if distance > 0.0 else 1e-100
        unit = np.where(alpha > 0.0, -alpha * sigma, still)

    factor = (ahead * unit) ** 2
    limit = divergence_limit(distance + alpha * sigma * np.sqrt(spec.problem.dimension))
    return QuadraticTrajectories(
        own=np.stack([alpha, beta, gamma, factor, limit]),
        g=gamma / ahead,
        unit=unit,
        stream=spec.identities(pixels, repeats),
    )
