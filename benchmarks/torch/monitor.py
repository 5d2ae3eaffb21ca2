"""What the monitor's guard saves, beside clipping and skipping outliers, and what it costs.

    python -m benchmarks.torch.monitor [--tasks N] [--limit MINUTES]
    python -m benchmarks.torch.monitor report
    OMP_NUM_THREADS=1 python -m benchmarks.torch.monitor overhead

Twelve tasks that the guard's rule was not chosen on x AdamW and SGD x lrs of 1, 4, 8 and 32 times
the best of a grid, and jumps to 8 and 32 times it at step 200, 600 steps. Four contenders: nothing,
gradients clipped to norm 1, steps skipped whose loss or gradient norm is an outlier (as OLMo does),
and ``Monitor(on_warning="scale")``. Results are appended to ``benchmarks/torch/monitor.jsonl``.
"""

from __future__ import annotations

import argparse
import itertools
import json
import logging
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.torch.grid import DECAY, JUDGED, train_all
from benchmarks.torch.task import Task
from benchmarks.torch.unseen import UNSEEN
from ravine.torch import Monitor

RESULTS = Path(__file__).with_suffix(".jsonl")
STEPS, JUMP_AT = 600, 200
GRID = {
    "AdamW": [1e-3 * 2.0**k for k in range(-4, 8)],
    "SGD": [0.1 * 2.0**k for k in range(-10, 5)],
}
SCENARIOS = [(1, 1), (4, 4), (8, 8), (32, 32), (1, 8), (1, 32)]
"""lr before and after step 200, in units of the grid's best."""

NAMES = (
    "iris, tanh MLP", "wine in logs, GELU MLP", "cancer, LayerNorm MLP", "digits, smoothed labels",
    "digits, half from half", "diabetes, MLP", "correlated columns, linear", "modular addition",
    "swiss roll, Huber", "deep linear", "spirals, tanh MLP", "ratings, factors",
)  # fmt: skip
TASKS = [task for task in UNSEEN if task.name in NAMES]


def optimizer_of(kind: str, model: nn.Module, lr: float) -> torch.optim.Optimizer:
    """What a user would construct."""
    if kind == "AdamW":
        return torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=DECAY)
    return torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)


def guarded(task: Task, kind: str, before: float, after: float) -> tuple[float, int]:
    """The final loss of a run with the guard, and how often it acted."""
    model = task.model(0)
    rule = optimizer_of(kind, model, before)
    monitor = Monitor(rule, model=model, on_warning="scale")
    batches = task.endless(task.batches[0], seed=1000)
    for step in range(STEPS):
        x, y = next(batches)
        if step == JUMP_AT and after != before:
            # Relative to what a guard that writes lr itself has made of it.
            rule.param_groups[0]["lr"] *= after / before
        rule.zero_grad()
        loss = task.loss(model(x), y)
        loss.backward()
        monitor.check(lambda x=x, y=y: task.loss(model(x), y), loss)
        rule.step()
    x, y = (part[:JUDGED] for part in task.data())
    with torch.no_grad():
        end = float(task.loss(model(x), y))
    acted = sum(bool(reading.action) for reading in monitor.readings)
    return (end if math.isfinite(end) else math.inf), acted


def one(task: Task, kind: str, guard_only: bool) -> dict[str, Any]:
    """All scenarios of one task and optimizer."""
    grid = torch.tensor(GRID[kind])
    losses = train_all(task, kind, lambda step: grid, STEPS)
    best = int(np.argmin(losses))
    lr = GRID[kind][best]
    pairs = torch.tensor(SCENARIOS, dtype=torch.float32).repeat(3, 1) * lr
    rule = torch.arange(3).repeat_interleave(len(SCENARIOS))
    stacked = [math.nan] * len(pairs)
    if not guard_only:
        stacked = train_all(
            task, kind, lambda step: pairs[:, int(step >= JUMP_AT)], STEPS,
            clip=rule == 1, skip=rule == 2,
        )  # fmt: skip
    runs = []
    for i, (before, after) in enumerate(SCENARIOS):
        end, acted = guarded(task, kind, before * lr, after * lr)
        plain, clip, skip = stacked[i :: len(SCENARIOS)]
        runs.append({"plain": plain, "clip": clip, "skip": skip, "guard": end, "acted": acted})
    model = task.model(0)
    x, y = (part[:JUDGED] for part in task.data())
    with torch.no_grad():
        start = float(task.loss(model(x), y))
    return {"task": task.name, "kind": task.kind, "optimizer": kind, "lr": lr, "start": start,
            "best": losses[best], "runs": runs}  # fmt: skip


