"""Multinomial logistic regression, 100 x 10, 5 classes, 4096 pixels, 500 steps.

The fat variants put all pixels into one matrix product; JAX also runs vmap over pixels. No noise:
the generators are compared elsewhere. Peers take fewer steps.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.contest import Contender, Workload
from benchmarks.sweeps import installed
from ravine.engine.sweep import sweep
from ravine.problems import multinomial_logistic

SIDE, STEPS, FEW = 64, 500, 20
PIXELS = SIDE * SIDE
PROBLEM = multinomial_logistic(l2=0.05)
ALPHAS = np.linspace(0.05, 1.5, SIDE) / float(PROBLEM.curvature.L)
BETAS = np.linspace(0.0, 0.95, SIDE)
ALPHA, BETA = np.repeat(ALPHAS, SIDE), np.tile(BETAS, SIDE)


def numpy_work() -> None:
    """All pixels in one matrix product, which BLAS spreads over the cores."""
    X, l2, target = PROBLEM.X, PROBLEM.l2, np.eye(5)[PROBLEM.loss.codes]
    alpha, beta = np.repeat(ALPHA, 5)[None, :], np.repeat(BETA, 5)[None, :]
    x = np.zeros((10, 5 * PIXELS))
    x_prev = x.copy()
    for _ in range(FEW // 2):
        y = x + beta * (x - x_prev)
        Z = (X @ y).reshape(100, PIXELS, 5)
        Z -= Z.max(axis=2, keepdims=True)
        np.exp(Z, out=Z)
        Z /= Z.sum(axis=2, keepdims=True)
        Z -= target[:, None, :]
        x, x_prev = y - alpha * (X.T @ Z.reshape(100, -1) / 100 + l2 * y), x


def workload() -> Workload:
    """Gather all who are there."""
    own = partial(sweep, PROBLEM, ALPHAS, BETAS, steps=STEPS)
    found = [Contender("ravine", own, PIXELS * STEPS)]
    given = (PROBLEM.X, PROBLEM.loss.codes, 5, PROBLEM.l2, 0.0, ALPHA, BETA)
    if installed.jax is not None:
        for fat in (True, False):
            work = installed.jax.softmax(*given, steps=FEW, fat=fat)
            name = f"JAX, {'fat products' if fat else 'vmap'}, scan, two devices"
            found.append(Contender(name, work, PIXELS * FEW))
    if installed.torch is not None:
        work = installed.torch.softmax(*given, steps=FEW // 2)
        found.append(Contender("PyTorch, fat products", work, PIXELS * FEW // 2))
    found.append(Contender("NumPy, fat products", numpy_work, PIXELS * FEW // 2))
    title = "Multinomial logistic regression, 100 x 10, 5 classes, 4096 pixels"
    return Workload(title, "10^6 gradients a second", 1e6, found, {"JAX": 1.5})
