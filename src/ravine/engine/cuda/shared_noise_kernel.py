"""The kernel for quadratics with shared noise.

A group of 8, 16 or 32 threads runs a few trajectories together; thread l keeps the coordinates l, l
+ lanes, ... of all of them in registers, and reads each piece of noise once. The noise is drawn
once for the whole sweep and read through the L1 cache.

Most of the time, single steps need no check: bins are at least four steps wide after 128 steps, and
runs are bounded. Then a thread adds up the squares of its own coordinates over four steps, and
threads synchronise only at the end of a bin. Each squared error of a step is at most the sum of all
these sums; while every thread's sum is below the bound divided by the number of threads, no step is
beyond the bound. Otherwise, or if bins are narrow, the four steps are checked one by one.

Reading the noise limits such a kernel, not arithmetic.

Nesterov's method steps from its look-ahead: with h = alpha lambda and gamma = beta, x⁺ = (1 - h) y
+ noise and y = x + gamma (x - x₋). In units in which y = (1 + gamma)(x - g x₋), g = gamma / (1 +
gamma), these are two fused operations with one coefficient q = (1 - h)(1 + gamma),

    x⁺ = q y + noise,    y⁺ = x⁺ - g x,

and the recorded y needs no extra work. Other look-aheads need ``modal_step``, with two
coefficients.
"""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import Any

import numpy as np

from ravine.engine.cuda.group import (
    QuadraticLayout,
    earliest_of,
    everyone,
    exchange,
    in_step,
    largest_entry,
    sum_over,
    sum_steps,
)
from ravine.engine.cuda.over_tuples import carried, folded, mapped
from ravine.engine.cuda.own_rows import AHEAD, ALPHA, BETA, BOUND, FACTOR, GAMMA, LOOK, UNIT
from ravine.engine.cuda.source import cuda, device_function, kernel_function, on_device, piece_of
from ravine.engine.kernels.quadratic_driver import CHUNK, takes_sup_norm
from ravine.engine.kernels.step import modal_coefficients, modal_step

STEPS = 4
"""Consecutive steps of a coordinate: as many as use 16 bytes of single-precision noise."""

_SINGLES = 64  # steps in bins of one; as many again are in bins of two
_PAIRS = 128  # where bins of four steps and more begin

gpu_step, gpu_coefficients = on_device(modal_step), on_device(modal_coefficients)
gpu_takes_sup_norm = on_device(takes_sup_norm)


@device_function
def four_of_single(noise: Any, place: Any, row: Any) -> Any:
    """Return the noise of four steps in single precision, one piece."""
    return piece_of(noise, place)


@device_function
def four_of_double(noise: Any, place: Any, row: Any) -> Any:
    """Return the noise of four steps in double precision, two pieces ``row`` apart."""
    return piece_of(noise, place) + piece_of(noise, place + row)


@device_function
def nesterov_step(state: Any, z: Any, so_far: Any, at: Any, g: Any) -> Any:
    """Take a step of Nesterov's method with noise z; add the square of y to a sum."""
    x, y, q = state
    ahead = q * y + z
    y = ahead - g * x
    return (ahead, y, q), so_far + y * y


@device_function
def family_step(state: Any, z: Any, so_far: Any, at: Any, g: Any) -> Any:
    """Take a step with any look-ahead and noise z; add the square of y to a sum."""
    x, x_prev, c1, c2 = state
    ahead = gpu_step(x, x_prev, c1, c2, z)
    y = ahead - g * x
    return (ahead, x, c1, c2), so_far + y * y


nesterov_four, family_four = carried(STEPS, nesterov_step), carried(STEPS, family_step)
"""Functions that take four steps from a state, with four noise numbers and four sums."""


@cache
def each_trajectory(count: int, four: Any) -> Any:
    """Make a function that takes four steps of ``count`` trajectories with the same noise."""

    @device_function
    def last(states: Any, sums: Any, gs: Any, z: Any) -> Any:
        state, square = four(states[0], z, sums[0], 0, gs[0])
        return (state,), (square,)

    if count == 1:
        return last

    others = each_trajectory(count - 1, four)

    @device_function
    def some(states: Any, sums: Any, gs: Any, z: Any) -> Any:
        state, square = four(states[0], z, sums[0], 0, gs[0])
        more_states, more_squares = others(states[1:], sums[1:], gs[1:], z)
        return (state, *more_states), (square, *more_squares)

    return some


@cache
def each_coordinate(count: int, stride: int, together: Any, read: Any) -> Any:
    """Make a function for ``count`` coordinates with noise ``stride`` apart in a row."""

    @device_function
    def one(sums: Any, state: Any, same: Any, at: Any, common: Any) -> Any:
        gs, noise, place, row = common
        state, sums = together(state, sums, gs, read(noise, place + stride * at, row))
        return sums, state

    return carried(count, one)


