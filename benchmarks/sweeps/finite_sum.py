"""The paper's 3-d example, 100,000 trajectories x 2000 steps.

Reshuffling draws a new permutation of all trajectories each epoch. Peers take fewer steps, which
changes their time a step by little.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from benchmarks.contest import Contender, Workload
from benchmarks.sweeps import installed
from ravine import nesterov
from ravine.engine.kernels.finite_sum import ensemble
from ravine.problems import counterexample

TRAJECTORIES, STEPS, N = 100_000, 2000, 50
MU, L = 0.05, 100.0
FEW, EPOCHS = 100, 2
PROBLEM = counterexample(MU, L, N)
METHOD = nesterov(PROBLEM.curvature)
EIGENVALUES = np.array([h.diagonal() for h in PROBLEM.batch_hessians()])


def numpy_part(part: int, rule: str) -> None:
    """A part of the trajectories."""
    rng = np.random.Generator(np.random.SFC64(part))
    alpha, beta, count = float(METHOD.alpha), float(METHOD.beta), TRAJECTORIES // 16
    x = np.ones((3, count))
    x_prev = x.copy()
    order = np.tile(np.arange(N, dtype=np.uint16), (count, 1))
    for k in range(FEW):
        if rule == "iid":
            drawn = rng.integers(0, N, count)
        else:
            if k % N == 0:
                order = rng.permuted(order, axis=1)
            drawn = order[:, k % N]
        y = x + beta * (x - x_prev)
        x, x_prev = y - alpha * EIGENVALUES[drawn].T * y, x


def numpy_work(rule: str) -> None:
    """All trajectories on two threads, in parts that stay in the cache."""
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda part: numpy_part(part, rule), range(16)))


def workload(rule: str) -> Workload:
    """Gather all who are there, for "iid" or "reshuffle"."""
    own = partial(
        ensemble, PROBLEM, METHOD, [STEPS], trajectories=TRAJECTORIES, sampling=rule, seed=1
    )
    found = [Contender("ravine", own, TRAJECTORIES * STEPS)]
    options = {"trajectories": TRAJECTORIES, "steps": FEW, "reshuffle": rule != "iid"}
    if installed.jax is not None:
        work = installed.jax.example(MU, L, N, **options)
        found.append(Contender("JAX, jit and scan, two devices", work, TRAJECTORIES * FEW))
    if installed.torch is not None:
        work = installed.torch.example(MU, L, N, **options)
        found.append(Contender("PyTorch, vectorised", work, TRAJECTORIES * FEW))
    found.append(
        Contender("NumPy, vectorised, two threads", lambda: numpy_work(rule), TRAJECTORIES * FEW)
    )
    title = f"3-d example of the paper, n = 50, 100,000 trajectories, {rule}"
    return Workload(title, "10^9 steps a second", 1e9, found, {"JAX": 10.0})
