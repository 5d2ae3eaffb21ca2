"""The compiled loop over the steps of a block of quadratics: chunks, records, and resting lanes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.kernels.compiled import compiled, inner
from ravine.engine.kernels.quadratic_lanes import (
    BETA,
    CHUNK,
    FACTOR,
    GAMMA,
    LANES,
    LIMIT,
    SCALE,
    SECOND,
    Floats,
    G,
    Singles,
    Words,
    chunk_independent,
    chunk_shared,
    chunk_shared_by_two,
    draw_shared,
    modal_row,
    put_to_rest,
)
from ravine.engine.measures import Integers, record

_SUP_SAMPLES = 64  # steps of the floor window at which the sup-norm is taken, at most
_EIGHT = 8  # steps that are recorded together where they fall into one bin


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


class QuadraticBlock(NamedTuple):
    """The state of a block, flat rows of ``LANES``, and room to work in."""

    own: FloatArray  # alpha, beta, gamma, factor and limit of every lane
    x: Floats  # two rows a coordinate: newest and the one before
    row: Floats  # c1, c2 and g of a coordinate
    modal: Floats  # c1 and c2 of every coordinate, where noise is shared
    squares: Floats  # a row a step of the chunk
    noise: Singles  # four rows of normals, two of radii, one of scales
    words: Words
    states: Words  # streams: four rows a coordinate, or where shared for 128 coordinates
    shared: Singles  # shared noise of one chunk or of all: a row of steps a coordinate
    bins: FloatArray  # a row a bin
    latest: FloatArray
    diverged_at: Integers


@inner
def begin(lanes: QuadraticTrajectories, at: int, start: Floats, state: QuadraticBlock) -> None:
    """Put the trajectories from ``at`` on at their start, with nothing recorded yet."""
    own = state.own
    for p in range(LANES):
        own[p] = lanes.alpha[at + p]
        own[BETA + p] = lanes.beta[at + p]
        own[GAMMA + p] = lanes.gamma[at + p]
        own[FACTOR + p] = lanes.factor[at + p]
        own[LIMIT + p] = lanes.limit[at + p]
        state.row[G + p] = lanes.g[at + p]
        state.latest[p] = 0.0
        state.diverged_at[p] = 0

    unit = lanes.unit[at : at + LANES]
    for i in range(start.size):
        both = state.x[2 * i * LANES : 2 * (i + 1) * LANES]
        for p in range(LANES):
            away = start[i] / unit[p]
            both[p] = away
            both[LANES + p] = away

    for entry in range(state.bins.size):
        state.bins[entry] = 0.0


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


@inner
def record_eight(
    squares: Floats, factor: FloatArray, limit: FloatArray, bin_sum: FloatArray, latest: FloatArray
) -> int:
    """Add the squared errors of eight steps to their bin; return how many lanes have one beyond.

    The same sums in the same order as eight times ``record``. That every error is compared also
    keeps the compiler from fusing a product with its sum, which would change the last digit.
    """
    beyond = 0
    for p in range(LANES):
        weight = factor[p]
        bound = limit[p]
        total = bin_sum[p]
        e1 = weight * squares[p]
        e2 = weight * squares[LANES + p]
        e3 = weight * squares[2 * LANES + p]
        e4 = weight * squares[3 * LANES + p]
        e5 = weight * squares[4 * LANES + p]
        e6 = weight * squares[5 * LANES + p]
        e7 = weight * squares[6 * LANES + p]
        e8 = weight * squares[7 * LANES + p]
        bin_sum[p] = (((((((total + e1) + e2) + e3) + e4) + e5) + e6) + e7) + e8
        latest[p] = e8
        # Written so that a NaN counts as beyond too.
        within = (e1 <= bound) & (e2 <= bound) & (e3 <= bound) & (e4 <= bound)
        within = within & (e5 <= bound) & (e6 <= bound) & (e7 <= bound) & (e8 <= bound)
        beyond += 0 if within else 1

    return beyond


@inner
def find_steps(
    squares: Floats, factor: FloatArray, limit: FloatArray, k: int, diverged_at: Integers
) -> None:
    """Note the first of the steps k, ..., k + 7 at which each lane was beyond its limit."""
    for j in range(_EIGHT):
        for p in range(LANES):
            beyond = not (factor[p] * squares[j * LANES + p] <= limit[p])
            diverged_at[p] = k + j if beyond and diverged_at[p] == 0 else diverged_at[p]


@inner
def record_chunk(k: int, edges: Integers, b: int, state: QuadraticBlock) -> int:
    """Record the steps k + 1, k + 2, ... of a chunk, from bin ``b`` on; return the last one's bin.

    Where bins are wide, eight steps at a time: whether one of them is beyond the limit is looked
    at together, and which one only where there is one.
    """
    own = state.own
    count = min(CHUNK, edges[-1] - k)
    j = 0
    while j < count:
        b += k + j + 1 > edges[b + 1]
        newest = state.squares[j * LANES :]
        sums = state.bins[b * LANES : (b + 1) * LANES]
        if k + j + _EIGHT <= edges[b + 1]:
            if record_eight(newest, own[FACTOR:], own[LIMIT:], sums, state.latest) > 0:
                find_steps(newest, own[FACTOR:], own[LIMIT:], k + j + 1, state.diverged_at)
            j += _EIGHT
        else:
            record(
                newest, own[FACTOR:], own[LIMIT:], k + j + 1, sums, state.latest, state.diverged_at
            )
            j += 1

    return b


def _new_driver(independent: int, with_sup: int) -> Callable[..., None]:
    """Make a driver for one kind of noise: what a sweep does not use is not compiled."""

    @compiled
    def run_block(
        lanes: QuadraticTrajectories,
        at: int,
        start: Floats,
        eigenvalues: Floats,
        draws: bool,
        stride: int,
        noisy: bool,
        tiny: float,
        least: float,
        edges: Integers,
        state: QuadraticBlock,
        eigenvectors: FloatArray,
        sup: FloatArray,
        room: FloatArray,
    ) -> None:
        own = state.own
        x = state.x
        row = state.row
        modal = state.modal
        squares = state.squares
        noise = state.noise
        latest = state.latest
        diverged_at = state.diverged_at
        d = eigenvalues.size
        steps = edges[-1]
        b = 0
        k = 0
        running = LANES
        begin(lanes, at, start, state)
        if independent == 0:
            for i in range(d):
                modal_row(eigenvalues[i], own, modal[2 * i * LANES :])

        while k < steps and running > 0:
            for entry in range(squares.size):
                squares[entry] = 0.0
            if independent == 0 and draws:
                draw_shared(state.states, state.words, noise, state.shared)
            if independent == 1:
                for i in range(d):
                    both = x[2 * i * LANES : 2 * (i + 1) * LANES]
                    streams = state.states[4 * i * LANES : 4 * (i + 1) * LANES]
                    modal_row(eigenvalues[i], own, row)
                    chunk_independent(both, row, streams, state.words, noise, squares)
            else:
                drawn = state.shared[k // CHUNK * stride :]
                for i in range(0, d - 1, 2):
                    four = x[2 * i * LANES : 2 * (i + 2) * LANES]
                    rows = modal[2 * i * LANES : 2 * (i + 2) * LANES]
                    chunk_shared_by_two(four, rows, row[G:], drawn[i * CHUNK :], squares)
                    if not noisy:
                        put_to_rest(four, rows, least)
                        put_to_rest(four[SECOND:], rows[SECOND:], least)
                if d % 2 == 1:
                    both = x[2 * (d - 1) * LANES :]
                    rows = modal[2 * (d - 1) * LANES :]
                    chunk_shared(both, rows, row[G:], drawn[(d - 1) * CHUNK :], squares)
                    if not noisy:
                        put_to_rest(both, rows, least)

            b = record_chunk(k, edges, b, state)
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
                        if independent == 0:
                            for i in range(d):  # the coefficients of alpha = beta = gamma = 0
                                modal[2 * i * LANES + p] = 1.0
                                modal[(2 * i + 1) * LANES + p] = 0.0

            if with_sup == 1 and running > 0 and takes_sup_norm(k, steps):
                add_largest(eigenvectors, x, row[G:], own, room, sup)

    return run_block


drivers: dict[tuple[int, int], Callable[..., Any]] = {
    (independent, with_sup): _new_driver(independent, with_sup)
    for independent in (0, 1)
    for with_sup in (0, 1)
}
"""By whether each lane has noise of its own, and whether the sup-norm is wanted.

Noise that lanes share is drawn chunk by chunk where ``draws``; else it is there already, ``stride``
numbers a chunk, or one chunk for all where that is zero.
"""


@compiled
def draw_chunks(states: Words, words: Words, noise: Singles, stride: int, shared: Singles) -> None:
    """Draw shared noise, ``stride`` numbers a chunk, for as many chunks as there is room for."""
    for at in range(0, shared.size, stride):
        draw_shared(states, words, noise, shared[at : at + stride])
