"""Tiles of a sweep over a quadratic, on the GPU."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.arguments import FloatArray
from ravine.engine.cuda.group import STEPS
from ravine.engine.cuda.measures import batches, bin_levels, bins_of_steps, cleared, summarised
from ravine.engine.cuda.quadratic_kernel import QuadraticLayout, quadratic_kernel
from ravine.engine.cuda.quadratic_steps import draw_shared
from ravine.engine.cuda.source import SIMULATED, cuda
from ravine.engine.kernels.quadratic_kernel import (
    INDEPENDENT,
    NO_NOISE,
    SHARED,
    QuadraticPlan,
    new_plan,
    new_trajectories,
    noise_mode,
    takes_sup_norm,
)
from ravine.engine.kernels.quadratic_lanes import CHUNK
from ravine.engine.measures import FIELDS, Integers

if TYPE_CHECKING:
    from ravine.engine.spec import Spec

_MOST = 13  # coordinates of a thread whose state fits its registers
_WIDEST = 32  # threads of a group
_THREADS = 128  # of a block
MOST_COORDINATES = 1024
"""A group of 32 threads with more of them would spend minutes in the compiler."""
_REGISTERS = {(INDEPENDENT, True): 168, (SHARED, True): 96, (SHARED, False): 128}


def lacking(spec: Spec) -> str | None:
    """Name what the CPU's kernel can do and this one cannot, or return None."""
    d = spec.problem.dimension
    if d > MOST_COORDINATES:
        return f"a quadratic of {d} coordinates, more than {MOST_COORDINATES}"

    return None


def layout_for(d: int, mode: int, *, single: bool, with_sup: bool) -> QuadraticLayout:
    """Choose how the trajectories of a d-dimensional quadratic are spread over threads."""
    lanes = 8
    while lanes < _WIDEST and d > lanes * _MOST:
        lanes *= 2

    coordinates = -(-d // lanes)
    pairs = 2 if mode == SHARED and single else 1
    threads = lanes if SIMULATED else 64 if mode == SHARED and single else _THREADS
    # With these, more threads fit beside each other than the compiler would choose.
    registers = _REGISTERS.get((mode, single))
    return QuadraticLayout(threads, lanes, coordinates, pairs, single, with_sup, registers)


def run_tile(spec: Spec, first: int, last: int) -> dict[str, FloatArray]:
    """Run the pixels first..last-1 of a sweep over a quadratic; see ``kernels.table``."""
    mode = noise_mode(spec)
    plan = new_plan(spec, mode)
    d = plan.start.size
    single = plan.start.dtype == np.float32
    layout = layout_for(d, mode, single=bool(single), with_sup=plan.eigenvectors.size > 0)
    pixels = np.repeat(np.arange(first, last), spec.repeats)
    repeats = np.arange(len(pixels)) % spec.repeats
    out = np.empty((len(pixels), len(FIELDS)))
    # Noise is shared among the trajectories of one repeat: there a launch holds only these.
    rows = [repeats == r for r in range(spec.repeats)] if mode == SHARED else [repeats >= 0]
    for row in rows:
        places = np.flatnonzero(row)
        for start, stop in batches(len(places), plan.edges.size - 1):
            some = places[start:stop]
            out[some] = _run(spec, plan, layout, pixels[some], repeats[some])

    shaped = out.reshape(last - first, spec.repeats, len(FIELDS))
    return {name: shaped[:, :, i] for i, name in enumerate(FIELDS)}


def _run(
    spec: Spec, plan: QuadraticPlan, layout: QuadraticLayout, pixels: Integers, repeats: Integers
) -> FloatArray:
    """Run trajectories in one launch; return their measures, (trajectories, fields)."""
    launch, results = prepared(spec, plan, layout, pixels, repeats)
    launch()
    bins, latest, when, sup = results
    samples = 0
    steps = plan.steps
    if layout.with_sup:
        taken: Any = takes_sup_norm
        samples = sum(taken.py_func(k, steps) for k in range(CHUNK, steps + 1, CHUNK))

    start_square = float((plan.start.astype(np.float64) ** 2).sum())
    noisy = plan.noise != NO_NOISE
    return summarised(bins, plan.edges, start_square, latest, when, noisy, plan.tiny, sup, samples)


def prepared(
    spec: Spec, plan: QuadraticPlan, layout: QuadraticLayout, pixels: Integers, repeats: Integers
) -> tuple[Callable[[], None], tuple[Any, Any, Any, Any]]:
    """Put what a launch needs on the device; return the launch and the arrays it writes.

    These are bins, last squares, steps of divergence and sums of sup-norms, all zero before.
    """
    n = len(pixels)
    steps = plan.steps
    noise = plan.noise
    lanes = new_trajectories(spec, plan, pixels, repeats)
    # In the kernel's precision an overflow is infinite, and beyond the largest number there is.
    bound = np.minimum(lanes.limit / lanes.factor, np.finfo(plan.start.dtype).max)
    scale = -lanes.alpha * plan.sigma if noise == INDEPENDENT else np.zeros(n)
    own = np.stack(
        [
            lanes.alpha,
            lanes.beta,
            lanes.gamma,
            lanes.g,
            1.0 / lanes.unit,
            lanes.factor,
            bound,
            scale,
        ]
    )

    vectors = plan.eigenvectors if layout.with_sup else np.zeros((1, 1))
    results = (
        cleared(((plan.edges.size - 1) * n,), np.float64),
        cleared((n,), np.float64),
        cleared((n,), np.int32),
        cleared((n,), np.float64),
    )

    arguments = (
        cuda.to_device(plan.eigenvalues),
        cuda.to_device(plan.start),
        cuda.to_device(np.ascontiguousarray(vectors.T)),
        plan.seed,
        np.int32(steps),
        plan.tiny,
        cuda.to_device(bin_levels(steps, STEPS)),
        cuda.to_device(bins_of_steps(plan.edges)),
        cuda.to_device(own),
        cuda.to_device(lanes.stream),
        _shared_noise(plan, layout, int(repeats[0])),
        *results,
    )

    kernel: Any = quadratic_kernel(layout, noise)
    blocks = -(-n // (layout.threads // layout.lanes))

    def launch() -> None:
        kernel[blocks, layout.threads](*arguments)

    return launch, results


def _shared_noise(plan: QuadraticPlan, layout: QuadraticLayout, repeat: int) -> Any:
    """Draw the noise that the trajectories of a repeat share, on the device."""
    if plan.noise != SHARED:
        return cleared((1,), plan.start.dtype)

    width = layout.lanes * layout.coordinates
    chunks = -(-plan.steps // STEPS)
    noise = cleared((chunks * width * STEPS,), plan.start.dtype)
    identity = np.uint64(repeat) << np.uint64(32)
    d = plan.start.size
    draw_shared[-(-d // 32), 32](plan.seed, identity, d, width, noise)
    return noise
