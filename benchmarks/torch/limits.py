"""The mean-square limit that ``advise`` shows, on quadratics: against the library and against runs.

    OMP_NUM_THREADS=1 python -m benchmarks.torch.limits

For every quadratic task, momentum and batch size four lrs:

- advise: ``LocalCurvature.limit`` of the curvature of 256 samples, as ``advise`` measures it;
- library: where the mean-square growth of ``ravine.growth`` on the Hessians of the same samples
  (batches of one) is 1; by bisection, so for batches of one sample alone;
- measured: where the mean square over real runs grows. It is carried by few of them, so the runs
  are a population: after every step they are drawn anew in proportion to their squares and scaled
  to length 1, and the means of the squares before that are the growth;
- most runs: the least lr, in steps of 3 %, at which half of 64 runs of 300 steps end above ten
  times their start. Where rows differ much in length this is larger: most runs never meet the rare
  row that carries the mean square.

Batches are drawn independently, and the targets have no noise.

    python -m benchmarks.torch.limits adam
    python -m benchmarks.torch.limits networks  # the second half alone

Adam's limit (T10, ``ravine.adam_limit``): on quadratics with the preconditioner held fixed against
the measured mean-square limit, over beta1 and batch sizes; and networks trained by Adam to their
edge, lr times the measured curvature against the formula, across batch sizes, in the figure
``docs/images/adam-edge.svg``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np
import torch

import ravine
from benchmarks.torch.tasks import KEPT_BACK, TUNED, Task
from ravine.torch.borrowed import BatchReplay, batch_loss
from ravine.torch.curvature import SAMPLES, measure
from ravine.torch.direction import coordinates
from ravine.torch.products import flat, hessian_product, top_eigenpairs

RUNS = 64
POPULATION = 8192
"""Runs in mean square with batches of one; fewer with larger batches, which have less to miss."""

STEPS = 300
STRIDE = 1.03
MOMENTA = (0.0, 0.5, 0.9)
SIZES = (1, 8, 32)


def rows_in(samples: list[torch.Tensor]) -> np.ndarray:
    """Rows x, with a 1 for the constant."""
    x = torch.cat([batch[0] for batch in samples]).double().numpy()
    return np.concatenate([x, np.ones((len(x), 1))], axis=1)


def bisected(is_stable: Callable[[float], bool], about: float, halvings: int) -> float:
    """The largest stable lr, between a half and twice what is expected."""
    low = about / 2.0
    high = about * 2.0
    for _ in range(halvings):
        middle = math.sqrt(low * high)
        if is_stable(middle):
            low = middle
        else:
            high = middle
    return low


def library_limit(hessians: np.ndarray, momentum: float, about: float) -> float:
    """Where the library's growth in mean square is 1."""

    def is_stable(lr: float) -> bool:
        method = ravine.Method(lr, momentum)
        return ravine.growth(hessians, method, sampling="iid", sense="mean-square").value < 1.0

    return bisected(is_stable, about, 12)


