"""GPU kernels for finite sums of quadratics and linear models: one thread per trajectory.

A step is the source of the CPU's kernel with one lane. Everything that is known at compile time is
in its ``FiniteSumLayout``, so that the state fits into registers for small dimensions. Orders for
reshuffling stay in device memory. ``whole_gradient_kernel`` is much faster for whole gradients of
linear models with few weights, without restarts.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ravine.engine.cuda.source import cuda, device_function, kernel_function, on_device
from ravine.engine.kernels.finite_sum_kernel import QUADRATIC, WHOLE, add_largest, step_of
from ravine.engine.kernels.finite_sum_lanes import (
    ROWS,
    FiniteSumBlock,
    FiniteSumTerms,
    StepRules,
    begin,
)
from ravine.engine.kernels.linear_model_gradient import LinearModelData

gpu_begin, gpu_add_largest = on_device(begin, LANES=1), on_device(add_largest, LANES=1)


class FiniteSumLayout(NamedTuple):
    """Properties of a sum and its rules that are fixed when a kernel is compiled."""

    kind: str  # of gradients
    extras: int  # whether there is noise, or restart
    d: int
    batch: int
    sampling: int
    restart: int
    with_noise: bool
    chunk: int  # steps between two checks whether a run can end
    single: bool  # whether the state is in single precision
    with_sup: bool  # whether the sup-norm is wanted
    shared: bool = False  # of quadratics: whether the terms are rows of eigenvalues
    with_slopes: bool = False  # of quadratics: whether terms have gradients at the minimiser
    features: int = 0  # of a linear model
    outputs: int = 0
    loss: int = 0
    sizes: tuple[int, int, int] = (0, 0, 0)  # further properties of linear models


@cache
def terms_of(layout: FiniteSumLayout) -> Any:
    """Make a function that collects the terms of a sum, with known properties as constants."""
    if layout.kind == QUADRATIC:
        shared, with_slopes = layout.shared, layout.with_slopes

        @device_function
        def quadratics(given: Any) -> Any:
            curvatures, slopes, mean, same, lone, minimiser = given
            rows = slopes.shape[0] if with_slopes else 0
            return FiniteSumTerms(curvatures, slopes[:rows], mean, same, lone, shared, minimiser)

        return quadratics

    loss, outputs = layout.loss, layout.outputs
    per_feature = (0,) * layout.features if layout.kind == WHOLE else ()
    per_class = (0,) * outputs if layout.kind == WHOLE else ()

    @device_function
    def model(given: Any) -> Any:
        X, wide, target, weights, l2, minimiser, edges = given
        return LinearModelData(
            X, wide, target, weights, l2, loss, outputs, minimiser, edges, per_feature, per_class
        )

    return model


@cache
def runs_trajectory(layout: FiniteSumLayout) -> Any:
    """Make a function that runs one trajectory and writes its records."""
    d, batch, chunk, with_sup = layout.d, layout.batch, layout.chunk, layout.with_sup
    real = np.float32 if layout.single else np.float64
    # Parameters and errors of a linear model are always in double precision.
    wide = real if layout.kind == QUADRATIC else np.float64
    workspace_size = d * ROWS
    streams = 4 * d if layout.with_noise else 1
    score_size, weight_size, flat_size = (max(1, size) for size in layout.sizes)
    gpu_step = on_device(step_of(layout.kind, layout.extras), LANES=1)

    @device_function
    def run(at: Any, terms: Any, rules: Any, plan: Any, each: Any, runs: Any) -> None:
        start, seed, edges, rest, basis = plan
        own, limit, identity, orders = each
        bins, latest, when, sup = runs
        n = limit.size
        total = cuda.local.array(1, wide)
        largest = cuda.local.array(1, np.float64)
        state = FiniteSumBlock(
            cuda.local.array(workspace_size, real),
            cuda.local.array(4, wide),
            cuda.local.array(5, np.uint32),
            orders[at],
            cuda.local.array(batch, np.uint32),
            cuda.local.array(1, np.uint32),
            cuda.local.array(streams, np.uint32),
            cuda.local.array(streams, np.float32),
            cuda.local.array(score_size, real),
            cuda.local.array(weight_size, np.float64),
            cuda.local.array(flat_size, real),
            total,
        )
        gpu_begin(state, start, own[:, at : at + 1], seed, identity[at : at + 1])
        for i in range(weight_size):
            state.weights[i] = 0.0

        largest[0] = 0.0
        end = edges[edges.size - 1]
        bound = limit[at]
        last = 0.0
        in_bin = 0.0
        b = 0
        diverged = 0
        edge = edges[1]
        for k in range(end):
            total[0] = 0.0
            gpu_step(state, terms, rules, k, total)
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
            if (k + 1) % chunk == 0 or k + 1 == end:
                if diverged > 0 or last < rest:
                    break
                if with_sup and 2 * (k + 1) > end:
                    gpu_add_largest(state, terms.minimiser, basis, largest)

        bins[b * n + at] = in_bin
        latest[at] = last
        when[at] = diverged
        sup[at] = largest[0]

    return run


@cache
def finite_sum_kernel(layout: FiniteSumLayout) -> Any:
    """Make the kernel of a layout."""
    sampling, batch, restart = layout.sampling, layout.batch, layout.restart
    gather = terms_of(layout)
    run = runs_trajectory(layout)

    @kernel_function(("finite_sum", layout))
    def kernel(
        given: Any, count: Any, sigma: Any, period: Any, momentum: Any, start: Any, seed: Any,
        edges: Any, rest: Any, basis: Any, own: Any, limit: Any, identity: Any, orders: Any,
        bins: Any, latest: Any, when: Any, sup: Any,
    ) -> None:  # fmt: skip
        at = cuda.grid(1)
        if at < limit.size:
            rules = StepRules(count, sampling, batch, restart, period, sigma, False, momentum)
            plan = (start, seed, edges, rest, basis)
            each = (own, limit, identity, orders)
            run(at, gather(given), rules, plan, each, (bins, latest, when, sup))

    return kernel
