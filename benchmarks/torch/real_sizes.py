"""Advice at real sizes on a GPU: GPT-2, ResNet and ViT against a grid and Prodigy.

    pip install --group bench torchvision && python -m benchmarks.torch.real_sizes [--tasks NAMES]

For every task: ``advise`` with its seconds, and its peak memory over that of one training step; a
grid of learning rates in factors of two, and Prodigy with both safeguards, 1,200 steps with warm-up
and cosine decay; the mean training loss of the last 100 steps. Data are bytes of Python's standard
library, and images drawn at random around ten class means. Results are appended to
``benchmarks/torch/real_sizes.jsonl`` one run at a time, so a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import sysconfig
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ravine.torch import advise
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
    """Noisy images of ten classes."""
    draw = torch.Generator().manual_seed(seed)
    means = torch.randn(10, 3, size, size, generator=torch.Generator().manual_seed(0))
    while True:
        y = torch.randint(0, 10, (batch,), generator=draw)
        yield [0.2 * means[y] + torch.randn(batch, 3, size, size, generator=draw), y]


def gpt2(layers: int, width: int, heads: int, length: int) -> nn.Module:
    """GPT-2 from transformers' own configuration, over bytes."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=256, n_positions=length, n_layer=layers, n_embd=width, n_head=heads
    )
    return GPT2LMHeadModel(config)


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
    grid: tuple[float, ...]

    def optimizer(self, model: nn.Module, lr: float) -> torch.optim.Optimizer:
        """AdamW with weight decay 0.1, or SGD with Nesterov's momentum."""
        if self.kind == "AdamW":
            return torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.1)
        return torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)


ADAM_GRID = tuple(1e-3 * 2.0**k for k in range(-5, 4))
SGD_GRID = tuple(0.1 * 2.0**k for k in range(-6, 3))
TASKS = [
    RealTask("gpt2-11m", lambda: gpt2(6, 384, 6, 512), lambda s: text_batches(16, 512, s), "AdamW",
             ADAM_GRID),
    RealTask("gpt2-124m", lambda: gpt2(12, 768, 12, 1024), lambda s: text_batches(8, 1024, s),
             "AdamW", ADAM_GRID),
    RealTask("resnet18", lambda: vision("resnet18"), lambda s: image_batches(64, 64, s), "SGD",
             SGD_GRID),
    RealTask("resnet50", lambda: vision("resnet50"), lambda s: image_batches(64, 128, s), "SGD",
             SGD_GRID),
    RealTask("vit", lambda: vision("vit_b_16"), lambda s: image_batches(32, 224, s), "AdamW",
             ADAM_GRID),
]  # fmt: skip


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
        moved = (
            {k: v.to(DEVICE) for k, v in batch.items()}
            if isinstance(batch, dict)
            else [part.to(DEVICE) for part in batch]
        )
        rule.zero_grad()
        with torch.autocast(DEVICE.type, dtype=torch.bfloat16):
            loss = batch_loss(model, moved)
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


def advised(task: RealTask) -> dict[str, Any]:
    """The advice, with seconds and memory."""
    _, _, step_peak = peak_of(lambda: train(task, lambda m: task.optimizer(m, 1e-4), 1e-4, 3))
    model = task.build().to(DEVICE)
    rule = task.optimizer(model, 1e-3)
    advice, seconds, peak = peak_of(
        lambda: advise(
            model, None, Loader(task, 2), batch_loss=batch_loss, optimizer=rule, steps=STEPS,
            schedule="cosine", warmup=50, budget="race", autocast=torch.bfloat16, momentum="keep",
        )
    )  # fmt: skip
    return {"lr": advice.lr, "limit": advice.limit, "steps": advice.steps, "seconds": seconds,
            "peak": peak, "step_peak": step_peak}  # fmt: skip


def main() -> None:
    """Measure what is missing, one line for each run."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", default=",".join(task.name for task in TASKS))
    parser.add_argument("--steps", type=int, default=STEPS, help="of the runs of the grid")
    options = parser.parse_args()
    rows = (
        [json.loads(line) for line in RESULTS.read_text().splitlines()] if RESULTS.exists() else []
    )
    known = {(row["task"], row["run"]) for row in rows}

    def note(task: RealTask, run: str, make: Callable[[], dict[str, Any]]) -> None:
        if (task.name, run) not in known:
            row = {"task": task.name, "run": run, **make()}
            print(row, flush=True)
            with RESULTS.open("a") as file:
                file.write(json.dumps(row) + "\n")
            rows.append(row)

    def prodigy(model: nn.Module) -> Any:
        import prodigyopt

        return prodigyopt.Prodigy(
            model.parameters(), lr=1.0, weight_decay=0.1, safeguard_warmup=True,
            use_bias_correction=True,
        )  # fmt: skip

    for task in (task for task in TASKS if task.name in options.tasks.split(",")):
        note(task, "advise", lambda task=task: advised(task))
        lr = next(r["lr"] for r in rows if (r["task"], r["run"]) == (task.name, "advise"))
        for each in (lr, *task.grid):
            rule = lambda m, task=task, each=each: task.optimizer(m, each)  # noqa: E731
            note(task, f"lr {each:.3g}", lambda rule=rule, task=task, each=each: {
                "loss": train(task, rule, each, options.steps)})  # fmt: skip
        if task.kind == "AdamW":
            note(task, "Prodigy", lambda task=task: {
                "loss": train(task, prodigy, 1.0, options.steps)})  # fmt: skip


if __name__ == "__main__":
    main()
