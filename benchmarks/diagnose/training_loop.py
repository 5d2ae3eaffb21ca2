"""A plain training loop on a table, written apart: NumPy and SciPy alone, nothing of ravine's.

Steps are those of PyTorch's SGD with nesterov=True, b = momentum b + g and p = p - lr (g + momentum
b), on batches of a loader that shuffles every epoch and keeps the short last batch. Many seeds and
many configurations run side by side: points have the shape (seeds, features, configs * outputs).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

LOST = 1e10
"""A run whose distance is beyond so many times the start's is lost."""
CHUNK = 2**22
"""Scores that are held at once when the whole loss is taken: 32 MiB."""
FLAT = 1e-13**0.5
"""Singular values below this part of the largest are zero: so docs/diagnosis.md defines x*."""


@dataclass(frozen=True)
class Config:
    """What a training script is told; ``constant`` is the share before a linear decay to zero."""

    lr: float
    momentum: float
    constant: float = 1.0
    averaged: bool = False

    def rates(self, steps: int):
        """The learning rate of every step."""
        if self.constant >= 1.0:
            return np.full(steps, self.lr)

        left = 1.0 - np.arange(steps) / steps
        return self.lr * np.minimum(1.0, left / (1.0 - self.constant))


class Model:
    """Mean loss of linear scores plus l2/2 of the squared weights."""

    def __init__(self, X, y, loss: str, l2: float) -> None:
        self.X = np.ascontiguousarray(X, dtype=float)
        self.loss = loss
        self.l2 = l2
        self.outputs = 1
        if loss == "squared":
            self.y = np.asarray(y, dtype=float)
        else:
            self.labels, self.y = np.unique(y, return_inverse=True)
            self.outputs = 1 if loss == "logistic" else len(self.labels)

        self.features = self.X.shape[1]
        self.dimension = self.features * self.outputs

    def spread(self, point, seeds: int, configs: int):
        """One point (d,) for every configuration of every seed."""
        W = point.reshape(self.features, 1, self.outputs)
        wide = np.repeat(W, configs, axis=1).reshape(1, self.features, -1)
        return np.repeat(wide, seeds, axis=0)

    def gradient(self, rows, points):
        """Gradient of the mean over the rows (seeds, m) of each seed, at its points."""
        B = self.X[rows]
        Z = B @ points
        y = self.y[rows][:, :, None]
        if self.loss == "squared":
            S = Z - y
        elif self.loss == "logistic":
            S = 1.0 / (1.0 + np.exp(-np.clip(Z, -500.0, 500.0))) - y
        else:
            split = Z.reshape(*Z.shape[:2], -1, self.outputs)
            S = np.exp(split - split.max(axis=3, keepdims=True))
            S /= S.sum(axis=3, keepdims=True)
            S -= (y == np.arange(self.outputs))[:, :, None, :]
            S = S.reshape(Z.shape)

        return np.swapaxes(B, 1, 2) @ S / rows.shape[1] + self.l2 * points

    def value(self, points):
        """The whole objective at every point: (seeds, configs)."""
        seeds, f, width = points.shape
        configs = width // self.outputs
        flat = np.moveaxis(points, 1, 0).reshape(f, -1)
        total = np.zeros(seeds * configs)
        at_once = max(1, CHUNK // flat.shape[1])
        for first in range(0, len(self.X), at_once):
            Z = self.X[first : first + at_once] @ flat
            total += self._losses(Z, self.y[first : first + at_once])

        split = points.reshape(seeds, f, configs, self.outputs)
        squares = np.einsum("sfck,sfck->sc", split, split)
        return total.reshape(seeds, configs) / len(self.X) + 0.5 * self.l2 * squares

    def _losses(self, Z, y):
        """Sums over some rows, one for each point."""
        if self.loss == "squared":
            return (0.5 * (Z - y[:, None]) ** 2).sum(axis=0)
        if self.loss == "logistic":
            return (np.logaddexp(0.0, Z) - y[:, None] * Z).sum(axis=0)

        split = Z.reshape(len(Z), -1, self.outputs)
        top = split.max(axis=2)
        each = np.log(np.exp(split - top[:, :, None]).sum(axis=2)) + top
        return (each - split[np.arange(len(Z)), :, y]).sum(axis=0)

    def best(self):
        """The minimiser (of least norm) by least squares, or by a quasi-Newton search."""
        n = len(self.X)
        if self.loss == "squared":
            if self.l2 == 0.0:
                return np.linalg.lstsq(self.X, self.y, rcond=FLAT)[0]
            H = self.X.T @ self.X / n + self.l2 * np.eye(self.features)
            return np.linalg.solve(H, self.X.T @ self.y / n)

        every = np.arange(n)[None]
        # Scaled so that columns of any size are searched alike.
        size = np.maximum(np.sqrt((self.X**2).mean(axis=0)), 1e-12)
        scale = 1.0 / np.repeat(size, self.outputs)

        def both(q):
            W = self.spread(scale * q, 1, 1)
            return self.value(W)[0, 0], scale * self.gradient(every, W).ravel()

        answer = minimize(
            both,
            np.zeros(self.dimension),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-16, "gtol": 1e-10},
        )
        return scale * answer.x


