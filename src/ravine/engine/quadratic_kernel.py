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
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, complaint
from ravine.engine.compiled import FINGERPRINT, compiled, inner
from ravine.engine.measures import (
    DIVERGENCE,
    FIELDS,
    Integers,
    bin_edges,
    record,
    summarise,
    vanished,
)
from ravine.engine.quadratic_lanes import (
    CHUNK,
    LANES,
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
from ravine.engine.random import NOISE, stream
from ravine.engine.threads import spread

if TYPE_CHECKING:
    from ravine.engine.sweep import Spec

_SUP, _FLOOR = FIELDS.index("floor_sup"), FIELDS.index("floor_square")
_SUP_SAMPLES = 64  # steps of the floor window at which the sup-norm is taken, at most

NO_NOISE, INDEPENDENT, SHARED = range(3)
"""Whose noise a trajectory feels: nobody's, its own, or that of all trajectories of its repeat."""


class Setting(NamedTuple):
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


class Lanes(NamedTuple):
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
def largest_errors(
    eigenvectors: FloatArray, x: Floats, row: Floats, factor: FloatArray, total: FloatArray
) -> None:
    """Add to ``total`` the sup-norm of y - x* of every lane, in the original basis."""
    d = len(eigenvectors)
    y = np.empty((d, LANES))
    for i in range(d):
        for p in range(LANES):
            newest, before = x[2 * i * LANES + p], x[(2 * i + 1) * LANES + p]
            y[i, p] = np.sqrt(factor[p]) * (newest - row[G + p] * before)
    largest = np.zeros(LANES)
    entry = np.empty(LANES)
    for r in range(d):
        for p in range(LANES):
            entry[p] = 0.0
        for i in range(d):
            weight = eigenvectors[r, i]
            for p in range(LANES):
                entry[p] += weight * y[i, p]
        for p in range(LANES):
            largest[p] = max(largest[p], abs(entry[p]))
    for p in range(LANES):
        total[p] += largest[p]


@inner
def new_streams(setting: Setting, lanes: Lanes, at: int, repeat: int) -> Words:
    """Return first states of the streams: a row a coordinate, or a lane a coordinate if shared."""
    d = setting.start.size
    rows = 0
    if setting.noise == INDEPENDENT:
        rows = d
    elif setting.noise == SHARED:
        rows = (d + LANES - 1) // LANES
    states: Words = aligned(4 * rows * LANES, np.uint32, 4)
    for row in range(rows):
        for p in range(LANES):
            identity, coordinate = lanes.stream[at + p], row
            if setting.noise == SHARED:
                identity, coordinate = np.uint64(repeat) << np.uint64(32), row * LANES + p
            s0, s1, s2, s3 = stream(setting.seed, identity, np.uint32(coordinate), NOISE)
            states[4 * row * LANES + p], states[(4 * row + 1) * LANES + p] = s0, s1
            states[(4 * row + 2) * LANES + p], states[(4 * row + 3) * LANES + p] = s2, s3
    return states


class Workspace(NamedTuple):
    """The state of a block, flat, and room to work in."""

    x: Floats  # two rows a coordinate: newest and the one before
    squares: Floats  # a row a step of the chunk
    row: Floats  # c1, c2 and g of a coordinate
    noise: Singles  # four rows of normals, two of radii, one of scales
    shared: Singles  # a chunk of shared noise, a row a step, by 128 coordinates
    words: Words
    states: Words
    alpha: FloatArray
    beta: FloatArray
    gamma: FloatArray


@inner
def new_workspace(setting: Setting, lanes: Lanes, at: int, repeat: int) -> Workspace:
    """Put a block at its start, and its streams at their first draw."""
    d, kind, itemsize = setting.start.size, setting.start.dtype, setting.start.itemsize
    x = aligned(2 * d * LANES, kind, itemsize)
    row = aligned(3 * LANES, kind, itemsize)
    noise = aligned(7 * LANES, np.float32, 4)
    for i in range(d):
        for p in range(LANES):
            place = setting.start[i] / lanes.unit[at + p]
            x[2 * i * LANES + p] = place
            x[(2 * i + 1) * LANES + p] = place
    for p in range(LANES):
        row[G + p] = lanes.g[at + p]
        own = -lanes.alpha[at + p] * setting.sigma
        noise[SCALE + p] = own if setting.noise == INDEPENDENT else 1.0
    shared = aligned((d + LANES - 1) // LANES * CHUNK * LANES, np.float32, 4)
    for entry in range(shared.size):
        shared[entry] = 0.0
    return Workspace(
        x,
        aligned(CHUNK * LANES, kind, itemsize),
        row,
        noise,
        shared,
        aligned(4 * LANES, np.uint32, 4),
        new_streams(setting, lanes, at, repeat),
        lanes.alpha[at : at + LANES].copy(),
        lanes.beta[at : at + LANES].copy(),
        lanes.gamma[at : at + LANES].copy(),
    )


@inner
def run_chunk(setting: Setting, work: Workspace) -> None:
    """Take a chunk of steps in every coordinate; leave the squares of every step."""
    for entry in range(work.squares.size):
        work.squares[entry] = 0.0
    if setting.noise == SHARED:
        draw_shared(work.states, work.words, work.noise, work.shared)
    for i in range(setting.start.size):
        x = work.x[2 * i * LANES : 2 * (i + 1) * LANES]
        modal_row(setting.eigenvalues[i], work.alpha, work.beta, work.gamma, work.row)
        if setting.noise == INDEPENDENT:
            states = work.states[4 * i * LANES : 4 * (i + 1) * LANES]
            chunk_independent(x, work.row, states, work.words, work.noise, work.squares)
        else:
            own = i // LANES * CHUNK * LANES + i % LANES
            chunk_shared(x, work.row, work.shared[own:], work.squares)


@inner
def retire_certain(
    setting: Setting, work: Workspace, latest: FloatArray, diverged_at: Integers
) -> int:
    """Let lanes rest at zero whose outcome is certain; return how many are still running.

    There they cost nothing extra: no infinities, no subnormal numbers.
    """
    running = LANES
    for p in range(LANES):
        is_zero = setting.noise == NO_NOISE and latest[p] < setting.tiny
        if diverged_at[p] > 0 or is_zero:
            running -= 1
            if work.alpha[p] != 0.0 or work.beta[p] != 0.0 or work.gamma[p] != 0.0:
                work.alpha[p] = work.beta[p] = work.gamma[p] = 0.0
                work.noise[SCALE + p] *= np.float32(setting.noise == SHARED)
                for i in range(2 * setting.start.size):
                    work.x[i * LANES + p] = 0.0
    return running


@inner
def run_block(setting: Setting, lanes: Lanes, at: int, repeat: int, out: FloatArray) -> None:
    """Run the block of trajectories from ``at`` on; write measures into ``out`` [lanes, fields]."""
    edges, steps = setting.edges, setting.steps
    work = new_workspace(setting, lanes, at, repeat)
    factor, limit = lanes.factor[at : at + LANES], lanes.limit[at : at + LANES]
    bin_sums = np.zeros((edges.size - 1, LANES))
    latest, diverged_at = np.zeros(LANES), np.zeros(LANES, np.int64)
    sup_sum = np.zeros(LANES)
    b = 0
    for k in range(0, steps, CHUNK):
        run_chunk(setting, work)
        for j in range(min(CHUNK, steps - k)):
            b += k + j + 1 > edges[b + 1]
            newest = work.squares[j * LANES : (j + 1) * LANES]
            record(newest, factor, limit, k + j + 1, bin_sums[b], latest, diverged_at)
        if retire_certain(setting, work, latest, diverged_at) == 0:
            break
        if len(setting.eigenvectors) > 0 and takes_sup_norm(k + CHUNK, steps):
            largest_errors(setting.eigenvectors, work.x, work.row, factor, sup_sum)
    start = 0.0
    for i in range(setting.start.size):
        start += float(setting.start[i]) ** 2
    noisy = setting.noise != NO_NOISE
    for p in range(LANES):
        if not noisy and latest[p] < setting.tiny:
            latest[p] = 0.0
    summarise(bin_sums, edges, start, latest, diverged_at, noisy, setting.tiny, out)
    # Counted apart from the loop above: when that ends depends on the other lanes.
    samples = 0
    for k in range(CHUNK, steps + 1, CHUNK):
        samples += takes_sup_norm(k, steps)
    for p in range(LANES):
        out[p, _SUP] = np.nan if np.isnan(out[p, _FLOOR]) else sup_sum[p] / samples


def _new_driver(fingerprint: int) -> Callable[[Setting, Lanes, int, int, int, FloatArray], None]:
    @compiled
    def run_blocks(
        setting: Setting, lanes: Lanes, repeat: int, first: int, last: int, out: FloatArray
    ) -> None:
        if fingerprint < 0:
            return
        for block in range(first, last):
            at = block * LANES
            run_block(setting, lanes, at, repeat, out[at : at + LANES])

    return run_blocks


run_blocks = _new_driver(FINGERPRINT)
"""Run the blocks first..last-1, one after the other."""


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a quadratic; see ``ravine.engine.sweep``."""
    mode = (
        NO_NOISE if spec.sigma2 == 0.0 else INDEPENDENT if spec.noise == "independent" else SHARED
    )
    pixels = np.arange(first, last)
    # A block shares its noise, so where noise is shared a block holds pixels of one repeat.
    rows = spec.repeats if mode == SHARED else 1
    if mode != SHARED:
        pixels = np.repeat(pixels, spec.repeats)
    repeat = np.arange(len(pixels)) % spec.repeats
    padded = -(-len(pixels) // LANES) * LANES
    fill = np.minimum(np.arange(padded), len(pixels) - 1)
    setting = new_setting(spec, mode)
    lanes = new_lanes(spec, setting, pixels[fill], repeat[fill])
    out = np.empty((rows, padded, len(FIELDS)))
    for row in range(rows):
        spread(partial(_blocks_of, setting, lanes, row, out[row]), padded // LANES)
    kept = out[:, : len(pixels)]
    if mode == SHARED:
        kept = kept.transpose(1, 0, 2)
    shaped = kept.reshape(last - first, spec.repeats, len(FIELDS))
    return {name: shaped[:, :, i] for i, name in enumerate(FIELDS)}


def check(spec: Spec) -> None:
    """Refuse what this kernel cannot do."""
    if spec.sampling is not None:
        rule, remedy = "left out for a quadratic, which is no sum", "give sigma2 for additive noise"
        raise ValueError(complaint("sampling", rule, spec.sampling.value, remedy))
    for name, value in spec.options.items():
        raise TypeError(complaint(name, "left out for a quadratic", repr(value), "take it away"))


def _blocks_of(
    setting: Setting, lanes: Lanes, repeat: int, out: FloatArray, first: int, last: int
) -> None:
    run_blocks(setting, lanes, repeat, first, last, out)


def new_setting(spec: Spec, mode: int) -> Setting:
    """Gather what all trajectories have in common."""
    problem, dtype = spec.problem, np.dtype(spec.dtype)
    start = problem.eigenvectors.T @ (spec.start - problem.minimiser)
    with_sup = "floor_sup" in spec.measures
    return Setting(
        problem.eigenvalues.astype(dtype),
        start.astype(dtype),
        np.uint64(spec.seed),
        float(np.sqrt(spec.sigma2)),
        mode,
        spec.steps,
        bin_edges(spec.steps),
        vanished(dtype),
        np.ascontiguousarray(problem.eigenvectors) if with_sup else np.empty((0, 0)),
    )


def new_lanes(spec: Spec, setting: Setting, pixels: Integers, repeats: Integers) -> Lanes:
    """Gather what is each trajectory's own."""
    alpha, beta, gamma = spec.parameters(pixels)
    distance = float(np.linalg.norm(setting.start.astype(np.float64)))
    single = setting.start.dtype == np.float32
    ahead = 1.0 + gamma
    # Where 1 + gamma is zero, y = x₋; dividing by next to nothing says so to the last digit.
    ahead = np.where(np.abs(ahead) < (1e-8 if single else 1e-17), 1e-8 if single else 1e-17, ahead)
    unit = np.ones_like(alpha)
    if setting.noise == SHARED:
        # Where alpha is zero nothing moves: noise of 1e-20 of the distance does not show either.
        still = (1e-12 if single else 1e-20) * distance if distance > 0.0 else 1e-100
        unit = np.where(alpha > 0.0, -alpha * setting.sigma, still)
    scale = distance + alpha * setting.sigma * np.sqrt(setting.start.size)
    identity = pixels.astype(np.uint64) | (repeats.astype(np.uint64) << np.uint64(32))
    limit = np.where(scale > 0.0, (DIVERGENCE * scale) ** 2, 1.0)
    return Lanes(alpha, beta, gamma, gamma / ahead, unit, (ahead * unit) ** 2, limit, identity)
