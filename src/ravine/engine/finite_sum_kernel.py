"""Quadratic finite sums under any sampling rule, with restart, schedules and additive noise.

Each step draws the terms, takes the gradient mean_b (H_b y + z_b) + noise at the look-ahead y, and
descends; then it restarts, where asked, the lanes whose last step went uphill. With shared
eigenvectors, single terms, constant momentum and neither noise nor restart the coordinates do not
meet: then each is taken four steps at a time while it stays in registers.

What is recorded after step k is y = x + gamma (x - x₋) with the momentum of step k + 1, the point
where the next gradient is taken: y_1 = x_0 is not recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import get_num_threads

from ravine.arguments import FloatArray
from ravine.engine.compiled import FINGERPRINT, compiled, inner
from ravine.engine.finite_sum_lanes import (
    BETA,
    GAMMA,
    MID,
    ROWS,
    SLOPE,
    Floats,
    G,
    Lanes,
    Rules,
    Sum,
    Words,
    Y,
    add_noise,
    begin,
    descend_rows,
    look_rows,
    new_lanes,
    restart,
    restart_all,
    rows_of,
    sampled_gradient,
)
from ravine.engine.index_sampling import IID, LANES, draw_batch, draw_row
from ravine.engine.measures import FIELDS, Integers, record, summarise
from ravine.engine.restart import EVERY, NEVER
from ravine.engine.step import look_ahead, modal_coefficients, modal_step

_UNROLL = 4
CHUNK = 16
"""Steps between two looks at the measures."""
_SUP, _FLOOR = FIELDS.index("floor_sup"), FIELDS.index("floor_square")


class Plan(NamedTuple):
    """What all trajectories have in common besides the sum and the rules."""

    start: Floats  # (d,) x_0 - x*, in the coordinates of the sum
    seed: np.uint64
    edges: Integers  # of the bins of the measures
    noisy: bool  # whether noise is left at the minimiser
    tiny: float  # squared error at which a noise-free lane has vanished
    basis: FloatArray  # (d, d) eigenvectors, or (0, 0) where no sup-norm is wanted


class Trajectories(NamedTuple):
    """What is each trajectory's own, in whole blocks."""

    alpha: FloatArray
    beta: FloatArray
    gamma: FloatArray
    limit: FloatArray  # squared error beyond which it has diverged
    identity: npt.NDArray[np.uint64]  # that its streams depend on


@inner
def slice_of(all_: Trajectories, at: int) -> Trajectories:
    """The block of trajectories from ``at`` on."""
    return Trajectories(
        all_.alpha[at : at + LANES],
        all_.beta[at : at + LANES],
        all_.gamma[at : at + LANES],
        all_.limit[at : at + LANES],
        all_.identity[at : at + LANES],
    )


@inner
def _step(state: Lanes, terms: Sum, rules: Rules, k: int, total: Floats) -> None:
    """Take step k, adding ‖y - x*‖² of every lane after it to ``total``."""
    n, d = terms.curvatures.shape[1], state.room.shape[0] // (ROWS * LANES)
    size = draw_batch(rules.sampling, n, k, state.words, state.order, state.picks)
    sampled_gradient(terms, state.picks, size, state.room, Y, G)
    if rules.sigma > 0.0:
        add_noise(state, k, rules.sigma)
    for j in range(d):
        descend_rows(rows_of(state.room, j), state.each, rules.scale[k], rules.shift[k])
    if rules.restart == EVERY:
        if (k + 1) % rules.period == 0:
            restart_all(state)
    elif rules.restart != NEVER:
        restart(state, terms, rules.restart, size)
    for j in range(d):
        block = rows_of(state.room, j)
        look_rows(block, state.each, rules.look_scale[k + 1], rules.look_shift[k + 1], total)


@inner
def _look_up(row: Floats, drawn: Words, block: Floats) -> None:
    """Put the eigenvalues of four steps' terms into the last four rows of a block."""
    for entry in range(_UNROLL * LANES):
        block[Y * LANES + entry] = row[drawn[entry]]


@inner
def _tell_apart(common: float, special: float, odd: int, drawn: Words, block: Floats) -> None:
    """The same as ``_look_up`` where one term differs from all others: compares, no look-ups."""
    term = np.uint32(odd)
    for entry in range(_UNROLL * LANES):
        block[Y * LANES + entry] = special if drawn[entry] == term else common


@inner
def _draw_four(
    rule: int, n: int, k: int, words: Words, order: Words, picks: Words, drawn: Words
) -> None:
    """Draw the single terms of four steps into the rows of ``drawn``."""
    for u in range(_UNROLL):
        row = drawn[u * LANES : (u + 1) * LANES]
        if rule == IID:
            draw_row(words, n)
            for lane in range(LANES):
                row[lane] = words[4 * LANES + lane]
        else:
            draw_batch(rule, n, k + u, words, order, picks)
            for lane in range(LANES):
                row[lane] = picks[lane]


