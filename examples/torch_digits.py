"""My PyTorch run diverges: what now? Digits, offline, in under a minute.

    python examples/torch_digits.py

1. Common settings blow up.
2. ``Monitor`` warns before it happens, and says what to do.
3. ``advise`` recommends lr and momentum from a race of real steps on copies.
4. The advised parameters train.
"""

from __future__ import annotations

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from ravine.torch import Monitor, advise

STEPS = 300


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


def train(
    lr: float, momentum: float, growth: float = 1.0, seed: int = 0
) -> tuple[list[float], Monitor]:
    """Train with a monitor; lr grows by ``growth`` a step. The losses, and the monitor."""
    model = network(seed)
    rule = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum, nesterov=momentum > 0.0)
    monitor = Monitor(rule, model=model, loss_kind="mse")
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
        rule.param_groups[0]["lr"] *= growth
        losses.append(float(loss.detach()))
        if not losses[-1] < 100.0 * losses[0]:
            break
    return losses, monitor


def outcome(losses: list[float]) -> str:
    """How a run ended."""
    if len(losses) < STEPS:
        return f"blew up at step {len(losses)}"

    return f"loss {losses[0]:.3g} -> {sum(losses[-20:]) / 20:.3g}"


def main() -> None:
    """Diverge, be warned, be advised, train."""
    print("Common settings, 300 steps:")
    for lr, momentum in ((0.5, 0.9), (0.3, 0.9), (0.1, 0.99), (0.1, 0.9)):
        losses, monitor = train(lr, momentum)
        margin = monitor.readings[0].margin
        print(f"  lr {lr:g}, momentum {momentum:g}: {outcome(losses)}; first margin {margin:.2g}")

    print("\nA lr that grows from 0.005 by 2 % a step, watched:")
    losses, monitor = train(0.005, 0.9, growth=1.02)
    for reading in monitor.readings:
        if reading.level == "warning":
            print(f"  {reading.message} (risk {reading.risk:.0%})")
            break
    print(f"  it {outcome(losses)}")

    print("\nAdvice:")
    model = network()
    rule = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    advice = advise(model, squared_error, data(), optimizer=rule)
    print("  " + str(advice).replace("\n", "\n  "))

    losses, monitor = train(advice.lr, advice.momentum or 0.0)
    worst = max(reading.level for reading in monitor.readings)
    print(f"\nTrained as advised: {outcome(losses)} in {STEPS} steps; worst: {worst}")


if __name__ == "__main__":
    main()
