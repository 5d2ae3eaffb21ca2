"""My PyTorch run diverges: what now? Digits, offline, in under a minute.

    python examples/torch_digits.py

Twice, with SGD and with AdamW:

1. A large learning rate spoils the run, and ``Monitor`` says so.
2. The same run, guarded: it goes back to the last good weights with half the learning rate.
3. ``advise`` recommends a learning rate for the planned run and its schedule.
4. The advised learning rate trains.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from ravine.torch import Advice, Monitor, advise

STEPS = 400
TOO_LARGE = {"SGD": 0.5, "AdamW": 0.5}


def data(seed: int = 0) -> DataLoader[tuple[torch.Tensor, ...]]:
    """Digits as regression on one-hot targets, every pixel of mean 0 and variance 1."""
    images, labels = load_digits(return_X_y=True)
    x = torch.tensor(images, dtype=torch.float32)
    x = (x - x.mean(dim=0)) / x.std(dim=0).clamp(min=0.1)
    y = nn.functional.one_hot(torch.tensor(labels), 10).float()
    order = torch.Generator().manual_seed(seed)
    return DataLoader(
        TensorDataset(x, y), batch_size=32, shuffle=True, generator=order, drop_last=True
    )


def squared_error(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Summed over the ten outputs, averaged over the batch."""
    return (output - target).square().sum(dim=1).mean()


def network(seed: int = 0) -> nn.Module:
    """A small network, the same at every call."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))


def optimizer(kind: str, model: nn.Module, lr: float) -> torch.optim.Optimizer:
    """SGD with Nesterov's momentum 0.9, or AdamW as it comes."""
    if kind == "SGD":
        return torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)

    return torch.optim.AdamW(model.parameters(), lr=lr)


def train(
    kind: str,
    lr: float,
    *,
    factor: Callable[[int], float] = lambda step: 1.0,
    on_warning: str | None = None,
    seed: int = 0,
) -> tuple[list[float], Monitor]:
    """Train with a monitor; the losses, and the monitor."""
    model = network(seed)
    rule = optimizer(kind, model, lr)
    scheduler = torch.optim.lr_scheduler.LambdaLR(rule, factor)
    monitor = Monitor(rule, model=model, on_warning=on_warning)
    loader = data(seed)
    stream = (batch for _ in range(100) for batch in loader)
    losses: list[float] = []
    for _ in range(STEPS):
        x, y = next(stream)
        rule.zero_grad()
        loss = squared_error(model(x), y)
        loss.backward()
        monitor.check(lambda x=x, y=y: squared_error(model(x), y), loss)
        rule.step()
        scheduler.step()
        losses.append(float(loss.detach()))
        if not losses[-1] < 1e6 * losses[0]:
            break
    return losses, monitor


def advice_for(kind: str) -> Advice:
    """What to train with."""
    model = network()
    rule = optimizer(kind, model, 1e-3)
    return advise(model, squared_error, data(), optimizer=rule, steps=STEPS, budget="race")


def outcome(losses: list[float]) -> str:
    """How a run ended."""
    if len(losses) < STEPS:
        return f"blew up at step {len(losses)}"

    return f"loss {losses[0]:.3g} -> {sum(losses[-20:]) / 20:.3g}"


def show(monitor: Any) -> None:
    """The first warning, where there is one."""
    warnings = [reading for reading in monitor.readings if reading.level == "warning"]
    for reading in warnings[:1]:
        print(f"    {reading}")
    if len(warnings) > 1:
        print(f"    and {len(warnings) - 1} more warnings")


def main() -> None:
    """Diverge, be saved, be advised, train."""
    logging.getLogger("ravine.torch").setLevel(logging.ERROR)
    for kind, lr in TOO_LARGE.items():
        print(f"{kind} with lr {lr:g}, {STEPS} steps:")
        for title, on_warning in (("watched", None), ("guarded", "scale")):
            losses, monitor = train(kind, lr, on_warning=on_warning)
            print(f"  {title}: {outcome(losses)}")
            show(monitor)

        advice = advice_for(kind)
        print("  Advice:\n    " + str(advice).replace("\n", "\n    "))
        losses, monitor = train(kind, advice.lr, factor=advice.schedule.factor)
        print(f"  Trained as advised: {outcome(losses)}\n")


if __name__ == "__main__":
    main()
