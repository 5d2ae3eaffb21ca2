"""The inner loops of the quadratic kernel: a block of lanes, one coordinate, a few steps.

Arrays are flat rows of ``LANES`` entries at offsets known to the compiler, so that each loop over
lanes becomes vector code without checks for overlap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.draws.normals import cosine, radius, sine
from ravine.engine.draws.random import advance, output
from ravine.engine.kernels.compiled import inner
from ravine.engine.kernels.step import modal_coefficients, modal_step

LANES = 128
"""Trajectories in a block."""
CHUNK = 32
"""Steps of one coordinate in a row."""

_C1, _C2, G = 0, LANES, 2 * LANES  # rows of the coefficients
SECOND = 2 * LANES
"""Where the rows of a second coordinate begin, of its coefficients as of its state."""
_R0, _R2, SCALE = 4 * LANES, 5 * LANES, 6 * LANES  # rows after the four of normals

BETA, GAMMA, FACTOR, LIMIT = LANES, 2 * LANES, 3 * LANES, 4 * LANES
"""Where the rows of what is a lane's own begin, after that of alpha."""

Floats = npt.NDArray[np.floating[Any]]
Singles = npt.NDArray[np.float32]
Words = npt.NDArray[np.uint32]


def aligned(size: int, dtype: npt.DTypeLike, line: int = 64) -> Any:
    """Return an uninitialised array that starts on a cache line: vectors do not straddle two."""
    room = np.empty(size * np.dtype(dtype).itemsize + line, np.uint8)
    offset = -room.ctypes.data % line
    return room[offset : offset + size * np.dtype(dtype).itemsize].view(dtype)


def paged(size: int, dtype: npt.DTypeLike) -> Any:
    """Return an uninitialised array that starts on a page.

    A processor takes a load for one of what it has just stored where both end in the same twelve
    bits, and waits: a fifth of the time, where rows lie badly. On pages, and with rows of a power
    of two bytes, what one turn of a loop over lanes stores never looks like what the next loads.
    """
    return aligned(size, dtype, 4096)


@inner
def four_draws(states: Words, words: Words, noise: Singles) -> None:
    """Draw four words of every lane's stream, and make them the scaled normals of four steps."""
    for p in range(LANES):
        s0, s1, s2, s3 = states[p], states[LANES + p], states[2 * LANES + p], states[3 * LANES + p]
        words[p] = output(s0, s3)
        s0, s1, s2, s3 = advance(s0, s1, s2, s3)
        words[LANES + p] = output(s0, s3)
        s0, s1, s2, s3 = advance(s0, s1, s2, s3)
        words[2 * LANES + p] = output(s0, s3)
        s0, s1, s2, s3 = advance(s0, s1, s2, s3)
        words[3 * LANES + p] = output(s0, s3)
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
    """Take a chunk of steps in one coordinate, each lane with its own noise, four at a time."""
    for j in range(0, CHUNK, 4):
        four_draws(states, words, noise)
        squares = all_squares[j * LANES : (j + 4) * LANES]
        for p in range(LANES):
            c1 = coefficients[_C1 + p]
            c2 = coefficients[_C2 + p]
            g = coefficients[G + p]
            x0 = x[p]
            x1 = modal_step(x0, x[LANES + p], c1, c2, noise[p])
            y1 = x1 - g * x0
            squares[p] += y1 * y1
            x2 = modal_step(x1, x0, c1, c2, noise[LANES + p])
            y2 = x2 - g * x1
            squares[LANES + p] += y2 * y2
            x3 = modal_step(x2, x1, c1, c2, noise[2 * LANES + p])
            y3 = x3 - g * x2
            squares[2 * LANES + p] += y3 * y3
            x4 = modal_step(x3, x2, c1, c2, noise[3 * LANES + p])
            y4 = x4 - g * x3
            squares[3 * LANES + p] += y4 * y4
            x[p] = x4
            x[LANES + p] = x3