def report(rows: list[dict[str, Any]]) -> None:
    """Print the outcome table: saved runs, and the cost to good ones."""
    print("| optimizer | runs | nothing | clip | skip | guard |\n|---|---|---:|---:|---:|---:|")
    names = ("plain", "clip", "skip", "guard")
    for kind in ("AdamW", "SGD"):
        own = [row for row in rows if row["optimizer"] == kind]
        bad = [
            (row, run) for row in own for run in row["runs"][1:] if not run["plain"] < row["start"]
        ]
        harmed = [
            (row, run) for row in own for run in row["runs"][1:]
            if share(row, run["plain"]) < 0.95
        ]  # fmt: skip
        for label, chosen in (("end above their start", bad), ("lose 5 % or more", harmed)):
            cells = [np.mean([saved(row, run[name]) for row, run in chosen]) for name in names]
            reach = [
                np.mean([share(row, run[name]) >= 0.95 for row, run in chosen]) for name in names
            ]
            print(f"| {kind} | {len(chosen)} {label}: within 1.2 x the best | "
                  + " | ".join(f"{c:.0%}" for c in cells) + " |")  # fmt: skip
            print(f"| {kind} | the same: 95 % of its decrease | "
                  + " | ".join(f"{c:.0%}" for c in reach) + " |")  # fmt: skip
        good = [(row, row["runs"][0]) for row in own]
        cost = [np.mean([share(row, run[name]) for row, run in good]) for name in names]
        worst = [np.min([share(row, run[name]) for row, run in good]) for name in names]
        print(f"| {kind} | {len(good)} at the best lr: mean share of the decrease | "
              + " | ".join(f"{c:.3f}" for c in cost) + " |")  # fmt: skip
        print(f"| {kind} | the same: worst | " + " | ".join(f"{c:.3f}" for c in worst) + " |")
        fired = np.mean([run["acted"] for _, run in good])
        print(f"| {kind} | the guard acted so often in a good run | | | | {fired:.2f} |")


def share(row: dict[str, Any], loss: float) -> float:
    """Decrease of the loss over that of the best lr of the grid."""
    return max((row["start"] - loss) / (row["start"] - row["best"]), -1.0)


def saved(row: dict[str, Any], loss: float) -> bool:
    """Whether a run ends within 1.2 times the final loss of the best lr."""
    return loss <= row["best"] + 0.2 * abs(row["best"])


def small_network() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """A network of 10^5 weights, whose step takes less than a millisecond."""
    model = nn.Sequential(
        nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10)
    )
    return model, torch.randn(64, 256), torch.randint(0, 10, (64,))


def small_transformer() -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    """Two layers of width 192 on 8 sequences of 32, 10^6 weights: some ten milliseconds."""
    layer = nn.TransformerEncoderLayer(192, 4, 768, dropout=0.0, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Flatten(), nn.Linear(32 * 192, 10))
    return model, torch.randn(8, 32, 192), torch.randint(0, 10, (8,))


CONTENDERS = ("nothing", "watched", "clipped by torch", "guarded")
CHUNK = 20
"""Steps that one contender takes before it is the next one's turn."""


def contender(name: str, build: Callable[[], Any], steps: int) -> Iterator[float]:
    """Train, and give the CPU time of every chunk of steps."""
    torch.manual_seed(0)
    model, x, y = build()
    rule = torch.optim.AdamW(model.parameters(), lr=1e-4)
    monitor = None
    if name in ("watched", "guarded"):
        monitor = Monitor(rule, model=model, on_warning="scale" if name == "guarded" else None)
    for _ in range(steps // CHUNK):
        began = time.process_time()
        for _ in range(CHUNK):
            rule.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            if monitor is not None:
                monitor.check(lambda: nn.functional.cross_entropy(model(x), y), loss)
            if name == "clipped by torch":
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            rule.step()
        yield time.process_time() - began


def overhead(rounds: int = 3) -> None:
    """CPU time of whole runs with a monitor over that without, all contenders in turn."""
    for build, steps in ((small_network, 4000), (small_transformer, 2000)):
        totals: dict[str, list[float]] = {name: [] for name in CONTENDERS}
        for _ in range(rounds):
            runs = zip(*(contender(name, build, steps) for name in CONTENDERS), strict=True)
            for name, seconds in zip(CONTENDERS, np.sum(list(runs), axis=0), strict=True):
                totals[name].append(float(seconds))
        plain = np.array(totals["nothing"])
        each = 1e3 * float(np.median(plain)) / steps
        print(f"{build.__name__}, {steps} steps of {each:.2f} ms, {rounds} rounds")
        for name in CONTENDERS[1:]:
            low, middle, high = np.quantile(np.array(totals[name]) / plain, [0.25, 0.5, 0.75]) - 1.0
            print(f"  {name}: {middle:.1%} (quartiles {low:.1%} to {high:.1%})", flush=True)


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", nargs="?", default="run", choices=["run", "report", "overhead"])
    parser.add_argument("--tasks", type=int, default=len(TASKS))
    parser.add_argument("--limit", type=float, default=600.0, help="minutes")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--optimizer", choices=list(GRID))
    parser.add_argument("--guard-only", action="store_true", help="the other contenders are NaN")
    options = parser.parse_args()
    torch.set_num_threads(1)
    logging.getLogger("ravine.torch").setLevel(logging.ERROR)
    if options.command == "overhead":
        overhead()
        return
    rows = []
    if options.out.exists():
        rows = [json.loads(line) for line in options.out.read_text().splitlines()]
    if options.command == "run":
        known = {(row["task"], row["optimizer"]) for row in rows}
        kinds = [options.optimizer] if options.optimizer else list(GRID)
        end = time.monotonic() + 60.0 * options.limit
        for task, kind in itertools.product(TASKS[: options.tasks], kinds):
            if (task.name, kind) not in known and time.monotonic() < end:
                rows.append(one(task, kind, options.guard_only))
                with options.out.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    if not options.guard_only:
        report(rows)


if __name__ == "__main__":
    main()
