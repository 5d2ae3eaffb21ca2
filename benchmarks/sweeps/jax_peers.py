"""The benchmark's workloads in JAX: jit, scan over steps, vectorised over pixels, two devices.

Two devices because XLA runs an elementwise program on one core; each gets half of the pixels.
Import this module before anything else imports jax.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
UNROLL = 4
BLOCK = 64
"""Pixels whose state stays in the cache. This block, this unrolling, and sums of squares that are
kept for every coordinate until the end were the fastest of those tried: three times as fast as all
pixels at once with a sum over coordinates in every step."""


def quadratic(
    eigenvalues: np.ndarray, start: np.ndarray, alpha: np.ndarray, beta: np.ndarray,
    *, steps: int, shared: bool, generator: str = "threefry2x32",
) -> Callable[[], Any]:  # fmt: skip
    """Nesterov on a quadratic in its eigenbasis with additive noise; mean squared errors."""
    noise = jax.random.normal(jax.random.key(0), (steps, len(start)), jnp.float32)

    def block(given: Any) -> Any:
        alpha, beta, key = given
        c1 = (1 + beta)[:, None] * (1 - alpha[:, None] * eigenvalues)
        c2 = -beta[:, None] * (1 - alpha[:, None] * eigenvalues)
        x = jnp.broadcast_to(start, c1.shape)

        def step(carry: Any, at: Any) -> Any:
            x, previous, squares = carry
            if shared:
                z = noise[at]
            else:
                z = jax.random.normal(jax.random.fold_in(key, at), x.shape, jnp.float32)
            new = c1 * x + (c2 * previous - alpha[:, None] * z)
            y = new + beta[:, None] * (new - x)
            return (new, x, squares + y * y), None

        begin = (x, x, jnp.zeros_like(x))
        (_, _, squares), _ = jax.lax.scan(step, begin, jnp.arange(steps), unroll=UNROLL)
        return squares.sum(axis=1) / steps

    run = jax.pmap(lambda *given: jax.lax.map(block, given))
    a, b = (jnp.asarray(v).reshape(2, -1, BLOCK) for v in (alpha, beta))
    keys = jax.random.split(jax.random.key(1, impl=generator), a.shape[:2])
    return lambda: run(a, b, keys).block_until_ready()


def softmax(
    X: np.ndarray, labels: np.ndarray, classes: int, l2: float, sigma: float,
    alpha: np.ndarray, beta: np.ndarray, *, steps: int, fat: bool,
) -> Callable[[], Any]:  # fmt: skip
    """Nesterov on multinomial logistic regression with additive noise; fat matrices, or vmap."""
    n, d = X.shape
    target = jax.nn.one_hot(jnp.asarray(labels), classes, dtype=jnp.float64)
    data = jnp.asarray(X)

    def gradient(w: Any) -> Any:
        p = jax.nn.softmax(data @ w, axis=-1)
        return data.T @ (p - target) / n + l2 * w

    def fat_gradient(w: Any) -> Any:
        pixels = w.shape[0]
        scores = (data @ w.transpose(1, 0, 2).reshape(d, -1)).reshape(n, pixels, classes)
        p = jax.nn.softmax(scores, axis=-1) - target[:, None, :]
        back = data.T @ p.reshape(n, -1)
        return back.reshape(d, pixels, classes).transpose(1, 0, 2) / n + l2 * w

    grad = fat_gradient if fat else jax.vmap(gradient)

    def half(alpha: Any, beta: Any, key: Any) -> Any:
        a, b = alpha[:, None, None], beta[:, None, None]
        w = jnp.zeros((len(alpha), d, classes))

        def step(carry: Any, at: Any) -> Any:
            w, previous = carry
            y = w + b * (w - previous)
            g = grad(y)
            if sigma > 0.0:
                z = jax.random.normal(jax.random.fold_in(key, at), y.shape, jnp.float32)
                g = g + sigma * z
            return (y - a * g, w), (y * y).sum(axis=(1, 2))

        _, squares = jax.lax.scan(step, (w, w), jnp.arange(steps))
        return squares.mean(axis=0)

    run = jax.pmap(half)
    keys = jax.random.split(jax.random.key(1), 2)
    a, b = (jnp.asarray(v).reshape(2, -1) for v in (alpha, beta))
    return lambda: run(a, b, keys).block_until_ready()


def example(
    mu: float, L: float, n: int, *, trajectories: int, steps: int, reshuffle: bool
) -> Callable[[], Any]:
    """The 3-d finite sum of the paper at usual parameters, many trajectories at once."""
    s = np.sqrt(L / mu)
    alpha, beta = 1 / L, (s - 1) / (s + 1)

    def advance(carry: Any, odd: Any) -> Any:
        x, previous = carry
        third = jnp.where(odd, L, mu)
        curvature = jnp.stack([jnp.full_like(third, L), jnp.full_like(third, mu), third], axis=1)
        y = x + beta * (x - previous)
        return (y - alpha * curvature * y, x), None

    def iid(key: Any) -> Any:
        x = jnp.ones((trajectories // 2, 3))

        def step(carry: Any, at: Any) -> Any:
            drawn = jax.random.randint(jax.random.fold_in(key, at), (trajectories // 2,), 0, n)
            return advance(carry, drawn == n - 1)

        return jax.lax.scan(step, (x, x), jnp.arange(steps), unroll=4)[0][0]

    def shuffled(key: Any) -> Any:
        x = jnp.ones((trajectories // 2, 3))
        order = jax.vmap(lambda k: jax.random.permutation(k, n))

        def epoch(carry: Any, at: Any) -> Any:
            keys = jax.random.split(jax.random.fold_in(key, at), trajectories // 2)
            visits = order(keys).T
            return jax.lax.scan(advance, carry, visits == n - 1)

        return jax.lax.scan(epoch, (x, x), jnp.arange(steps // n))[0][0]

    run = jax.pmap(shuffled if reshuffle else iid)
    keys = jax.random.split(jax.random.key(1), 2)
    return lambda: run(keys).block_until_ready()


def optax_loop(
    eigenvalues: np.ndarray, start: np.ndarray, alpha: float, beta: float, *, steps: int
) -> Callable[[], Any]:
    """One pixel with ``optax.sgd(nesterov=True)``, its update jitted, in a Python loop."""
    import optax

    rule = optax.sgd(alpha, momentum=beta, nesterov=True)

    @jax.jit
    def step(x: Any, state: Any, key: Any) -> Any:
        noise = jax.random.normal(key, x.shape, jnp.float32)
        updates, state = rule.update(eigenvalues * x + noise, state, x)
        return optax.apply_updates(x, updates), state

    def work() -> None:
        x, key = jnp.asarray(start), jax.random.key(0)
        state = rule.init(x)
        for k in range(steps):
            x, state = step(x, state, jax.random.fold_in(key, k))
        x.block_until_ready()

    return work


def optax_scan(
    eigenvalues: np.ndarray, start: np.ndarray, alpha: np.ndarray, beta: np.ndarray, *, steps: int
) -> Callable[[], Any]:
    """All pixels with optax under vmap, scan over steps, shared noise, two devices."""
    import optax

    noise = jax.random.normal(jax.random.key(0), (steps, len(start)), jnp.float32)

    def one(alpha: Any, beta: Any) -> Any:
        rule = optax.sgd(alpha, momentum=beta, nesterov=True)

        def step(carry: Any, z: Any) -> Any:
            x, state, squares = carry
            updates, state = rule.update(eigenvalues * x + z, state, x)
            x = optax.apply_updates(x, updates)
            return (x, state, squares + x * x), None

        x = jnp.asarray(start)
        begin = (x, rule.init(x), jnp.zeros_like(x))
        (_, _, squares), _ = jax.lax.scan(step, begin, noise, unroll=UNROLL)
        return squares.sum() / steps

    run = jax.pmap(lambda a, b: jax.lax.map(lambda given: jax.vmap(one)(*given), (a, b)))
    a, b = (jnp.asarray(v).reshape(2, -1, BLOCK) for v in (alpha, beta))
    return lambda: run(a, b).block_until_ready()
