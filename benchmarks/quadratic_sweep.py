"""Worst-case quadratic, d = 100: ravine's sweep, a hand-written C kernel and NumPy, interleaved.

    python -m benchmarks.quadratic_sweep [rounds]

Reports 10⁹ coordinate updates a second (pixels x steps x dimension / time), the best of the rounds,
and ratios. C does the steps and the sums of squares only; ravine also measures rate, floor and
outcome, and goes through the whole of ``sweep``, dataset included.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from ravine.engine.sweep import sweep
from ravine.problems import worst_case_quadratic

D, SIDE, STEPS = 100, 64, 992  # steps in whole chunks, as C needs them
PIXELS = SIDE * SIDE
NUMPY_STEPS, NUMPY_BLOCK = 100, 256
FLAGS = ["-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fopenmp"]


def c_kernel(folder: str, chunk: int) -> Any:
    built = Path(folder) / f"kernels-{chunk}.so"
    source = Path(__file__).with_name("kernels.c")
    command = [
        "gcc",
        *FLAGS,
        "-shared",
        "-fPIC",
        f"-DCHUNK={chunk}",
        str(source),
        "-lm",
        "-o",
        str(built),
    ]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(built)).quadratic_sweep


def plane(problem: Any) -> tuple[np.ndarray, np.ndarray]:
    """A plane where every run is stable: no contender may save work on pixels that diverged."""
    return np.linspace(0.05, 1.2, SIDE) / float(problem.curvature.L), np.linspace(0.0, 0.9, SIDE)


def numpy_block(problem: Any, alpha: np.ndarray, beta: np.ndarray, shared: bool) -> None:
    """Vectorised over pixels, in the eigenbasis, in place, with NumPy's fastest generator."""
    rng = np.random.Generator(np.random.SFC64(1))
    q = 1 - alpha * problem.eigenvalues
    c1, c2 = (1 + beta) * q, -beta * q
    x = np.tile(problem.eigenvectors.T @ (problem.start - problem.minimiser), (len(alpha), 1))
    x_prev, room = x.copy(), np.empty_like(x)
    for _ in range(NUMPY_STEPS):
        z = rng.standard_normal((1 if shared else len(alpha), D), dtype=np.float32)
        x_prev *= c2
        np.multiply(c1, x, out=room)
        x_prev += room
        np.multiply(alpha, z, out=room)
        x_prev -= room
        x, x_prev = x_prev, x
        np.subtract(x, x_prev, out=room)
        room *= beta
        room += x
        np.einsum("ij,ij->i", room, room)


def numpy_sweep(problem: Any, shared: bool) -> None:
    """The plane on two threads, in blocks that stay in the cache."""
    alphas, betas = plane(problem)
    alpha, beta = np.repeat(alphas, SIDE)[:, None], np.tile(betas, SIDE)[:, None]
    parts = [slice(at, at + NUMPY_BLOCK) for at in range(0, PIXELS, NUMPY_BLOCK)]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda p: numpy_block(problem, alpha[p], beta[p], shared), parts))


def contenders(folder: str) -> dict[tuple[str, str], tuple[Callable[[], object], int]]:
    problem = worst_case_quadratic(Q=100, d=D)
    alphas, betas = plane(problem)
    alpha, beta = np.repeat(alphas, SIDE), np.tile(betas, SIDE)
    start = problem.eigenvectors.T @ (problem.start - problem.minimiser)
    noise = np.random.default_rng(0).standard_normal((D, STEPS))
    out = np.empty(PIXELS)
    kernels = {chunk: c_kernel(folder, chunk) for chunk in (16, 32)}

    def c(chunk: int, shared: bool) -> None:
        def at(array: np.ndarray) -> ctypes.c_void_p:
            return ctypes.c_void_p(array.ctypes.data)

        kernels[chunk](
            D, at(problem.eigenvalues), at(start), PIXELS, at(alpha), at(beta), at(beta),
            ctypes.c_uint64(1), ctypes.c_double(1.0), STEPS,
            at(noise) if shared else None, at(out),
        )  # fmt: skip

    jobs: dict[tuple[str, str], tuple[Callable[[], object], int]] = {}
    for kind in ("independent", "shared"):
        shared = kind == "shared"
        for dtype in ("float64", "float32"):
            jobs[f"ravine {dtype}", kind] = (
                lambda kind=kind, dtype=dtype: sweep(
                    problem, alphas, betas, steps=STEPS, sigma2=1.0, noise=kind, seed=1, dtype=dtype
                ),
                STEPS,
            )
        for chunk in kernels:
            jobs[f"C, chunks of {chunk}", kind] = (lambda s=shared, n=chunk: c(n, s), STEPS)
        jobs["NumPy", kind] = (lambda s=shared: numpy_sweep(problem, s), NUMPY_STEPS)
    return jobs


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory() as folder:
        jobs = contenders(folder)
        for job, _ in jobs.values():
            job()
        best = dict.fromkeys(jobs, np.inf)
        for _ in range(rounds):
            for name, (job, _) in jobs.items():
                began = time.perf_counter()
                job()
                best[name] = min(best[name], time.perf_counter() - began)
    speed = {name: PIXELS * jobs[name][1] * D / best[name] / 1e9 for name in jobs}
    print(f"{'10^9 coordinate updates a second':34}{'independent':>12}{'shared':>12}")
    for who in dict.fromkeys(name for name, _ in jobs):
        print(f"{who:34}{speed[who, 'independent']:12.2f}{speed[who, 'shared']:12.2f}")
    for peer in ("C", "NumPy"):
        ratios = [
            speed["ravine float64", kind]
            / max(v for (who, k), v in speed.items() if who.startswith(peer) and k == kind)
            for kind in ("independent", "shared")
        ]
        print(f"{'ravine float64 / best ' + peer:34}{ratios[0]:12.2f}{ratios[1]:12.2f}")


if __name__ == "__main__":
    main()
