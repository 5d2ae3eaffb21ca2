"""The kernel for quadratics with independent noise per trajectory, or without noise.

A group of 8, 16 or 32 threads runs a trajectory; thread l keeps the coordinates l, l + lanes, ...
in registers, as nested tuples. A function for n coordinates combines one for the first coordinate
with one for the other n - 1, so that the compiler sees straight-line code. Noise is drawn where it
is used and never stored; ``shared_noise_kernel`` is for noise that trajectories share. State, units
and records are those of the CPU's ``ravine.engine.kernels.quadratic_kernel``.
"""

from __future__ import annotations

from functools import cache
from math import sqrt
from typing import Any

import numpy as np

from ravine.engine.cuda.group import (
    STEPS,
    QuadraticLayout,
    earliest_of,
    everyone,
    in_step,
    largest_entry,
    record_steps,
    sum_steps,
)
from ravine.engine.cuda.over_tuples import carried, mapped
from ravine.engine.cuda.own_rows import AHEAD, ALPHA, BETA, BOUND, FACTOR, GAMMA, SCALE, UNIT
from ravine.engine.cuda.source import FAST_NUMPY, cuda, device_function, kernel_function, on_device
from ravine.engine.draws.random import NOISE, advance, cosine, output, radius, sine, stream
from ravine.engine.kernels.quadratic_driver import CHUNK, takes_sup_norm
from ravine.engine.kernels.quadratic_kernel import INDEPENDENT, NO_NOISE
from ravine.engine.kernels.step import modal_coefficients, modal_step

gpu_output, gpu_advance, gpu_stream = on_device(output), on_device(advance), on_device(stream)
gpu_radius, gpu_sine = on_device(radius, np=FAST_NUMPY), on_device(sine)
gpu_cosine, gpu_step = on_device(cosine), on_device(modal_step)
gpu_coefficients = on_device(modal_coefficients)
gpu_takes_sup_norm = on_device(takes_sup_norm)


@device_function
def draw_pair(s0: Any, s1: Any, s2: Any, s3: Any, scale: Any) -> Any:
    """Draw the scaled normals of two steps; return them and the new state of the stream."""
    first = gpu_output(s0, s3)
    s0, s1, s2, s3 = gpu_advance(s0, s1, s2, s3)
    second = gpu_output(s0, s3)
    s0, s1, s2, s3 = gpu_advance(s0, s1, s2, s3)
    r = scale * gpu_radius(first)
    return r * gpu_cosine(second), r * gpu_sine(second), s0, s1, s2, s3


@device_function
def two_steps(
    x: Any, x_prev: Any, c1: Any, c2: Any, g: Any, z1: Any, z2: Any, a1: Any, a2: Any
) -> Any:
    """Take two steps with noise z1 and z2; add the squares of x - g x₋ to a1 and a2."""
    x1 = gpu_step(x, x_prev, c1, c2, z1)
    y1 = x1 - g * x
    x2 = gpu_step(x1, x, c1, c2, z2)
    y2 = x2 - g * x1
    return x2, x1, a1 + y1 * y1, a2 + y2 * y2


@device_function
def own_noise(state: Any, sums: Any, g: Any, scale: Any) -> Any:
    """Take two steps in one coordinate with its own noise."""
    x, x_prev, c1, c2, s0, s1, s2, s3 = state
    z1, z2, s0, s1, s2, s3 = draw_pair(s0, s1, s2, s3, scale)
    x, x_prev, a1, a2 = two_steps(x, x_prev, c1, c2, g, z1, z2, sums[0], sums[1])
    return (x, x_prev, c1, c2, s0, s1, s2, s3), (a1, a2)


@device_function
def no_noise(state: Any, sums: Any, g: Any, scale: Any) -> Any:
    """Take two steps in one coordinate without noise; the scale of noise is zero."""
    x, x_prev, c1, c2 = state
    x, x_prev, a1, a2 = two_steps(x, x_prev, c1, c2, g, scale, scale, sums[0], sums[1])
    return (x, x_prev, c1, c2), (a1, a2)


@cache
def all_coordinates(count: int, one: Any) -> Any:
    """Make a function that takes two steps in ``count`` coordinates, from one for a coordinate.

    The last of a thread's coordinates may be beyond the dimension; it has its own scale.
    """

    @device_function
    def each(sums: Any, state: Any, same: Any, at: Any, common: Any) -> Any:
        g, scale, last_scale = common
        state, sums = one(state, sums, g, scale if at < count - 1 else last_scale)
        return sums, state

    return carried(count, each)


@cache
def new_coordinates(count: int, lanes: int, real: Any, drawing: bool) -> Any:
    """Make a function that initialises ``count`` coordinates of a thread."""

    @device_function
    def one(number: Any, same: Any, at: Any, common: Any) -> Any:
        eigenvalues, start, lane, alpha, beta, gamma, per_unit, seed, identity = common
        i = lane + lanes * at
        inside = i < start.size
        place = real(start[i] * per_unit) if inside else real(0.0)
        eigenvalue = eigenvalues[i] if inside else real(0.0)
        c1, c2 = gpu_coefficients(alpha * eigenvalue, beta, gamma)
        if not drawing:
            return place, place, real(c1), real(c2)

        s0, s1, s2, s3 = gpu_stream(seed, identity, np.uint32(i), NOISE)
        return place, place, real(c1), real(c2), s0, s1, s2, s3

    return mapped(count, one)


