"""Multinomial logistic regression, 100 x 10, 5 classes, 4096 pixels: ravine and its peers.

Interleaved, all in one run::

    python -m benchmarks.softmax_sweep [rounds]

Reports 10⁶ gradients a second, the best of the rounds, and ratios. The fat variants put all pixels
into one matrix product; JAX also runs vmap over pixels. No noise: the generators are compared
elsewhere.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ravine.engine.softmax_kernel import run_tile
from ravine.problems import multinomial_logistic

SIDE, STEPS, OTHER_STEPS = 64, 500, 40
PIXELS = SIDE * SIDE
PROBLEM = multinomial_logistic(l2=0.05)
ALPHAS = np.repeat(np.linspace(0.05, 1.5, SIDE) / float(PROBLEM.curvature.L), SIDE)
BETAS = np.tile(np.linspace(0.0, 0.95, SIDE), SIDE)
TARGET = np.eye(5)[PROBLEM.loss.codes]


def ravine_run() -> int:
    spec: Any = SimpleNamespace(
        problem=PROBLEM,
        steps=STEPS,
        repeats=1,
        sampling=None,
        sigma2=0.0,
        noise="independent",
        measures=("rate",),
        seed=1,
        start=PROBLEM.start,
        dtype="float64",
        gammas=None,
        options={},
        parameters=lambda p: (ALPHAS[p], BETAS[p], BETAS[p]),
    )
    run_tile(spec, 0, PIXELS)
    return STEPS


def numpy_run() -> int:
    X, l2 = PROBLEM.X, PROBLEM.l2
    alpha, beta = np.repeat(ALPHAS, 5)[None, :], np.repeat(BETAS, 5)[None, :]
    x = np.zeros((10, 5 * PIXELS))
    x_prev = x.copy()
    for _ in range(OTHER_STEPS // 4):
        y = x + beta * (x - x_prev)
        Z = (X @ y).reshape(100, PIXELS, 5)
        Z = np.exp(Z - Z.max(axis=2, keepdims=True))
        Z = Z / Z.sum(axis=2, keepdims=True) - TARGET[:, None, :]
        g = X.T @ Z.reshape(100, -1) / 100 + l2 * y
        x, x_prev = y - alpha * g, x
    return OTHER_STEPS // 4


def jax_runners() -> dict[str, Callable[[], int]]:
    try:
        import jax
    except ImportError:
        return {}
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy
    X, target, l2 = jnp.asarray(PROBLEM.X), jnp.asarray(TARGET), PROBLEM.l2

    def one(alpha: Any, beta: Any) -> Any:
        def move(state: Any, _: None) -> tuple[Any, None]:
            x, x_prev = state
            y = x + beta * (x - x_prev)
            slopes = jax.nn.softmax(X @ y, axis=1) - target
            return (y - alpha * (X.T @ slopes / 100 + l2 * y), x), None

        return jax.lax.scan(move, (jnp.zeros((10, 5)),) * 2, None, OTHER_STEPS)[0][0]

    def fat(alpha: Any, beta: Any) -> Any:
        wide_alpha, wide_beta = jnp.repeat(alpha, 5)[None], jnp.repeat(beta, 5)[None]

        def move(state: Any, _: None) -> tuple[Any, None]:
            x, x_prev = state
            y = x + wide_beta * (x - x_prev)
            Z = (X @ y).reshape(100, PIXELS, 5)
            slopes = (jax.nn.softmax(Z, axis=2) - target[:, None, :]).reshape(100, -1)
            return (y - wide_alpha * (X.T @ slopes / 100 + l2 * y), x), None

        return jax.lax.scan(move, (jnp.zeros((10, 5 * PIXELS)),) * 2, None, OTHER_STEPS)[0][0]

    found: dict[str, Callable[[], int]] = {}
    for name, function in (("JAX vmap", jax.jit(jax.vmap(one))), ("JAX fat", jax.jit(fat))):
        function(ALPHAS, BETAS).block_until_ready()

        def go(function: Any = function) -> int:
            function(ALPHAS, BETAS).block_until_ready()
            return OTHER_STEPS

        found[name] = go
    return found


def main(rounds: int = 3) -> None:
    contenders = {"ravine": ravine_run, "NumPy fat": numpy_run, **jax_runners()}
    best = dict.fromkeys(contenders, 0.0)
    ravine_run()
    for _ in range(rounds):
        for name, go in contenders.items():
            begun = time.perf_counter()
            steps = go()
            best[name] = max(best[name], PIXELS * steps / (time.perf_counter() - begun) / 1e6)
    print("multinomial logistic: 10⁶ gradients a second, and ravine's ratio")
    for name, speed in best.items():
        print(f"  {name:10s} {speed:8.4f}   {best['ravine'] / speed:7.2f} x")


if __name__ == "__main__":
    main(*(int(a) for a in sys.argv[1:2]))
