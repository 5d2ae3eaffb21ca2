"""Who chooses the learning rate: ``ravine.torch.advise``, torch-lr-finder, Lightning, lr = 0.1.

    OMP_NUM_THREADS=1 python -m benchmarks.torch_advice [run [WORKERS] | show]

``run`` goes through every task, batch size and state, and writes what it has into
``benchmarks/torch_advice.json`` as it goes; started again it goes on where it stopped. ``show``
prints the table. A configuration is a task, a batch size, a momentum and a state (fresh, or partly
trained). A choice is judged by 300 steps of ``torch.optim.SGD(nesterov=True)`` from the same
weights, against a grid of lrs in factors of two with the same momentum:

- diverges: the loss exceeds ten times its start, or is not a number;
- fails: it ends at or above its start, or gains less than a tenth of what the grid's best gains;
- within 2x: it ends at no more than twice the loss of the grid's best.
"""

from __future__ import annotations

import contextlib
import copy
import datetime
import io
import json
import logging
import multiprocessing
import platform
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.results import write_rows
from benchmarks.torch_grid import (
    DEVICE,
    EXPONENTS,
    MOMENTA,
    partly_trained,
    stability_limit,
    train_all,
)
from benchmarks.torch_monitor_unseen import UNJUDGED, UNWATCHED
from benchmarks.torch_tasks import KEPT_BACK, TUNED, Task
from ravine.torch import advise
from ravine.torch.copies import Batches, batch_loss
from ravine.torch.curvature import measure

RESULTS = Path(__file__).with_name("torch_advice.json")
SPLITS = {"tuned on": TUNED, "kept back": KEPT_BACK, "seen once": [*UNWATCHED, *UNJUDGED]}
"""Tasks on which the rules were chosen; whose totals were seen while they were; and others, written
for ``benchmarks.torch_monitor``, which were run once when the rules had been settled."""

METHODS = ("race", "quick", "torch-lr-finder", "Lightning", "lr 0.1")


def optimizer_of(task: Task, model: nn.Module, momentum: float, lr: float) -> torch.optim.SGD:
    return torch.optim.SGD(
        task.groups(model, lr), lr=lr, momentum=momentum, nesterov=momentum > 0.0
    )


def finder(task: Task, model: nn.Module, batch: int, momentum: float) -> tuple[float, int]:
    """torch-lr-finder as its README uses it: 100 steps from 1e-7 to 100, the steepest descent."""
    from matplotlib.figure import Figure
    from torch_lr_finder import LRFinder

    twin = copy.deepcopy(model)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        tool = LRFinder(twin, optimizer_of(task, twin, momentum, 1e-7), task.loss, device=DEVICE)
        tool.range_test(task.loader(batch, seed=2), end_lr=100, num_iter=100)
        axes = Figure().subplots()
        # Where it stopped before it had seen enough it suggests nothing: the lr stays what it was.
        try:
            shown = tool.plot(ax=axes, suggest_lr=True)
        except RuntimeError:
            shown = None
    lr = shown[1] if isinstance(shown, tuple) else 1e-7
    return float(lr), len(tool.history["lr"])


def lightning_tuner(task: Task, model: nn.Module, batch: int, momentum: float) -> tuple[float, int]:
    """Lightning's Tuner with its defaults."""
    try:
        import lightning.pytorch as lightning
        from lightning.pytorch.tuner import Tuner
    except ImportError:
        import pytorch_lightning as lightning
        from pytorch_lightning.tuner import Tuner

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = copy.deepcopy(model).cpu()
            self.lr = 1e-3

        def training_step(self, batch: Any, index: int) -> torch.Tensor:
            x, y = batch
            return task.loss(self.net(x), y)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return optimizer_of(task, self.net, momentum, self.lr)

    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stderr(io.StringIO()):
        trainer = lightning.Trainer(
            max_epochs=1000, accelerator="cpu", logger=False, enable_checkpointing=False,
            enable_progress_bar=False, enable_model_summary=False, default_root_dir=folder,
        )  # fmt: skip
        module = Module()
        found = Tuner(trainer).lr_find(module, train_dataloaders=task.loader(batch, seed=2))
    lr = found.suggestion() if found is not None else None
    return (float(lr) if lr else 1e-3), 100


def ravine_advice(
    task: Task, model: nn.Module, batch: int, momentum: float, budget: str, choice: str = "keep"
) -> Any:
    twin = copy.deepcopy(model)
    return advise(
        twin, task.loss, task.loader(batch, seed=2),
        optimizer=optimizer_of(task, twin, momentum, 1.0), budget=budget, momentum=choice,
    )  # fmt: skip


