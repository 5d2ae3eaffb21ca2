"""Quadratic finite sums under any sampling rule, with restart, schedules and additive noise.

Each step draws the terms, computes the gradient mean_b (H_b y + z_b) + noise at the look-ahead y,
and descends; then it restarts, if requested, the lanes whose last step went uphill. With shared
eigenvectors, single terms, constant momentum and neither noise nor restart, the coordinates are
independent, and each takes eight steps at a time in registers.

After step k, y = x + gamma (x - x₋) with the momentum of step k + 1 is recorded, the point of the
next gradient; y_1 = x_0 is not recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ravine.arguments import FloatArray
from ravine.engine.draws.index_sampling import TOGETHER, draw_batch, draw_together
from ravine.engine.draws.random import LANES, Identities, Words
from ravine.engine.kernels.compiled import compiled, inner
from ravine.engine.kernels.finite_sum_lanes import (
    BETA,
    GAMMA,
    ROWS,
    TEST,
    FiniteSumBlock,
    FiniteSumTerms,
    G,
    StepRules,
    Y,
    add_noise,
    begin,
    descend_rows,
    look_rows,
    quadratic_gradient,
    quadratic_rise,
    restart,
    slope_along_step,
)
from ravine.engine.kernels.linear_model_gradient import (
    LinearModelData,
    drawn_gradient,
    model_rise,
    whole_gradient,
)
from ravine.engine.kernels.step import look_ahead, modal_coefficients, modal_step
from ravine.engine.measures import Floats, Integers, Records, Setting, record_chunk
from ravine.engine.restart import EVERY, NEVER, ON_GRADIENT


class FiniteSumPlan(NamedTuple):
    """Values shared by all trajectories, in addition to the sum and the rules."""

    start: Floats  # (d,) x_0 or x_0 - x*, in the coordinates of the sum
    seed: np.uint64
    setting: Setting  # of the measures
    rest: float  # squared error below which a lane may stop
    chunk: int  # steps between two checks of the measures, at most CHUNK
    basis: FloatArray  # (d, d) eigenvectors in which errors are computed, or (0, 0) if none


class FiniteSumTrajectories(NamedTuple):
    """Values that differ between trajectories, in whole blocks."""

    own: Floats  # (3, n) alpha, beta and gamma
    limit: FloatArray  # squared error beyond which it has diverged
    identity: Identities  # that its streams depend on


@inner
def _two_kinds(
    coordinate: Floats,
    each: Floats,
    common: float,
    special: float,
    lone: int,
    drawn: Words,
    recording: int,
    errors: Floats,
) -> None:
    """Take eight steps of a coordinate with two eigenvalues, one of them for a single term."""
    none = coordinate.dtype.type(0.0)
    term = np.uint32(lone)
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
    """Take ``count`` steps of a coordinate with the eigenvalue of every drawn term."""
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
    d = state.workspace.size // (ROWS * LANES)
    draw_together(rule, n, k, count, state.words, state.order, state.picks, state.drawn)

    for j in range(d):
        coordinate = state.workspace[j * ROWS * LANES : (j + 1) * ROWS * LANES]
        row = terms.curvatures[j]
        lone = terms.lone[j]
        if count == TOGETHER and (terms.same[j] or lone >= 0):
            # If all terms are the same, term 0 stands for the different one.
            at = max(lone, 0)
            other = row[(lone + 1) % n]
            _two_kinds(coordinate, state.each, other, row[at], at, state.drawn, recording, errors)
        else:
            _any_kind(coordinate, state.each, row, state.drawn, count, recording, errors)


@inner
def _retire_certain(state: FiniteSumBlock, minimiser: Floats, rest: float, records: Records) -> int:
    """Stop lanes with a certain outcome at the minimiser; return how many still run."""
    running = LANES
    for lane in range(LANES):
        if records.diverged_at[lane] > 0 or records.latest[lane] < rest:
            running -= 1
            for row in range(3):
                state.each[row * LANES + lane] = 0.0
                for j in range(minimiser.size):
                    state.workspace[(j * ROWS + row) * LANES + lane] = minimiser[j]

    return running


@inner
def add_largest(
    state: FiniteSumBlock, minimiser: Floats, basis: FloatArray, sup: FloatArray
) -> None:
    """Add to ``sup`` the sup-norm of y - x* of every lane, in the given coordinates."""
    d = minimiser.size
    for lane in range(LANES):
        largest = 0.0
        for i in range(d):
            entry = 0.0
            if basis.shape[0] == 0:
                entry = state.workspace[(i * ROWS + Y) * LANES + lane] - minimiser[i]
            for j in range(basis.shape[0]):
                entry += basis[i, j] * state.workspace[(j * ROWS + Y) * LANES + lane]
            largest = max(largest, abs(entry))

        sup[lane] += largest


QUADRATIC, APART, DRAWN, WHOLE = "quadratic", "apart", "drawn", "whole"
"""Kinds of gradients: of quadratics, separately by coordinate if possible, and of linear models
with mini-batches or all rows. Each is a function of (terms, state, size), and one of (terms, state,
kind, size) that sets the restart criterion to the rise of the sampled or the whole objective."""
_GRADIENTS: dict[str, Any] = {
    QUADRATIC: (quadratic_gradient, quadratic_rise),
    DRAWN: (drawn_gradient, model_rise),
    WHOLE: (whole_gradient, model_rise),
}


@cache
def step_of(kind: str, extras: int) -> Any:
    """Make a function that takes a step of all lanes of a block, with gradients of a kind.

    Noise and restarts, the ``extras``, are compiled only if needed.
    """
    gradient, rise = _GRADIENTS[kind]
    drawn = int(kind != WHOLE)

    @inner
    def take_step(
        state: FiniteSumBlock, terms: Any, rules: StepRules, k: int, total: Floats
    ) -> None:
        d = state.workspace.size // (ROWS * LANES)
        size = 0
        if drawn == 1:
            order, picks = state.order, state.picks
            size = draw_batch(rules.sampling, rules.terms, k, state.words, order, picks)
        gradient(terms, state, size)
        if extras == 1 and rules.sigma > 0.0:
            add_noise(state, k, rules.sigma)

        for j in range(d):
            coordinate = state.workspace[j * ROWS * LANES : (j + 1) * ROWS * LANES]
            descend_rows(coordinate, state.each, rules.momentum[0, k], rules.momentum[1, k])

        if extras == 1 and rules.restart != NEVER:
            test = state.each[TEST * LANES : (TEST + 1) * LANES]
            if rules.restart == EVERY:
                for lane in range(LANES):
                    test[lane] = 1.0 if (k + 1) % rules.period == 0 else 0.0
            elif rules.restart == ON_GRADIENT:
                slope_along_step(state, G)
            else:
                rise(terms, state, rules.restart, size)
            restart(state)

        for j in range(d):
            coordinate = state.workspace[j * ROWS * LANES : (j + 1) * ROWS * LANES]
            scale = rules.momentum[2, k + 1]
            shift = rules.momentum[3, k + 1]
            look_rows(coordinate, state.each, scale, shift, terms.minimiser[j], total)

    return take_step


@cache
def driver(kind: str, extras: int, recording: int) -> Callable[..., None]:
    """Make a driver for measures, or without ``recording`` for errors at some steps.

    It runs one block and does not hold the GIL. Only the parts that a run needs are compiled.
    """
    apart = int(kind == APART)
    take_step = step_of(QUADRATIC if kind == APART else kind, extras)

    @compiled
    def drive(
        terms: Any,
        rules: StepRules,
        plan: FiniteSumPlan,
        all_: FiniteSumTrajectories,
        state: FiniteSumBlock,
        records: Records,
        visits: Integers,
        out: FloatArray,
        block: int,
    ) -> None:
        d = plan.start.size
        setting = plan.setting
        errors = state.errors
        some = slice(block * LANES, (block + 1) * LANES)
        bounds = np.empty(2 * LANES)
        for lane in range(LANES):
            bounds[lane], bounds[LANES + lane] = 1.0, all_.limit[block * LANES + lane]
        begin(state, plan.start, all_.own[:, some], plan.seed, all_.identity[some])
        # Zeros of the type of a step, not constants, for which parts would be compiled again.
        k = b = 0 * block
        running = LANES
        for v in range(visits.size):
            while k < visits[v] and running > 0:
                count = min(plan.chunk, visits[v] - k)
                for entry in range(count * LANES):
                    errors[entry] = 0.0
                if apart == 1:
                    for u in range(0, count, TOGETHER):
                        few = min(TOGETHER, count - u)
                        rows = errors[u * LANES :]
                        _together(state, terms, rules.sampling, k + u, few, recording, rows)
                else:
                    for u in range(count):
                        take_step(state, terms, rules, k + u, errors[u * LANES :])

                if recording == 1:
                    b = record_chunk(errors, bounds, k, count, b, setting.edges, records)
                    running = _retire_certain(state, terms.minimiser, plan.rest, records)

                k += count

                # Separate coordinates have no look-ahead until it is needed.
                look = recording == 1 and setting.samples > 0 and 2 * k > setting.edges[-1]
                if apart == 1 and (look or k == visits[v]):
                    for j in range(d):
                        coordinate = state.workspace[j * ROWS * LANES : (j + 1) * ROWS * LANES]
                        look_rows(coordinate, state.each, 1.0, 0.0, terms.minimiser[j], errors)

                if recording == 1 and look and running > 0:
                    add_largest(state, terms.minimiser, plan.basis, records.sup)

            for j in range(d if recording == 0 else 0):
                for lane in range(LANES):
                    y = state.workspace[(j * ROWS + Y) * LANES + lane]
                    out[v, j, block * LANES + lane] = y

    return drive


def kind_of(terms: Any, rules: StepRules) -> tuple[str, int]:
    """The kind of gradients of a sum, and whether there is noise or restart."""
    extras = int(rules.sigma > 0.0 or rules.restart != NEVER)
    if isinstance(terms, LinearModelData):
        return (WHOLE if terms.features else DRAWN), extras

    single = rules.batch == 1 and terms.slopes.shape[0] == 0
    apart = terms.shared and single and rules.steady and extras == 0
    return (APART if apart else QUADRATIC), extras
