"""Worst-case quadratic, d = 100, 4096 pixels, 1000 steps, with noise of their own or shared.

C does the steps and the sums of squares only; ravine also measures rate, floor and outcome, and
goes through the whole of ``sweep``, dataset included. Peers take fewer steps, which changes their
time a step by little; the loops run one pixel.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.contest import Contender, Workload
from benchmarks.sweeps import installed
from ravine.engine.sweep import sweep
from ravine.problems import worst_case_quadratic

D, SIDE, STEPS = 100, 64, 992  # steps in whole chunks, as C needs them
PIXELS = SIDE * SIDE
FEW, SHARED_FEW, LOOP = 48, 480, 300  # steps of the slower contenders
NUMPY_BLOCK = 256
FLAGS = ["-O3", "-march=native", "-ffp-contract=fast", "-fno-math-errno", "-fopenmp"]
PROBLEM = worst_case_quadratic(Q=100, d=D)
START = PROBLEM.eigenvectors.T @ (PROBLEM.start - PROBLEM.minimiser)
# A plane where every run is stable: no contender may save work on pixels that diverged.
ALPHAS = np.linspace(0.05, 1.2, SIDE) / float(PROBLEM.curvature.L)
BETAS = np.linspace(0.0, 0.9, SIDE)
ALPHA, BETA = np.repeat(ALPHAS, SIDE), np.tile(BETAS, SIDE)


@cache
def c_kernel(chunk: int) -> Any:
    """Compile the kernel in C with chunks of this many steps."""
    folder = tempfile.mkdtemp()
    built = Path(folder) / "kernels.so"
    source = str(Path(__file__).with_name("kernels.c"))
    command = ["gcc", *FLAGS, "-shared", "-fPIC", f"-DCHUNK={chunk}", source, "-lm", "-o", built]
    try:
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(built)).quadratic_sweep
    finally:
        shutil.rmtree(folder)


def c_work(chunk: int, shared: bool) -> Any:
    """The sweep in C."""
    noise = np.random.default_rng(0).standard_normal((D, STEPS))
    out = np.empty(PIXELS)

    def at(array: np.ndarray) -> ctypes.c_void_p:
        return ctypes.c_void_p(array.ctypes.data)

    return lambda: c_kernel(chunk)(
        D, at(PROBLEM.eigenvalues), at(START), PIXELS, at(ALPHA), at(BETA), at(BETA),
        ctypes.c_uint64(1), ctypes.c_double(1.0), STEPS, at(noise) if shared else None, at(out),
    )  # fmt: skip


def numpy_block(alpha: np.ndarray, beta: np.ndarray, steps: int, shared: bool) -> None:
    """Vectorised over pixels, in the eigenbasis, in place, with NumPy's fastest generator."""
    rng = np.random.Generator(np.random.SFC64(1))
    q = 1 - alpha * PROBLEM.eigenvalues
    c1, c2 = (1 + beta) * q, -beta * q
    x = np.tile(START, (len(alpha), 1))
    x_prev, room = x.copy(), np.empty_like(x)
    for _ in range(steps):
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


def numpy_work(steps: int, shared: bool) -> None:
    """The plane on two threads, in blocks that stay in the cache."""
    parts = [slice(at, at + NUMPY_BLOCK) for at in range(0, PIXELS, NUMPY_BLOCK)]
    a, b = ALPHA[:, None], BETA[:, None]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda p: numpy_block(a[p], b[p], steps, shared), parts))


def workload(shared: bool) -> Workload:
    """Gather all who are there."""
    kind, few = ("shared", SHARED_FEW) if shared else ("independent", FEW)
    own = partial(
        sweep, PROBLEM, ALPHAS, BETAS, steps=STEPS, sigma2=1.0, noise=kind, seed=1
    )  # fmt: skip
    plane, lam = PIXELS * D, PROBLEM.eigenvalues
    found = [Contender("ravine", own, plane * STEPS)]
    found.append(Contender("ravine, float32", partial(own, dtype="float32"), plane * STEPS))
    if shutil.which("gcc") is None:
        installed.MISSING.append("gcc")
    else:
        for chunk in (16, 32):
            name = f"C, written by hand, chunks of {chunk}"
            found.append(Contender(name, c_work(chunk, shared), plane * STEPS))
    if installed.jax is not None:
        generators = [""] if shared else ["threefry2x32", "rbg"]
        for generator in generators:
            chosen = {"generator": generator} if generator else {}
            work = installed.jax.quadratic(
                lam, START, ALPHA, BETA, steps=few, shared=shared, **chosen
            )
            name = f"JAX, jit and scan, two devices{', ' + generator if generator else ''}"
            found.append(Contender(name, work, plane * few))
    if shared and installed.optax is not None:
        work = installed.jax.optax_scan(lam, START, ALPHA, BETA, steps=few)
        found.append(Contender("optax under vmap and scan, two devices", work, plane * few))
    if installed.torch is not None:
        work = installed.torch.quadratic(lam, START, ALPHA, BETA, steps=few // 4, shared=shared)
        found.append(Contender("PyTorch, vectorised over pixels", work, plane * few // 4))
    found.append(
        Contender("NumPy, vectorised, two threads", lambda: numpy_work(few, shared), plane * few)
    )
    if not shared:
        found += loops()
    goals = {"C": 0.85, "JAX": 2.0, "optax": 5.0}
    if not shared:
        goals = {"C": 0.9, "JAX": 10.0, "NumPy": 15.0, "torch.optim": 1000.0}
    title = f"Worst-case quadratic, d = 100, 4096 pixels, {kind} noise"
    return Workload(title, "10^9 coordinate updates a second", 1e9, found, goals)


def loops() -> list[Contender]:
    """Optimizers as they are commonly called, on one pixel."""
    found, alpha, beta = [], float(ALPHAS[30]), float(BETAS[40])
    if installed.torch is not None:
        work = installed.torch.optimizer_loop(PROBLEM.eigenvalues, START, alpha, beta, steps=LOOP)
        found.append(Contender("torch.optim.SGD(nesterov=True) in a loop", work, D * LOOP))
    if installed.optax is not None:
        work = installed.jax.optax_loop(PROBLEM.eigenvalues, START, alpha, beta, steps=LOOP)
        found.append(Contender("optax.sgd(nesterov=True), jitted, in a loop", work, D * LOOP))
    return found