@cache
def new_state(real: Any, nesterov: bool) -> Any:
    """Make a function that initialises a coordinate of a trajectory."""

    @device_function
    def one(given: Any, same: Any, at: Any, common: Any) -> Any:
        alpha, beta, gamma, g, ahead, per_unit = given
        eigenvalue, start = common
        h = alpha * eigenvalue
        x = real(start * per_unit)
        if nesterov:
            return x, real(x - real(g) * x), real((1.0 - h) * ahead)

        c1, c2 = gpu_coefficients(h, beta, gamma)
        return x, x, real(c1), real(c2)

    return one


@cache
def new_states(coordinates: int, trajectories: int, lanes: int, real: Any, nesterov: bool) -> Any:
    """Make a function that initialises the coordinates i, i + lanes, ... of trajectories.

    Coordinates beyond the dimension start at zero, have no noise, and stay there.
    """
    together = mapped(trajectories, new_state(real, nesterov))

    @device_function
    def here(entry: Any, same: Any, at: Any, common: Any) -> Any:
        eigenvalues, start, i, given = common
        i += lanes * at
        inside = i < start.size
        place = start[i] if inside else real(0.0)
        eigenvalue = eigenvalues[i] if inside else real(0.0)
        return together(given, given, 0, (eigenvalue, place))

    each = mapped(coordinates, here)
    numbers = tuple(range(coordinates))

    @device_function
    def states(eigenvalues: Any, start: Any, i: int, given: Any) -> Any:
        return each(numbers, numbers, 0, (eigenvalues, start, i, given))

    return states


@device_function
def is_quiet(so_far: Any, record: Any, sums: Any, at: Any, common: Any) -> Any:
    """Whether this thread rules out that a step is beyond the bound.

    A NaN is not ruled out. Diverged trajectories are skipped.
    """
    part = (sums[0] + sums[1]) + (sums[2] + sums[3])
    return so_far & ((part <= record[2]) | (record[0] > 0))


@device_function
def with_steps(record: Any, sums: Any, at: Any, common: Any) -> Any:
    """Add four steps to the sum of the bin in this thread."""
    part = (sums[0] + sums[1]) + (sums[2] + sums[3])
    return record[0], record[1] + np.float64(part), record[2]


