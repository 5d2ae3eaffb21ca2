"""``ravine.torch.Monitor`` on runs that blow up late and runs that do not.

    OMP_NUM_THREADS=1 python -m benchmarks.torch_monitor [run [WORKERS] | overhead]
    python -m benchmarks.torch_monitor_report [picture]

A run is a task, a batch size, a momentum and a schedule of lr that is constant, grows or jumps,
from a draw of its own; after step 300 lr stays, for 40 steps more to see what becomes of it.

- It blows up where the loss of a batch exceeds ten times the first loss of the run (smoothed over
  three steps) or is not a number; late is after step 60.
- It cannot be foreseen where lr jumped less than five steps before: nothing can be known before.
- It is spoilt where it did not blow up but ends above twice its least smoothed loss.
- It was rising for as many steps as its loss was above 1.3 times its median 20 to 45 steps before
  the blow-up: where these are fewer than five, the loss said nothing in time.

Results go to ``benchmarks/torch_monitor.json`` as
they come; started again it goes on where it stopped.
"""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.results import go_on
from benchmarks.torch_grid import DEVICE, stability_limit
from benchmarks.torch_monitor_tasks import JUDGED, WATCHED
from benchmarks.torch_monitor_unseen import UNJUDGED, UNWATCHED
from benchmarks.torch_tasks import WORKED_EXAMPLE, Task
from ravine.torch import Monitor
from ravine.torch.copies import Batches, batch_loss
from ravine.torch.curvature import measure

RESULTS = Path(__file__).with_name("torch_monitor.json")
STEPS = 300
AFTER = 40
"""Steps with the last lr, to see what becomes of a run that was warned of at the end."""

LATE = 60
"""A blow-up before this step is no late one: nothing could have been learnt before it."""

BLOWN_UP = 10.0
RECENT = 3
"""A run has blown up when its last three losses are so many times its first three."""

PLAN: list[tuple[str, Task, int]] = [
    *(("tuned on", task, 25) for task in WATCHED),
    *(("kept back", task, 110) for task in UNWATCHED),
    ("worked example", WORKED_EXAMPLE, 200),
    *(("tuned on", task, 15) for task in JUDGED),
    *(("kept back", task, 80) for task in UNJUDGED),
]
"""Split, task and number of runs."""

TASKS = {task.name: task for _, task, _ in PLAN}
QUEUE = sorted(
    ((k + 0.5) / count, split, task.name) for split, task, count in PLAN for k in range(count)
)
"""All runs, every task in its proportion at any time."""


@dataclass(frozen=True)
class Setting:
    """What a run is made with."""

    batch: int
    momentum: float
    schedule: str
    lr: float
    growth: float
    jump: int
    seed: int

    def scale(self, step: int) -> float:
        """Of lr at a step, over that of the first."""
        if self.schedule == "grows":
            return self.growth ** (min(step, STEPS) / STEPS)
        if self.schedule == "jumps" and step >= self.jump:
            return self.growth / 4.0
        return 1.0


def drawn_setting(task: Task, top: float, draw: np.random.Generator) -> Setting:
    """Batch size, momentum, schedule and lr; ``top`` is the top of the Hessian at the start."""
    batch = int(draw.choice(task.batches))
    momentum = float(draw.choice([0.0, 0.5, 0.9, 0.95]))
    schedule = str(draw.choice(["constant", "grows", "jumps"]))
    factor = float(2.0 ** draw.uniform(-4.0, 1.5 if schedule == "constant" else 0.0))
    seed = int(draw.integers(1 << 30))
    growth = float(draw.uniform(4.0, 40.0))
    jump = int(draw.integers(LATE, 200))
    lr = factor * stability_limit(top, momentum)
    return Setting(batch, momentum, schedule, lr, growth, jump, seed)


