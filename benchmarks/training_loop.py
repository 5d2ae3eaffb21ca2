"""A plain training loop on a table, written apart: NumPy and SciPy alone, nothing of ravine's.

Steps are those of PyTorch's SGD with nesterov=True, b = momentum b + g and p = p - lr (g + momentum
b), on batches of a loader that shuffles every epoch and keeps the short last batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize


@dataclass(frozen=True)
class Config:
    """What a training script is told; ``constant`` is the share before a linear decay to zero."""

    lr: float
    momentum: float
    constant: float = 1.0
    averaged: bool = False

    def rate(self, k: int, steps: int) -> float:
        """The learning rate of step k."""
        if self.constant >= 1.0:
            return self.lr
        return self.lr * min(1.0, (1.0 - k / steps) / (1.0 - self.constant))


class Model:
    """Mean loss of linear scores plus l2/2 of the squared weights, at many points at once."""

    def __init__(self, X, y, loss: str, l2: float) -> None:
        self.X = np.asarray(X, dtype=float)
        self.loss, self.l2 = loss, l2
        self.outputs = 1
        if loss == "squared":
            self.y = np.asarray(y, dtype=float)
        else:
            self.labels, codes = np.unique(y, return_inverse=True)
            self.y = codes
            self.outputs = 1 if loss == "logistic" else len(self.labels)
        self.dimension = self.X.shape[1] * self.outputs

    def gradient(self, rows, points):
        """Gradient of the mean over some rows at points (c, d)."""
        B = self.X[rows]
        c = len(points)
        W = points.reshape(c, self.X.shape[1], self.outputs)
        Z = np.einsum("mf,cfk->cmk", B, W, optimize=True)
        if self.loss == "squared":
            S = Z - self.y[rows][None, :, None]
        elif self.loss == "logistic":
            S = 1.0 / (1.0 + np.exp(-np.clip(Z, -500, 500))) - self.y[rows][None, :, None]
        else:
            S = np.exp(Z - Z.max(axis=2, keepdims=True))
            S /= S.sum(axis=2, keepdims=True)
            S[:, np.arange(len(rows)), self.y[rows]] -= 1.0
        G = np.einsum("mf,cmk->cfk", B, S, optimize=True) / len(rows)
        return G.reshape(c, -1) + self.l2 * points

    def value(self, points):
        """The whole objective at points (c, d)."""
        out = np.empty(len(points))
        for i, p in enumerate(points):
            Z = self.X @ p.reshape(self.X.shape[1], self.outputs)
            if self.loss == "squared":
                each = 0.5 * (Z[:, 0] - self.y) ** 2
            elif self.loss == "logistic":
                each = np.logaddexp(0.0, Z[:, 0]) - self.y * Z[:, 0]
            else:
                top = Z.max(axis=1)
                each = np.log(np.exp(Z - top[:, None]).sum(axis=1)) + top
                each = each - Z[np.arange(len(Z)), self.y]
            out[i] = each.mean() + 0.5 * self.l2 * p @ p
        return out

    def best(self):
        """The minimiser (of least norm) by least squares, or by a quasi-Newton search."""
        n, d = self.X.shape
        if self.loss == "squared":
            if self.l2 == 0.0:
                return np.linalg.lstsq(self.X, self.y, rcond=1e-7)[0]
            return np.linalg.solve(
                self.X.T @ self.X / n + self.l2 * np.eye(d), self.X.T @ self.y / n
            )
        every = np.arange(n)

        def both(p):
            return self.value(p[None])[0], self.gradient(every, p[None])[0]

        # Scaled so that columns of any size are searched alike.
        scale = 1.0 / np.repeat(np.maximum(np.sqrt((self.X**2).mean(axis=0)), 1e-12), self.outputs)

        def scaled(q):
            value, slope = both(scale * q)
            return value, scale * slope

        answer = minimize(
            scaled,
            np.zeros(self.dimension),
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": 20000, "maxfun": 40000, "ftol": 1e-16, "gtol": 1e-10},
        )
        return scale * answer.x


def train(model: Model, configs, *, batch_size, epochs, seeds, start=None, best=None, marks=()):
    """Excess losses and squared distances in the end, (seeds, configs), and at the marks (epochs).

    A run whose distance is beyond 1e10 times the start's (or the minimiser's size) is lost: inf.
    """
    n = len(model.X)
    best = model.best() if best is None else best
    least = model.value(best[None])[0]
    first = np.zeros(model.dimension) if start is None else start
    far = max(np.linalg.norm(first - best), np.linalg.norm(best), 1e-100)
    momentum = np.array([c.momentum for c in configs])[:, None]
    per_epoch = -(-n // batch_size)
    steps = epochs * per_epoch
    lr = np.array([[c.rate(k, steps) for c in configs] for k in range(steps)])
    excess = np.empty((seeds, len(configs)))
    square = np.empty((seeds, len(configs)))
    marked = {e: np.empty((seeds, len(configs))) for e in marks}
    late = np.zeros((seeds, len(configs), 2))
    for s in range(seeds):
        rng = np.random.default_rng([99, s])
        p = np.tile(first, (len(configs), 1))
        b = np.zeros_like(p)
        tail = np.zeros_like(p)
        lost = np.zeros(len(configs), dtype=bool)
        k = 0
        taken = 0
        for epoch in range(epochs):
            order = rng.permutation(n)
            for i in range(0, n, batch_size):
                g = model.gradient(order[i : i + batch_size], p)
                b = momentum * b + g
                p = p - lr[k][:, None] * (g + momentum * b)
                k += 1
                if 2 * k >= steps:
                    tail += p
                    taken += 1
                    away = ((p - best) ** 2).sum(axis=1)
                    late[s, :, 0] += np.where(lost, np.inf, away)
            with np.errstate(all="ignore"):
                gone = ~(((p - best) ** 2).sum(axis=1) < (1e10 * far) ** 2)
            lost |= gone
            p[lost] = best
            b[lost] = 0.0
            if epoch + 1 in marked:
                marked[epoch + 1][s] = np.where(lost, np.inf, model.value(p) - least)
        use = np.where(np.array([c.averaged for c in configs])[:, None], tail / max(taken, 1), p)
        excess[s] = np.where(lost, np.inf, model.value(use) - least)
        square[s] = np.where(lost, np.inf, ((use - best) ** 2).sum(axis=1))
        late[s, :, 0] = np.where(lost, np.inf, late[s, :, 0] / max(taken, 1))
    begin = model.value(first[None])[0] - least
    return {
        "excess": excess,
        "square": square,
        "start_excess": begin,
        "start_square": float(((first - best) ** 2).sum()),
        "marked": marked,
        "late_square": late[:, :, 0],
    }
