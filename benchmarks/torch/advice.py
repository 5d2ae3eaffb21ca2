"""Advice against a grid of learning rates and against rivals, on three sets of tasks.

    pip install --group bench
    python -m benchmarks.torch.advice [--set second] [--jobs N] [--tasks N] [--limit MINUTES]
    python -m benchmarks.torch.advice report [--set second]
    python -m benchmarks.torch.advice --again FILE --out OTHER

24 tasks (second set: 29, third: 21) x AdamW and SGD (Nesterov, momentum 0.9) x constant, linear
and cosine schedules, judged by the loss on all data after 1,000 steps. The grid has factors of two.
All learning rates of one configuration, the advised one among them, are trained at once under
``torch.vmap`` on the same batches; rivals that choose their own step run one by one. Results are
appended to ``benchmarks/torch/advice.jsonl`` (``advice-second.jsonl``, ``advice-third.jsonl``) one
configuration at a time, so a run that was stopped goes on. The rules were chosen on the first two
sets; the third was written before any rule was run on it. ``--again`` judges the present rule on
the configurations of another file, whose grids and rivals do not depend on it.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import redirect_stderr, redirect_stdout
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.torch.grid import DECAY, JUDGED, train_all
from benchmarks.torch.second_set import SECOND_SET
from benchmarks.torch.task import Task
from ravine.torch import Advice, advise
from ravine.torch.schedule import Schedule, schedule_of

RESULTS = {
    "first": Path(__file__).with_suffix(".jsonl"),
    "second": Path(__file__).with_name("advice-second.jsonl"),
    "third": Path(__file__).with_name("advice-third.jsonl"),
    "tuned": Path(__file__).with_name("advice-tuned.jsonl"),
}
STEPS = 1000
GRID = {
    "AdamW": [1e-3 * 2.0**k for k in range(-7, 10)],
    "SGD": [0.1 * 2.0**k for k in range(-12, 8)],
}
FOLKLORE = {"AdamW": [1e-3, 3e-4], "SGD": [0.1]}

Make = Callable[[nn.Module, float], torch.optim.Optimizer]


def optimizer_of(kind: str, model: nn.Module, lr: float) -> torch.optim.Optimizer:
    """What a user would construct."""
    if kind == "AdamW":
        return torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=DECAY)
    return torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)


def final_loss(task: Task, model: nn.Module) -> float:
    """The loss on all data; infinite where it is not a number."""
    x, y = (part[:JUDGED] for part in task.data())
    with torch.no_grad():
        loss = float(task.loss(model(x), y))
    return loss if math.isfinite(loss) else math.inf


def train(task: Task, make: Make, lr: float, factor: Callable[[int], float]) -> float:
    """The final loss of one run with a torch optimizer."""
    model = task.model(0)
    rule = make(model, lr)
    batches = task.endless(task.batches[0], seed=1000)
    switch = getattr(rule, "train", None)
    if switch:
        switch()
    for step in range(STEPS):
        for group in rule.param_groups:
            group["lr"] = lr * factor(step)
        x, y = next(batches)
        rule.zero_grad()
        loss = task.loss(model(x), y)
        if not math.isfinite(float(loss.detach())):
            return math.inf
        loss.backward()
        rule.step()
    if switch:
        rule.eval()  # type: ignore[attr-defined]
    return final_loss(task, model)


def rivals(task: Task, kind: str, schedule: Schedule) -> dict[str, float]:
    """Final losses of the optimizers that choose their own step."""
    import dadaptation
    import prodigyopt

    if kind == "SGD":
        adapted = lambda m, lr: dadaptation.DAdaptSGD(m.parameters(), lr=lr, momentum=0.9)  # noqa: E731
        return {"D-Adaptation": train(task, adapted, 1.0, schedule.factor)}

    def prodigy(model: nn.Module, lr: float) -> torch.optim.Optimizer:
        return prodigyopt.Prodigy(
            model.parameters(), lr=lr, weight_decay=DECAY, safeguard_warmup=True,
            use_bias_correction=True,
        )  # fmt: skip

    def d_adapt(model: nn.Module, lr: float) -> torch.optim.Optimizer:
        return dadaptation.DAdaptAdam(model.parameters(), lr=lr, weight_decay=DECAY, decouple=True)

    return {
        "Prodigy": train(task, prodigy, 1.0, schedule.factor),
        "D-Adaptation": train(task, d_adapt, 1.0, schedule.factor),
        "schedule-free": schedule_free(task),
    }


@cache
def schedule_free(task: Task) -> float:
    """The final loss of schedule-free AdamW, whatever the schedule of the others."""
    import schedulefree

    def make(model: nn.Module, lr: float) -> torch.optim.Optimizer:
        return schedulefree.AdamWScheduleFree(
            model.parameters(), lr=lr, weight_decay=DECAY, warmup_steps=STEPS // 20
        )

    return train(task, make, 2.5e-3, lambda step: 1.0)


@cache
def finder_lr(task: Task, kind: str) -> float | None:
    """The suggestion of torch-lr-finder, the steepest point; None where it has none."""
    from torch_lr_finder import LRFinder

    model = task.model(0)
    low = 1e-6 if kind == "AdamW" else 1e-5
    finder = LRFinder(model, optimizer_of(kind, model, low), task.loss, device="cpu")
    try:
        with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere), redirect_stdout(nowhere):
            finder.range_test(
                task.loader(task.batches[0], seed=7), end_lr=10, num_iter=100, step_mode="exp"
            )
        losses = np.array(finder.history["loss"])
        return float(finder.history["lr"][int(np.gradient(losses).argmin())])
    except (ValueError, IndexError, RuntimeError):
        return None


def advised(task: Task, kind: str, shape: str, budget: str) -> tuple[Advice, float]:
    """The advice for one configuration, and its CPU time."""
    model = task.model(0)
    began = time.process_time()
    advice = advise(
        model, task.loss, task.loader(task.batches[0], seed=5), budget=budget, schedule=shape,
        optimizer=optimizer_of(kind, model, 1e-3), steps=STEPS, momentum="keep", progress=False,
    )  # fmt: skip
    return advice, time.process_time() - began


def again(task: Task, row: dict[str, Any]) -> dict[str, Any]:
    """The same configuration with the present rule; grid and rivals as they were."""
    kind, shape = row["optimizer"], row["schedule"]
    advice, seconds = advised(task, kind, shape, row["budget"])
    make = partial(optimizer_of, kind)
    loss = train(task, make, advice.lr, schedule_of(shape, STEPS, None).factor)
    return row | {
        "lr": advice.lr, "steps": advice.steps, "seconds": seconds, "limit": advice.limit,
        "losses": row["losses"] | {"advise": loss},
    }  # fmt: skip


def one(task: Task, kind: str, shape: str, budget: str) -> dict[str, Any]:
    """Everything about one configuration."""
    schedule = schedule_of(shape, STEPS, None)
    advice, seconds = advised(task, kind, shape, budget)
    found = finder_lr(task, kind)
    single = {"advise": advice.lr, "torch-lr-finder": found}
    single |= {f"lr {lr:g}": lr for lr in FOLKLORE[kind]}
    extra = [lr for lr in single.values() if lr is not None]
    lrs = torch.tensor([*GRID[kind], *extra])
    losses = train_all(task, kind, lambda step: lrs * schedule.factor(step), STEPS)
    grid = losses[: len(GRID[kind])]
    by_lr = dict(zip(extra, losses[len(grid) :], strict=True))
    named = {name: math.inf if lr is None else by_lr[lr] for name, lr in single.items()}
    best = int(np.argmin(grid))
    return {
        "task": task.name, "kind": task.kind, "optimizer": kind, "schedule": shape,
        "budget": budget, "start": final_loss(task, task.model(0)), "best_lr": GRID[kind][best],
        "best": grid[best], "lr": advice.lr, "steps": advice.steps, "seconds": seconds,
        "limit": advice.limit, "finder_lr": found, "losses": named | rivals(task, kind, schedule),
        "grid": [round(value, 6) for value in grid],
    }  # fmt: skip


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return row["task"], row["optimizer"], row["schedule"], row["budget"]


def share(row: dict[str, Any], loss: float) -> float:
    """Decrease of the loss over that of the grid's best."""
    return (row["start"] - loss) / max(row["start"] - row["best"], 1e-12)


