"""Steps per second of finite sums and linear models on a GPU, beside the processor in one run.

The counterexample (3 coordinates, 50 terms) and multinomial regression (100 rows, 10 features, 5
classes), planes of stable pixels. A kernel is timed with CUDA events, all tiles with their measures
by a clock; the best of three after one that compiles.

    python benchmarks/sweeps/gpu_sums.py [--side 512] [--no-cpu]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numba import cuda

from ravine import Sampling
from ravine.engine.cuda import finite_sum as cuda_finite_sum
from ravine.engine.spec import Spec
from ravine.engine.tiles import cut_plane, run_tiles
from ravine.problems import counterexample, multinomial_logistic

TIMES = 4


def plane(problem: Any, side: int, steps: int, **changes: Any) -> Spec:
    L = float(problem.curvature.L)
    usual = {
        "problem": problem,
        "alphas": np.linspace(0.01 / L, 0.5 / L, side),
        "betas": np.linspace(0.0, 0.6, side),
        "steps": steps,
        "measures": ("rate", "floor", "outcome"),
        "seed": 1,
        "start": problem.start,
        "device": "cuda",
    }
    return Spec(**usual | changes)


class Timed:
    """A kernel that notes the seconds of its launches."""

    def __init__(self, kernel: Any, seconds: list[float]) -> None:
        self.kernel, self.seconds = kernel, seconds

    def __getitem__(self, grid: tuple[int, int, Any]) -> Callable[..., None]:
        def launch(*arguments: Any) -> None:
            begin, end = cuda.event(), cuda.event()
            begin.record(grid[2])
            self.kernel[grid](*arguments)
            end.record(grid[2])
            end.synchronize()
            self.seconds.append(cuda.event_elapsed_time(begin, end) / 1e3)

        return launch


def clocked(spec: Spec) -> float:
    found = []
    for _ in range(TIMES):
        since = time.perf_counter()
        for _ in run_tiles(spec, cut_plane(spec, None), None):
            pass
        found.append(time.perf_counter() - since)
    return min(found[1:])


def show(what: str, spec: Spec, module: Any, maker: str, with_cpu: bool) -> None:
    """Print the steps per second of the kernel, of all tiles, and of these on the processor."""
    all_tiles = clocked(spec)
    seconds: list[float] = []
    make = getattr(module, maker)
    setattr(module, maker, lambda layout: Timed(make(layout), seconds))
    try:
        clocked(spec)
    finally:
        setattr(module, maker, make)
    work = spec.pixels * spec.steps
    kernel = TIMES * work / sum(seconds)
    line = f"{what:40} kernel {kernel:.3g}, whole {work / all_tiles:.3g}"
    if with_cpu:
        line += f", processor {work / clocked(replace(spec, device='cpu')):.3g} steps/s"
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=512)
    parser.add_argument("--no-cpu", action="store_true")
    given = parser.parse_args()
    side, with_cpu = given.side, not given.no_cpu
    problem = counterexample(mu=0.05, L=100, n=50)
    for rule in ("iid", "cyclic", "reshuffle"):
        spec = plane(problem, side, 2000, sampling=Sampling.parse(rule))
        show(f"finite sum, {rule}", spec, cuda_finite_sum, "finite_sum_kernel", with_cpu)
    spec = plane(problem, side, 2000, sampling=Sampling.IID, sigma2=1e-4)
    show("finite sum, iid and noise", spec, cuda_finite_sum, "finite_sum_kernel", with_cpu)
    whole = multinomial_logistic(100, 10, 5, 5, l2=0.01, seed=1)
    cut = multinomial_logistic(100, 10, 5, 5, l2=0.01, seed=1, batch_size=10)
    for dtype in ("float64", "float32"):
        for what, spec, maker in (
            ("whole gradient", plane(whole, side, 200, dtype=dtype), "whole_gradient_kernel"),
            ("noise", plane(whole, side, 200, sigma2=1e-2, dtype=dtype), "whole_gradient_kernel"),
            (
                "batches of 10 rows",
                plane(cut, side // 2, 200, sampling=Sampling.IID, dtype=dtype),
                "finite_sum_kernel",
            ),
        ):
            show(f"multinomial {dtype}, {what}", spec, cuda_finite_sum, maker, with_cpu)


if __name__ == "__main__":
    main()
