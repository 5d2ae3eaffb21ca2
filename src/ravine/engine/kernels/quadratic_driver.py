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
from ravine.engine.draws.random import LANES, Words, advance, cosine, output, radius, sine
from ravine.engine.kernels.compiled import compiled, inner
from ravine.engine.kernels.step import modal_coefficients, modal_step
from ravine.engine.measures import Floats, Records, Setting, record_chunk

CHUNK = 32
"""Consecutive steps of one coordinate."""

_C1, _C2, G = 0, LANES, 2 * LANES  # rows of the coefficients
SECOND = 2 * LANES
"""First row of a second coordinate, in its coefficients and in its state."""
_R0, _R2, SCALE = 4 * LANES, 5 * LANES, 6 * LANES  # rows after the four of normals

BETA, GAMMA, FACTOR = LANES, 2 * LANES, 3 * LANES
"""First rows of a lane's own values, after that of alpha; the limit is the last."""

_SUP_SAMPLES = 64  # maximum number of steps of the floor window at which the sup-norm is computed

Singles = npt.NDArray[np.float32]


class QuadraticPlan(NamedTuple):
    """Values shared by all trajectories of a sweep."""

    eigenvalues: Floats  # (d,)
    start: Floats  # (d,) x_0 - x* in the eigenbasis
    setting: Setting  # of the measures
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


def _new_chunk(own: int) -> Any:
    """Make a function that takes a chunk of steps in one coordinate, four at a time.

    Each lane draws its ``own`` noise, or all lanes use the same noise, drawn before.
    """
    row, lane = (LANES, 1) if own == 1 else (1, 0)

    @inner
    def chunk(
        x: Floats,
        coefficients: Floats,
        states: Words,
        words: Words,
        noise: Singles,
        all_squares: Floats,
    ) -> None:
        for j in range(0, CHUNK, 4):
            z = noise
            if own == 1:
                four_draws(states, words, noise)
            else:
                z = noise[j:]
            squares = all_squares[j * LANES : (j + 4) * LANES]
            for p in range(LANES):
                c1 = coefficients[_C1 + p]
                c2 = coefficients[_C2 + p]
                g = coefficients[G + p]
                newest = x[p]
                before = x[LANES + p]
                for u in range(4):
                    ahead = modal_step(newest, before, c1, c2, z[u * row + p * lane])
                    before, newest = newest, ahead
                    y = newest - g * before
                    squares[u * LANES + p] += y * y
                x[p] = newest
                x[LANES + p] = before

    return chunk


chunk_independent, chunk_last = _new_chunk(1), _new_chunk(0)


@compiled
def draw_shared(states: Words, words: Words, noise: Singles, stride: int, shared: Singles) -> None:
    """Draw shared noise, ``stride`` numbers per chunk, for as many chunks as fit.

    A chunk has one row of steps per coordinate. Here the coordinates are the lanes.
    """
    for at in range(0, shared.size, stride):
        for group in range(stride // (CHUNK * LANES)):
            streams = states[4 * group * LANES : 4 * (group + 1) * LANES]
            rows = shared[at + group * CHUNK * LANES : at + (group + 1) * CHUNK * LANES]
            for j in range(0, CHUNK, 4):
                four_draws(streams, words, noise)
                for p in range(LANES):
                    for step in range(4):
                        rows[p * CHUNK + j + step] = noise[step * LANES + p]


@inner
def chunk_pair(x: Floats, coefficients: Floats, shared: Singles, state: QuadraticBlock) -> None:
    """Take a chunk of steps in two coordinates, four at a time, all lanes with the same noise.

    The sums of squares, which fill the L1 cache, are then read and written half as often.
    """
    for j in range(0, CHUNK, 4):
        squares = state.squares[j * LANES : (j + 4) * LANES]
        first = shared[j:]
        second = shared[CHUNK + j :]
        for p in range(LANES):
            c1 = coefficients[_C1 + p]
            c2 = coefficients[_C2 + p]
            g = state.row[G + p]
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
def retire_certain(plan: QuadraticPlan, state: QuadraticBlock, records: Records) -> int:
    """Stop lanes with a certain outcome at zero; return how many still run.

    There they cost nothing: no infinities and no subnormal numbers.
    """
    own = state.own
    setting = plan.setting
    running = LANES
    for p in range(LANES):
        vanished = not setting.noisy and records.latest[p] < setting.tiny
        if records.diverged_at[p] == 0 and not vanished:
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
        modal = state.modal
        squares = state.squares
        setting = plan.setting
        d = plan.start.size
        steps = setting.edges[-1]
        # Zeros of the type of a step, not constants, for which parts would be compiled again.
        k = b = 0 * steps
        running = LANES
        if independent == 0:
            for i in range(d):
                modal_row(plan.eigenvalues[i], own, modal[2 * i * LANES :])

        while k < steps and running > 0:
            for entry in range(squares.size):
                squares[entry] = 0.0
            if independent == 1:
                for i in range(d):
                    streams = state.states[4 * i * LANES : 4 * (i + 1) * LANES]
                    modal_row(plan.eigenvalues[i], own, state.row)
                    both = x[2 * i * LANES : 2 * (i + 1) * LANES]
                    chunk_independent(both, state.row, streams, state.words, state.noise, squares)
            else:
                if stride == 0 and setting.noisy:
                    draw_shared(state.states, state.words, state.noise, shared.size, shared)
                drawn = shared[k // CHUNK * stride :]
                for i in range(0, d, 2):
                    here = x[2 * i * LANES :]
                    rows = modal[2 * i * LANES :]
                    if i + 1 < d:
                        chunk_pair(here, rows, drawn[i * CHUNK :], state)
                    else:
                        modal_row(plan.eigenvalues[i], own, state.row)
                        its = drawn[i * CHUNK :]
                        chunk_last(here, state.row, state.states, state.words, its, squares)
                    if not setting.noisy:
                        put_to_rest(here, rows, plan.least)
                        if i + 1 < d:
                            put_to_rest(here[SECOND:], rows[SECOND:], plan.least)

            count = min(CHUNK, steps - k)
            b = record_chunk(squares, own[FACTOR:], k, count, b, setting.edges, records)
            k += CHUNK
            running = retire_certain(plan, state, records)
            if with_sup == 1 and running > 0 and takes_sup_norm(k, steps):
                add_largest(plan.eigenvectors, x, state.row[G:], own, state.y, records.sup)

    return run_block
