"""Advice at real sizes on a GPU: GPT-2, ResNet and ViT against a grid and Prodigy.

    pip install --group bench torchvision
    python -m benchmarks.torch.real_sizes [--tasks NAMES] [--limit MINUTES] [--out FILE]

For every task: ``advise`` with its seconds, and its peak memory over that of one training step;
runs at the advised learning rate, at 1/4, 1/2, 2 and 4 times it, and Prodigy with both safeguards,
1,200 steps with warm-up and cosine decay; the mean training loss of the last 100 steps. All advice
comes first, then the runs nearest to it, so that a session that ends early has what matters. Data
are bytes of Python's standard library, and gratings in ten directions and colours with noise and
one label in twenty wrong, drawn on the GPU. Results are appended to
``benchmarks/torch/real_sizes.jsonl`` one run at a time, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import sysconfig
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ravine.torch import advise
from ravine.torch.borrowed import each_tensor
from ravine.torch.schedule import schedule_of

RESULTS = Path(__file__).with_suffix(".jsonl")
STEPS = 1200
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


@cache
def text() -> Tensor:
    """Bytes of the standard library."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    parts = [path.read_bytes() for path in sorted(folder.glob("*.py"))]
    return torch.frombuffer(bytearray(b"".join(parts)), dtype=torch.uint8).long()


def text_batches(batch: int, length: int, seed: int) -> Iterator[dict[str, Tensor]]:
    """Random windows of the text."""
    draw = torch.Generator().manual_seed(seed)
    while True:
        starts = torch.randint(0, len(text()) - length, (batch,), generator=draw)
        ids = torch.stack([text()[start : start + length] for start in starts])
        yield {"input_ids": ids, "labels": ids}


def image_batches(batch: int, size: int, seed: int) -> Iterator[list[Tensor]]:
    """Gratings of ten kinds, of any phase, under noise."""
    draw = torch.Generator(DEVICE).manual_seed(seed)
    across = torch.linspace(0.0, 1.0, size, device=DEVICE)
    while True:
        y = torch.randint(0, 10, (batch,), generator=draw, device=DEVICE)
        angle = (y % 5) * (torch.pi / 5.0)
        frequency = 30.0 + 30.0 * (y // 5)
        along = (
            torch.outer(angle.cos(), across)[:, None, :]
            + torch.outer(angle.sin(), across)[:, :, None]
        )
        phase = 6.28 * torch.rand(batch, 3, generator=draw, device=DEVICE)
        x = torch.sin(frequency[:, None, None, None] * along[:, None] + phase[..., None, None])
        x = 0.3 * x + torch.randn(x.shape, generator=draw, device=DEVICE)
        wrong = torch.rand(batch, generator=draw, device=DEVICE) < 0.05
        other = torch.randint(0, 10, (batch,), generator=draw, device=DEVICE)
        yield [x, torch.where(wrong, other, y)]


def gpt2(**changes: int) -> nn.Module:
    """GPT-2 from transformers' own configuration; bytes are its first 256 tokens."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    return GPT2LMHeadModel(GPT2Config(**changes))


def vision(name: str) -> nn.Module:
    """A model of torchvision with ten classes."""
    import torchvision

    torch.manual_seed(0)
    return torchvision.models.get_model(name, num_classes=10)


@dataclass(frozen=True)
class RealTask:
    """A model, its batches and its optimizer."""

    name: str
    build: Callable[[], nn.Module]
    batches: Callable[[int], Iterator[Any]]
    kind: str

    def optimizer(self, model: nn.Module, lr: float) -> torch.optim.Optimizer:
        """AdamW with weight decay 0.1, or SGD with Nesterov's momentum."""
        if self.kind == "AdamW":
            return torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.1)
        return torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)


TASKS = [
    RealTask("gpt2-11m",
             lambda: gpt2(vocab_size=256, n_positions=512, n_layer=6, n_embd=384, n_head=6),
             lambda s: text_batches(16, 512, s), "AdamW"),
    RealTask("resnet18", lambda: vision("resnet18"), lambda s: image_batches(64, 64, s), "SGD"),
    RealTask("resnet50", lambda: vision("resnet50"), lambda s: image_batches(64, 128, s), "SGD"),
    RealTask("vit", lambda: vision("vit_b_16"), lambda s: image_batches(32, 224, s), "AdamW"),
    RealTask("gpt2-124m", gpt2, lambda s: text_batches(8, 1024, s), "AdamW"),
]  # fmt: skip
FACTORS = (1.0, 2.0, 0.5, 4.0, 0.0, 0.25)
"""Of the advised lr, in the order in which the runs are made; 0 stands for Prodigy."""


def batch_loss(model: nn.Module, batch: Any) -> Tensor:
    """The loss of either kind of batch."""
    if isinstance(batch, dict):
        loss: Tensor = model(**batch).loss
        return loss
    return nn.functional.cross_entropy(model(batch[0]), batch[1])


class Loader:
    """Batches that start again in the same order."""

    def __init__(self, task: RealTask, seed: int) -> None:
        self._start = lambda: task.batches(seed)

    def __iter__(self) -> Iterator[Any]:
        return self._start()


