"""Real steps with one learning rate, from the user's weights, through the whole schedule."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from ravine.arguments import Refusal
from ravine.torch.borrowed import BatchLoss, BatchReplay, Weights
from ravine.torch.schedule import Schedule

LOOK = 8
"""Steps whose losses are read together, because reading waits for the device."""

LAST = 0.2
"""Share of a trial, at its end, over which its training loss is averaged."""

SLACK = 0.02
NOISE = 3.0
"""A trial has blown up if its mean loss at the end exceeds the initial loss by more than this share
of it and by more than this many standard errors of the two means."""

HOPELESS = 10.0
"""A trial is stopped if its last losses exceed this multiple of the initial loss, and in its second
half if they have risen above the initial loss as above."""

START_BATCHES = 16
"""Number of batches in the mean of the initial loss."""


@dataclass
class Setting:
    """The user's training step, which a trial repeats on the user's model itself."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    loss: BatchLoss
    batches: BatchReplay
    schedule: Schedule
    weights: Weights
    clip: float | None = None
    accumulate: int = 1
    autocast: torch.dtype | None = None
    seed: int = 0
    advanced: Callable[[int], None] = lambda steps: None
    """Called with the number of new steps from time to time."""
    start: float = field(init=False)
    """The loss before any step."""
    noise: float = field(init=False)
    """The standard deviation of the losses of single batches before any step."""

    def __post_init__(self) -> None:
        torch.manual_seed(self.seed)
        with torch.no_grad():
            losses = [self.loss_of(i) for i in range(START_BATCHES)]

        values = self.read(losses)
        self.start, self.noise = float(np.mean(values)), float(np.std(values))
        if not math.isfinite(self.start):
            raise Refusal("loss", "finite at the start", self.start, "check the data and the model")

    @property
    def device(self) -> torch.device:
        """The device of the model."""
        return next(self.model.parameters()).device

    def loss_of(self, index: int, model: nn.Module | None = None) -> Tensor:
        """The loss of a batch in the user's precision. Default: for the user's model."""
        precision: Any = nullcontext()
        if self.autocast is not None:
            precision = torch.autocast(self.device.type, dtype=self.autocast)
        with precision:
            return self.loss(model or self.model, self.batches[index])

    @property
    def ranks(self) -> int:
        """The number of processes that train the model together."""
        several = isinstance(self.model, nn.parallel.DistributedDataParallel)
        return dist.get_world_size() if several else 1

    def read(self, losses: list[Tensor]) -> list[float]:
        """The values of losses; with several ranks, their means over all ranks."""
        return read_losses(losses, self.ranks)

    def has_risen(self, losses: list[float]) -> bool:
        """Whether the mean exceeds the initial loss by more than noise, or is not a number."""
        errors = NOISE * self.noise * math.sqrt(1.0 / START_BATCHES + 1.0 / len(losses))
        return not np.mean(losses) <= self.start + max(SLACK * abs(self.start), errors)

    def is_hopeless(self, losses: list[float]) -> bool:
        """Whether the mean is far above the initial loss, which may be negative."""
        return not np.mean(losses) <= self.start + (HOPELESS - 1.0) * abs(self.start)


def read_losses(losses: list[Tensor], ranks: int = 1) -> list[float]:
    """The values of losses on the device, each the mean over the ranks."""
    if len(losses) == 1 and ranks == 1:
        return [float(losses[0])]

    values = torch.stack([loss.detach().float() for loss in losses])
    if ranks > 1:
        dist.all_reduce(values)

    result: list[float] = (values / ranks).tolist()
    return result


@dataclass(eq=False)
class Trial:
    """A run from the user's weights, with a new optimizer state."""

    lr: float
    momentum: float | None
    steps: int
    """Planned steps, to which the schedule is compressed."""
    loss: float = math.inf
    """Mean training loss of the last fifth; infinite if the trial diverged."""
    losses: list[float] = field(default_factory=list)
    """Training losses, one for each step taken."""
    won: bool = False

    @property
    def taken(self) -> int:
        """Steps taken; fewer than planned if the trial was stopped."""
        return len(self.losses)

    @property
    def last(self) -> list[float]:
        """The training losses of the last fifth."""
        return self.losses[-math.ceil(LAST * self.steps) :]

    @property
    def outcome(self) -> str:
        """Either "won" or "blew up"; empty for all other trials."""
        if self.won:
            return "won"

        return "blew up" if self.loss == math.inf else ""