@kernel_function("draw_shared")
def draw_shared(seed: Any, identity: Any, d: Any, width: Any, noise: Any) -> None:
    """Draw the noise that trajectories share, in the layout that ``piece_of`` reads.

    ``noise`` consists of rows; a row has the next few steps of each of ``width`` coordinates, 16
    bytes per coordinate: four steps in single precision, two in double. Coordinates beyond the
    dimension are not changed. A thread draws one coordinate, eight steps at a time.
    """
    i = cuda.grid(1)
    if i >= d:
        return

    piece = 16 // noise.itemsize
    s0, s1, s2, s3 = gpu_stream(seed, identity, np.uint32(i), NOISE)
    for chunk in range(0, noise.size, 8 * width):
        for j in range(0, 8, 2):
            z1, z2, s0, s1, s2, s3 = draw_pair(s0, s1, s2, s3, np.float32(1.0))
            place = chunk + (j // piece * width + i) * piece + j % piece
            noise[place] = z1
            noise[place + 1] = z2


@cache
def writes_ahead(count: int, lanes: int) -> Any:
    """Make a function that writes y of ``count`` coordinates of a trajectory."""

    @device_function
    def one(state: Any, same: Any, at: Any, common: Any) -> Any:
        g, size, y, lane = common
        i = lane + lanes * at
        if i < y.size:
            y[i] = size * (state[0] - g * state[1])
        return 0

    return mapped(count, one)


@cache
def eight_steps(layout: QuadraticLayout, one: Any) -> Any:
    """Make a function that takes eight steps; thread l receives the square of step l % 8."""
    go_on = all_coordinates(layout.coordinates, one)
    fold = sum_steps(1, layout.lanes)
    zero = layout.real(0.0)

    @device_function
    def steps(states: Any, g: Any, scale: Any, last_scale: Any, lane: Any) -> Any:
        square = zero
        for turn in range(STEPS // 2):
            sums, states = go_on((zero, zero), states, states, 0, (g, scale, last_scale))
            total = fold(sums, lane)
            square = total if (lane & 7) // 2 == turn else square

        return states, square

    return steps


@cache
def quadratic_kernel(layout: QuadraticLayout, mode: int) -> Any:
    """Make the kernel for NO_NOISE or INDEPENDENT noise.

    The errors of eight steps are recorded while the next eight are computed.
    """
    threads, lanes, count, _, _, _, with_sup, registers = layout
    drawing = mode == INDEPENDENT
    vanishing = mode == NO_NOISE
    real = layout.real
    zero = layout.real(0.0)
    groups = threads // lanes
    width = lanes * count
    numbers = tuple(range(count))
    begin = new_coordinates(count, lanes, real, drawing)
    go_on = eight_steps(layout, own_noise if drawing else no_noise)
    look = writes_ahead(count, lanes)
    earliest = earliest_of(8)

    @kernel_function(("quadratic", layout, mode), registers)
    def kernel(
        eigenvalues: Any, start: Any, vectors: Any, seed: Any, steps: Any, tiny: Any, levels: Any,
        bin_of: Any, own: Any, identity: Any, bins: Any, latest: Any, when: Any,
        sup: Any,
    ) -> None:  # fmt: skip
        lane = np.int32(cuda.threadIdx.x % lanes)
        group = cuda.threadIdx.x // lanes
        at = cuda.blockIdx.x * groups + group
        n = identity.size
        p = min(at, n - 1)
        its = (
            eigenvalues, start, lane, own[ALPHA, p], own[BETA, p], own[GAMMA, p], own[UNIT, p],
            seed, identity[p],
        )  # fmt: skip
        states = begin(numbers, numbers, 0, its)
        g = real(own[AHEAD, p])
        factor = own[FACTOR, p]
        bound = real(own[BOUND, p])
        scale = np.float32(own[SCALE, p])
        inside = lane + lanes * (count - 1) < start.size
        last_scale = scale if inside else np.float32(0.0)
        record = (np.int32(0), np.int32(-1), 0.0)
        sup_sum = 0.0
        if with_sup:
            shared = cuda.shared.array((groups, width), np.float64)

        k = np.int32(0)
        square = zero
        settled: Any = False
        while k < steps and not everyone(settled):
            record = record_steps(
                square, lane, np.int32(k - STEPS), steps, at, n, factor, bound, zero, levels,
                bin_of, bins, record,
            )  # fmt: skip
            settled = record[0] > 0
            if vanishing:
                settled = settled or (k > 0 and factor * square < tiny)
            states, square = go_on(states, g, scale, last_scale, lane)
            k = np.int32(k + STEPS)
            if with_sup and k % CHUNK == 0 and gpu_takes_sup_norm(k, steps):
                y = shared[group, : start.size]
                look(states, states, 0, (g, sqrt(factor), y, lane))
                in_step()
                sup_sum += largest_entry(vectors, y, lane, lanes)
                in_step()

        record = record_steps(
            square, lane, np.int32(k - STEPS), steps, at, n, factor, bound, zero, levels,
            bin_of, bins, record,
        )  # fmt: skip
        if lane < 8 and k - STEPS + 1 + lane == steps and at < n:
            latest[at] = factor * square

        first = earliest(record[0])
        if lane == 0 and at < n:
            when[at] = first
            sup[at] = sup_sum

    return kernel
