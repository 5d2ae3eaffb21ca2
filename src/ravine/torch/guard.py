"""Saving a run whose loss rises: clip gradients, lower lr, and go back to the last good weights."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import Tensor, nn

SMOOTHING = 0.9
"""Of the loss, per step: a memory of ten steps."""

RISE = 0.3
"""Share of its decrease by which the smoothed loss has to rise."""

FIRST = 10
"""Losses that are averaged into the start of a run."""

MEMORY = 0.98
LARGEST = 2.0
CLEAR = 3.0
"""The noise of the batches has a memory of fifty steps; a deviation counts as at most twice of it;
and a rise has to exceed so many standard deviations of the smoothed loss."""

FAR = 3.0
"""A smoothed loss of so many times the start has risen, whatever it was before."""

LEAST_DECREASE = 0.05
"""Of the loss at the start: a smaller decrease counts as this much."""

NEAR = 0.1
"""Share of its decrease within which the smoothed loss is near its least: the run is good."""

CLIP = 1.0
"""Norm to which gradients are clipped."""

SNAPSHOT_EVERY = 25
WAIT = 20
"""Steps between two snapshots, and after lr was lowered until it can be lowered again."""

FACTOR = 0.5
"""What lr is multiplied by."""


class SmoothedLoss:
    """The mean of the last losses, its least, and whether it has risen too far.

    Examples
    --------
    >>> loss = SmoothedLoss()
    >>> for value in [8.0] * 5 + [1.0] * 60:
    ...     loss.add(value)
    >>> loss.has_risen
    False
    >>> for value in [4.0] * 20:
    ...     loss.add(value)
    >>> loss.has_risen
    True
    """

    def __init__(self) -> None:
        self.count = 0
        self.start = math.nan
        self.value = math.nan
        self.least = math.inf
        self._square = 0.0

    def add(self, loss: float) -> None:
        """Take the loss of one more step."""
        self.count += 1
        # A plain mean at first, in which no loss weighs more than another.
        share = max(1.0 / self.count, 1.0 - SMOOTHING)
        if self.count == 1:
            self.start = self.value = loss
        else:
            # The growth of the noise is bounded: a blow-up must not pass for noise.
            square = (loss - self.value) ** 2
            if self.count > FIRST:
                square = min(square, LARGEST**2 * self._square)
            self._square += max(1.0 / self.count, 1.0 - MEMORY) * (square - self._square)
            self.value += share * (loss - self.value)
        if self.count == FIRST:
            # The first batch alone may have a small loss, by a factor of two at most.
            self.start = min(max(self.start, self.value), self.start + abs(self.start))
        # The mean of a few batches says little about the least.
        self.least = self.value if self.count <= FIRST else min(self.least, self.value)

    @property
    def noise(self) -> float:
        """By how much the smoothed loss varies from batch to batch alone: a standard deviation."""
        return math.sqrt((1.0 - SMOOTHING) / (1.0 + SMOOTHING) * self._square)

    @property
    def rise(self) -> float:
        """How far it is above its least, as a share of how far it had come down."""
        if not math.isfinite(self.value):
            return math.inf

        decrease = max(self.start - self.least, LEAST_DECREASE * abs(self.start), 1e-30)
        # In the first steps the least is not known yet, and the start stands for it.
        return (self.value - min(self.least, self.start)) / decrease

    @property
    def has_risen(self) -> bool:
        """Whether it has risen by 0.3 of its decrease and beyond the noise, or is not a number.

        In the first steps, where neither is known: whether it is three times its start.
        """
        if not self.value <= self.start + (FAR - 1.0) * abs(self.start):
            return True

        clear = self.value - self.least > CLEAR * self.noise
        return self.count > FIRST and self.rise > RISE and clear

    @property
    def is_good(self) -> bool:
        """Whether it is near its least."""
        return self.rise <= NEAR or self.value - self.least <= self.noise


class Guard:
    """Clips gradients, keeps the last good weights, and goes back to them with a lower lr.

    lr is multiplied within the optimizer's step alone, by hooks, so that every scheduler goes on as
    before and does not undo it.
    """

    def __init__(
        self, optimizer: torch.optim.Optimizer, buffers: list[Tensor], device: str | None
    ) -> None:
        self.factor = 1.0
        self._buffers = buffers
        self._optimizer = optimizer
        self._device = device
        self._snapshot: tuple[list[Tensor], Any, list[dict[str, Any]]] | None = None
        self._taken = -SNAPSHOT_EVERY
        self._inside = False
        self._kept: list[Any] = []
        optimizer.register_step_pre_hook(self._lower)
        optimizer.register_step_post_hook(self._put_back)

    @property
    def params(self) -> list[Tensor]:
        """All parameters of the optimizer."""
        return [p for group in self._optimizer.param_groups for p in group["params"]]

    @property
    def pending_factor(self) -> float:
        """What the lr that one reads now still has to be multiplied by."""
        return 1.0 if self._inside else self.factor

    def clip(self) -> None:
        """Clip the gradients to norm 1."""
        nn.utils.clip_grad_norm_([p for p in self.params if p.grad is not None], CLIP)

    def is_due(self, step: int) -> bool:
        """Whether it is time for another snapshot."""
        return step - self._taken >= SNAPSHOT_EVERY

    @torch.no_grad()
    def keep(self, step: int) -> None:
        """Keep weights and optimizer state as the last good ones."""
        self._taken = step
        weights = [self._copy(tensor) for tensor in (*self.params, *self._buffers)]
        groups = [
            {k: v for k, v in group.items() if k not in ("params", "lr", "initial_lr")}
            for group in self._optimizer.param_groups
        ]
        state = {p: {k: self._copy(v) for k, v in each.items()}
                 for p, each in self._optimizer.state.items()}  # fmt: skip
        self._snapshot = (weights, state, copy.deepcopy(groups))

    def _copy(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return copy.copy(value)

        return value.detach().to(self._device or value.device, copy=True)

    @torch.no_grad()
    def go_back(self) -> None:
        """Multiply lr by a half for good, restore the last good weights, and skip this step."""
        self.factor *= FACTOR
        if self._snapshot is not None:
            weights, state, groups = self._snapshot
            for tensor, value in zip((*self.params, *self._buffers), weights, strict=True):
                tensor.copy_(value)
            for p, own in self._optimizer.state.items():
                # Emptied where the snapshot was taken before the first step.
                kept = state.get(p, {})
                for name in set(own) - set(kept):
                    del own[name]
                for name, value in kept.items():
                    if isinstance(value, Tensor):
                        own[name].copy_(value)
                    else:
                        own[name] = copy.copy(value)
            for group, kept in zip(self._optimizer.param_groups, groups, strict=True):
                group.update(copy.deepcopy(kept))

        # These gradients belong to weights that are gone: a parameter without one is not moved.
        for p in self.params:
            p.grad = None

    def _lower(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        # A callback inside the closure of a step may change the factor: what is put back is kept.
        self._inside = True
        self._kept = [group["lr"] for group in optimizer.param_groups]
        if self.factor != 1.0:
            for group in optimizer.param_groups:
                group["lr"] = group["lr"] * self.factor

    def _put_back(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        if not self._inside:
            # The guard was made inside this step, by a callback in its closure.
            return
        for group, lr in zip(optimizer.param_groups, self._kept, strict=True):
            group["lr"] = lr
        self._inside = False
