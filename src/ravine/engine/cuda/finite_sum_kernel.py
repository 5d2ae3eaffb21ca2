"""The GPU's kernel for finite sums of quadratics: a thread a trajectory.

A step is the source of the CPU's kernel with one lane. What is known when a kernel is compiled is
in its ``FiniteSumLayout``: the state then fits registers where the dimension is small. Orders for
reshuffling stay in device memory.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ravine.engine.cuda.source import cuda, kernel_function, on_device
from ravine.engine.kernels.finite_sum_kernel import CHUNK, add_largest, take_step
from ravine.engine.kernels.finite_sum_lanes import (
    ROWS,
    FiniteSumBlock,
    FiniteSumTerms,
    StepRules,
    begin,
    seed_noise,
)

gpu_begin, gpu_seed_noise = on_device(begin, LANES=1), on_device(seed_noise, LANES=1)
gpu_step, gpu_add_largest = on_device(take_step, LANES=1), on_device(add_largest, LANES=1)


class FiniteSumLayout(NamedTuple):
    """What is known of a sum and its rules when a kernel is compiled."""

    d: int
    batch: int
    sampling: int
    restart: int
    extras: int  # whether there is noise, or restart
    with_noise: bool
    shared: bool  # whether the terms are rows of eigenvalues
    with_slopes: bool  # whether terms have gradients at the minimiser
    single: bool  # whether the state is in single precision
    with_sup: bool  # whether the sup-norm is wanted


@cache
def finite_sum_kernel(layout: FiniteSumLayout) -> Any:
    """Make the kernel of a layout."""
    d, batch, sampling, kind, extras, with_noise, shared, with_slopes, single, with_sup = layout
    real = np.float32 if single else np.float64
    room_size = d * ROWS
    streams = 4 * d if with_noise else 4
    normals_size = 2 * d if with_noise else 2

    @kernel_function(("finite_sum", layout))
    def kernel(
        curvatures: Any, slopes: Any, mean: Any, same: Any, odd: Any, sigma: Any, period: Any,
        momentum: Any, start: Any, seed: Any, edges: Any, noisy: Any, tiny: Any, basis: Any,
        own: Any, limit: Any, identity: Any, orders: Any, bins: Any, latest: Any, when: Any,
        sup: Any,
    ) -> None:  # fmt: skip
        at = cuda.grid(1)
        n = limit.size
        if at >= n:
            return

        total = cuda.local.array(1, real)
        largest = cuda.local.array(1, np.float64)
        state = FiniteSumBlock(
            cuda.local.array(room_size, real),
            cuda.local.array(4, real),
            cuda.local.array(5, np.uint32),
            orders[at],
            cuda.local.array(batch, np.uint32),
            cuda.local.array(1, np.uint32),
            cuda.local.array(streams, np.uint32),
            cuda.local.array(normals_size, np.float32),
        )

        rows = slopes.shape[0] if with_slopes else 0
        terms = FiniteSumTerms(curvatures, slopes[:rows], mean, same, odd, shared)
        rules = StepRules(
            sampling, batch, kind, period, sigma, False, momentum[0], momentum[1], momentum[2],
            momentum[3],
        )  # fmt: skip
        gpu_begin(state, start, own[:, at : at + 1], seed, identity[at : at + 1])
        if with_noise:
            gpu_seed_noise(seed, identity[at : at + 1], state.noise_words)

        for i in range(batch):
            state.picks[i] = np.uint32(0)

        largest[0] = 0.0
        steps = edges[edges.size - 1]
        bound = limit[at]
        last = 0.0
        in_bin = 0.0
        b = 0
        diverged = 0
        edge = edges[1]
        for k in range(steps):
            total[0] = 0.0
            gpu_step(state, terms, rules, k, extras, total)
            if k + 1 > edge:
                bins[b * n + at] = in_bin
                in_bin = 0.0
                b += 1
                edge = edges[b + 1]

            last = float(total[0])
            in_bin += last
            # Written so that a NaN counts as diverged too.
            if diverged == 0 and not (last <= bound):
                diverged = k + 1
            if (k + 1) % CHUNK == 0 or k + 1 == steps:
                if diverged > 0 or (not noisy and last < tiny):
                    break
                if with_sup and 2 * (k + 1) > steps:
                    gpu_add_largest(state, basis, largest)

        bins[b * n + at] = in_bin
        latest[at] = last
        when[at] = diverged
        sup[at] = largest[0]

    return kernel
