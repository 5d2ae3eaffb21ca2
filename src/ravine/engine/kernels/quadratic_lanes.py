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
_R0, _R2, SCALE = 4 * LANES, 5 * LANES, 6 * LANES  # rows after the four of normals

BETA, GAMMA, FACTOR, LIMIT = LANES, 2 * LANES, 3 * LANES, 4 * LANES
"""Where the rows of what is a lane's own begin, after that of alpha."""

Floats = npt.NDArray[np.floating[Any]]
Singles = npt.NDArray[np.float32]
Words = npt.NDArray[np.uint32]


def aligned(size: int, dtype: npt.DTypeLike) -> Any:
    """Return an uninitialised array that starts on a cache line: vectors do not straddle two."""
    room = np.empty(size * np.dtype(dtype).itemsize + 64, np.uint8)
    offset = -room.ctypes.data % 64
    return room[offset : offset + size * np.dtype(dtype).itemsize].view(dtype)


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
    """Draw a chunk of the noise that all lanes share; here the coordinates are the lanes."""
    for j in range(0, shared.size, 4 * LANES):
        group = j // (CHUNK * LANES)
        four_draws(states[4 * group * LANES : 4 * (group + 1) * LANES], words, noise)
        for p in range(4 * LANES):
            shared[j + p] = noise[p]


@inner
def chunk_shared(x: Floats, coefficients: Floats, shared: Singles, all_squares: Floats) -> None:
    """Take a chunk of steps in one coordinate, all lanes with the same noise, eight at a time."""
    for j in range(0, CHUNK, 8):
        z = shared[j * LANES :]
        squares = all_squares[j * LANES : (j + 8) * LANES]
        z1, z2, z3, z4 = z[0], z[LANES], z[2 * LANES], z[3 * LANES]
        z5, z6, z7, z8 = z[4 * LANES], z[5 * LANES], z[6 * LANES], z[7 * LANES]
        for p in range(LANES):
            c1 = coefficients[_C1 + p]
            c2 = coefficients[_C2 + p]
            g = coefficients[G + p]
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
            x5 = modal_step(x4, x3, c1, c2, z5)
            y5 = x5 - g * x4
            squares[4 * LANES + p] += y5 * y5
            x6 = modal_step(x5, x4, c1, c2, z6)
            y6 = x6 - g * x5
            squares[5 * LANES + p] += y6 * y6
            x7 = modal_step(x6, x5, c1, c2, z7)
            y7 = x7 - g * x6
            squares[6 * LANES + p] += y7 * y7
            x8 = modal_step(x7, x6, c1, c2, z8)
            y8 = x8 - g * x7
            squares[7 * LANES + p] += y8 * y8
            x[p] = x8
            x[LANES + p] = x7


@inner
def modal_row(eigenvalue: float, own: FloatArray, row: Floats) -> None:
    """Write the coefficients of one eigen-direction for all lanes."""
    for p in range(LANES):
        h = own[p] * eigenvalue
        beta = own[BETA + p]
        gamma = own[GAMMA + p]
        row[_C1 + p], row[_C2 + p] = modal_coefficients(h, beta, gamma)
