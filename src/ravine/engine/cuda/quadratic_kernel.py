"""The kernel for quadratics whose trajectories have noise of their own, or none.

A group of 8, 16 or 32 threads runs a trajectory; thread l holds the coordinates l, l + lanes, ...
in registers. Noise is drawn where it is used and never touches memory; ``shared_noise_kernel`` is
for noise that trajectories share. State, units and what is recorded are those of the CPU's
``ravine.engine.kernels.quadratic_kernel``.
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
from ravine.engine.cuda.over_tuples import mapped
from ravine.engine.cuda.own_rows import AHEAD, ALPHA, BETA, BOUND, FACTOR, GAMMA, SCALE, UNIT
from ravine.engine.cuda.quadratic_steps import (
    all_coordinates,
    new_coordinates,
    no_noise,
    own_noise,
)
from ravine.engine.cuda.source import cuda, device_function, kernel_function, on_device
from ravine.engine.kernels.quadratic_driver import CHUNK, takes_sup_norm
from ravine.engine.kernels.quadratic_kernel import INDEPENDENT, NO_NOISE

gpu_takes_sup_norm = on_device(takes_sup_norm)


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
            states, sums = go_on(states, (zero, zero), g, scale, last_scale)
            total = fold(sums, lane)
            square = total if (lane & 7) // 2 == turn else square

        return states, square

    return steps


@cache
def quadratic_kernel(layout: QuadraticLayout, mode: int) -> Any:
    """Make the kernel for NO_NOISE or INDEPENDENT noise.

    The errors of eight steps are recorded while the next eight are under way.
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
