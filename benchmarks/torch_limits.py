"""The mean-square limit that ``advise`` shows, on quadratics: against the library and against runs.

    OMP_NUM_THREADS=1 python -m benchmarks.torch_limits

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
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch

import ravine
from benchmarks.torch_tasks import KEPT_BACK, TUNED, Task
from ravine.torch.batches import BatchReplay, batch_loss
from ravine.torch.curvature import SAMPLES, measure

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


def main() -> None:
    """Print a row a setting, and the largest disagreements."""
    torch.set_num_threads(1)
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
