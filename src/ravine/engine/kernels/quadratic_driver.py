"""A block of quadratics with one trajectory per vector lane: inner loops, and the step loop.

Arrays are flat rows of ``LANES`` entries at offsets known to the compiler, so that each loop over
lanes becomes vector code without checks for overlap.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.draws.normals import cosine, radius, sine
from ravine.engine.draws.random import advance, output
from ravine.engine.kernels.compiled import compiled, inner
from ravine.engine.kernels.step import modal_coefficients, modal_step
from ravine.engine.measures import Integers, Records, record

LANES = 128
"""Trajectories in a block."""
CHUNK = 32
"""Consecutive steps of one coordinate."""

_C1, _C2, G = 0, LANES, 2 * LANES  # rows of the coefficients
SECOND = 2 * LANES
"""First row of a second coordinate, in its coefficients and in its state."""
_R0, _R2, SCALE = 4 * LANES, 5 * LANES, 6 * LANES  # rows after the four of normals

BETA, GAMMA, FACTOR, LIMIT = LANES, 2 * LANES, 3 * LANES, 4 * LANES
"""First rows of a lane's own values, after that of alpha."""

_SUP_SAMPLES = 64  # maximum number of steps of the floor window at which the sup-norm is computed
_EIGHT = 8  # steps that are recorded together if they are in one bin

Floats = npt.NDArray[np.floating[Any]]
Singles = npt.NDArray[np.float32]
Words = npt.NDArray[np.uint32]


class QuadraticPlan(NamedTuple):
    """Values shared by all trajectories of a tile.

    With shared noise or none, a coordinate of zeros makes their number even.
    """

    d: int  # without the padding coordinate
    eigenvalues: Floats  # (d,)
    start: Floats  # (d,) x_0 - x* in the eigenbasis
    noisy: bool
    edges: Integers
    tiny: float  # squared error below which a noise-free lane counts as zero
    least: float  # error of a coordinate below which it counts as zero in a noise-free lane
    eigenvectors: FloatArray  # (d, d), or (0, 0) without sup-norm


class QuadraticBlock(NamedTuple):
    """The state of a block in flat rows of ``LANES``, and its workspace."""

    own: FloatArray  # alpha, beta, gamma, factor and limit of every lane
    x: Floats  # two rows a coordinate: newest and the one before
    row: Floats  # c1, c2 and g of a coordinate
    modal: Floats  # c1 and c2 of every coordinate, where noise is shared
    squares: Floats  # one row per step of the chunk
    noise: Singles  # four rows of normals, two of radii, one of scales
    words: Words
    states: Words  # streams: four rows per coordinate, or, if shared, per 128 coordinates
    shared: Singles  # shared noise of a chunk: a row of steps a coordinate
    y: FloatArray  # for the sup-norm: one row per coordinate, and two


@inner
def four_draws(states: Words, words: Words, noise: Singles) -> None:
    """Draw four words of every lane's stream, and turn them into scaled normals of four steps."""
    for p in range(LANES):
        s0, s1, s2, s3 = states[p], states[LANES + p], states[2 * LANES + p], states[3 * LANES + p]
        for u in range(4):
            words[u * LANES + p] = output(s0, s3)
            s0, s1, s2, s3 = advance(s0, s1, s2, s3)
        states[p], states[LANES + p], states[2 * LANES + p], states[3 * LANES + p] = s0, s1, s2, s3

    for p in range(LANES):
        noise[_R0 + p] = noise[SCALE + p] * radius(words[p])
        noise[_R2 + p] = noise[SCALE + p] * radius(words[2 * LANES + p])

    for p in range(LANES):
        noise[p] = noise[_R0 + p] * cosine(words[LANES + p])
        noise[LANES + p] = noise[_R0 + p] * sine(words[LANES + p])
        noise[2 * LANES + p] = noise[_R2 + p] * cosine(words[3 * LANES + p])
        noise[3 * LANES + p] = noise[_R2 + p] * sine(words[3 * LANES + p])


@inner
def chunk_independent(
    x: Floats,
    coefficients: Floats,
    states: Words,
    words: Words,
    noise: Singles,
    all_squares: Floats,
) -> None:
    """Take a chunk of steps in one coordinate, four at a time, each lane with its own noise."""
    for j in range(0, CHUNK, 4):
        four_draws(states, words, noise)
        squares = all_squares[j * LANES : (j + 4) * LANES]
        for p in range(LANES):
            c1 = coefficients[_C1 + p]
            c2 = coefficients[_C2 + p]
            g = coefficients[G + p]
            newest = x[p]
            before = x[LANES + p]
            for u in range(4):
                ahead = modal_step(newest, before, c1, c2, noise[u * LANES + p])
                before, newest = newest, ahead
                y = newest - g * before
                squares[u * LANES + p] += y * y
            x[p] = newest
            x[LANES + p] = before


