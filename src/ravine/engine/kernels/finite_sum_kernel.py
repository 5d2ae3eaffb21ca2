"""Quadratic finite sums under any sampling rule, with restart, schedules and additive noise.

Each step draws the terms, takes the gradient mean_b (H_b y + z_b) + noise at the look-ahead y, and
descends; then it restarts, where asked, the lanes whose last step went uphill. With shared
eigenvectors, single terms, constant momentum and neither noise nor restart the coordinates do not
meet: then each is taken eight steps at a time while it stays in registers.

What is recorded after step k is y = x + gamma (x - x₋) with the momentum of step k + 1, the point
where the next gradient is taken: y_1 = x_0 is not recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.draws.index_sampling import LANES, TOGETHER, draw_batch, draw_together
from ravine.engine.kernels.compiled import compiled, inner
from ravine.engine.kernels.finite_sum_lanes import (
    BETA,
    GAMMA,
    ROWS,
    FiniteSumBlock,
    FiniteSumTerms,
    Floats,
    G,
    StepRules,
    Words,
    Y,
    add_noise,
    begin,
    descend_rows,
    look_rows,
    restart,
    restart_all,
    sampled_gradient,
    seed_noise,
)
from ravine.engine.kernels.step import look_ahead, modal_coefficients, modal_step
from ravine.engine.measures import Integers, record
from ravine.engine.restart import EVERY, NEVER

CHUNK = 16
"""Steps between two looks at the measures; a multiple of ``TOGETHER``."""


class FiniteSumPlan(NamedTuple):
    """What all trajectories have in common besides the sum and the rules."""

    start: Floats  # (d,) x_0 - x*, in the coordinates of the sum
    seed: np.uint64
    edges: Integers  # of the bins of the measures
    noisy: bool  # whether noise is left at the minimiser
    tiny: float  # squared error at which a noise-free lane has vanished
    basis: FloatArray  # (d, d) eigenvectors, or (0, 0) where no sup-norm is wanted


class FiniteSumTrajectories(NamedTuple):
    """What is each trajectory's own, in whole blocks."""

    own: Floats  # (3, n) alpha, beta and gamma
    limit: FloatArray  # squared error beyond which it has diverged
    identity: npt.NDArray[np.uint64]  # that its streams depend on


class FiniteSumRecord(NamedTuple):
    """What is measured of a block; empty where nothing is."""

    errors: Floats  # a row a step of the chunk
    bins: FloatArray  # (bins, lanes)
    latest: FloatArray
    diverged_at: Integers
    ones: FloatArray
    sup: FloatArray


@inner
def take_step(
    state: FiniteSumBlock,
    terms: FiniteSumTerms,
    rules: StepRules,
    k: int,
    extras: int,
    total: Floats,
) -> None:
    """Take step k, adding ‖y - x*‖² of every lane after it to ``total``."""
    n = terms.curvatures.shape[1]
    d = state.room.size // (ROWS * LANES)

    size = draw_batch(rules.sampling, n, k, state.words, state.order, state.picks)
    sampled_gradient(terms, state.picks, size, state.room, Y, G)
    if extras == 1 and rules.sigma > 0.0:
        add_noise(state, k, rules.sigma)

    for j in range(d):
        coordinate = state.room[j * ROWS * LANES : (j + 1) * ROWS * LANES]
        descend_rows(coordinate, state.each, rules.scale[k], rules.shift[k])

    if extras == 1:
        if rules.restart == EVERY:
            if (k + 1) % rules.period == 0:
                restart_all(state)
        elif rules.restart != NEVER:
            restart(state, terms, rules.restart, size)

    for j in range(d):
        coordinate = state.room[j * ROWS * LANES : (j + 1) * ROWS * LANES]
        look_rows(coordinate, state.each, rules.look_scale[k + 1], rules.look_shift[k + 1], total)


@inner
def _two_kinds(
    coordinate: Floats,
    each: Floats,
    common: float,
    special: float,
    odd: int,
    drawn: Words,
    recording: int,
    errors: Floats,
) -> None:
    """Take eight steps of a coordinate with two eigenvalues: a term's, and that of all others."""
    none = coordinate.dtype.type(0.0)
    term = np.uint32(odd)
    for lane in range(LANES):
        alpha = each[lane]
        beta = each[BETA * LANES + lane]
        gamma = each[GAMMA * LANES + lane]
        a1, a2 = modal_coefficients(alpha * common, beta, gamma)
        b1, b2 = modal_coefficients(alpha * special, beta, gamma)
        x = coordinate[lane]
        before = coordinate[LANES + lane]
        for u in range(TOGETHER):
            hit = drawn[u * LANES + lane] == term
            ahead = modal_step(x, before, b1 if hit else a1, b2 if hit else a2, none)
            before = x
            x = ahead
            if recording == 1:
                y = look_ahead(x, before, gamma)
                errors[u * LANES + lane] += y * y

        coordinate[lane] = x
        coordinate[LANES + lane] = before


@inner
def _any_kind(
    coordinate: Floats,
    each: Floats,
    row: Floats,
    drawn: Words,
    count: int,
    recording: int,
    errors: Floats,
) -> None:
    """Take ``count`` steps of a coordinate, looking up the eigenvalue of every drawn term."""
    none = coordinate.dtype.type(0.0)
    for u in range(count):
        for lane in range(LANES):
            beta = each[BETA * LANES + lane]
            gamma = each[GAMMA * LANES + lane]
            h = each[lane] * row[drawn[u * LANES + lane]]
            c1, c2 = modal_coefficients(h, beta, gamma)
            x = coordinate[lane]
            ahead = modal_step(x, coordinate[LANES + lane], c1, c2, none)
            coordinate[lane] = ahead
            coordinate[LANES + lane] = x
            if recording == 1:
                y = look_ahead(ahead, x, gamma)
                errors[u * LANES + lane] += y * y