def population_growth(rows: np.ndarray, momentum: float, size: int, lr: float) -> float:
    """Mean logarithm of the growth of the mean square a step, over the last two thirds of them."""
    draw = np.random.default_rng([11, size, int(100 * momentum)])
    count = max(POPULATION // size, 1024)
    x = draw.standard_normal((count, rows.shape[1]))
    before = x
    growths = []
    for _ in range(STEPS):
        y = x + momentum * (x - before)
        batch = rows[draw.integers(len(rows), size=(count, size))]
        # The Hessian of (w·x + c - y)² is 2 x xᵀ.
        gradient = 2.0 * np.einsum("rbi,rb->ri", batch, np.einsum("rbi,ri->rb", batch, y)) / size
        x, before = y - lr * gradient, x

        squares = (x**2).sum(axis=1) + (before**2).sum(axis=1)
        growths.append(math.log(squares.mean()))
        # One draw for all, at equal distances: the numbers of copies differ least from their means.
        places = (np.arange(count) + draw.random()) / count
        chosen = np.searchsorted(np.cumsum(squares) / squares.sum(), places)
        chosen = np.minimum(chosen, count - 1)
        lengths = np.sqrt(squares[chosen])[:, None]
        x = x[chosen] / lengths
        before = before[chosen] / lengths
    return float(np.mean(growths[STEPS // 3 :]))


def measured_limit(rows: np.ndarray, momentum: float, size: int, about: float) -> float:
    """Where the mean square of a population of runs grows."""
    return bisected(lambda lr: population_growth(rows, momentum, size, lr) < 0.0, about, 7)


def limit_of_most(hessians: np.ndarray, momentum: float, size: int, about: float) -> float:
    """The least lr at which half of the runs blow up; all lrs and runs at once."""
    lrs = about * STRIDE ** np.arange(-24, 25)
    draw = np.random.default_rng([7, size, int(100 * momentum)])
    d = hessians.shape[1]
    mean = hessians.mean(axis=0)
    x = np.repeat(draw.standard_normal((1, RUNS, d)), len(lrs), axis=0)
    before = x
    loss = np.einsum("lri,ij,lrj->lr", x, mean, x)
    start = loss
    lost = np.zeros(loss.shape, dtype=bool)
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            y = x + momentum * (x - before)
            batch = hessians[draw.integers(len(hessians), size=(RUNS, size))].mean(axis=1)
            gradient = np.einsum("rij,lrj->lri", batch, y)
            x, before = y - lrs[:, None, None] * gradient, x
            loss = np.einsum("lri,ij,lrj->lr", x, mean, x)
            lost |= ~(loss <= 10.0 * start)
    half = lost.mean(axis=1) >= 0.5
    return float(lrs[int(np.argmax(half))]) if half.any() else math.inf


def rows_of(task: Task) -> list[tuple[str, float, int, float, float | None, float, float]]:
    """(task, momentum, batch size, advise, library, measured, most runs)."""
    samples = BatchReplay(task.loader(32, seed=2), torch.device("cpu")).samples(SAMPLES)
    model = task.model(0)
    curvature = measure(model, batch_loss(task.loss), samples, [1.0, 1.0])
    data = rows_in(samples)
    hessians = 2.0 * np.einsum("ni,nj->nij", data, data)
    rows = []
    for momentum in MOMENTA:
        for size in SIZES:
            limit = curvature.limit(momentum, batch_size=size)
            library = library_limit(hessians, momentum, limit) if size == 1 else None
            rows.append(
                (task.name, momentum, size, limit, library,
                 measured_limit(data, momentum, size, limit),
                 limit_of_most(hessians, momentum, size, limit))
            )  # fmt: skip
    return rows


BETA1S = (0.0, 0.9, 0.95)
ADAM_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
SHAPE = 0.5
"""Of the law of a sample's curvature: the square of a Gaussian, of mean 1."""


def adam_growth(beta1: float, size: int, lr: float, count: int = 2048, steps: int = 500) -> float:
    """Mean logarithm of the growth of the mean square per step, preconditioner 1, curvature 1."""
    draw = np.random.default_rng([12, size, int(100 * beta1)])
    x = np.ones(count)
    m = np.zeros(count)
    growths = []
    for _ in range(steps):
        curvature = draw.gamma(SHAPE * size, 1.0 / (SHAPE * size), count)
        m = beta1 * m + (1.0 - beta1) * curvature * x
        x = x - lr * m
        squares = x**2 + (lr * m) ** 2
        growths.append(math.log(squares.mean()))
        places = (np.arange(count) + draw.random()) / count
        chosen = np.searchsorted(np.cumsum(squares) / squares.sum(), places)
        chosen = np.minimum(chosen, count - 1)
        lengths = np.sqrt(squares[chosen])
        x, m = x[chosen] / lengths, m[chosen] / lengths
    return float(np.mean(growths[steps // 3 :]))


def adam_quadratics() -> None:
    """Formula over measured limit, a row for each beta1."""
    print("| beta1 | " + " | ".join(f"b = {size}" for size in ADAM_SIZES) + " |")
    print("|---:|" + "---:|" * len(ADAM_SIZES))
    worst = 0.0
    for beta1 in BETA1S:
        cells = []
        for size in ADAM_SIZES:
            ratio = 1.0 / (SHAPE * size)
            limit = float(ravine.adam_limit(1.0, variance_ratio=ratio, beta1=beta1))

            def is_stable(lr: float, beta1: float = beta1, size: int = size) -> bool:
                return adam_growth(beta1, size, lr) < 0.0

            cells.append(limit / bisected(is_stable, limit, 8))
        worst = max(worst, *(abs(cell - 1.0) for cell in cells))
        print(f"| {beta1:g} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |", flush=True)
    print(f"\nfurthest from the measured limit {worst:.1%}")


def adam_at_its_edge(task: Task, size: int, lr: float, steps: int) -> tuple[float, float]:
    """Lr times lambda (1 - beta1)/(2 (1 + beta1)), and lr times v/2, after training by Adam.

    At the weights where training ended: the top eigenvectors of the Hessian of all data between the
    roots of the preconditioner, and the variance of 64 batches along each. The one whose limit is
    lowest counts.
    """
    model = task.model(0)
    rule = torch.optim.Adam(model.parameters(), lr=lr)
    batches = task.endless(size, seed=3)
    for _ in range(steps):
        x, y = next(batches)
        rule.zero_grad()
        task.loss(model(x), y).backward()
        rule.step()

    loss = batch_loss(task.loss)
    roots = flat(coordinates(rule, with_gradient=False).roots)
    full = hessian_product(model, loss, [list(task.data())])
    start = torch.randn(roots.numel(), generator=torch.Generator().manual_seed(4))
    values, vectors = top_eigenpairs(lambda v: roots * full(roots * v), start, 4, steps=40)
    images = []
    for _ in range(64):
        one = hessian_product(model, loss, [list(next(batches))])
        images.append(torch.stack([roots * one(roots * u) for u in vectors.T], dim=1))
    deviations = torch.stack(images) - vectors * values.to(vectors)
    ratios = deviations.square().sum(dim=1).mean(dim=0).double() / values
    kept = int(torch.argmax(values / 38.0 + ratios / 2.0))
    return lr * float(values[kept]) / 38.0, lr * float(ratios[kept]) / 2.0


def adam_networks() -> None:
    """Networks at their edge, in a table and a figure."""
    from matplotlib.figure import Figure

    chosen = [t for t in (*TUNED, *KEPT_BACK) if t.name in ("digits one-hot, MLP", "digits, MLP")]
    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for task, axes in zip(chosen, panels, strict=True):
        rows = [(size, *adam_at_its_edge(task, size, 0.01, 3000)) for size in ADAM_SIZES]
        print(f"\n{task.name}\n| batch | curvature | variance | lr over its limit |")
        print("|---:|---:|---:|---:|")
        for size, curvature, variance in rows:
            print(f"| {size} | {curvature:.3f} | {variance:.3f} | {curvature + variance:.2f} |")
        sizes = [row[0] for row in rows]
        axes.plot(sizes, [row[1] for row in rows], "o--", ms=3, label="curvature: lr λ/38")
        axes.plot(sizes, [row[2] for row in rows], "s--", ms=3, label="batches: lr v/2")
        axes.plot(sizes, [row[1] + row[2] for row in rows], "k-", label="lr over its limit")
        axes.axhline(1.0, color="grey", lw=0.8)
        axes.set(xscale="log", yscale="log", xlabel="batch size", title=task.name)
        axes.legend(fontsize=7)
    figure.savefig("docs/images/adam-edge.svg")


def main() -> None:
    """Print a row a setting, and the largest disagreements."""
    torch.set_num_threads(1)
    if sys.argv[1:] == ["adam"]:
        adam_quadratics()
        adam_networks()
        return
    if sys.argv[1:] == ["networks"]:
        adam_networks()
        return
    print(
        "| task | momentum | batch | advise | over the library's | over the measured | most runs |"
    )
    print("|---|---:|---:|---:|---:|---:|---:|")
    apart: list[float] = []
    off: list[float] = []
    for task in (t for t in (*TUNED, *KEPT_BACK) if t.kind == "quadratic"):
        for name, momentum, size, limit, library, measured, most in rows_of(task):
            shown = ""
            if library is not None:
                apart.append(abs(limit / library - 1.0))
                shown = f"{limit / library:.4f}"
            off.append(abs(limit / measured - 1.0))
            of_most = f"{limit / most:.3f}" if most < math.inf else "below 0.5"
            print(
                f"| {name} | {momentum:g} | {size} | {limit:.4g} | {shown} | "
                f"{limit / measured:.3f} | {of_most} |", flush=True,
            )  # fmt: skip
    print(f"\nfurthest from the library {max(apart):.2%}, goal 5 %")
    near = np.mean(np.array(off) <= 0.2)
    print(f"furthest from the measured {max(off):.0%}; {near:.0%} of the settings within 20 %")


if __name__ == "__main__":
    main()
