"""Check what ravine says about batch sizes against plain training loops.

    python -m benchmarks.theory.batch_sizes rescale [epochs]   # new lr after a change, 3 minutes
    python -m benchmarks.theory.batch_sizes useful             # steps on 20 tables, 15 minutes
    python -m benchmarks.theory.batch_sizes quadratics         # steps on quadratics, 10 minutes

The 20 tables are the first ones of ``benchmarks.diagnose.tables`` with numbers to predict, at least
300 rows and 4 columns; 2,048 of their rows at random, standardised, least squares from zero.
"""

from __future__ import annotations

import sys

import numpy as np
from numba import njit

from benchmarks.diagnose.tables import NUMBERS, TABLES
from ravine import Curvature, rescale, useful_batch_size
from ravine.arguments import FloatArray
from ravine.tables import read_table
from ravine.theory.ladder.batch_noise import Batches
from ravine.theory.tuning.batch_gain import fastest_of
from ravine.theory.tuning.table_moments import TableMoments

Data = tuple[str, FloatArray, FloatArray]

SIZES = (4, 16, 64, 256)
MOMENTA = (0.0, 0.5, 0.9, 0.97)


def tables(most: int = 2048) -> list[Data]:
    found: list[Data] = []
    for table in TABLES:
        if table.kind is not NUMBERS or len(found) == 20:
            continue
        read = read_table(table.file(), target=table.target)
        X, y = np.asarray(read.X, dtype=float), np.asarray(read.y, dtype=float)
        if X.shape[0] < 300 or X.shape[1] < 4:
            continue
        rows = np.random.default_rng(0).permutation(len(X))[:most]
        X, y = X[rows], y[rows]
        X = X[:, X.std(axis=0) > 0.0]
        X = np.ascontiguousarray((X - X.mean(axis=0)) / X.std(axis=0))
        found.append((table.name, X, (y - y.mean()) / y.std()))
    return found


def made_up(noise: float) -> list[Data]:
    """Four quadratics: normal rows, condition numbers 3 to 1000, noise in the target."""
    rng = np.random.default_rng(2026)
    found = []
    for Q in (3.0, 30.0, 100.0, 1000.0):
        X = rng.standard_normal((1024, 8)) * np.sqrt(np.geomspace(1.0 / Q, 1.0, 8))
        y = X @ (rng.standard_normal(8) / X.std(axis=0)) / np.sqrt(8.0)
        found.append((f"Q = {Q:g}, noise {noise:g}", X, y + noise * rng.standard_normal(1024)))
    return found