@inner
def _together(
    state: FiniteSumBlock,
    terms: FiniteSumTerms,
    rule: int,
    k: int,
    count: int,
    recording: int,
    errors: Floats,
) -> None:
    """Take up to eight steps from step k with single terms, no noise and no restart."""
    n = terms.curvatures.shape[1]
    d = state.room.size // (ROWS * LANES)
    draw_together(rule, n, k, count, state.words, state.order, state.picks, state.drawn)

    for j in range(d):
        coordinate = state.room[j * ROWS * LANES : (j + 1) * ROWS * LANES]
        row = terms.curvatures[j]
        odd = terms.odd[j]
        if count == TOGETHER and (terms.same[j] or odd >= 0):
            # Where all terms are the same, term 0 stands for the odd one.
            at = max(odd, 0)
            other = row[(odd + 1) % n]
            _two_kinds(coordinate, state.each, other, row[at], at, state.drawn, recording, errors)
        else:
            _any_kind(coordinate, state.each, row, state.drawn, count, recording, errors)


@inner
def _retire_certain(
    state: FiniteSumBlock, noisy: bool, tiny: float, latest: FloatArray, diverged_at: Integers
) -> int:
    """Let lanes rest at zero whose outcome is certain; return how many are still running."""
    running = LANES
    for lane in range(LANES):
        if diverged_at[lane] > 0 or (not noisy and latest[lane] < tiny):
            running -= 1
            for row in range(3):
                state.each[row * LANES + lane] = 0.0
            for row in range(state.room.size // LANES):
                state.room[row * LANES + lane] = 0.0

    return running


@inner
def add_largest(state: FiniteSumBlock, basis: FloatArray, sup: FloatArray) -> None:
    """Add to ``sup`` the sup-norm of y - x* of every lane, in the given coordinates."""
    d = basis.shape[0]
    for lane in range(LANES):
        largest = 0.0
        for i in range(d):
            entry = 0.0
            for j in range(d):
                entry += basis[i, j] * state.room[(j * ROWS + Y) * LANES + lane]
            largest = max(largest, abs(entry))

        sup[lane] += largest


def _new_driver(apart: int, extras: int, recording: int) -> Callable[..., None]:
    """Make a driver that has only what a run needs: the rest is not compiled."""

    @compiled
    def drive(
        terms: FiniteSumTerms,
        rules: StepRules,
        plan: FiniteSumPlan,
        all_: FiniteSumTrajectories,
        state: FiniteSumBlock,
        kept: FiniteSumRecord,
        visits: Integers,
        out: FloatArray,
        first: int,
        last: int,
    ) -> None:
        d = plan.start.size
        errors = kept.errors
        edges = plan.edges
        for block in range(first, last):
            some = slice(block * LANES, (block + 1) * LANES)
            begin(state, plan.start, all_.own[:, some], plan.seed, all_.identity[some])
            if extras == 1:
                seed_noise(plan.seed, all_.identity[some], state.noise_words)

            k = 0 * first  # a zero of the type of a step, which may be 64 bits wide
            b = 0
            running = LANES
            for v in range(visits.size):
                while k < visits[v] and running > 0:
                    count = min(CHUNK, visits[v] - k)
                    for entry in range(count * LANES):
                        errors[entry] = 0.0
                    if apart == 1:
                        for u in range(0, count, TOGETHER):
                            few = min(TOGETHER, count - u)
                            rows = errors[u * LANES :]
                            _together(state, terms, rules.sampling, k + u, few, recording, rows)
                    else:
                        for u in range(count):
                            take_step(state, terms, rules, k + u, extras, errors[u * LANES :])

                    if recording == 1:
                        for u in range(count):
                            b += k + u + 1 > edges[b + 1]
                            record(
                                errors[u * LANES :],
                                kept.ones,
                                all_.limit[some],
                                k + u + 1,
                                kept.bins[b],
                                kept.latest,
                                kept.diverged_at,
                            )

                        running = _retire_certain(
                            state, plan.noisy, plan.tiny, kept.latest, kept.diverged_at
                        )

                    k += count

                    # Coordinates that are taken apart have no look-ahead before it is asked for.
                    look = recording == 1 and plan.basis.shape[0] > 0 and 2 * k > edges[-1]
                    if apart == 1 and (look or k == visits[v]):
                        for j in range(d):
                            coordinate = state.room[j * ROWS * LANES : (j + 1) * ROWS * LANES]
                            look_rows(coordinate, state.each, 1.0, 0.0, errors)

                    if recording == 1 and look and running > 0:
                        add_largest(state, plan.basis, kept.sup)

                for j in range(d if recording == 0 else 0):
                    for lane in range(LANES):
                        y = state.room[(j * ROWS + Y) * LANES + lane]
                        out[v, j, block * LANES + lane] = y

    return drive


_drivers = {
    key: _new_driver(*key)
    for key in ((1, 0, 0), (1, 0, 1), (0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1))
}


def driver_for(terms: FiniteSumTerms, rules: StepRules, *, recording: bool) -> Callable[..., None]:
    """Pick the driver of a sum under rules: for measures, or for errors at some steps.

    It runs the blocks first..last-1 and does not hold the GIL.
    """
    extras = rules.sigma > 0.0 or rules.restart != NEVER
    single = rules.batch == 1 and terms.slopes.shape[0] == 0
    apart = terms.shared and single and rules.steady and not extras
    return _drivers[int(apart), int(extras), int(recording)]
