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

from threading import local
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from ravine.arguments import FloatArray, Refusal, in_words
from ravine.engine.draws.random import NOISE, fill_streams
from ravine.engine.kernels.quadratic_driver import (
    QuadraticBlock,
    QuadraticTrajectories,
    draw_chunks,
    drivers,
    takes_sup_norm,
)
from ravine.engine.kernels.quadratic_lanes import (
    CHUNK,
    LANES,
    SCALE,
    Floats,
    Singles,
    paged,
)
from ravine.engine.kernels.threads import on_all_threads, padded
from ravine.engine.measures import (
    FIELDS,
    Integers,
    bin_edges,
    divergence_limit,
    fields_of,
    summarise,
    vanished,
)

if TYPE_CHECKING:
    from ravine.engine.spec import Spec

_FARTHEST_SINGLE = 1e18  # whose square, 1e36, is still below 3e38, the end of single precision
_NOTHING = np.empty(0)
# Errors of a coordinate at the end of their format. The square of such a one is zero, even times
# the 1e17 (1e8 in single precision) that gamma next to -1 makes of it, and the 1e4 that a stable
# direction can still grow by: to leave it out changes no bit of a sum of squares.
_LEAST_64 = 1e-300
_LEAST_32 = 1e-36
_MOST_NOISE = 1 << 26  # bytes of shared noise that is drawn once for all blocks of a tile

NO_NOISE, INDEPENDENT, SHARED = range(3)
"""No noise, each trajectory with its own, or all trajectories of a repeat with the same."""


class QuadraticPlan(NamedTuple):
    """What all trajectories of a tile have in common."""

    eigenvalues: Floats  # (d,)
    start: Floats  # (d,) x_0 - x* in the eigenbasis
    start_square: float  # of its norm
    seed: np.uint64
    sigma: float  # standard deviation of the noise of each coordinate
    noise: int  # NO_NOISE, INDEPENDENT or SHARED
    steps: int
    edges: Integers
    tiny: float  # squared error at which a noise-free lane has vanished
    least: float  # error of a coordinate below which a noise-free lane counts it as zero
    eigenvectors: FloatArray  # (d, d), or (0, 0) where no sup-norm is wanted


def noise_mode(spec: Spec) -> int:
    """The kind of noise of a sweep."""
    if spec.sigma2 == 0.0:
        return NO_NOISE

    return INDEPENDENT if spec.noise == "independent" else SHARED