def study(task: Task, batch: int, state: str) -> list[dict[str, Any]]:
    """All momenta of one task, batch size and state."""
    fresh = task.model(0).to(DEVICE)
    samples = Batches(task.loader(128, seed=3), DEVICE).samples(512)
    ones = [1.0] * len(list(fresh.parameters()))
    top = measure(copy.deepcopy(fresh), batch_loss(task.loss), samples, ones).top
    model = fresh if state == "fresh" else partly_trained(task, batch, top)
    if state != "fresh":
        top = measure(copy.deepcopy(model), batch_loss(task.loss), samples, ones).top

    pairs = [(m, stability_limit(top, m) * 2.0**k) for m in MOMENTA for k in EXPONENTS]
    grid = len(pairs)
    chosen: list[dict[str, Any]] = []
    for momentum in MOMENTA:
        for method in METHODS:
            began = time.perf_counter()
            lr, steps, used = 0.1, 0, momentum
            if method in ("race", "quick"):
                advice = ravine_advice(task, model, batch, momentum, method)
                lr, steps = advice.lr, advice.steps
            elif method == "torch-lr-finder":
                lr, steps = finder(task, model, batch, momentum)
            elif method == "Lightning":
                lr, steps = lightning_tuner(task, model, batch, momentum)
            chosen.append(
                {"momentum": momentum, "method": method, "lr": lr, "used": used, "steps": steps,
                 "seconds": time.perf_counter() - began}
            )  # fmt: skip
    advice = ravine_advice(task, model, batch, 0.9, "race", "choose")
    chosen.append(
        {"momentum": 0.9, "method": "race, momentum chosen", "lr": advice.lr,
         "used": advice.momentum, "steps": advice.steps, "seconds": 0.0}
    )  # fmt: skip
    pairs += [(row["used"], row["lr"]) for row in chosen]

    outcomes = train_all(task, model, batch, pairs)
    finals = outcomes.final[:grid].reshape(len(MOMENTA), len(EXPONENTS))
    for i, row in enumerate(chosen):
        m = MOMENTA.index(row["momentum"])
        every = row["method"] == "race, momentum chosen"
        best = float(finals.min() if every else finals[m].min())
        final = float(outcomes.final[grid + i])
        gain = outcomes.start - final
        row |= {
            "task": task.name, "kind": task.kind, "batch": batch, "state": state,
            "start": outcomes.start, "final": final if np.isfinite(final) else None, "best": best,
            "best_lr": float(pairs[m * len(EXPONENTS) + int(finals[m].argmin())][1]),
            "diverges": bool(outcomes.diverged[grid + i]),
            "fails": bool(gain <= max(0.0, 0.1 * (outcomes.start - best))),
            "within": bool(final <= 2.0 * best),
        }  # fmt: skip
    return chosen


def one_study(work: tuple[str, str, int, str]) -> tuple[float, list[dict[str, Any]]]:
    """A study in a process of its own, by the task's name."""
    warnings.simplefilter("ignore")
    for name in ("lightning.pytorch", "pytorch_lightning"):
        for logger in (name, f"{name}.utilities.rank_zero"):
            logging.getLogger(logger).setLevel(logging.ERROR)
    torch.set_num_threads(1)
    split, name, batch, state = work
    task = next(t for t in SPLITS[split] if t.name == name)
    began = time.perf_counter()
    rows = study(task, batch, state)
    return time.perf_counter() - began, [{"split": split, **row} for row in rows]


def run(workers: int) -> None:
    """Go on where the results stop, so many studies at a time."""
    data: dict[str, Any] = {"rows": [], "machines": {}}
    if RESULTS.exists():
        data = json.loads(RESULTS.read_text())
    done = {(r["task"], r["batch"], r["state"]) for r in data["rows"]}
    todo = [
        (split, task.name, batch, state)
        for split, tasks in SPLITS.items()
        for task in tasks
        for batch in task.batches
        for state in ("fresh", "partly trained")
        if (task.name, batch, state) not in done
    ]
    chip = torch.cuda.get_device_name() if DEVICE.type == "cuda" else "one core"
    with multiprocessing.get_context("spawn").Pool(workers, maxtasksperchild=4) as pool:
        for seconds, rows in pool.imap_unordered(one_study, todo):
            data["rows"] += rows
            data["date"] = datetime.date.today().isoformat()
            data["machines"][rows[0]["split"]] = (
                f"{chip}, {platform.machine()}, Python {platform.python_version()}, "
                f"torch {torch.__version__}"
            )
            write_rows(RESULTS, data)
            first = rows[0]
            print(
                f"{first['split']}: {first['task']}, {first['batch']}, {first['state']}: "
                f"{seconds:.0f} s", flush=True,
            )  # fmt: skip


def table(rows: list[dict[str, Any]]) -> str:
    """Shares by method, as Markdown."""
    lines = [
        "| | configurations | diverges | fails | within 2x of the grid's best | real steps |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for method in (*METHODS, "race, momentum chosen"):
        own = [r for r in rows if r["method"] == method]
        if not own:
            continue
        share = {k: 100 * np.mean([r[k] for r in own]) for k in ("diverges", "fails", "within")}
        steps = np.mean([r["steps"] for r in own])
        lines.append(
            f"| {method} | {len(own)} | {share['diverges']:.1f} % | {share['fails']:.1f} % | "
            f"{share['within']:.0f} % | {steps:.0f} |"
        )
    return "\n".join(lines)


def show() -> None:
    """Print the tables: all, and by split."""
    data = json.loads(RESULTS.read_text())
    print(data["date"])
    for split, machine in data["machines"].items():
        rows = [r for r in data["rows"] if r["split"] == split]
        print(f"\n{split} ({machine})\n{table(rows)}")
    print(f"\nall\n{table(data['rows'])}")


def main() -> None:
    """Run, or show what was measured."""
    wish = sys.argv[1] if len(sys.argv) > 1 else "run"
    if wish == "run":
        run(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    show()


if __name__ == "__main__":
    main()