@njit(cache=True, nogil=True)
def final_losses(X, y, b, epochs, lrs, momenta, seeds):
    """Mean loss after training with batches that are reshuffled in every epoch."""
    n, d = X.shape
    out = np.zeros(len(lrs))
    g = np.zeros(d)
    for seed in range(seeds):
        np.random.seed(seed)  # noqa: NPY002
        W = np.zeros((len(lrs), d))
        V = np.zeros((len(lrs), d))
        lost = np.zeros(len(lrs), dtype=np.bool_)
        for _ in range(epochs):
            order = np.random.permutation(n)  # noqa: NPY002
            for k in range(n // b):
                for j in range(len(lrs)):
                    if lost[j]:
                        continue
                    g[:] = 0.0
                    for i in range(k * b, k * b + b):
                        row = order[i]
                        error = -y[row]
                        for c in range(d):
                            error += X[row, c] * W[j, c]
                        for c in range(d):
                            g[c] += error * X[row, c]
                    for c in range(d):
                        V[j, c] = momenta[j] * V[j, c] + g[c] / b
                        W[j, c] -= lrs[j] * V[j, c]
                        lost[j] |= not abs(W[j, c]) < 1e8
        for j in range(len(lrs)):
            out[j] += np.inf if lost[j] else 0.5 * np.mean((X @ W[j] - y) ** 2) / seeds
    return out


def judged(X: FloatArray, y: FloatArray, epochs: int) -> list[tuple[float, FloatArray]]:
    """For every change of the batch size: its ratio, and losses over the best, by rule."""
    L = float(np.linalg.eigvalsh(X.T @ X / len(X))[-1])
    known = {"curvature": Curvature(1e-9 * L, L), "L_max": float((X * X).sum(axis=1).max())}
    lr = np.concatenate([4.0 * (1.0 + m) / L * 2.0 ** (-0.5 * np.arange(26)) for m in MOMENTA])
    momenta = np.repeat(MOMENTA, 26)
    plane = {}
    for b in SIZES:
        plane[b] = final_losses(X, y, b, epochs, lr, momenta, 2)

    results = []
    for m in (0.0, 0.9):
        same = momenta == m
        for old in SIZES:
            now = lr[same][np.argmin(plane[old][same])]
            for new in SIZES:
                if new == old:
                    continue
                steps = epochs * (len(X) // new)
                change = {"momentum": m, "from_batch": old, "to_batch": new, "steps": steps}
                plain = rescale(now, **change)
                pairs = [(now, m), (plain.linear, m), (plain.square_root, m)]
                for more in ({}, known, {"data": (X, y)}):
                    one = rescale(now, **change, **more)
                    pairs.append((one.lr, one.momentum))
                losses = final_losses(X, y, new, epochs, *np.array(pairs).T.copy(), 2)
                best = np.array([[plane[new][same].min()], [plane[new].min()]])
                results.append((new / old, losses / best))
    return results


def rescaled(epochs: int = 20) -> None:
    names = ("no change", "linear", "square root", "rescale", "with curvature", "with the table")
    # Without noise the loss goes to zero, and rules are judged by ratios of very small losses.
    quadratics = [(f"4 quadratics, noise {v:g}", made_up(v)) for v in (0.0, 0.1, 0.3, 1.0)]
    for what, data in (("20 tables", tables()), *quadratics):
        every = [one for _, X, y in data for one in judged(X, y, epochs)]
        print(f"{what}, {epochs} epochs, {len(every)} changes: loss within 5 % of retuned lr")
        for j, name in enumerate(names):
            over = np.array([losses[0, j] for _, losses in every])
            both = np.array([losses[1, j] for _, losses in every])
            up = np.array([ratio > 1.0 for ratio, _ in every])
            good = over < 1.05
            print(
                f"  {name:16} {good.mean():4.0%}; larger batches {good[up].mean():4.0%}, smaller "
                f"{good[~up].mean():4.0%}; 90 % of all below {np.quantile(over, 0.9):.3g}; "
                f"of lr and momentum retuned {(both < 1.05).mean():4.0%}",
                flush=True,
            )


@njit(cache=True, nogil=True)
def steps_until(X, y, minimiser, H, b, lr, seeds, goal, most):
    """Steps of SGD until the mean excess over runs with independent batches is at the goal."""
    n, d = X.shape
    W = np.zeros((seeds, d))
    g = np.zeros(d)
    check = 1
    np.random.seed(1)  # noqa: NPY002
    order = np.empty((seeds, n), dtype=np.int64)
    order[:] = np.arange(n)
    for step in range(1, most + 1):
        for s in range(seeds):
            g[:] = 0.0
            for k in range(b):
                # The k-th row of a batch without repetition.
                j = k + np.random.randint(n - k)  # noqa: NPY002
                i = order[s, j]
                order[s, j] = order[s, k]
                order[s, k] = i
                error = -y[i]
                for c in range(d):
                    error += X[i, c] * W[s, c]
                for c in range(d):
                    g[c] += error * X[i, c]
            for c in range(d):
                W[s, c] -= lr / b * g[c]
        if step >= check:
            # To a hundredth of the number of steps.
            check = step + 1 + step // 100
            excess = 0.0
            for s in range(seeds):
                r = W[s] - minimiser
                excess += 0.5 * np.dot(r, H @ r) / seeds
            if excess <= goal:
                return step
            if not excess < 1e12:
                return most + 1
    return most + 1


def measured_steps(X: FloatArray, y: FloatArray, b: int, goal: float, seeds: int = 24) -> int:
    """Fewest steps to the goal over the lr: factors of two, then √2 around the best."""
    minimiser = np.linalg.lstsq(X, y, rcond=1e-10)[0]
    H = X.T @ X / len(X)
    coarse = 2.0 / np.linalg.eigvalsh(H)[-1] * 2.0 ** -np.arange(14.0)
    best, at = 0, coarse[0]
    most = 16
    while not best and most < 5_000_000:
        for lr in coarse:
            steps = steps_until(X, y, minimiser, H, b, lr, seeds, goal, best - 1 if best else most)
            if steps <= (best - 1 if best else most):
                best, at = steps, lr
        most *= 2
    for lr in (at / np.sqrt(2.0), at * np.sqrt(2.0)):
        best = min(best, steps_until(X, y, minimiser, H, b, lr, seeds, goal, best - 1))
    return int(best)


def useful(most: int = 20) -> None:
    ratios = []
    for name, X, y in tables()[:most]:
        table = TableMoments(X, y)
        goal = 0.01 * table.excess_at_start
        steps = {b: measured_steps(X, y, b, goal) for b in (4, 32, 256)}
        said = {b: table.fewest_steps((0.0,), 0.01, float(b)) for b in steps}
        ratios += [said[b] / steps[b] for b in steps]
        print(f"{name:32} {' '.join(f'{b}: {steps[b]}/{said[b]:.0f}' for b in steps)}", flush=True)
    good = np.abs(np.log(ratios)) < np.log(1.5)
    print(f"steps to 1 % of the excess, {len(good)} cases: {good.mean():.0%} within a factor 1.5")


@njit(cache=True, nogil=True)
def fewest_steps(lam, steepest, b, alphas, betas, goal):
    """Fewest steps, over these parameters, until the sum of E r² is this share of its start.

    Samples are √L_max times a unit vector, drawn so that direction i has the mean curvature λ_i:
    a batch of b has the variance λ_i (L_max - λ_i)/b there. The moments are exact.
    """
    d = len(lam)
    rr, rv, vv = np.empty(d), np.empty(d), np.empty(d)
    best = 10_000_000
    where = -1
    for p in range(len(alphas)):
        alpha, beta = alphas[p], betas[p]
        ahead, square = 1.0 + beta, beta * beta
        rr[:], rv[:], vv[:] = 1.0, 0.0, 0.0
        for step in range(1, best):
            total = 0.0
            for i in range(d):
                kick = alpha * alpha * lam[i] * (steepest - lam[i]) / b * rr[i]
                h = alpha * lam[i]
                a = 1.0 - ahead * h
                new = a * a * rr[i] + 2.0 * a * square * rv[i] + square * square * vv[i]
                cross = -a * h * rr[i] + (a * beta - square * h) * rv[i] + square * beta * vv[i]
                vv[i] = h * h * rr[i] - 2.0 * h * beta * rv[i] + beta * beta * vv[i] + kick
                rr[i], rv[i] = new + ahead * ahead * kick, cross + ahead * kick
                total += rr[i]
            if total <= goal * d:
                best, where = step, p
                break
            if not total < 1e6 * d:
                break
    return best, where


def best_steps(lam: FloatArray, steepest: float, b: float, momentum: bool, goal: float) -> int:
    """The same over the plane of parameters: a grid, then two finer ones around the best point."""
    x, s = np.log(2.0 / (lam[-1] + steepest / b)), 1.0
    wide, high = 2.5, 2.0
    best = 10_000_000
    for _ in range(3):
        steps = np.exp(np.linspace(x - wide, x + wide, 15))
        momenta = np.tanh(np.linspace(s - high, s + high, 15)) if momentum else np.zeros(1)
        alphas, betas = (v.ravel() for v in np.meshgrid(steps, momenta))
        found, where = fewest_steps(lam, steepest, b, alphas, betas, goal)
        if where >= 0 and found <= best:
            best, x, s = found, np.log(alphas[where]), np.arctanh(betas[where])
        wide, high = wide / 5.0, high / 5.0
    return best


def quadratics() -> None:
    """Where larger batches stop paying off, over three decades of the batch size."""
    sizes, steps = [], []
    for Q in (30.0, 100.0, 300.0):
        for share in (3.0, 10.0, 30.0):
            curvature, lam = Curvature(1.0, Q), np.geomspace(1.0, Q, 6)
            for method in ("sgd", "nesterov"):
                said = useful_batch_size(curvature, L_max=share * Q, method=method).size
                for goal in (1e-2, 1e-6):
                    batches = np.append(1.0, said * np.geomspace(10.0**-1.5, 10.0**1.5, 13))
                    batches = np.unique(np.maximum(batches, 1.0))
                    measured = np.array(
                        [best_steps(lam, share * Q, b, method == "nesterov", goal) for b in batches]
                    )
                    for b, count in zip(batches, measured, strict=True):
                        tuned = fastest_of(method, curvature, Batches(share * Q, float(b)))
                        steps.append(-0.5 * np.log10(goal) * tuned.steps_per_digit / count)
                    efficiency = measured[0] / (batches * measured)
                    half = np.interp(np.log(2.0), -np.log(efficiency), np.log(batches))
                    sizes.append(said / np.exp(half))
                    print(
                        f"Q {Q:g}, L_max/L {share:g}, {method}, error {goal:g}: "
                        f"said {said:.4g}, measured {np.exp(half):.4g}",
                        flush=True,
                    )
    for what, ratios in (("useful batch sizes", sizes), ("steps at a batch size", steps)):
        good = np.abs(np.log(ratios)) < np.log(1.5)
        low, middle, high = np.quantile(ratios, [0.05, 0.5, 0.95])
        print(
            f"{what}: {len(good)} cases, {good.mean():.0%} within a factor 1.5; said over measured "
            f"{middle:.3g}, from {low:.3g} to {high:.3g} (90 %)"
        )


if __name__ == "__main__":
    command = {"rescale": rescaled, "useful": useful, "quadratics": quadratics}[sys.argv[1]]
    command(*(int(v) for v in sys.argv[2:3]))