@inner
def _four_steps(block: Floats, each: Floats, errors: Floats) -> None:
    """Take four steps of a coordinate whose eigenvalues are in its last four rows."""
    none = errors.dtype.type(0.0)
    for lane in range(LANES):
        alpha, beta, gamma = each[lane], each[BETA * LANES + lane], each[GAMMA * LANES + lane]
        x0, before = block[lane], block[LANES + lane]
        c1, c2 = modal_coefficients(alpha * block[Y * LANES + lane], beta, gamma)
        x1 = modal_step(x0, before, c1, c2, none)
        y1 = look_ahead(x1, x0, gamma)
        c1, c2 = modal_coefficients(alpha * block[G * LANES + lane], beta, gamma)
        x2 = modal_step(x1, x0, c1, c2, none)
        y2 = look_ahead(x2, x1, gamma)
        c1, c2 = modal_coefficients(alpha * block[SLOPE * LANES + lane], beta, gamma)
        x3 = modal_step(x2, x1, c1, c2, none)
        y3 = look_ahead(x3, x2, gamma)
        c1, c2 = modal_coefficients(alpha * block[MID * LANES + lane], beta, gamma)
        x4 = modal_step(x3, x2, c1, c2, none)
        y4 = look_ahead(x4, x3, gamma)
        errors[lane] += y1 * y1
        errors[LANES + lane] += y2 * y2
        errors[2 * LANES + lane] += y3 * y3
        errors[3 * LANES + lane] += y4 * y4
        block[lane], block[LANES + lane] = x4, x3


@inner
def _four_even_steps(block: Floats, each: Floats, eigenvalue: float, errors: Floats) -> None:
    """Take four steps of one coordinate whose eigenvalue is the same for all terms."""
    none = errors.dtype.type(0.0)
    for lane in range(LANES):
        beta, gamma = each[BETA * LANES + lane], each[GAMMA * LANES + lane]
        c1, c2 = modal_coefficients(each[lane] * eigenvalue, beta, gamma)
        x0 = block[lane]
        x1 = modal_step(x0, block[LANES + lane], c1, c2, none)
        y1 = look_ahead(x1, x0, gamma)
        x2 = modal_step(x1, x0, c1, c2, none)
        y2 = look_ahead(x2, x1, gamma)
        x3 = modal_step(x2, x1, c1, c2, none)
        y3 = look_ahead(x3, x2, gamma)
        x4 = modal_step(x3, x2, c1, c2, none)
        y4 = look_ahead(x4, x3, gamma)
        errors[lane] += y1 * y1
        errors[LANES + lane] += y2 * y2
        errors[2 * LANES + lane] += y3 * y3
        errors[3 * LANES + lane] += y4 * y4
        block[lane], block[LANES + lane] = x4, x3


@inner
def _four(state: Lanes, terms: Sum, sampling: int, k: int, drawn: Words, errors: Floats) -> None:
    """Take four steps from step k with single terms, no noise and no restart."""
    n, d = terms.curvatures.shape[1], state.room.shape[0] // (ROWS * LANES)
    _draw_four(sampling, n, k, state.words, state.order, state.picks, drawn)
    for j in range(d):
        block, row, odd = rows_of(state.room, j), terms.curvatures[j], terms.odd[j]
        if terms.same[j]:
            _four_even_steps(block, state.each, row[0], errors)
            continue
        if odd >= 0:
            _tell_apart(row[(odd + 1) % n], row[odd], odd, drawn, block)
        else:
            _look_up(row, drawn, block)
        _four_steps(block, state.each, errors)


@inner
def advance_block(state: Lanes, terms: Sum, rules: Rules, first: int, errors: Floats) -> None:
    """Take the steps first, first + 1, ...: one for each row of ``errors``, flat, ``LANES`` a row.

    Row t receives ‖y - x*‖² after step first + t. Steps are taken in turn, from 0.
    """
    steps, d = errors.shape[0] // LANES, state.room.shape[0] // (ROWS * LANES)
    errors[:] = 0.0
    apart = terms.shared and rules.batch == 1 and terms.slopes.shape[0] == 0
    apart = apart and rules.sigma == 0.0 and rules.restart == NEVER and rules.steady
    t = 0
    if apart:
        drawn = np.empty(_UNROLL * LANES, np.uint32)
        while t + _UNROLL <= steps:
            rows = errors[t * LANES : (t + _UNROLL) * LANES]
            _four(state, terms, rules.sampling, first + t, drawn, rows)
            t += _UNROLL
        unused = np.empty(LANES, state.room.dtype)
        for j in range(d):
            look_rows(rows_of(state.room, j), state.each, 1.0, 0.0, unused)
    while t < steps:
        _step(state, terms, rules, first + t, errors[t * LANES : (t + 1) * LANES])
        t += 1


