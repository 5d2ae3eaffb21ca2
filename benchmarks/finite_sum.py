"""The paper's 3-d example, 100,000 trajectories x 2000 steps: ravine, JAX and NumPy, interleaved.

    python -m benchmarks.finite_sum [rounds]

Reports 10⁹ trajectory steps a second, the best of the rounds, and ratios. JAX runs a jitted scan
with its own generator; reshuffling draws a new permutation of all trajectories each epoch. JAX and
NumPy run fewer steps, which changes their time a step by little.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ravine import nesterov
from ravine.engine.finite_sum import ensemble
from ravine.problems import counterexample

TRAJECTORIES, STEPS, N = 100_000, 2000, 50
OTHER_STEPS = 200
PROBLEM = counterexample(0.05, 100.0, N)
METHOD = nesterov(PROBLEM.curvature)
EIGENVALUES = np.array([h.diagonal() for h in PROBLEM.batch_hessians()])


def ravine_run(rule: str) -> int:
    ensemble(PROBLEM, METHOD, [STEPS], trajectories=TRAJECTORIES, sampling=rule, seed=1)
    return STEPS


def numpy_run(rule: str) -> int:
    rng = np.random.Generator(np.random.SFC64(1))
    alpha, beta = float(METHOD.alpha), float(METHOD.beta)
    x = np.ones((3, TRAJECTORIES))
    x_prev = x.copy()
    order = np.tile(np.arange(N, dtype=np.uint16), (TRAJECTORIES, 1))
    for k in range(OTHER_STEPS):
        if rule == "iid":
            drawn = rng.integers(0, N, TRAJECTORIES)
        else:
            if k % N == 0:
                order = rng.permuted(order, axis=1)
            drawn = order[:, k % N]
        y = x + beta * (x - x_prev)
        x, x_prev = y - alpha * EIGENVALUES[drawn].T * y, x
    return OTHER_STEPS


def jax_runner(rule: str) -> Callable[[], int] | None:
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    table = jnp.asarray(EIGENVALUES)
    alpha, beta = float(METHOD.alpha), float(METHOD.beta)

    def move(state: Any, drawn: Any) -> tuple[Any, None]:
        x, x_prev = state
        y = x + beta * (x - x_prev)
        return (y - alpha * table[drawn] * y, x), None

    def iid(state: Any, key: Any) -> tuple[Any, None]:
        return move(state, jax.random.randint(key, (TRAJECTORIES,), 0, N))

    def epoch(state: Any, key: Any) -> tuple[Any, None]:
        terms = jnp.broadcast_to(jnp.arange(N), (TRAJECTORIES, N))
        order = jax.random.permutation(key, terms, axis=1, independent=True)
        return jax.lax.scan(move, state, order.T)

    count = OTHER_STEPS if rule == "iid" else OTHER_STEPS // N
    keys = jax.random.split(jax.random.key(1), count)
    start = jnp.ones((TRAJECTORIES, 3))
    scan = jax.jit(lambda s: jax.lax.scan(iid if rule == "iid" else epoch, s, keys)[0])
    scan((start, start))[0].block_until_ready()

    def go() -> int:
        scan((start, start))[0].block_until_ready()
        return OTHER_STEPS

    return go


def main(rounds: int = 3) -> None:
    for rule in ("iid", "reshuffle"):
        contenders: dict[str, Callable[[], int]] = {
            "ravine": lambda rule=rule: ravine_run(rule),
            "NumPy": lambda rule=rule: numpy_run(rule),
        }
        jitted = jax_runner(rule)
        if jitted is not None:
            contenders["JAX scan"] = jitted
        best = dict.fromkeys(contenders, 0.0)
        ravine_run(rule)
        for _ in range(rounds):
            for name, go in contenders.items():
                begun = time.perf_counter()
                steps = go()
                speed = TRAJECTORIES * steps / (time.perf_counter() - begun) / 1e9
                best[name] = max(best[name], speed)
        print(f"3-d example, {rule}: 10⁹ trajectory steps a second, and ravine's ratio")
        for name, speed in best.items():
            print(f"  {name:10s} {speed:8.4f}   {best['ravine'] / speed:7.1f} x")


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:2]))
