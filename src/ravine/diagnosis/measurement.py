"""Runs on the data: many methods and many orders of the batches at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.problems import LinearModel
from ravine.sampling import Sampling
from ravine.theory.finite_sums.rules import Draws

BatchGradient: TypeAlias = Callable[[int, FloatArray], FloatArray]
"""Gradient of batch b at many points: (b, points (k, d)) to (k, d)."""

DIVERGED = 1e12
"""A run has diverged when its distance from x* exceeds the start's by this factor."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Squared distances from x* of runs of several methods over several seeds.

    Attributes
    ----------
    steps
        Steps after which distances were taken, shape (t,).
    squares
        ‖y - x*‖², shape (t, seeds, methods); infinite once a run has diverged.
    diverged_at
        First step at which a run had diverged, shape (seeds, methods); -1 for none.
    average
        Mean of ‖y - x*‖² over the last half of the steps, shape (seeds, methods).
    largest
        Largest ‖y - x*‖² over the last half of the steps, shape (seeds, methods).
    """

    steps: npt.NDArray[np.intp]
    squares: FloatArray
    diverged_at: npt.NDArray[np.intp]
    average: FloatArray
    largest: FloatArray


def follow(
    gradient: BatchGradient,
    methods: Sequence[Method],
    start: FloatArray,
    minimiser: FloatArray,
    *,
    batches: int,
    sampling: Sampling,
    steps: int,
    seeds: int,
    seed: int = 0,
    points: int = 200,
    reference: float | None = None,
) -> Runs:
    """Run every method on every seed; on one seed all methods see the batches in the same order.

    A run has diverged at ``DIVERGED`` times the ``reference`` distance, the start's unless given.
    """
    order = batch_order(batches, sampling, seeds, np.random.default_rng(seed))
    alpha, beta, gamma = (
        np.array([float(getattr(m, name)) for m in methods])[None, :, None]
        for name in ("alpha", "beta", "gamma")
    )
    d = start.size
    x = np.broadcast_to(start - minimiser, (seeds, len(methods), d)).copy()
    before = x.copy()
    far = float(np.linalg.norm(start - minimiser)) if reference is None else reference
    limit = (DIVERGED * max(far, 1e-100)) ** 2
    marks = marked_steps(steps, points)
    squares = np.full((len(marks), seeds, len(methods)), np.inf)
    diverged = np.full((seeds, len(methods)), -1, dtype=np.intp)
    total, largest = np.zeros((seeds, len(methods))), np.zeros((seeds, len(methods)))
    row, half = 0, steps // 2
    pull = np.empty_like(x)
    for k in range(steps + 1):
        y = x + gamma * (x - before)
        error = np.einsum("smd,smd->sm", y, y)
        gone = ~(error < limit)
        if gone.any():
            diverged[gone & (diverged < 0)] = k
            for state in (x, before, y):
                state[gone] = 0.0
            error = np.where(gone, np.inf, error)
        error[diverged >= 0] = np.inf
        if row < len(marks) and k == marks[row]:
            squares[row] = error
            row += 1
        if k >= half:
            total += error
            np.maximum(largest, error, out=largest)
        if k == steps or (diverged >= 0).all():
            break
        drawn = next(order)
        for b in np.unique(drawn):
            who = np.flatnonzero(drawn == b)
            points_at = y[who].reshape(-1, d) + minimiser
            pull[who] = gradient(int(b), points_at).reshape(len(who), -1, d)
        x, before = x + beta * (x - before) - alpha * pull, x
    lost = diverged >= 0
    total[lost], largest[lost] = np.inf, np.inf
    return Runs(marks, squares, diverged, total / (steps + 1 - half), largest)


def batch_order(
    batches: int, sampling: Sampling, seeds: int, rng: np.random.Generator
) -> Iterator[npt.NDArray[np.intp]]:
    """The batch of every seed, step after step."""
    draws = Draws(batches, sampling, seeds, rng)
    while True:
        yield draws.next()


def on_data(problem: LinearModel) -> BatchGradient:
    """Gradients of the batches of a model, at many points in one product."""
    features, outputs = problem.features, problem.loss.outputs

    def gradient(b: int, points: FloatArray) -> FloatArray:
        rows = problem._rows(b)
        block = problem.X[rows]
        m, k = block.shape[0], len(points)
        W = np.moveaxis(points.reshape(k, features, outputs), 0, 1).reshape(features, -1)
        Z = np.asarray(block @ W)
        if outputs == 1:
            slopes = problem.loss.slopes(Z, rows)
        else:
            tall = np.moveaxis(Z.reshape(m, k, outputs), 1, 0).reshape(-1, outputs)
            which = np.tile(np.arange(rows.start, rows.stop), k)
            # The losses index their target, so that an array of rows serves as well as a slice.
            slopes = problem.loss.slopes(tall, which)  # type: ignore[arg-type]
            slopes = np.moveaxis(slopes.reshape(k, m, outputs), 0, 1).reshape(m, -1)
        G = np.asarray(block.T @ slopes) / m
        G = np.moveaxis(G.reshape(features, k, outputs), 1, 0).reshape(k, -1)
        return np.asarray(G + problem.l2 * points)

    return gradient


def hessian_products(problem: LinearModel) -> BatchGradient:
    """Batch Hessians at x* times many vectors: (b, vectors (k, d)) to (k, d)."""
    features, outputs = problem.features, problem.loss.outputs
    w = problem.minimiser.reshape(features, -1)

    def product(b: int, vectors: FloatArray) -> FloatArray:
        block = problem.X[problem._rows(b)]
        m, k = block.shape[0], len(vectors)
        scores = np.asarray(block @ w)
        V = np.moveaxis(vectors.reshape(k, features, outputs), 0, 1).reshape(features, -1)
        along = np.asarray(block @ V)
        if outputs == 1:
            curved = problem.loss.pair(scores, 0, 0)[:, None] * along
        else:
            parts = along.reshape(m, k, outputs)
            curved = np.stack(
                [problem.loss.curve(scores, parts[:, j]) for j in range(k)], axis=1
            ).reshape(m, -1)
        G = np.asarray(block.T @ curved) / m
        G = np.moveaxis(G.reshape(features, k, outputs), 1, 0).reshape(k, -1)
        return np.asarray(G + problem.l2 * vectors)

    return product


def on_quadratics(hessians: FloatArray, gradients: FloatArray) -> BatchGradient:
    """Gradients H_b r + z_b of quadratics with their common minimiser at zero."""

    def gradient(b: int, points: FloatArray) -> FloatArray:
        return np.asarray(points @ hessians[b] + gradients[b])

    return gradient


def marked_steps(steps: int, points: int = 200) -> npt.NDArray[np.intp]:
    """Steps at which distances are taken: evenly, and more of them early."""
    even = np.linspace(0, steps, points // 2)
    early = np.geomspace(1, max(steps, 1), points // 2)
    return np.unique(np.concatenate([even, early]).round().astype(np.intp))