def squares(points, outputs: int):
    """Squared length of every point: (seeds, configs)."""
    seeds, f, width = points.shape
    split = points.reshape(seeds, f, width // outputs, outputs)
    return np.einsum("sfck,sfck->sc", split, split)


def train(
    model: Model, configs, *, batch_size, epochs, seeds, start=None, best=None, marks=(), seed=0
):
    """Excess losses and squared distances in the end, (seeds, configs), and at the marks (epochs).

    ``late_square`` is the mean of the squared distance over the last half of the steps. A lost run
    has infinities.
    """
    n = len(model.X)
    K = model.outputs
    best = model.best() if best is None else best
    least = model.value(model.spread(best, 1, 1))[0, 0]
    first = np.zeros(model.dimension) if start is None else start
    reach = max(np.linalg.norm(first - best), np.linalg.norm(best), 1e-100)
    per_epoch = -(-n // batch_size)
    steps = epochs * per_epoch
    momentum = np.repeat([c.momentum for c in configs], K)
    lr = np.repeat(np.stack([c.rates(steps) for c in configs], axis=1), K, axis=1)

    rng = np.random.default_rng([99, seed])
    every = np.tile(np.arange(n), (seeds, 1))
    goal = model.spread(best, 1, len(configs))
    p = model.spread(first, seeds, len(configs))
    b = np.zeros_like(p)
    tail = np.zeros_like(p)
    late = np.zeros((seeds, len(configs)))
    lost = np.zeros((seeds, len(configs)), dtype=bool)
    marked = {}
    k = 0
    taken = 0
    for epoch in range(epochs):
        order = rng.permuted(every, axis=1)
        for i in range(0, n, batch_size):
            g = model.gradient(order[:, i : i + batch_size], p)
            b = momentum * b + g
            p = p - lr[k] * (g + momentum * b)
            k += 1
            if 2 * k >= steps:
                tail += p
                late += squares(p - goal, K)
                taken += 1

        lost |= ~(squares(p - goal, K) < (LOST * reach) ** 2)
        wide = np.repeat(lost, K, axis=1)[:, None, :]
        p = np.where(wide, goal, p)
        b = np.where(wide, 0.0, b)
        if epoch + 1 in marks:
            marked[epoch + 1] = np.where(lost, np.inf, model.value(p) - least)

    averaged = np.repeat([c.averaged for c in configs], K)
    use = np.where(averaged, tail / max(taken, 1), p)
    use = np.where(np.repeat(lost, K, axis=1)[:, None, :], goal, use)
    start_excess = model.value(model.spread(first, 1, 1))[0, 0] - least
    return {
        "excess": np.where(lost, np.inf, model.value(use) - least),
        "square": np.where(lost, np.inf, squares(use - goal, K)),
        "start_excess": float(start_excess),
        "start_square": float(((first - best) ** 2).sum()),
        "marked": marked,
        "late_square": np.where(lost, np.inf, late / max(taken, 1)),
    }


def mean_square_rate(model: Model, config: Config, *, batch_size, epochs, particles, groups=4):
    """Growth per step of √E‖(p, lr b/(1 - momentum))‖² without gradient noise, and its error.

    Mean and standard error over independent groups of particles. The growth of k epochs is fitted
    by ρᵏ kᶜ: usual parameters make a double eigenvalue, whose growth is not yet ρ for a long time.
    A batch of all rows leaves nothing to chance: the step is one matrix.
    """
    if batch_size >= len(model.X):
        return _whole_batch_rate(model, config), 0.0

    slopes = []
    for group in range(groups):
        growth = _population_growth(model, config, batch_size, epochs, particles, group)
        total = np.cumsum(np.log(growth))[epochs // 3 :]
        k = np.arange(epochs // 3, epochs) + 1.0
        terms = np.stack([np.ones_like(k), k, np.log(k)], axis=1)
        if not np.isfinite(total).all():
            return math.nan, math.nan
        slopes.append(np.linalg.lstsq(terms, total, rcond=None)[0][1])

    per_step = np.array(slopes) / (2.0 * -(-len(model.X) // batch_size))
    return float(per_step.mean()), float(per_step.std(ddof=1) / math.sqrt(groups))


def _whole_batch_rate(model: Model, config: Config):
    """Logarithm of the spectral radius of the step, from what it does to unit vectors."""
    n = len(model.X)
    still = Model(model.X, np.zeros(n), "squared", model.l2)
    curved = _curved(model)
    k = len(curved)
    p = np.concatenate([curved.T, np.zeros((model.features, k))], axis=1)[None]
    b = np.concatenate([np.zeros((model.features, k)), curved.T], axis=1)[None]
    g = still.gradient(np.arange(n)[None], p)
    b = config.momentum * b + g
    p = p - config.lr * (g + config.momentum * b)
    moved = np.concatenate([curved @ p[0], curved @ b[0]])
    return float(np.log(np.abs(np.linalg.eigvals(moved)).max()))


def _curved(model: Model):
    """An orthonormal basis, in rows, of the directions that the data reach."""
    _, sizes, turned = np.linalg.svd(model.X, full_matrices=False)
    return turned[sizes > FLAT * sizes[0]]


def _population_growth(model: Model, config: Config, batch_size, epochs, particles, seed):
    """Growth of E‖(p, lr b/(1 - momentum))‖² in each epoch.

    Particles run one epoch, are weighed by how much they grew, and are drawn anew in proportion:
    the mean growth of such a population is that of the mean square, bursts and all, where a plain
    mean over as many runs would miss the rare ones that make it.
    """
    n = len(model.X)
    still = Model(model.X, np.zeros(n), "squared", model.l2)
    rng = np.random.default_rng([98, seed])
    every = np.tile(np.arange(n), (particles, 1))
    # In the range of the data, all directions alike: in the others nothing ever moves.
    curved = _curved(model)
    p = curved.T @ rng.standard_normal((particles, len(curved), 1))
    p /= np.sqrt(squares(p, 1))[:, :, None]
    b = np.zeros_like(p)
    growth = np.empty(epochs)
    # How far the buffer alone will carry p: both are then of one size, and their sum hardly
    # swings while p passes through zero.
    reach = config.lr / (1.0 - config.momentum) if config.momentum < 1.0 else config.lr
    for epoch in range(epochs):
        before = squares(p, 1)[:, 0] + reach**2 * squares(b, 1)[:, 0]
        order = rng.permuted(every, axis=1)
        for i in range(0, n, batch_size):
            g = still.gradient(order[:, i : i + batch_size], p)
            b = config.momentum * b + g
            p = p - config.lr * (g + config.momentum * b)

        weight = squares(p, 1)[:, 0] + reach**2 * squares(b, 1)[:, 0]
        weight = weight / before
        growth[epoch] = weight.mean()
        if not (np.isfinite(weight).all() and growth[epoch] > 0.0):
            return np.full(epochs, np.nan)

        # One uniform number for all: each particle comes as often as its weight says, plus or
        # minus one.
        places = (rng.random() + np.arange(particles)) / particles
        chosen = np.searchsorted(np.cumsum(weight) / weight.sum(), places)
        chosen = np.minimum(chosen, particles - 1)
        size = np.sqrt(squares(p[chosen], 1) + reach**2 * squares(b[chosen], 1))[:, :, None]
        p = p[chosen] / size
        b = b[chosen] / size
        p = curved.T @ (curved @ p)  # what rounding moves elsewhere would stay for ever

    return growth