def run_trial(
    setting: Setting, lr: float, momentum: float | None, steps: int
) -> tuple[Trial, torch.optim.Optimizer]:
    """Run one trial; it stops early if it is hopeless. The model is left at its end."""
    setting.weights.put_back()
    torch.manual_seed(setting.seed)
    optimizer = fresh(setting.optimizer)
    # Gradients in float16 underflow unless the loss is scaled, as in the user's loop.
    scaler = torch.amp.GradScaler(setting.device.type, enabled=setting.autocast == torch.float16)
    trial = Trial(lr, momentum, steps)
    unread: list[Tensor] = []
    adaptive = is_adaptive(setting.optimizer)
    for step, factor in enumerate(setting.schedule.compressed(steps, adaptive=adaptive)):
        set_parameters(optimizer, lr * factor, momentum, like=setting.optimizer)
        unread.append(_step(setting, optimizer, scaler, step))
        if len(unread) == LOOK or step == steps - 1:
            trial.losses += setting.read(unread)
            setting.advanced(len(unread))
            unread.clear()
            late = 2 * trial.taken > steps
            if setting.is_hopeless(trial.losses[-LOOK:]) or (
                late and setting.has_risen(trial.last)
            ):
                break

    optimizer.zero_grad()
    if trial.taken == steps:
        trial.loss = math.inf if setting.has_risen(trial.last) else float(np.mean(trial.last))

    return trial, optimizer


def _step(setting: Setting, optimizer: torch.optim.Optimizer, scaler: Any, step: int) -> Tensor:
    """Take one step of the user's loop; return the mean loss of its batches, on the device."""
    optimizer.zero_grad()
    total = torch.zeros((), device=setting.device)
    for part in range(setting.accumulate):
        # Ranks exchange gradients once a step, with its last batch.
        waits = part < setting.accumulate - 1 and hasattr(setting.model, "no_sync")
        with setting.model.no_sync() if waits else nullcontext():  # type: ignore[operator]
            loss = setting.loss_of(step * setting.accumulate + part)
            scaler.scale(loss / setting.accumulate).backward()
        total += loss.detach() / setting.accumulate

    if setting.clip is not None:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(setting.model.parameters(), setting.clip)

    scaler.step(optimizer)
    scaler.update()
    return total


def fresh(optimizer: torch.optim.Optimizer) -> Any:
    """A copy of the optimizer for the same parameters, with an empty state."""
    twin: Any = object.__new__(type(optimizer))
    # A scheduler replaces ``step`` of the user's optimizer by one that would count these steps.
    vars(twin).update({name: value for name, value in vars(optimizer).items() if name != "step"})
    twin.state = defaultdict(dict)
    twin.param_groups = [dict(group) for group in optimizer.param_groups]
    for hooks in ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks"):
        setattr(twin, hooks, type(getattr(twin, hooks))())

    return twin


def set_parameters(
    optimizer: torch.optim.Optimizer,
    lr: float,
    momentum: float | None,
    like: torch.optim.Optimizer | None = None,
) -> None:
    """Set the lr of the first group, and the others in the same ratios as in ``like``.

    ``like`` is the optimizer itself by default. Momentum is set in all groups.
    """
    for group, ratio in zip(optimizer.param_groups, lr_ratios(like or optimizer), strict=True):
        old = group["lr"]
        group["lr"] = old.new_tensor(lr * ratio) if isinstance(old, Tensor) else lr * ratio
        if momentum is not None:
            group["momentum"] = momentum


def lr_ratios(optimizer: torch.optim.Optimizer) -> list[float]:
    """The lr of each group over that of the first; all 1 where the first is zero."""
    lrs = [float(group["lr"]) for group in optimizer.param_groups]
    return [lr / lrs[0] if lrs[0] > 0.0 else 1.0 for lr in lrs]


def is_adaptive(optimizer: torch.optim.Optimizer) -> bool:
    """Whether the optimizer divides by the root of its mean squared gradient."""
    return isinstance(optimizer, (torch.optim.Adam, torch.optim.RMSprop))