@cache
def looks_at_steps(lanes: int, real: Any) -> Any:
    """Make a function that checks four steps of a trajectory one by one.

    Bins of one or two steps are stored at once; wider ones accumulate in the record.
    """
    fold = sum_steps(2, lanes)
    first_of_four = earliest_of(4)
    zero = real(0.0)

    @device_function
    def one(record: Any, sums: Any, at: Any, common: Any) -> Any:
        diverged, so_far, quiet = record
        lane, k, steps, n, bin, own, bins, latest = common
        total = fold(sums, lane)
        place = lane & np.int32(3)
        step = np.int32(k + np.int32(1) + place)
        live = step <= steps
        total = total if live else zero
        p = min(at, n - 1)
        factor = own[FACTOR, p]
        # Written so that a NaN counts as beyond the bound too.
        beyond = not (total <= real(own[BOUND, p]))
        first = first_of_four(step if beyond else np.int32(0))
        other = exchange(total, 1)
        writes = live & (lane < 4) & (at < n)
        if k < _SINGLES:
            if writes:
                bins[np.int64(bin + place) * n + at] = factor * total
        elif k < _PAIRS:
            if writes & (place % 2 == 0):
                bins[np.int64(bin + place // 2) * n + at] = factor * (total + other)
        else:
            so_far += np.float64(total) if lane < 4 else 0.0

        if writes & (step == steps):
            latest[at] = factor * total

        return first if diverged == 0 else diverged, so_far, quiet

    return one


@cache
def ends_bin(lanes: int) -> Any:
    """Make a function that stores a finished bin of a trajectory and starts the next one."""
    over_group = sum_over(1, lanes)

    @device_function
    def one(record: Any, same: Any, at: Any, common: Any) -> Any:
        lane, n, bin, own, bins = common
        total = over_group(record[1])
        if lane == 0 and at < n:
            bins[np.int64(bin) * n + at] = own[FACTOR, at] * total

        return record[0], 0.0, record[2]

    return one


@device_function
def has_diverged(so_far: Any, record: Any, same: Any, at: Any, common: Any) -> Any:
    """Whether a trajectory has diverged, and those before it."""
    return so_far & (record[0] > 0)


@device_function
def write_step(record: Any, same: Any, at: Any, common: Any) -> Any:
    """Store the step at which a trajectory diverged."""
    lane, n, when = common
    if lane == 0 and at < n:
        when[at] = record[0]
    return 0


@cache
def adds_sup_norm(layout: QuadraticLayout) -> Any:
    """Make a function that adds the sup-norm of y of a group's one trajectory to ``sup``."""
    lanes = layout.lanes
    count = layout.coordinates
    nesterov = layout.nesterov

    @device_function
    def entry(states: Any, same: Any, number: Any, common: Any) -> Any:
        y, g, size, lane = common
        i = lane + lanes * number
        if i < y.size:
            mine = states[0]
            y[i] = size * (mine[1] if nesterov else mine[0] - g * mine[1])
        return 0

    entries = mapped(count, entry)

    @device_function
    def add(states: Any, g: Any, at: Any, common: Any) -> None:
        lane, n, own, y, vectors, sup = common
        p = min(at, n - 1)
        entries(states, states, 0, (y, g, sqrt(own[FACTOR, p]), lane))
        in_step()
        largest = largest_entry(vectors, y, lane, lanes)
        in_step()
        if lane == 0 and at < n:
            sup[at] += largest

    return add


@cache
def shared_noise_kernel(layout: QuadraticLayout) -> Any:
    """Make the kernel of a layout."""
    threads, lanes, count, group_size, single, nesterov, with_sup, registers = layout
    real = layout.real
    zero = real(0.0)
    groups = threads // lanes
    width = lanes * count
    piece = 16 // np.dtype(real).itemsize  # steps of noise that are read at a time
    row = width * piece
    zeros = ((zero,) * STEPS,) * group_size
    numbers = tuple(range(group_size))

    begin = new_states(count, group_size, lanes, real, nesterov)
    together = each_trajectory(group_size, nesterov_four if nesterov else family_four)
    read = four_of_single if single else four_of_double
    go_on = each_coordinate(count, lanes * piece, together, read)
    all_quiet = folded(group_size, is_quiet)
    all_diverged = folded(group_size, has_diverged)
    add_steps = mapped(group_size, with_steps)
    look_at = mapped(group_size, looks_at_steps(lanes, real))
    end_bin = mapped(group_size, ends_bin(lanes))
    write_steps = mapped(group_size, write_step)
    add_sup = adds_sup_norm(layout)
    share = 0.5 / lanes  # share of the bound for each thread, apart from rounding

    @device_function
    def own_of(number: Any, same: Any, at: Any, common: Any) -> Any:
        own, n = common
        p = min(at, n - 1)
        return own[ALPHA, p], own[BETA, p], own[GAMMA, p], own[AHEAD, p], own[LOOK, p], own[UNIT, p]

    @device_function
    def ahead_of(number: Any, same: Any, at: Any, common: Any) -> Any:
        own, n = common
        return real(own[AHEAD, min(at, n - 1)])

    @device_function
    def new_record(number: Any, same: Any, at: Any, common: Any) -> Any:
        own, n = common
        return np.int32(0), 0.0, real(share * own[BOUND, min(at, n - 1)])

    all_own = mapped(group_size, own_of)
    all_ahead = mapped(group_size, ahead_of)
    new_records = mapped(group_size, new_record)

    @kernel_function(("shared_noise", layout), registers)
    def kernel(
        eigenvalues: Any, start: Any, vectors: Any, steps: Any, edges: Any, bin_of: Any, own: Any,
        noise: Any, bins: Any, latest: Any, when: Any, sup: Any,
    ) -> None:  # fmt: skip
        lane = np.int32(cuda.threadIdx.x % lanes)
        group = cuda.threadIdx.x // lanes
        at = (cuda.blockIdx.x * groups + group) * group_size
        n = latest.size
        states = begin(eigenvalues, start, lane, all_own(numbers, numbers, at, (own, n)))
        gs = all_ahead(numbers, numbers, at, (own, n))
        records = new_records(numbers, numbers, at, (own, n))
        edge = edges[bin_of[min(steps, np.int32(_PAIRS + 1))] + 1]
        if with_sup:
            shared = cuda.shared.array((groups, width), np.float64)

        k = np.int32(0)
        running: Any = True
        while k < steps and running:
            place = np.int64(k * width + lane * piece)
            sums, states = go_on(zeros, states, states, 0, (gs, noise, place, row))
            narrow = (k < _PAIRS) | (k + STEPS >= steps)
            if narrow or not everyone(all_quiet(True, records, sums, 0, 0)):
                bin = bin_of[k + 1]
                common = (lane, k, steps, n, bin, own, bins, latest)
                records = look_at(records, sums, at, common)
                running = not everyone(all_diverged(True, records, records, 0, 0))
            else:
                records = add_steps(records, sums, at, 0)

            k = np.int32(k + STEPS)
            if k > _PAIRS and k >= edge:
                bin = bin_of[edge]
                ended = (lane, n, bin, own, bins)
                records = end_bin(records, records, at, ended)
                edge = edges[min(bin + 2, edges.size - 1)]

            if with_sup and k % CHUNK == 0 and gpu_takes_sup_norm(k, steps):
                y = shared[group, : start.size]
                add_sup(states, gs[0], at, (lane, n, own, y, vectors, sup))

        write_steps(records, records, at, (lane, n, when))

    return kernel
