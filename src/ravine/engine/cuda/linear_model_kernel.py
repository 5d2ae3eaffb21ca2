"""The GPU's kernel for linear models on data: a thread a trajectory.

The gradients, the steps and the looks ahead are the source of the CPU's ``linear_model_gradient``
and ``linear_model_kernel`` with one lane. ``whole_gradient_kernel`` is much faster where it serves:
for whole gradients of few weights, without restarts.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ravine.engine.cuda.source import cuda, kernel_function, on_device
from ravine.engine.draws.index_sampling import draw_batch, seed_lanes
from ravine.engine.draws.random import NOISE, stream
from ravine.engine.kernels.linear_model_gradient import (
    ROWS,
    LinearModelData,
    drawn_gradient,
    gradient,
)
from ravine.engine.kernels.linear_model_kernel import (
    LinearModelBlock,
    LinearModelPlan,
    add_noise,
    look,
    move,
    restarts,
)
from ravine.engine.restart import NEVER

_LANE = {"LANES": 1, "STREAMS": 1}
gpu_stream, gpu_seed, gpu_draw = (on_device(f, **_LANE) for f in (stream, seed_lanes, draw_batch))
gpu_drawn_gradient, gpu_gradient = (on_device(f, **_LANE) for f in (drawn_gradient, gradient))
gpu_noise, gpu_look = (on_device(f, **_LANE) for f in (add_noise, look))
gpu_move, gpu_restarts = (on_device(f, **_LANE) for f in (move, restarts))


class LinearModelLayout(NamedTuple):
    """What is known of a model and its rules when a kernel is compiled."""

    features: int
    wide: int  # features in whole eights
    outputs: int
    loss: int
    sampled: int
    batch: int
    sampling: int
    restart: int
    noisy: int  # whether there is additive noise
    with_sup: bool
    single: bool  # whether the state is in single precision; arithmetic is in double


@cache
def linear_model_kernel(layout: LinearModelLayout) -> Any:
    """Make the kernel of a layout."""
    features, wide, outputs, loss, sampled, batch, sampling, kind, noisy, with_sup, single = layout
    real = np.float32 if single else np.float64
    d = features * outputs
    own_size = outputs * wide if sampled or kind != NEVER else 1
    score_size = ROWS * outputs
    streams = 4 * d if noisy else 4
    spare_size = d if noisy else 1
    per_feature = () if sampled else (0,) * features
    per_class = () if sampled else (0,) * outputs

    @kernel_function(("linear_model", layout))
    def kernel(
        X: Any, wide_X: Any, target: Any, weights: Any, l2: Any, minimiser: Any, start: Any,
        rows: Any, seed: Any, period: Any, noise_left: Any, sigma: Any, tiny: Any, edges: Any,
        momentum: Any, own: Any, identity: Any, orders: Any, bins: Any, latest: Any, when: Any,
        sup: Any,
    ) -> None:  # fmt: skip
        at = cuda.grid(1)
        n = identity.size
        if at >= n:
            return

        data = LinearModelData(
            X, wide_X, target, weights, l2, loss, outputs, minimiser, start, rows, per_feature,
            per_class,
        )  # fmt: skip
        plan = LinearModelPlan(
            seed, sampling, kind, period, noise_left, with_sup, sigma, tiny, edges, momentum
        )
        measured = cuda.local.array(3, np.float64)
        mine = identity[at : at + 1]
        # The thread keeps its bins and what became of it in variables, not in the state.
        state = LinearModelBlock(
            cuda.local.array(5, np.float64),
            cuda.local.array(d, real),
            cuda.local.array(d, real),
            cuda.local.array(d, real),
            cuda.local.array(d, real),
            cuda.local.array(score_size, real),
            cuda.local.array(own_size, np.float64),
            cuda.local.array(own_size, np.float64),
            cuda.local.array(streams, np.uint32),
            cuda.local.array(spare_size, np.float64),
            cuda.local.array(5, np.uint32),
            orders[at],
            cuda.local.array(batch, np.uint32),
            mine, bins, latest, when, measured,
        )  # fmt: skip

        for i in range(5):
            state.each[i] = own[i, at]

        for j in range(d):
            state.x[j] = state.x_prev[j] = state.y[j] = start[j]

        for i in range(own_size):
            state.own[i] = 0.0

        for i in range(batch):
            state.picks[i] = np.uint32(0)

        if noisy == 1:
            for j in range(d):
                s0, s1, s2, s3 = gpu_stream(seed, identity[at], np.uint32(j), NOISE)
                state.noise_words[4 * j], state.noise_words[4 * j + 1] = s0, s1
                state.noise_words[4 * j + 2], state.noise_words[4 * j + 3] = s2, s3

        if sampled == 1:
            gpu_seed(seed, mine, state.words, state.order)

        steps = edges[edges.size - 1]
        bound = own[3, at]
        last = 0.0
        in_bin = 0.0
        largest = 0.0
        b = 0
        diverged = 0
        size = 0
        edge = edges[1]
        for k in range(steps):
            if sampled == 1:
                size = gpu_draw(sampling, rows.size - 1, k, state.words, state.order, state.picks)
                gpu_drawn_gradient(
                    data,
                    state.picks,
                    1,
                    size,
                    state.y,
                    state.g,
                    state.scores,
                    state.own,
                    state.slopes,
                )
            else:
                gpu_gradient(data, state.y, state.g, state.scores)

            if noisy == 1:
                gpu_noise(state.noise_words, state.spare, k, sigma, state.g)
            gpu_move(data, momentum, k, state)
            if kind != NEVER and gpu_restarts(data, plan, state, k, size, 0, state.x_prev):
                for j in range(d):
                    state.x_prev[j] = state.x[j]
            gpu_look(data, momentum, k, state)
            if k + 1 > edge:
                bins[b * n + at] = in_bin
                in_bin = 0.0
                b += 1
                edge = edges[b + 1]

            last = measured[0]
            in_bin += last
            if with_sup and 2 * (k + 1) > steps:
                largest += measured[1]
            # Written so that a NaN counts as diverged too.
            if not (last <= bound):
                diverged = k + 1
                break

        bins[b * n + at] = in_bin
        latest[at] = last
        when[at] = diverged
        sup[at] = largest

    return kernel
