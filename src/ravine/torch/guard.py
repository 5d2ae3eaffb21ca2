"""Save a run whose loss rises: clip gradients, lower lr, and restore the last good weights."""

from __future__ import annotations

import copy
import math
from typing import Any

import torch
from torch import Tensor, nn

SMOOTHING = 0.9
"""Weight of the old loss at each step: a memory of ten steps."""

RISE = 0.3
"""Rise of the smoothed loss, as a share of its decrease, that triggers a warning."""

FIRST = 10
"""Number of losses that are averaged at the start of a run."""

MEMORY = 0.98
LARGEST = 2.0
CLEAR = 3.0
"""Memory of the noise of the batches, fifty steps; the largest deviation, as a multiple of the
noise, that counts in full; the smallest rise, in standard deviations of the smoothed loss."""

FAR = 3.0
"""A smoothed loss of this many times the start counts as risen, whatever it was before."""

LEAST_DECREASE = 0.05
"""Smallest decrease, as a share of the initial loss; a smaller one counts as this."""

NEAR = 0.1
"""Share of its decrease within which the smoothed loss is near its minimum, so the run is good."""

CLIP = 1.0
"""Norm to which gradients are clipped."""

SNAPSHOT_EVERY = 25
WAIT = 20
"""Steps between two snapshots, and between two reductions of lr."""

FACTOR = 0.5
"""Factor on lr."""

NOT_KEPT = ("params", "lr", "initial_lr")
"""Keys of parameter groups that snapshots omit, because a scheduler or the user sets lr."""


class SmoothedLoss:
    """The mean of the last losses, its minimum, and whether it has risen too far.

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
        """Add the loss of one more step."""
        self.count += 1
        # A plain mean at first, in which all losses have the same weight.
        share = max(1.0 / self.count, 1.0 - SMOOTHING)
        if self.count == 1:
            self.start = self.value = loss
        else:
            # The growth of the noise is bounded, so that divergence does not count as noise.
            square = (loss - self.value) ** 2
            if self.count > FIRST:
                square = min(square, LARGEST**2 * self._square)
            self._square += max(1.0 / self.count, 1.0 - MEMORY) * (square - self._square)
            self.value += share * (loss - self.value)
        if self.count == FIRST:
            # The loss of the first batch alone may be small, by a factor of at most two.
            self.start = min(max(self.start, self.value), self.start + abs(self.start))
        # The mean of a few batches says little about the minimum.
        self.least = self.value if self.count <= FIRST else min(self.least, self.value)

    @property
    def noise(self) -> float:
        """Standard deviation of the smoothed loss due to batches."""
        return math.sqrt((1.0 - SMOOTHING) / (1.0 + SMOOTHING) * self._square)

    @property
    def rise(self) -> float:
        """Height above its minimum, as a share of its decrease."""
        if not math.isfinite(self.value):
            return math.inf

        decrease = max(self.start - self.least, LEAST_DECREASE * abs(self.start), 1e-30)
        # In the first steps the minimum is not known yet, so the start is used instead.
        return (self.value - min(self.least, self.start)) / decrease

    @property
    def has_risen(self) -> bool:
        """Whether it has risen by 0.3 of its decrease and more than the noise, or is not a number.

        In the first steps, when neither is known: whether it is three times its start.
        """
        if not self.value <= self.start + (FAR - 1.0) * abs(self.start):
            return True

        if self.count <= FIRST or self.rise <= RISE:
            return False

        return self.value - self.least > CLEAR * self.noise

    @property
    def is_good(self) -> bool:
        """Whether it is near its minimum."""
        return self.rise <= NEAR or self.value - self.least <= self.noise


class Snapshot:
    """Weights, buffers and optimizer state at one time, on another device if requested."""

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
        # Each only once: buffers may contain parameters too.
        weights = dict(enumerate(dict.fromkeys((*self.params, *self._buffers))))
        groups = dict(enumerate(self.optimizer.param_groups))
        return {"weights": weights, **groups, **self.optimizer.state}

    @torch.no_grad()
    def take(self) -> None:
        """Store the current values, in the memory of the previous snapshot."""
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
        """Restore everything, if there is a snapshot."""
        if not self._kept:
            return

        state = self.optimizer.state
        for p in self.params:
            # State may have been added since the snapshot, or cleared.
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
    """Copy a value, into existing memory if it fits."""
    if not isinstance(value, Tensor):
        return copy.deepcopy(value)
    if isinstance(into, Tensor) and into.shape == value.shape:
        return into.copy_(value)

    return value.detach().to(device or value.device, copy=True)


class Guard:
    """Clips gradients, keeps the last good weights, and restores them with a lower lr.

    Hooks multiply lr only within the optimizer's step, so that every scheduler works as before and
    does not undo it.
    """

    def __init__(
        self, optimizer: torch.optim.Optimizer, buffers: list[Tensor], device: str | None
    ) -> None:
        self.factor = 1.0
        self._optimizer = optimizer
        self._snapshot = Snapshot(optimizer, buffers, device)
        self._taken = -SNAPSHOT_EVERY
        # The lrs outside a step, while the optimizer is inside one.
        self._kept: list[Any] | None = None
        optimizer.register_step_pre_hook(self._lower)
        optimizer.register_step_post_hook(self._put_back)

    @property
    def pending_factor(self) -> float:
        """Factor that the guard has not yet applied to the current lr."""
        return self.factor if self._kept is None else 1.0

    def clip(self) -> None:
        """Clip the gradients to norm 1."""
        params = self._snapshot.params
        grads = [p.grad for p in params if p.grad is not None]
        if not grads:
            return
        norm = nn.utils.get_total_norm(grads)
        # On a GPU, a comparison would wait; on a CPU, it saves a pass over the gradients.
        if not norm.is_cpu or not norm <= CLIP:
            nn.utils.clip_grads_with_norm_(params, CLIP, norm)

    def is_due(self, step: int) -> bool:
        """Whether it is time for another snapshot."""
        return step - self._taken >= SNAPSHOT_EVERY

    def keep(self, step: int) -> None:
        """Store weights and optimizer state as the last good ones."""
        self._taken = step
        self._snapshot.take()

    def go_back(self) -> None:
        """Halve lr permanently, restore the last good weights, and skip this step."""
        self.factor *= FACTOR
        self._snapshot.put_back()
        # These gradients belong to discarded weights; a parameter without a gradient is not moved.
        for p in self._snapshot.params:
            p.grad = None

    def _lower(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        # A callback inside the closure of a step may change the factor; keep the restored values.
        self._kept = [group["lr"] for group in optimizer.param_groups]
        if self.factor != 1.0:
            for group in optimizer.param_groups:
                group["lr"] = group["lr"] * self.factor

    def _put_back(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        # None if a callback in the closure of this step created the guard.
        if self._kept is not None:
            for group, lr in zip(optimizer.param_groups, self._kept, strict=True):
                group["lr"] = lr
            self._kept = None
