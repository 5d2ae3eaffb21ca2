"""Real steps with one learning rate and momentum, on copies."""

from __future__ import annotations

import math
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ravine.arguments import FloatArray
from ravine.torch.copies import Batches, BatchLoss, copied, joined, quiet

CHECK_EVERY = 5
"""Steps between two looks at the loss of the fixed samples."""

CHECK_SAMPLES = 128
"""Fixed samples a check: their loss is known to some per cent, what a factor of two in lr needs."""


@dataclass
class Setting:
    """The user's training step: what a trial copies and repeats."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    loss: BatchLoss
    batches: Batches
    clip: float | None = None
    accumulate: int = 1
    autocast: torch.dtype | None = None
    seed: int = 0
    check: list[Any] = field(default_factory=list)
    skipped: int = 0
    """Batches at the front that are for checks alone."""

    def __post_init__(self) -> None:
        taken = self.batches.samples(CHECK_SAMPLES)
        self.skipped = len(taken)
        self.check = joined(taken)

    @property
    def device(self) -> torch.device:
        """Where the model is."""
        return next(self.model.parameters()).device

    def precision(self) -> AbstractContextManager[Any]:
        """The user's automatic mixed precision, or nothing."""
        if self.autocast is None:
            return nullcontext()

        return torch.autocast(self.device.type, dtype=self.autocast)


class Trial:
    """One run from the user's weights, with an empty momentum buffer."""

    def __init__(self, setting: Setting, lr: float, momentum: float | None) -> None:
        self.lr = lr
        self.momentum = momentum
        self.steps = 0
        self.training: list[float] = []
        self.checks: list[float] = []
        self.alive = True
        self._setting = setting
        self._model, self._optimizer = copied(setting.model, setting.optimizer)
        set_parameters(self._optimizer, lr, momentum)
        # Gradients in float16 underflow unless the loss is scaled, as the user's loop does.
        needed = setting.autocast == torch.float16
        self._scaler = torch.amp.GradScaler(setting.device.type, enabled=needed)
        self._random = torch.Generator().manual_seed(setting.seed).get_state()
        self._check(math.inf)

    def to(self, step: int, limit: float) -> None:
        """Go on to ``step``, or until the checked loss is above ``limit`` or not a number."""
        if not self.alive:
            return

        torch.set_rng_state(self._random)

        while self.alive and self.steps < step:
            self._step()
            if self.alive and self.steps % CHECK_EVERY == 0:
                self._check(limit)

        self._random = torch.get_rng_state()
        if not self.alive:
            del self._model, self._optimizer

    def _step(self) -> None:
        setting = self._setting
        self._optimizer.zero_grad()
        total = 0.0
        for part in range(setting.accumulate):
            index = setting.skipped + self.steps * setting.accumulate + part
            with setting.precision():
                loss = setting.loss(self._model, setting.batches[index])
            self._scaler.scale(loss / setting.accumulate).backward()  # type: ignore[no-untyped-call]
            total += float(loss.detach()) / setting.accumulate

        self.training.append(total)
        self.alive = math.isfinite(total)
        if setting.clip is not None:
            self._scaler.unscale_(self._optimizer)
            nn.utils.clip_grad_norm_(self._model.parameters(), setting.clip)

        self._scaler.step(self._optimizer)
        self._scaler.update()
        self.steps += 1

    def _check(self, limit: float) -> None:
        setting = self._setting
        with torch.no_grad(), quiet(self._model), setting.precision():
            losses = [float(setting.loss(self._model, batch)) for batch in setting.check]

        self.checks.append(float(np.mean(losses)))
        self.alive = self.alive and math.isfinite(self.checks[-1]) and self.checks[-1] <= limit

    def score(self, looks: int, check: int | None = None) -> float:
        """How low the loss is at a check: half from the last fixed samples, half from training.

        ``looks`` checks are averaged, and as many training losses as lie between them, at least
        those since the last one.
        """
        if not self.alive:
            return math.inf

        at = len(self.checks) - 1 if check is None else check
        fixed = float(np.mean(self.checks[max(at - looks + 1, 1) : at + 1]))
        step = at * CHECK_EVERY
        first = max(0, step - CHECK_EVERY * max(looks - 1, 1))
        return 0.5 * (fixed + float(np.mean(self.training[first:step])))

    def _scores(self, looks: int) -> FloatArray:
        return np.array([self.score(looks, check) for check in range(1, len(self.checks))])

    def rise(self, looks: int) -> float:
        """The largest rise of the score above what it had reached, relative to that."""
        if not self.alive:
            return math.inf

        scores = self._scores(looks)
        reached = np.minimum.accumulate(scores)[:-1]
        return float(np.max(self._relative(scores[1:], reached), initial=0.0))

    def _relative(self, scores: FloatArray, reached: Any) -> FloatArray:
        # A loss may be zero or negative: then relative to the start.
        unit = np.where(reached > 0.0, reached, abs(self.checks[0]) or 1.0)
        return np.asarray((scores - reached) / unit)


def set_parameters(
    optimizer: torch.optim.Optimizer, lr: float, momentum: float | None
) -> list[float]:
    """Set the lr of the first group, the others in their old proportion; momentum everywhere."""
    ratios = lr_ratios(optimizer)
    for group, ratio in zip(optimizer.param_groups, ratios, strict=True):
        old = group["lr"]
        group["lr"] = old.new_tensor(lr * ratio) if isinstance(old, Tensor) else lr * ratio
        if momentum is not None:
            group["momentum"] = momentum

    return [lr * ratio for ratio in ratios]


def lr_ratios(optimizer: torch.optim.Optimizer) -> list[float]:
    """The lr of each group over that of the first; all 1 where the first is zero."""
    lrs = [float(group["lr"]) for group in optimizer.param_groups]
    return [lr / lrs[0] if lrs[0] > 0.0 else 1.0 for lr in lrs]
