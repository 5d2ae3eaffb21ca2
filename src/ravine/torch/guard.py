"""Saving a run whose loss rises: clip gradients, lower lr, and go back to the last good weights."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import Tensor, nn

SMOOTHING = 0.9
"""Factor of the old loss at each step: a memory of ten steps."""

RISE = 0.3
"""Share of its decrease by which the smoothed loss has to rise."""

FIRST = 10
"""Losses that are averaged into the start of a run."""

MEMORY = 0.98
LARGEST = 2.0
CLEAR = 3.0
"""The noise of the batches has a memory of fifty steps; a deviation counts as at most twice of it;
and the least rise, in standard deviations of the smoothed loss."""

FAR = 3.0
"""A smoothed loss this many times above the start counts as risen, whatever it was before."""

LEAST_DECREASE = 0.05
"""Least decrease, as a share of the initial loss: a smaller one counts as this much."""

NEAR = 0.1
"""Share of its decrease within which the smoothed loss is near its least: the run is good."""

CLIP = 1.0
"""Norm to which gradients are clipped."""

SNAPSHOT_EVERY = 25
WAIT = 20
"""Steps between two snapshots, and after lr was lowered until it can be lowered again."""

FACTOR = 0.5
"""Factor of lr."""

NOT_KEPT = ("params", "lr", "initial_lr")
"""Keys of parameter groups that snapshots do not keep: a scheduler or the user sets lr."""


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
        """Standard deviation of the smoothed loss from batch to batch."""
        return math.sqrt((1.0 - SMOOTHING) / (1.0 + SMOOTHING) * self._square)

    @property
    def rise(self) -> float:
        """How far it is above its minimum, as a share of its decrease."""
        if not math.isfinite(self.value):
            return math.inf

        decrease = max(self.start - self.least, LEAST_DECREASE * abs(self.start), 1e-30)
        # In the first steps the least is not known yet: the start is used instead.
        return (self.value - min(self.least, self.start)) / decrease

    @property
    def has_risen(self) -> bool:
        """Whether it has risen by 0.3 of its decrease and beyond the noise, or is not a number.

        In the first steps, where neither is known: whether it is three times its start.
        """
        if not self.value <= self.start + (FAR - 1.0) * abs(self.start):
            return True

        if self.count <= FIRST or self.rise <= RISE:
            return False

        return self.value - self.least > CLEAR * self.noise

    @property
    def is_good(self) -> bool:
        """Whether it is near its least."""
        return self.rise <= NEAR or self.value - self.least <= self.noise


class Snapshot:
    """Weights, buffers and state of an optimizer at one time, on another device if wanted."""

    def __init__(
        self, optimizer: torch.optim.Optimizer, buffers: list[Tensor], device: str | None
    ) -> None:
        self.optimizer = optimizer
        self._buffers = buffers
        self._device = device
        self._kept: dict[Any, dict[Any, Any]] = {}

    @property
    def params(self) -> list[Tensor]:
        """All parameters of the optimizer."""
        return [p for group in self.optimizer.param_groups for p in group["params"]]

    def _owners(self) -> dict[Any, dict[Any, Any]]:
        """Weights with buffers, parameter groups, and the state of every parameter."""
        # Each once: buffers may hold parameters too.
        weights = dict(enumerate(dict.fromkeys((*self.params, *self._buffers))))
        groups = dict(enumerate(self.optimizer.param_groups))
        return {"weights": weights, **groups, **self.optimizer.state}

    @torch.no_grad()
    def take(self) -> None:
        """Keep what there is now, in the memory of what was kept before."""
        old = self._kept
        self._kept = {
            key: {
                name: _copied(value, old.get(key, {}).get(name), self._device)
                for name, value in own.items()
                if name not in NOT_KEPT
            }
            for key, own in self._owners().items()
        }

    @torch.no_grad()
    def put_back(self) -> None:
        """Put everything back as it was, if anything was kept."""
        if not self._kept:
            return

        state = self.optimizer.state
        for p in self.params:
            # State may have come after the snapshot, or have been cleared since.
            if p in self._kept:
                state.setdefault(p, {})
            elif p in state:
                state[p].clear()
        owners = self._owners()
        for key, kept in self._kept.items():
            own = owners[key]
            for name, value in kept.items():
                is_vector = isinstance(value, Tensor) and value.ndim > 0
                device = key.device if isinstance(key, Tensor) and is_vector else None
                own[name] = _copied(value, own.get(name), device)


def _copied(value: Any, into: Any, device: str | torch.device | None) -> Any:
    """A copy of a value, in existing memory if it fits."""
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    if isinstance(into, Tensor) and into.shape == value.shape:
        return into.copy_(value)

    return value.detach().to(device or value.device, copy=True)


class Guard:
    """Clips gradients, keeps the last good weights, and goes back to them with a lower lr.

    lr is multiplied within the optimizer's step alone, by hooks, so that every scheduler goes on as
    before and does not undo it.
    """

    def __init__(
        self, optimizer: torch.optim.Optimizer, buffers: list[Tensor], device: str | None
    ) -> None:
        self.factor = 1.0
        self._optimizer = optimizer
        self._snapshot = Snapshot(optimizer, buffers, device)
        self._taken = -SNAPSHOT_EVERY
        # The lrs outside of a step, while the optimizer is inside of one.
        self._kept: list[Any] | None = None
        optimizer.register_step_pre_hook(self._lower)
        optimizer.register_step_post_hook(self._put_back)

    @property
    def pending_factor(self) -> float:
        """Factor that the guard still has to apply to the current lr."""
        return self.factor if self._kept is None else 1.0

    def clip(self) -> None:
        """Clip the gradients to norm 1."""
        params = self._snapshot.params
        grads = [p.grad for p in params if p.grad is not None]
        if not grads:
            return
        norm = nn.utils.get_total_norm(grads)
        # A comparison waits for a GPU, and on a CPU it spares a pass over the gradients.
        if not norm.is_cpu or not norm <= CLIP:
            nn.utils.clip_grads_with_norm_(params, CLIP, norm)

    def is_due(self, step: int) -> bool:
        """Whether it is time for another snapshot."""
        return step - self._taken >= SNAPSHOT_EVERY

    def keep(self, step: int) -> None:
        """Keep weights and optimizer state as the last good ones."""
        self._taken = step
        self._snapshot.take()

    def go_back(self) -> None:
        """Multiply lr by a half for good, restore the last good weights, and skip this step."""
        self.factor *= FACTOR
        self._snapshot.put_back()
        # These gradients belong to weights that are gone: a parameter without one is not moved.
        for p in self._snapshot.params:
            p.grad = None

    def _lower(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        # A callback inside the closure of a step may change the factor: what is put back is kept.
        self._kept = [group["lr"] for group in optimizer.param_groups]
        if self.factor != 1.0:
            for group in optimizer.param_groups:
                group["lr"] = group["lr"] * self.factor

    def _put_back(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        # None where the guard was made inside this step, by a callback in its closure.
        if self._kept is not None:
            for group, lr in zip(optimizer.param_groups, self._kept, strict=True):
                group["lr"] = lr
            self._kept = None