def train(task: RealTask, rule_of: Callable[[nn.Module], Any], lr: float, steps: int) -> float:
    """Mean training loss of the last 100 steps, in bf16."""
    model = task.build().to(DEVICE)
    rule = rule_of(model)
    factor = schedule_of("cosine", STEPS, 50).factor
    losses: list[Tensor] = []
    for step, batch in zip(range(steps), task.batches(1), strict=False):
        for group in rule.param_groups:
            group["lr"] = lr * factor(step)
        on_device = each_tensor(lambda t: t.to(DEVICE, non_blocking=True), batch)
        rule.zero_grad()
        with torch.autocast(DEVICE.type, dtype=torch.bfloat16):
            loss = batch_loss(model, on_device)
        loss.backward()
        rule.step()
        losses.append(loss.detach())
    return float(torch.stack(losses[-100:]).mean())


def peak_of(function: Callable[[], Any]) -> tuple[Any, float, float]:
    """What a function returns, its seconds, and the peak of the GPU's memory in GiB."""
    cuda = DEVICE.type == "cuda"
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    began = time.perf_counter()
    result = function()
    if cuda:
        torch.cuda.synchronize()
    peak = torch.cuda.max_memory_allocated() / 2**30 if cuda else float("nan")
    return result, time.perf_counter() - began, peak


def advised(task: RealTask, budget: str) -> dict[str, Any]:
    """The advice, with seconds and memory."""
    # The first steps find their kernels; they are not timed.
    train(task, lambda m: task.optimizer(m, 1e-4), 1e-4, 3)
    _, seconds_of_50, step_peak = peak_of(
        lambda: train(task, lambda m: task.optimizer(m, 1e-4), 1e-4, 50)
    )
    model = task.build().to(DEVICE)
    rule = task.optimizer(model, 1e-3)
    advice, seconds, peak = peak_of(
        lambda: advise(
            model, None, Loader(task, 2), batch_loss=batch_loss, optimizer=rule, steps=STEPS,
            schedule="cosine", warmup=50, budget=budget, autocast=torch.bfloat16, momentum="keep",
        )
    )  # fmt: skip
    weights = sum(p.numel() for p in model.parameters())
    tried = [[row.lr, row.steps, round(row.loss, 5), row.outcome] for row in advice.rows]
    return {"lr": advice.lr, "limit": advice.limit, "steps": advice.steps, "seconds": seconds,
            "peak": peak, "step_peak": step_peak, "seconds_of_50_steps": seconds_of_50,
            "weights": weights, "rows": tried}  # fmt: skip


def prodigy(model: nn.Module) -> Any:
    """With both of its safeguards, as the benchmark of small tasks has it."""
    import prodigyopt

    return prodigyopt.Prodigy(
        model.parameters(), lr=1.0, weight_decay=0.1, safeguard_warmup=True,
        use_bias_correction=True,
    )  # fmt: skip


def main() -> None:
    """Measure what is missing, one line for each run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", default=",".join(task.name for task in TASKS))
    parser.add_argument("--limit", type=float, default=600.0, help="minutes")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--steps", type=int, default=STEPS, help="of the runs of the grid")
    options = parser.parse_args()
    end = time.monotonic() + 60.0 * options.limit
    rows = [json.loads(line) for line in options.out.open()] if options.out.exists() else []
    known = {(row["task"], row["run"]): row for row in rows}

    def note(task: RealTask, run: str, make: Callable[[], dict[str, Any]], lasts: float) -> None:
        """Make a run unless it is known or would not end in time."""
        if (task.name, run) in known or time.monotonic() + lasts > end:
            return
        began = time.monotonic()
        try:
            row = {"task": task.name, "run": run, **make()}
        except Exception as error:
            # The other tasks go on.
            print(f"{task.name}, {run}: {type(error).__name__}: {error}", flush=True)
            return
        row["wall"] = round(time.monotonic() - began, 1)
        print({k: v for k, v in row.items() if k != "rows"}, flush=True)
        with options.out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        known[task.name, run] = row

    tasks = [task for task in TASKS if task.name in options.tasks.split(",")]
    for task in tasks:
        note(task, "advise", lambda task=task: advised(task, "race"), 30.0)
    for factor in FACTORS:
        if factor == 4.0:
            # What more trials would have said, on the task where they cost least.
            note(tasks[0], "advise, thorough", lambda: advised(tasks[0], "thorough"), 60.0)
        for task in tasks:
            advice = known.get((task.name, "advise"))
            if advice is None or (factor == 0.0 and task.kind != "AdamW"):
                continue
            lasts = options.steps / 50 * advice["seconds_of_50_steps"]
            lr = factor * advice["lr"] if factor else 1.0
            rule = prodigy if factor == 0.0 else partial(task.optimizer, lr=lr)
            run = f"lr {lr:.4g}" if factor else "Prodigy"
            note(task, run, lambda task=task, rule=rule, lr=lr: {
                "lr": lr, "steps": options.steps, "loss": train(task, rule, lr, options.steps)},
                1.2 * lasts if factor else 2.5 * lasts)  # fmt: skip


if __name__ == "__main__":
    main()
