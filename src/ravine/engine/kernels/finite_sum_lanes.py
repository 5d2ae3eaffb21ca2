"""Finite sums with one trajectory per vector lane: the state of a block, the parts of a step.

For a sum of quadratics, the state is the error x - x*: in the eigenbasis if the Hessians share one
(then a term is a row of eigenvalues), else in the given coordinates (then a term is a dense
matrix). For a linear model it is x itself, and its gradients are in ``linear_model_gradient``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.engine.draws.index_sampling import seed_lanes
from ravine.engine.draws.random import (
    LANES,
    NOISE,
    Identities,
    Words,
    advance,
    cosine,
    fill_streams,
    output,
    radius,
    sine,
)
from ravine.engine.kernels.compiled import inner
from ravine.engine.kernels.step import descend, look_ahead
from ravine.engine.measures import Floats
from ravine.engine.restart import ON_SAMPLED

Y, G, SLOPE, MID = range(2, 6)
ROWS = 6
"""Rows of a coordinate in ``FiniteSumBlock.workspace``.

Row 0 is x (or x - x*) and row 1 the previous one. The others are for one step: the look-ahead y,
the gradient there, and for restarts the slope of a function and the midpoint of the step.
"""
CHUNK = 16
"""Steps of quadratics between two checks of the measures; a multiple of ``TOGETHER``."""
ALPHA, BETA, GAMMA, TEST = range(4)
"""Rows of ``FiniteSumBlock.each``."""


class FiniteSumTerms(NamedTuple):
    """The terms of a quadratic sum for look-ups: one row per entry, one column per term."""

    curvatures: Floats  # (d, n) eigenvalues, or (d * d, n) entries of H_i
    slopes: Floats  # (d, n) gradients at the minimiser, or (0, n) where all are zero
    mean: Floats  # (d,) or (d * d,): the mean of curvatures over the terms
    same: npt.NDArray[np.bool_]  # which rows of curvatures are equal for all terms
    lone: npt.NDArray[np.int64]  # the one term that differs from the others in a row, or -1
    shared: bool  # whether rows are eigenvalues
    minimiser: Floats  # (d,) zeros: the state is the error


class StepRules(NamedTuple):
    """Parts of a step besides the descent."""

    terms: int
    sampling: int
    batch: int
    restart: int
    period: int
    sigma: float  # standard deviation of the additive noise of each coordinate
    steady: bool  # whether scale is 1 and the shifts are 0 throughout
    momentum: Floats  # (4, steps + 1): in step k row 0 times beta plus row 1; rows 2, 3 look ahead


class FiniteSumBlock(NamedTuple):
    """The state of a block of trajectories, in flat buffers of ``LANES`` entries per row."""

    workspace: Floats  # d times the rows of a coordinate
    each: Floats  # alpha, beta, gamma and the restart criterion of every lane
    words: Words  # 5 rows, streams of indices and the last draw
    order: Words  # n rows, or none where no rule reads it
    picks: Words  # a row for each term of a mini-batch
    drawn: Words  # a row for each of the steps that are taken together
    noise_words: Words  # 4 rows a coordinate, streams of noise, or none
    normals: npt.NDArray[np.float32]  # 2 rows a coordinate: an even and an odd step
    scores: Floats  # of a linear model, for each of the rows of data that are taken at once
    weights: npt.NDArray[np.float64]  # of a linear model in one lane, and their gradient
    flat: Floats  # y and the gradient of a linear model, without the rows between them
    errors: Floats  # one row per step of a chunk


@inner
def begin(
    state: FiniteSumBlock, start: Floats, own: Floats, seed: np.uint64, identity: Identities
) -> None:
    """Start all lanes at ``start`` (d,), with parameters [3, lanes] and identities of streams."""
    for j in range(start.size):
        coordinate = state.workspace[j * ROWS * LANES : (j + 1) * ROWS * LANES]
        for entry in range(3 * LANES):
            coordinate[entry] = start[j]

    for row in range(3):
        for lane in range(LANES):
            state.each[row * LANES + lane] = own[row, lane]

    for entry in range(state.picks.size):
        state.picks[entry] = np.uint32(0)

    seed_lanes(seed, identity, state.words, state.order)
    fill_streams(seed, identity, False, NOISE, state.noise_words)


@inner
def multiply_rows(
    row: Floats, same: bool, picks: Words, size: int, workspace: Floats, source: int, target: int
) -> None:
    """Add the drawn terms' mean entry times row ``source`` to row ``target`` of ``workspace``."""
    v = workspace[source : source + LANES]
    out = workspace[target : target + LANES]
    if same:
        entry = row[0]
        for lane in range(LANES):
            out[lane] += entry * v[lane]
        return

    share = out.dtype.type(1.0) / out.dtype.type(size)
    for b in range(size):
        drawn = picks[b * LANES : (b + 1) * LANES]
        for lane in range(LANES):
            out[lane] += share * row[drawn[lane]] * v[lane]


@inner
def sampled_slope(
    terms: FiniteSumTerms, picks: Words, size: int, workspace: Floats, source: int, target: int
) -> None:
    """Write the gradient of the drawn terms at row ``source`` to row ``target`` of all blocks."""
    wide = ROWS * LANES
    d = workspace.shape[0] // wide
    for j in range(d):
        to = j * wide + target * LANES
        out = workspace[to : to + LANES]
        for lane in range(LANES):
            out[lane] = 0.0
        if terms.shared:
            at = j * wide + source * LANES
            multiply_rows(terms.curvatures[j], terms.same[j], picks, size, workspace, at, to)
        else:
            for i in range(d):
                entry = j * d + i
                at = i * wide + source * LANES
                row = terms.curvatures[entry]
                multiply_rows(row, terms.same[entry], picks, size, workspace, at, to)

        if terms.slopes.shape[0] > 0:
            share = out.dtype.type(1.0) / out.dtype.type(size)
            slopes = terms.slopes[j]
            for b in range(size):
                drawn = picks[b * LANES : (b + 1) * LANES]
                for lane in range(LANES):
                    out[lane] += share * slopes[drawn[lane]]


