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

from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Refusal, in_words
from ravine.engine.draws.random import NOISE, fill_streams
from ravine.engine.kernels.blocks import padded, paged, run_blocks
from ravine.engine.kernels.quadratic_driver import (
    CHUNK,
    LANES,
    SCALE,
    G,
    QuadraticBlock,
    QuadraticPlan,
    Singles,
    draw_chunks,
    driver,
    takes_sup_norm,
)
from ravine.engine.measures import (
    Integers,
    Records,
    Setting,
    bin_edges,
    divergence_limit,
    fields_of,
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
    """Values that differ between trajectories; (n,) in whole blocks."""

    alpha: FloatArray
    beta: FloatArray
    gamma: FloatArray
    factor: FloatArray  # ((1 + gamma) unit)², from recorded squares to squared errors
    limit: FloatArray  # squared error beyond which a lane has diverged
    g: FloatArray  # gamma / (1 + gamma)
    unit: FloatArray  # unit of the state
    stream: npt.NDArray[np.uint64]  # identity that selects its noise


def noise_mode(spec: Spec) -> int:
    """The kind of noise of a sweep."""
    if spec.sigma2 == 0.0:
        return NO_NOISE

    return INDEPENDENT if spec.noise == "independent" else SHARED


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a quadratic; see ``kernels.table``."""
    mode = noise_mode(spec)
    plan, setting = new_plan(spec, mode)
    pixels = np.arange(first, last)
    # A block shares its noise, so with shared noise a block contains pixels of one repeat.
    rows = spec.repeats if mode == SHARED else 1
    if mode != SHARED:
        pixels = np.repeat(pixels, spec.repeats)

    fill = padded(len(pixels), LANES)
    repeat = np.arange(len(pixels)) % spec.repeats
    lanes = new_trajectories(spec, plan, pixels[fill], repeat[fill])
    blocks = len(fill) // LANES
    plan = _with_even_dimension(plan) if mode != INDEPENDENT else plan
    noise = _SharedNoise(spec, plan, rows) if mode == SHARED else None
    drive = driver(int(mode == INDEPENDENT), int(plan.eigenvectors.size > 0))
    sigma = np.sqrt(spec.sigma2)

    def run_block(state: QuadraticBlock, records: Records, number: int) -> None:
        row, block = divmod(number, blocks)
        some = slice(block * LANES, (block + 1) * LANES)
        state.own.reshape(5, LANES)[...] = [each[some] for each in lanes[:5]]
        state.row[G:] = lanes.g[some]
        state.x.reshape(-1, 2, LANES)[...] = (plan.start[:, None] / lanes.unit[some])[:, None]
        shared, stride = state.shared, 0
        if noise is not None:
            shared, stride = noise.of_repeat(row, state)
        elif mode == INDEPENDENT:
            state.noise[SCALE:] = -lanes.alpha[some] * sigma
            fill_streams(np.uint64(spec.seed), lanes.stream[some], False, NOISE, state.states)

        drive(plan, state, shared, stride, records)
        if not plan.noisy:
            records.latest[records.latest < plan.tiny] = 0.0

    out = run_blocks(setting, rows * blocks, LANES, lambda: _new_block(plan, mode), run_block)
    kept = out.reshape(rows, len(fill), -1)[:, : len(pixels)]
    return fields_of(kept.transpose(1, 0, 2) if mode == SHARED else kept, spec.repeats)


def _with_even_dimension(plan: QuadraticPlan) -> QuadraticPlan:
    """Pad an odd number of coordinates with one that stays at zero: they are processed in pairs."""
    more = (0, plan.d % 2)
    return plan._replace(
        eigenvalues=np.pad(plan.eigenvalues, more), start=np.pad(plan.start, more)
    )  # fmt: skip


def _new_block(plan: QuadraticPlan, mode: int) -> QuadraticBlock:
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


class _SharedNoise:
    """The noise that all trajectories of a repeat share, drawn once if it is not too large."""

    def __init__(self, spec: Spec, plan: QuadraticPlan, repeats: int) -> None:
        self._seed = np.uint64(spec.seed)
        self._stride = -(-plan.d // LANES) * LANES * CHUNK
        self._kept: list[Singles] = []
        size = -(-spec.steps // CHUNK) * self._stride
        if 4 * size * repeats > _MOST_NOISE:
            return

        for repeat in range(repeats):
            state = _new_block(plan, SHARED)
            self._begin(repeat, state)
            drawn: Singles = paged(size, np.float32)
            draw_chunks(plan.d, state.states, state.words, state.noise, self._stride, drawn)
            self._kept.append(drawn)

    def of_repeat(self, repeat: int, state: QuadraticBlock) -> tuple[Singles, int]:
        """The noise of a block, and its numbers per chunk; 0 if it must be drawn."""
        if self._kept:
            return self._kept[repeat], self._stride

        self._begin(repeat, state)
        return state.shared, 0

    def _begin(self, repeat: int, state: QuadraticBlock) -> None:
        state.noise[SCALE:] = 1.0
        identity = np.full(LANES, repeat << 32, np.uint64)
        fill_streams(self._seed, identity, True, NOISE, state.states)


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

    if spec.dtype == "float32":
        _check_single(spec)


def _check_single(spec: Spec) -> None:
    """Refuse a start whose square, in the units of the state, overflows single precision."""
    away = float(np.linalg.norm(spec.start - spec.problem.minimiser))
    moving = spec.alphas[spec.alphas > 0.0]
    if spec.noise == "shared" and spec.sigma2 > 0.0 and moving.size:
        away /= float(moving.min()) * np.sqrt(spec.sigma2)

    if away > _FARTHEST_SINGLE:
        rule = (
            f"float64 for a start beyond {_FARTHEST_SINGLE:g} (in units of alpha sigma if shared)"
        )
        raise Refusal("dtype", rule, "float32", "leave dtype out")


def new_plan(spec: Spec, mode: int) -> tuple[QuadraticPlan, Setting]:
    """Collect the values that all trajectories and their measures share."""
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
    setting = Setting(
        edges=bin_edges(spec.steps),
        start_square=float((start.astype(np.float64) ** 2).sum()),
        noisy=mode != NO_NOISE,
        tiny=vanished(dtype),
        samples=sum(takes(k, spec.steps) for k in chunks),
    )
    plan = QuadraticPlan(
        d=start.size,
        eigenvalues=problem.eigenvalues.astype(dtype),
        start=start,
        noisy=setting.noisy,
        edges=setting.edges,
        tiny=setting.tiny,
        least=least,
        eigenvectors=np.ascontiguousarray(problem.eigenvectors) if with_sup else np.empty((0, 0)),
    )

    return plan, setting


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

    return QuadraticTrajectories(
        alpha=alpha,
        beta=beta,
        gamma=gamma,
        factor=(ahead * unit) ** 2,
        limit=divergence_limit(distance + alpha * sigma * np.sqrt(spec.problem.dimension)),
        g=gamma / ahead,
        unit=unit,
        stream=pixels.astype(np.uint64) | (repeats.astype(np.uint64) << np.uint64(32)),
    )