def one_run(
    task: Task, setting: Setting, before_step: Callable[..., None] | None = None
) -> dict[str, Any]:
    """One run with a monitor: its end, its first warning, its readings as (step, danger).

    ``before_step`` is called with the step, the model, the optimizer and the losses so far.
    """
    model = task.model(setting.seed % 5).to(DEVICE)
    rule = torch.optim.SGD(
        task.groups(model, setting.lr), lr=setting.lr, momentum=setting.momentum,
        nesterov=setting.momentum > 0.0,
    )  # fmt: skip
    monitor = Monitor(rule, model=model)
    stream = batches_of(task, setting.batch, setting.seed)
    base = [group["lr"] for group in rule.param_groups]
    losses: list[float] = []
    gradients = 0

    def again(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        nonlocal gradients
        gradients += 1
        return task.loss(model(x), y)

    for step in range(STEPS + AFTER):
        for group, own in zip(rule.param_groups, base, strict=True):
            group["lr"] = own * setting.scale(step)
        if before_step is not None:
            before_step(step, model, rule, losses)
        x, y = next(stream)
        rule.zero_grad()
        loss = task.loss(model(x), y)
        loss.backward()
        monitor.check(lambda x=x, y=y: again(x, y), loss)
        rule.step()
        losses.append(float(loss.detach()))
        if blown_up(losses):
            break
    return {
        "task": task.name, "kind": task.kind, "batch": setting.batch,
        "momentum": setting.momentum, "schedule": setting.schedule,
        "jump": setting.jump if setting.schedule == "jumps" else None,
        **end_of(losses, monitor), "steps": len(losses), "gradients": gradients,
        "readings": [[r.step, round(min(r.danger, 99.0), 2)] for r in monitor.readings],
    }  # fmt: skip


def blown_up(losses: list[float]) -> bool:
    """Whether the last loss, smoothed, is no number or far above the first."""
    return not float(np.mean(losses[-RECENT:])) <= BLOWN_UP * float(np.mean(losses[:RECENT]))


def end_of(losses: list[float], monitor: Monitor) -> dict[str, Any]:
    """How a run ended that was stopped where it blew up, and when it was first warned of."""
    blow_up = len(losses) - 1 if blown_up(losses) else None
    far_up = float(np.mean(losses[-20:])) > 2.0 * min(smoothed(losses)[5:], default=np.inf)
    return {
        "blow_up": blow_up,
        "spoilt": blow_up is None and far_up,
        "rising_for": None if blow_up is None or blow_up < LATE else rising_for(losses),
        "warned": next((r.step for r in monitor.readings if r.level == "warning"), None),
    }


def rising_for(losses: list[float]) -> int:
    """Steps since the loss was last at its height of 20 to 45 steps before."""
    height = 1.3 * float(np.median(losses[-46:-21]))
    calm = [step for step, loss in enumerate(losses) if loss <= height]
    return len(losses) - 1 - calm[-1]


def batches_of(task: Task, batch: int, seed: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Shuffled batches epoch after epoch, cut at once: a DataLoader takes as long as the step."""
    order = torch.Generator().manual_seed(seed)
    x, y = (part.to(DEVICE) for part in task.data())
    while True:
        drawn = torch.randperm(len(x), generator=order)
        for first in range(0, len(x) - batch + 1, batch):
            rows = drawn[first : first + batch]
            yield x[rows], y[rows]


def smoothed(losses: list[float]) -> list[float]:
    """Exponential means of a memory of ten steps, corrected for their start."""
    total = 0.0
    weight = 0.0
    means = []
    for loss in losses:
        total = 0.9 * total + 0.1 * loss
        weight = 0.9 * weight + 0.1
        means.append(total / weight)
    return means


def numbered_run(number: int) -> dict[str, Any]:
    """The run of this number, the same wherever it is made."""
    torch.set_num_threads(1)
    _, split, name = QUEUE[number]
    draw = np.random.default_rng([2026, 3, number])
    task = TASKS[name]
    return {"split": split, **one_run(task, drawn_setting(task, top_of(name), draw))}


@cache
def top_of(name: str) -> float:
    """Largest eigenvalue of the Hessian of a task's fresh model."""
    task = TASKS[name]
    model = task.model(0)
    samples = Batches(task.loader(64, seed=3), torch.device("cpu")).samples(256)
    ones = [1.0] * len(list(model.parameters()))
    return measure(model, batch_loss(task.loss), samples, ones).top


def run(workers: int) -> None:
    """Go on where the results stop, so many runs at a time."""
    chip = torch.cuda.get_device_name() if DEVICE.type == "cuda" else "one core"
    machine = f"{chip}, {platform.machine()}, torch {torch.__version__}"
    go_on(RESULTS, numbered_run, len(QUEUE), workers, machine=machine)


def overhead(rounds: int = 60) -> None:
    """CPU time of 120 steps with and without a monitor, interleaved."""
    torch.set_num_threads(1)
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(128, 64, generator=draw)
    y = torch.randint(0, 10, (128,), generator=draw)

    def loop(watched: bool) -> Callable[[], None]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(
            torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU(),
            torch.nn.Linear(256, 10),
        )  # fmt: skip
        rule = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True)
        monitor = Monitor(rule, model=model)

        def work() -> None:
            for _ in range(120):
                rule.zero_grad()
                loss = torch.nn.functional.cross_entropy(model(x), y)
                loss.backward()
                if watched:
                    monitor.check(lambda: torch.nn.functional.cross_entropy(model(x), y), loss)
                rule.step()

        return work

    loops = {"watched": loop(True), "alone": loop(False)}
    spent: dict[str, list[float]] = {name: [] for name in loops}
    for number in range(rounds + 4):
        # Each goes first in turn: the caches are the other's.
        for name in sorted(loops, reverse=number % 2 == 0):
            began = time.process_time()  # of this process: others may use the core too
            loops[name]()
            spent[name].append(time.process_time() - began)

    watched = np.array(spent["watched"][4:])
    alone = np.array(spent["alone"][4:])
    low, middle, high = 100.0 * (np.quantile(watched / alone, [0.25, 0.5, 0.75]) - 1.0)
    print(f"a step alone: {1e6 * np.median(alone) / 120:.0f} microseconds")
    print(
        f"overhead of the monitor: {100 * (watched.sum() / alone.sum() - 1):.1f} % in all, "
        f"{middle:.1f} % in the median of {rounds} rounds (quartiles {low:.1f} and {high:.1f})"
    )


def main() -> None:
    """Run, or measure the overhead."""
    wish = sys.argv[1] if len(sys.argv) > 1 else "run"
    if wish == "overhead":
        overhead()
    else:
        run(int(sys.argv[2]) if len(sys.argv) > 2 else 1)


if __name__ == "__main__":
    main()