@inner
def full_slope(terms: FiniteSumTerms, workspace: Floats, source: int, target: int) -> None:
    """Write the gradient of the whole objective at row ``source`` to row ``target``."""
    wide = ROWS * LANES
    d = workspace.shape[0] // wide
    for j in range(d):
        out = workspace[j * wide + target * LANES : j * wide + (target + 1) * LANES]
        for lane in range(LANES):
            out[lane] = 0.0
        # With shared eigenvectors the Hessian is diagonal, and its mean is a row of eigenvalues.
        for i in range(j if terms.shared else 0, j + 1 if terms.shared else d):
            entry = terms.mean[j if terms.shared else j * d + i]
            v = workspace[i * wide + source * LANES : i * wide + (source + 1) * LANES]
            for lane in range(LANES):
                out[lane] += entry * v[lane]


@inner
def add_noise(state: FiniteSumBlock, k: int, sigma: float) -> None:
    """Add the normals of step k to the gradient; a pair of words gives two steps."""
    for j in range(state.workspace.size // (ROWS * LANES)):
        normals = state.normals[2 * j * LANES : 2 * (j + 1) * LANES]
        words = state.noise_words[4 * j * LANES : 4 * (j + 1) * LANES]
        if k % 2 == 0:
            for lane in range(LANES):
                s0, s1 = words[lane], words[LANES + lane]
                s2, s3 = words[2 * LANES + lane], words[3 * LANES + lane]
                r = radius(output(s0, s3))
                s0, s1, s2, s3 = advance(s0, s1, s2, s3)
                angle = output(s0, s3)
                normals[lane] = r * cosine(angle)
                normals[LANES + lane] = r * sine(angle)
                s0, s1, s2, s3 = advance(s0, s1, s2, s3)
                words[lane], words[LANES + lane] = s0, s1
                words[2 * LANES + lane], words[3 * LANES + lane] = s2, s3

        drawn = normals[(k % 2) * LANES : (k % 2 + 1) * LANES]
        g = state.workspace[(j * ROWS + G) * LANES : (j * ROWS + G + 1) * LANES]
        for lane in range(LANES):
            g[lane] += sigma * drawn[lane]


@inner
def quadratic_gradient(terms: FiniteSumTerms, state: FiniteSumBlock, size: int) -> None:
    """Write the mean gradient of the ``size`` drawn terms at y to its row."""
    sampled_slope(terms, state.picks, size, state.workspace, Y, G)


@inner
def quadratic_rise(terms: FiniteSumTerms, state: FiniteSumBlock, kind: int, size: int) -> None:
    """Set the restart criterion to the rise of the last step, on the drawn terms or on all.

    The rise of a quadratic f from a to b is ∇f((a + b)/2)·(b - a), exactly.
    """
    if kind == ON_SAMPLED:
        sampled_slope(terms, state.picks, size, state.workspace, MID, SLOPE)
    else:
        full_slope(terms, state.workspace, MID, SLOPE)

    slope_along_step(state, SLOPE)


@inner
def slope_along_step(state: FiniteSumBlock, row: int) -> None:
    """Set the restart criterion to the slope in a row of all coordinates times the last step."""
    test = state.each[TEST * LANES : (TEST + 1) * LANES]
    for lane in range(LANES):
        test[lane] = 0.0

    for j in range(state.workspace.shape[0] // (ROWS * LANES)):
        coordinate = state.workspace[j * ROWS * LANES : (j + 1) * ROWS * LANES]
        slope = coordinate[row * LANES : (row + 1) * LANES]
        for lane in range(LANES):
            test[lane] += slope[lane] * (coordinate[lane] - coordinate[LANES + lane])


@inner
def restart(state: FiniteSumBlock) -> None:
    """Set the momentum of lanes with a positive criterion to zero."""
    test = state.each[TEST * LANES : (TEST + 1) * LANES]
    for j in range(state.workspace.shape[0] // (ROWS * LANES)):
        coordinate = state.workspace[j * ROWS * LANES : (j + 1) * ROWS * LANES]
        for lane in range(LANES):
            x = coordinate[lane]
            x_prev = coordinate[LANES + lane]
            coordinate[LANES + lane] = x if test[lane] > 0.0 else x_prev


@inner
def look_rows(
    coordinate: Floats, each: Floats, scale: float, shift: float, best: float, total: Floats
) -> None:
    """Form the look-ahead of a coordinate and add its squared error to ``total``."""
    for lane in range(LANES):
        gamma = scale * each[GAMMA * LANES + lane] + shift
        coordinate[Y * LANES + lane] = look_ahead(coordinate[lane], coordinate[LANES + lane], gamma)
        error = coordinate[Y * LANES + lane] - best
        total[lane] += error * error


@inner
def descend_rows(coordinate: Floats, each: Floats, scale: float, shift: float) -> None:
    """Take the step of a coordinate, and store its midpoint."""
    for lane in range(LANES):
        x = coordinate[lane]
        x_prev = coordinate[LANES + lane]
        g = coordinate[G * LANES + lane]
        beta = scale * each[BETA * LANES + lane] + shift
        ahead = descend(x, x_prev, each[ALPHA * LANES + lane], beta, g)
        coordinate[lane] = ahead
        coordinate[LANES + lane] = x
        coordinate[MID * LANES + lane] = 0.5 * (ahead + x)