@inner
def _retire_certain(
    state: Lanes, noisy: bool, tiny: float, latest: FloatArray, diverged_at: Integers
) -> int:
    """Let lanes rest at zero whose outcome is certain; return how many are still running."""
    running = LANES
    for lane in range(LANES):
        if diverged_at[lane] > 0 or (not noisy and latest[lane] < tiny):
            running -= 1
            for row in range(3):
                state.each[row * LANES + lane] = 0.0
            for row in range(state.room.shape[0] // LANES):
                state.room[row * LANES + lane] = 0.0
    return running


@inner
def _add_largest(state: Lanes, basis: FloatArray, total: FloatArray) -> None:
    """Add to ``total`` the sup-norm of y - x* of every lane, in the given coordinates."""
    d = len(basis)
    for lane in range(LANES):
        largest = 0.0
        for i in range(d):
            entry = 0.0
            for j in range(d):
                entry += basis[i, j] * state.room[(j * ROWS + Y) * LANES + lane]
            largest = max(largest, abs(entry))
        total[lane] += largest


@inner
def run_block(terms: Sum, rules: Rules, plan: Plan, block: Trajectories, out: FloatArray) -> None:
    """Run a block of trajectories; write measures into ``out`` [lanes, fields]."""
    edges, steps = plan.edges, plan.edges[-1]
    state = new_lanes(plan.start.size, terms.curvatures.shape[1], rules, plan.start)
    begin(state, plan.start, block.alpha, block.beta, block.gamma, plan.seed, block.identity)
    bin_sums = np.zeros((edges.size - 1, LANES))
    latest, diverged_at = np.zeros(LANES), np.zeros(LANES, np.int64)
    sup_sum, sup_count = np.zeros(LANES), 0
    errors = np.empty(CHUNK * LANES, plan.start.dtype)
    ones = np.ones(LANES)
    b = 0
    for k in range(0, steps, CHUNK):
        count = min(CHUNK, steps - k)
        advance_block(state, terms, rules, k, errors[: count * LANES])
        for j in range(count):
            b += k + j + 1 > edges[b + 1]
            newest = errors[j * LANES : (j + 1) * LANES]
            record(newest, ones, block.limit, k + j + 1, bin_sums[b], latest, diverged_at)
        if _retire_certain(state, plan.noisy, plan.tiny, latest, diverged_at) == 0:
            break
        if len(plan.basis) > 0 and 2 * (k + count) > steps:
            _add_largest(state, plan.basis, sup_sum)
            sup_count += 1
    start = np.sum(plan.start.astype(np.float64) ** 2)
    summarise(bin_sums, edges, start, latest, diverged_at, plan.noisy, plan.tiny, out)
    for lane in range(LANES):
        out[lane, _SUP] = np.nan if np.isnan(out[lane, _FLOOR]) else sup_sum[lane] / sup_count


@inner
def visit_block(
    terms: Sum, rules: Rules, plan: Plan, block: Trajectories, visits: Integers, out: FloatArray
) -> None:
    """Run a block; copy y - x* after each of the steps ``visits`` to ``out`` [visits, d, lanes]."""
    d = plan.start.size
    state = new_lanes(d, terms.curvatures.shape[1], rules, plan.start)
    begin(state, plan.start, block.alpha, block.beta, block.gamma, plan.seed, block.identity)
    errors = np.empty(CHUNK * LANES, plan.start.dtype)
    k = 0 * visits.size  # a plain 0 would compile every step once more, for the constant
    for v in range(visits.size):
        while k < visits[v]:
            count = min(CHUNK, visits[v] - k)
            advance_block(state, terms, rules, k, errors[: count * LANES])
            k += count
        for j in range(d):
            for lane in range(LANES):
                out[v, j, lane] = state.room[(j * ROWS + Y) * LANES + lane]


def _new_drivers(fingerprint: int) -> tuple[Callable[..., None], Callable[..., None]]:
    @compiled
    def drive(
        terms: Sum,
        rules: Rules,
        plan: Plan,
        all_: Trajectories,
        out: FloatArray,
        first: int,
        last: int,
    ) -> None:
        for block in range(first, last if fingerprint >= 0 else first):
            at = block * LANES
            run_block(terms, rules, plan, slice_of(all_, at), out[at : at + LANES])

    @compiled
    def visit(
        terms: Sum,
        rules: Rules,
        plan: Plan,
        all_: Trajectories,
        visits: Integers,
        out: FloatArray,
        first: int,
        last: int,
    ) -> None:
        for block in range(first, last if fingerprint >= 0 else first):
            at = block * LANES
            rows = out[:, :, at : at + LANES]
            visit_block(terms, rules, plan, slice_of(all_, at), visits, rows)

    return drive, visit


drive, visit = _new_drivers(FINGERPRINT)
"""Run the blocks first..last-1, for their measures or for their errors, without holding the GIL."""


def on_threads(driver: Callable[..., None], blocks: int, *arguments: object) -> None:
    """Call ``driver(*arguments, first, last)`` for all blocks, on as many threads as Numba has.

    Threads of Python's own: a parallel loop of Numba's would take twice as long to compile.
    """
    threads = get_num_threads()
    parts = min(blocks, 8 * threads)
    edges = [blocks * part // parts for part in range(parts + 1)]
    if threads == 1 or blocks == 1:
        driver(*arguments, 0, blocks)
        return
    driver(*arguments, 0, 0)
    with ThreadPoolExecutor(threads) as pool:
        pending = [pool.submit(driver, *arguments, a, b) for a, b in pairwise(edges)]
        for one in pending:
            one.result()