@inner
def draw_shared(states: Words, words: Words, noise: Singles, shared: Singles) -> None:
    """Draw a chunk of the noise that all lanes share, a row of steps for each coordinate.

    Here the coordinates are the lanes.
    """
    for group in range(shared.size // (CHUNK * LANES)):
        streams = states[4 * group * LANES : 4 * (group + 1) * LANES]
        rows = shared[group * CHUNK * LANES : (group + 1) * CHUNK * LANES]
        for j in range(0, CHUNK, 4):
            four_draws(streams, words, noise)
            for p in range(LANES):
                for step in range(4):
                    rows[p * CHUNK + j + step] = noise[step * LANES + p]


@inner
def chunk_shared(
    x: Floats, coefficients: Floats, look: Floats, shared: Singles, all_squares: Floats
) -> None:
    """Take a chunk of steps in one coordinate, all lanes with the same noise, four at a time."""
    for j in range(0, CHUNK, 4):
        squares = all_squares[j * LANES : (j + 4) * LANES]
        z1, z2, z3, z4 = shared[j], shared[j + 1], shared[j + 2], shared[j + 3]
        for p in range(LANES):
            c1 = coefficients[_C1 + p]
            c2 = coefficients[_C2 + p]
            g = look[p]
            x0 = x[p]
            x1 = modal_step(x0, x[LANES + p], c1, c2, z1)
            y1 = x1 - g * x0
            squares[p] += y1 * y1
            x2 = modal_step(x1, x0, c1, c2, z2)
            y2 = x2 - g * x1
            squares[LANES + p] += y2 * y2
            x3 = modal_step(x2, x1, c1, c2, z3)
            y3 = x3 - g * x2
            squares[2 * LANES + p] += y3 * y3
            x4 = modal_step(x3, x2, c1, c2, z4)
            y4 = x4 - g * x3
            squares[3 * LANES + p] += y4 * y4
            x[p] = x4
            x[LANES + p] = x3


@inner
def chunk_shared_by_two(
    x: Floats, coefficients: Floats, look: Floats, shared: Singles, all_squares: Floats
) -> None:
    """Take a chunk of steps in two coordinates, the bits of ``chunk_shared`` in each in turn.

    The sums of squares, which fill the nearest cache, are then read and written half as often.
    """
    for j in range(0, CHUNK, 4):
        squares = all_squares[j * LANES : (j + 4) * LANES]
        z1, z2, z3, z4 = shared[j], shared[j + 1], shared[j + 2], shared[j + 3]
        after = shared[CHUNK + j :]
        w1, w2, w3, w4 = after[0], after[1], after[2], after[3]
        for p in range(LANES):
            c1 = coefficients[_C1 + p]
            c2 = coefficients[_C2 + p]
            g = look[p]
            d1 = coefficients[SECOND + _C1 + p]
            d2 = coefficients[SECOND + _C2 + p]
            x0 = x[p]
            u0 = x[SECOND + p]
            x1 = modal_step(x0, x[LANES + p], c1, c2, z1)
            u1 = modal_step(u0, x[SECOND + LANES + p], d1, d2, w1)
            y1 = x1 - g * x0
            v1 = u1 - g * u0
            squares[p] = (squares[p] + y1 * y1) + v1 * v1
            x2 = modal_step(x1, x0, c1, c2, z2)
            u2 = modal_step(u1, u0, d1, d2, w2)
            y2 = x2 - g * x1
            v2 = u2 - g * u1
            squares[LANES + p] = (squares[LANES + p] + y2 * y2) + v2 * v2
            x3 = modal_step(x2, x1, c1, c2, z3)
            u3 = modal_step(u2, u1, d1, d2, w3)
            y3 = x3 - g * x2
            v3 = u3 - g * u2
            squares[2 * LANES + p] = (squares[2 * LANES + p] + y3 * y3) + v3 * v3
            x4 = modal_step(x3, x2, c1, c2, z4)
            u4 = modal_step(u3, u2, d1, d2, w4)
            y4 = x4 - g * x3
            v4 = u4 - g * u3
            squares[3 * LANES + p] = (squares[3 * LANES + p] + y4 * y4) + v4 * v4
            x[p] = x4
            x[LANES + p] = x3
            x[SECOND + p] = u4
            x[SECOND + LANES + p] = u3


@inner
def put_to_rest(x: Floats, coefficients: Floats, least: float) -> None:
    """Set to zero what is below ``least`` in a direction in which the lane is stable.

    It can only fall further, into the numbers below the normal ones, in which some processors are
    a hundred times slower. A direction is stable where z² = c1 z + c2 has both roots inside the
    unit circle.
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