def report(rows: list[dict[str, Any]]) -> None:
    """Print the tables of the docs."""
    print(f"{len(rows)} configurations, {len({row['task'] for row in rows})} tasks")
    print("| optimizer | schedule | n | diverges | share >= 95 % | 10th pct | near best | steps |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    keys = [*itertools.product(("AdamW", "SGD"), ("constant", "linear", "cosine")), ("all", "all")]
    for kind, shape in keys:
        own = [
            r for r in rows if kind in (r["optimizer"], "all") and shape in (r["schedule"], "all")
        ]
        if not own:
            continue
        loss = np.array([row["losses"]["advise"] for row in own])
        reached = np.array([share(r, x) for r, x in zip(own, loss, strict=True)])
        near = [
            0.49 < r["lr"] / r["best_lr"] < 2.05 or x <= r["best"] + 0.02 * abs(r["best"])
            for r, x in zip(own, loss, strict=True)
        ]
        diverged = [
            not x <= r["start"] + 9 * abs(r["start"]) for r, x in zip(own, loss, strict=True)
        ]
        print(
            f"| {kind} | {shape} | {len(own)} | {np.mean(diverged):.0%} | "
            f"{np.mean(reached >= 0.95):.0%} | {np.quantile(reached, 0.1):.3f} | "
            f"{np.mean(near):.0%} | {np.mean([r['steps'] for r in own]):.0f} |"
        )
    print("\n| rival | optimizer | n | share >= 95 % | advise lower in | median loss ratio |")
    print("|---|---|---:|---:|---:|---:|")
    for kind in ("AdamW", "SGD"):
        own = [row for row in rows if row["optimizer"] == kind]
        for name in dict.fromkeys(n for row in own for n in row["losses"] if n != "advise"):
            pairs = [(r["losses"]["advise"], r["losses"][name]) for r in own]
            lower = np.mean([a <= b for a, b in pairs])
            # Of what is above the least loss that anything reached, as losses may be negative.
            ratios = [share(r, r["losses"]["advise"]) - share(r, r["losses"][name]) for r in own]
            reached = np.mean([share(r, r["losses"][name]) >= 0.95 for r in own])
            print(
                f"| {name} | {kind} | {len(own)} | {reached:.0%} | {lower:.0%} | "
                f"{np.median(ratios):+.4f} |"
            )


def tasks_of(name: str) -> list[Task]:
    """The tasks of a set; all but the second need scikit-learn."""
    if name == "second":
        return SECOND_SET
    if name == "third":
        from benchmarks.torch.third_set import THIRD_SET

        return THIRD_SET

    from benchmarks.torch.tasks import TUNED
    from benchmarks.torch.unseen import UNSEEN

    return UNSEEN if name == "first" else TUNED


def job(
    chosen: str, index: int, kind: str, shape: str, budget: str, earlier: dict[str, Any] | None,
    end: float,
) -> dict[str, Any] | None:  # fmt: skip
    """One configuration in a process of its own, on one thread; None where the time is over."""
    if time.time() > end:
        return None
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    task = tasks_of(chosen)[index]
    try:
        return again(task, earlier) if earlier else one(task, kind, shape, budget)
    except Exception as error:
        # One configuration must not stop the others.
        print(f"{task.name}, {kind}, {shape}: {type(error).__name__}: {error}", flush=True)
        return None


def main() -> None:
    """Measure what is missing, then report."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", nargs="?", default="run", choices=["run", "report"])
    parser.add_argument("--set", default="first", choices=list(RESULTS), dest="chosen")
    parser.add_argument("--optimizer", nargs="+", default=list(GRID), choices=list(GRID))
    parser.add_argument("--tasks", type=int, default=None, help="the first so many")
    parser.add_argument("--limit", type=float, default=600.0, help="minutes")
    parser.add_argument("--jobs", type=int, default=1, help="processes of one thread each")
    parser.add_argument("--budget", default="race")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--again", type=Path, help="results whose grids and rivals are reused")
    options = parser.parse_args()
    out = options.out or RESULTS[options.chosen]
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    if options.command == "run":
        known = {_key(r) for r in rows}
        earlier: dict[tuple[str, ...], Any] = {}
        if options.again:
            earlier = {_key(r): r for r in map(json.loads, options.again.open())}
        tasks = tasks_of(options.chosen)[: options.tasks]
        shapes = ("constant", "linear", "cosine")
        plan = list(itertools.product(range(len(tasks)), options.optimizer, shapes))
        # A fixed random order: a run that was stopped is a fair sample.
        order = np.random.default_rng(0).permutation(len(plan))
        end = time.time() + 60.0 * options.limit
        calls = []
        for index, kind, shape in (plan[i] for i in order):
            key = (tasks[index].name, kind, shape, options.budget)
            if key not in known and (key in earlier or not options.again):
                calls.append((options.chosen, index, *key[1:], earlier.get(key), end))
        with ProcessPoolExecutor(options.jobs) as pool:
            for done in as_completed([pool.submit(job, *call) for call in calls]):
                row = done.result()
                if row is not None:
                    rows.append(row)
                    with out.open("a") as file:
                        file.write(json.dumps(row) + "\n")
    report(rows)


if __name__ == "__main__":
    main()