@inner
def draw_shared(d: int, states: Words, words: Words, noise: Singles, shared: Singles) -> None:
    """Draw a chunk of shared noise, one row of steps per coordinate.

    Here the coordinates are the lanes. A padding coordinate for odd ``d`` has no noise.
    """
    for group in range(shared.size // (CHUNK * LANES)):
        streams = states[4 * group * LANES : 4 * (group + 1) * LANES]
        rows = shared[group * CHUNK * LANES : (group + 1) * CHUNK * LANES]
        for j in range(0, CHUNK, 4):
            four_draws(streams, words, noise)
            for p in range(LANES):
                for step in range(4):
                    rows[p * CHUNK + j + step] = noise[step * LANES + p]

    for step in range(CHUNK * (d % 2)):
        shared[d * CHUNK + step] = np.float32(0.0)


@inner
def chunk_shared(
    x: Floats, coefficients: Floats, look: Floats, shared: Singles, all_squares: Floats
) -> None:
    """Take a chunk of steps in two coordinates, four at a time, all lanes with the same noise.

    The sums of squares, which fill the L1 cache, are then read and written half as often.
    """
    for j in range(0, CHUNK, 4):
        squares = all_squares[j * LANES : (j + 4) * LANES]
        first = shared[j:]
        second = shared[CHUNK + j :]
        for p in range(LANES):
            c1 = coefficients[_C1 + p]
            c2 = coefficients[_C2 + p]
            g = look[p]
            d1 = coefficients[SECOND + _C1 + p]
            d2 = coefficients[SECOND + _C2 + p]
            newest = x[p]
            before = x[LANES + p]
            other = x[SECOND + p]
            other_before = x[SECOND + LANES + p]
            for u in range(4):
                ahead = modal_step(newest, before, c1, c2, first[u])
                before, newest = newest, ahead
                ahead = modal_step(other, other_before, d1, d2, second[u])
                other_before, other = other, ahead
                y = newest - g * before
                v = other - g * other_before
                squares[u * LANES + p] = (squares[u * LANES + p] + y * y) + v * v
            x[p] = newest
            x[LANES + p] = before
            x[SECOND + p] = other
            x[SECOND + LANES + p] = other_before


@inner
def put_to_rest(x: Floats, coefficients: Floats, least: float) -> None:
    """Set values below ``least`` to zero in stable directions of a lane.

    They can only fall further, to subnormal numbers, which make some processors a hundred times
    slower. A direction is stable if z² = c1 z + c2 has both roots inside the unit circle.
    """
    for p in range(LANES):
        c1 = coefficients[_C1 + p]
        c2 = coefficients[_C2 + p]
        stable = (abs(c2) < 1.0) & (abs(c1) < 1.0 - c2)
        gone = stable & (abs(x[p]) < least) & (abs(x[LANES + p]) < least)
        x[p] = 0.0 if gone else x[p]
        x[LANES + p] = 0.0 if gone else x[LANES + p]


@inner
def modal_row(eigenvalue: float, own: FloatArray, row: Floats) -> None:
    """Write the coefficients of one eigen-direction for all lanes."""
    for p in range(LANES):
        h = own[p] * eigenvalue
        beta = own[BETA + p]
        gamma = own[GAMMA + p]
        row[_C1 + p], row[_C2 + p] = modal_coefficients(h, beta, gamma)


@inner
def takes_sup_norm(k: int, steps: int) -> bool:
    """Whether the sup-norm is computed after step ``k``, the last of a chunk."""
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


@inner
def record_eight(
    squares: Floats, factor: FloatArray, limit: FloatArray, k: int, b: int, records: Records
) -> None:
    """Add the squared errors of the steps k, ..., k + 7 to bin ``b``.

    The same sums in the same order as eight calls of ``record``. One check decides whether any of
    them is beyond the limit; only then is it located. Comparing every error also keeps the compiler
    from fusing a product with its sum, which would change the last digit.
    """
    bin_sum = records.bins[b]
    diverged_at = records.diverged_at
    beyond = 0
    for p in range(LANES):
        weight = factor[p]
        bound = limit[p]
        total = bin_sum[p]
        within = True
        for u in range(_EIGHT):
            error = weight * squares[u * LANES + p]
            total += error
            records.latest[p] = error
            # Written so that a NaN counts as beyond the limit too.
            within = within & (error <= bound)
        bin_sum[p] = total
        beyond += 0 if within else 1

    for j in range(_EIGHT if beyond > 0 else 0):
        for p in range(LANES):
            outside = not (factor[p] * squares[j * LANES + p] <= limit[p])
            diverged_at[p] = k + j if outside and diverged_at[p] == 0 else diverged_at[p]


@inner
def record_chunk(k: int, edges: Integers, b: int, state: QuadraticBlock, records: Records) -> int:
    """Record the steps k + 1, k + 2, ... of a chunk from bin ``b`` on; return the last bin.

    Wide bins take eight steps at a time.
    """
    factor = state.own[FACTOR:]
    limit = state.own[LIMIT:]
    count = min(CHUNK, edges[-1] - k)
    j = 0
    while j < count:
        b += k + j + 1 > edges[b + 1]
        newest = state.squares[j * LANES :]
        if k + j + _EIGHT <= edges[b + 1]:
            record_eight(newest, factor, limit, k + j + 1, b, records)
            j += _EIGHT
        else:
            record(newest, factor, limit, k + j + 1, b, records)
            j += 1

    return b


@inner
def retire_certain(plan: QuadraticPlan, state: QuadraticBlock, records: Records) -> int:
    """Stop lanes with a certain outcome at zero; return how many still run.

    There they cost nothing: no infinities and no subnormal numbers.
    """
    own = state.own
    running = LANES
    for p in range(LANES):
        if records.diverged_at[p] == 0 and (plan.noisy or records.latest[p] >= plan.tiny):
            continue

        running -= 1
        if own[p] != 0.0 or own[BETA + p] != 0.0 or own[GAMMA + p] != 0.0:
            own[p] = own[BETA + p] = own[GAMMA + p] = 0.0
            if state.modal.size == 0:
                state.noise[SCALE + p] = np.float32(0.0)
            for i in range(2 * plan.start.size):
                state.x[i * LANES + p] = 0.0
            for i in range(state.modal.size // (2 * LANES)):
                # The coefficients of alpha = beta = gamma = 0.
                state.modal[2 * i * LANES + p] = 1.0
                state.modal[(2 * i + 1) * LANES + p] = 0.0

    return running


@cache
def driver(independent: int, with_sup: int) -> Callable[..., None]:
    """Make a driver for independent or shared noise, with or without the sup-norm.

    Parts that a sweep does not use are not compiled. Shared noise is given, ``stride`` numbers per
    chunk; if ``stride`` is zero, it is drawn chunk by chunk.
    """

    @compiled
    def run_block(
        plan: QuadraticPlan, state: QuadraticBlock, shared: Singles, stride: int, records: Records
    ) -> None:
        own = state.own
        x = state.x
        row = state.row
        modal = state.modal
        squares = state.squares
        d = plan.start.size
        steps = plan.edges[-1]
        b = 0
        k = 0
        running = LANES
        if independent == 0:
            for i in range(d):
                modal_row(plan.eigenvalues[i], own, modal[2 * i * LANES :])

        while k < steps and running > 0:
            for entry in range(squares.size):
                squares[entry] = 0.0
            if independent == 1:
                for i in range(d):
                    both = x[2 * i * LANES : 2 * (i + 1) * LANES]
                    streams = state.states[4 * i * LANES : 4 * (i + 1) * LANES]
                    modal_row(plan.eigenvalues[i], own, row)
                    chunk_independent(both, row, streams, state.words, state.noise, squares)
            else:
                if stride == 0 and plan.noisy:
                    draw_shared(plan.d, state.states, state.words, state.noise, shared)
                drawn = shared[k // CHUNK * stride :]
                for i in range(0, d, 2):
                    four = x[2 * i * LANES : 2 * (i + 2) * LANES]
                    rows = modal[2 * i * LANES : 2 * (i + 2) * LANES]
                    chunk_shared(four, rows, row[G:], drawn[i * CHUNK :], squares)
                    if not plan.noisy:
                        put_to_rest(four, rows, plan.least)
                        put_to_rest(four[SECOND:], rows[SECOND:], plan.least)

            b = record_chunk(k, plan.edges, b, state, records)
            k += CHUNK
            running = retire_certain(plan, state, records)
            if with_sup == 1 and running > 0 and takes_sup_norm(k, steps):
                add_largest(plan.eigenvectors, x, row[G:], own, state.y, records.sup)

    return run_block


@compiled
def draw_chunks(
    d: int, states: Words, words: Words, noise: Singles, stride: int, shared: Singles
) -> None:
    """Draw shared noise, ``stride`` numbers per chunk, for as many chunks as fit."""
    for at in range(0, shared.size, stride):
        draw_shared(d, states, words, noise, shared[at : at + stride])
