"""Coordinate updates per second of a sweep on a GPU: ravine, JAX and PyTorch in one run.

The worst-case quadratic, d = 100, a plane of 1024 x 1024 stable pixels, additive Gaussian noise.
An update is one coordinate of one pixel in one step, with its draw and its share of ||y - x*||².
Ravine's kernels are timed with CUDA events, the others by a clock around finished work; medians.
A whole sweep is a call of ``ravine.sweep``: from arguments to a dataset in the host's memory, with
rates, floors and outcomes. JAX and PyTorch run fewer steps of the same recurrence and measure
nothing.

    python benchmarks/sweeps/gpu.py [--side 1024] [--steps 1000] [--json found.json]
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
from numba import cuda

from ravine.engine.cuda.quadratic import QuadraticLauncher
from ravine.engine.cuda.work_queue import work_queues
from ravine.engine.spec import Spec
from ravine.engine.sweep import sweep
from ravine.problems import worst_case_quadratic

D = 100
REPEATS = 7
SIGMA = 0.01


def plane(side: int, steps: int, noise: str, dtype: str) -> Spec:
    problem = worst_case_quadratic(Q=100, d=D)
    L = float(problem.curvature.L)
    return Spec(
        problem=problem,
        alphas=np.linspace(0.05 / L, 1.0 / L, side),
        betas=np.linspace(0.0, 0.9, side),
        steps=steps,
        sigma2=SIGMA**2,
        noise=noise,
        measures=("rate", "floor", "outcome"),
        seed=1,
        start=problem.start,
        dtype=dtype,
    )


def kernel_seconds(spec: Spec) -> float:
    """Median seconds of the kernel alone, between two events."""
    with work_queues(1) as (queue,):
        launcher = QuadraticLauncher(spec, queue)
        launch, _ = launcher.prepared(queue, 0, spec.pixels, 0)
        launch()
        found = []
        for _ in range(REPEATS):
            begin, end = cuda.event(), cuda.event()
            begin.record(queue.stream)
            launch()
            end.record(queue.stream)
            end.synchronize()
            found.append(cuda.event_elapsed_time(begin, end) / 1e3)
    return float(np.median(found))


def clock_seconds(run: Callable[[], object], repeats: int = 3) -> float:
    run()
    found = []
    for _ in range(repeats):
        since = time.perf_counter()
        run()
        found.append(time.perf_counter() - since)
    return float(np.median(found))


def sweep_seconds(spec: Spec) -> float:
    """Median seconds of a whole sweep."""
    options = {name: getattr(spec, name) for name in ("steps", "sigma2", "noise", "seed", "dtype")}
    return clock_seconds(
        lambda: sweep(
            spec.problem,
            spec.alphas,
            spec.betas,
            measure=spec.measures,
            device="cuda",
            **options,
        ),
        repeats=REPEATS,
    )


def coefficients(spec: Spec) -> tuple[Any, ...]:
    """c1, c2 (pixels, d), -alpha sigma and g (pixels, 1), start (d,), in the spec's precision."""
    alpha, beta, gamma = spec.parameters(np.arange(spec.pixels))
    h = alpha[:, None] * spec.problem.eigenvalues
    c1 = 1 + beta[:, None] - h * (1 + gamma[:, None])
    c2 = h * gamma[:, None] - beta[:, None]
    start = spec.problem.eigenvectors.T @ (spec.start - spec.problem.minimiser)
    scale, g = -alpha[:, None] * SIGMA, gamma[:, None] / (1 + gamma[:, None])
    return tuple(a.astype(spec.dtype) for a in (c1, c2, scale, g, start))


def jax_seconds(spec: Spec, steps: int) -> float:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
    c1, c2, scale, g, start = (jnp.asarray(a) for a in coefficients(spec))
    rows = c1.shape if spec.noise == "independent" else (1, D)

    @jax.jit
    def run(key: Any) -> Any:
        def step(state: Any, key: Any) -> Any:
            x, before = state
            new = c1 * x + (c2 * before + scale * jax.random.normal(key, rows, c1.dtype))
            y = new - g * x
            return (new, x), (y * y).sum(axis=1).mean()

        x = jnp.broadcast_to(start, c1.shape)
        return jax.lax.scan(step, (x, x), jax.random.split(key, steps))

    key = jax.random.key(1)
    return clock_seconds(lambda: jax.block_until_ready(run(key)))


def torch_seconds(spec: Spec, steps: int, compiled: bool) -> float:
    import torch

    c1, c2, scale, g, start = (torch.as_tensor(a, device="cuda") for a in coefficients(spec))
    rows = c1.shape if spec.noise == "independent" else (1, D)

    def step(x: Any, before: Any, z: Any) -> Any:
        new = c1 * x + (c2 * before + scale * z)
        y = new - g * x
        return new, (y * y).sum(1)

    stepping = torch.compile(step) if compiled else step

    def run() -> None:
        x = before = start.expand(c1.shape).contiguous()
        for _ in range(steps):
            new, _ = stepping(x, before, torch.randn(rows, device="cuda", dtype=c1.dtype))
            x, before = new, x
        torch.cuda.synchronize()

    return clock_seconds(run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--others-steps", type=int, default=50)
    parser.add_argument("--ravine-only", action="store_true")
    parser.add_argument("--json", default="")
    given = parser.parse_args()
    device = cuda.get_current_device().name
    device = device.decode() if isinstance(device, bytes) else str(device)
    table: list[dict[str, Any]] = []
    few = given.others_steps

    def add(
        noise: str, dtype: str, contender: str, steps: int, seconds: Callable[[], float]
    ) -> None:
        try:
            rate = given.side**2 * steps * D / seconds()
        except Exception as problem:  # a contender that is missing or fails does not end the run
            print(f"{noise:12} {dtype:8} {contender:24} failed: {problem!r:.120}", flush=True)
            return
        table.append({"noise": noise, "dtype": dtype, "contender": contender, "rate": rate})
        print(f"{noise:12} {dtype:8} {contender:24} {rate:.3g} updates/s", flush=True)

    print(f"{device}, {given.side} x {given.side} pixels, d = {D}, {given.steps} steps")
    for noise in ("independent", "shared"):
        for dtype in ("float32", "float64"):
            spec = plane(given.side, given.steps, noise, dtype)
            add(noise, dtype, "ravine, kernel", given.steps, partial(kernel_seconds, spec))
            add(noise, dtype, "ravine, whole sweep", given.steps, partial(sweep_seconds, spec))
            if given.ravine_only:
                continue

            add(noise, dtype, "JAX jit + scan", few, partial(jax_seconds, spec, few))
            add(noise, dtype, "PyTorch eager", few, partial(torch_seconds, spec, few, False))
            add(noise, dtype, "PyTorch compile", few, partial(torch_seconds, spec, few, True))

    if given.json:
        found = {
            "device": device,
            "date": datetime.now(UTC).date().isoformat(),
            "side": given.side,
            "steps": given.steps,
            "d": D,
        }
        rows = ",\n".join(f"  {json.dumps(row)}" for row in table)
        head = "".join(f" {json.dumps(k)}: {json.dumps(v)},\n" for k, v in found.items())
        with open(given.json, "w", encoding="utf-8") as file:
            file.write(f'{{\n{head} "table": [\n{rows}\n ]\n}}\n')


if __name__ == "__main__":
    main()