def new_block(plan: QuadraticPlan) -> QuadraticBlock:
    """Make room for a block."""
    d = plan.start.size
    kind = plan.start.dtype
    groups = -(-d // LANES)
    rows = {NO_NOISE: 0, INDEPENDENT: d, SHARED: groups}[plan.noise]
    shared = paged(0 if plan.noise == INDEPENDENT else groups * CHUNK * LANES, np.float32)
    shared[:] = 0.0

    return QuadraticBlock(
        paged(5 * LANES, np.float64),
        paged(2 * d * LANES, kind),
        paged(3 * LANES, kind),
        paged(0 if plan.noise == INDEPENDENT else 2 * d * LANES, kind),
        paged(CHUNK * LANES, kind),
        paged(7 * LANES, np.float32),
        paged(4 * LANES, np.uint32),
        paged(4 * rows * LANES, np.uint32),
        shared,
        paged((plan.edges.size - 1) * LANES, np.float64),
        paged(LANES, np.float64),
        paged(LANES, np.int64),
    )


def drawn_noise(plan: QuadraticPlan, repeat: int) -> Singles:
    """Draw the noise that all trajectories of a repeat share, chunk after chunk."""
    state = new_block(plan)
    state.noise[SCALE:] = 1.0
    fill_streams(plan.seed, np.full(LANES, repeat << 32, np.uint64), True, NOISE, state.states)
    stride = state.shared.size
    shared: Singles = paged(-(-plan.steps // CHUNK) * stride, np.float32)
    draw_chunks(state.states, state.words, state.noise, stride, shared)
    return shared


def run_block(
    plan: QuadraticPlan,
    lanes: QuadraticTrajectories,
    state: QuadraticBlock,
    repeat: int,
    block: int,
    shared: Singles | None,
    out: FloatArray,
) -> None:
    """Run a block of trajectories; write measures into ``out`` [lanes, fields].

    ``shared`` is the noise of all chunks, or None where there is none or it is still to be drawn.
    """
    some = slice(block * LANES, (block + 1) * LANES)
    mode = plan.noise
    state.noise[SCALE:] = -lanes.alpha[some] * plan.sigma if mode == INDEPENDENT else 1.0
    if mode == INDEPENDENT:
        fill_streams(plan.seed, lanes.stream[some], False, NOISE, state.states)
    elif mode == SHARED and shared is None:
        all_of_repeat = np.full(LANES, repeat << 32, np.uint64)
        fill_streams(plan.seed, all_of_repeat, True, NOISE, state.states)

    noisy = mode != NO_NOISE
    with_sup = plan.eigenvectors.size > 0
    sup = _NOTHING
    room = _NOTHING
    if with_sup:
        sup = np.zeros(LANES)
        room = np.empty((len(plan.eigenvectors) + 2) * LANES)

    stride = 0
    draws = mode == SHARED and shared is None
    if shared is not None:
        stride = state.shared.size
        state = state._replace(shared=shared)

    drivers[int(mode == INDEPENDENT), int(with_sup)](
        lanes, block * LANES, plan.start, plan.eigenvalues, draws, stride, noisy, plan.tiny,
        plan.least, plan.edges, state, plan.eigenvectors, sup, room,
    )  # fmt: skip
    if not noisy:
        state.latest[state.latest < plan.tiny] = 0.0

    takes = cast("Any", takes_sup_norm).py_func
    chunks = range(CHUNK, plan.steps + 1, CHUNK) if with_sup else ()
    summarise(
        state.bins.reshape(-1, LANES), plan.edges, plan.start_square, state.latest,
        state.diverged_at, noisy, plan.tiny, out, sup=sup if with_sup else None,
        samples=sum(takes(k, plan.steps) for k in chunks),
    )  # fmt: skip


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a quadratic; see ``kernels.table``."""
    mode = noise_mode(spec)
    pixels = np.arange(first, last)
    # A block shares its noise, so where noise is shared a block holds pixels of one repeat.
    rows = spec.repeats if mode == SHARED else 1
    if mode != SHARED:
        pixels = np.repeat(pixels, spec.repeats)

    repeat = np.arange(len(pixels)) % spec.repeats
    fill = padded(len(pixels), LANES)
    plan = new_plan(spec, mode)
    lanes = new_trajectories(spec, plan, pixels[fill], repeat[fill])
    out = np.empty((rows, len(fill), len(FIELDS)))
    blocks = len(fill) // LANES
    blocks_of_threads = local()
    drawn: list[Singles | None] = [None] * rows
    size = 4 * plan.steps * -(-plan.start.size // LANES) * LANES
    if mode == SHARED and size * rows <= _MOST_NOISE:
        drawn = [drawn_noise(plan, row) for row in range(rows)]

    def run(first: int, last: int) -> None:
        if not hasattr(blocks_of_threads, "own"):
            blocks_of_threads.own = new_block(plan)

        for number in range(first, last):
            row, block = divmod(number, blocks)
            here = out[row, block * LANES : (block + 1) * LANES]
            run_block(plan, lanes, blocks_of_threads.own, row, block, drawn[row], here)

    on_all_threads(run, rows * blocks)
    kept = out[:, : len(pixels)]
    return fields_of(kept.transpose(1, 0, 2) if mode == SHARED else kept, spec.repeats)


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
    least = _LEAST_64
    if dtype == np.float32:
        # Sup-norms are taken in double precision, where 1e-36 beside 1e-17 could be the last digit.
        least = 0.0 if with_sup else _LEAST_32

    return QuadraticPlan(
        eigenvalues=problem.eigenvalues.astype(dtype),
        start=start.astype(dtype),
        start_square=float((start.astype(dtype).astype(np.float64) ** 2).sum()),
        seed=np.uint64(spec.seed),
        sigma=float(np.sqrt(spec.sigma2)),
        noise=mode,
        steps=spec.steps,
        edges=bin_edges(spec.steps),
        tiny=vanished(dtype),
        least=least,
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
