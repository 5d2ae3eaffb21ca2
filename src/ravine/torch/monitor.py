"""``Monitor``: how close an optimizer is to its stability limit, and a guard for the run."""

from __future__ import annotations

import copy
import csv
import logging
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ravine.arguments import Refusal, whole
from ravine.torch.borrowed import quiet
from ravine.torch.direction import (
    FIRST_TURNS,
    DirectionalCurvature,
    TrackedDirection,
    coordinates,
    has_limit,
)
from ravine.torch.guard import FACTOR, WAIT, Guard, SmoothedLoss
from ravine.torch.products import gradient
from ravine.torch.trial import is_adaptive, read_losses

CALM = 0.4
CALM_GAP = 5
"""While the margin is below ``CALM``, checks are this many times less frequent: the limit is
far."""

STILL = 1.1
STILL_GAP = 4
"""While lr has changed by less than a factor ``STILL`` since the last check, checks are this many
times less frequent: with a steady lr, curvature grows over hundreds of steps."""

SETTLED = 8
"""Number of checks at intervals of ``every``; after them the direction is near the sharpest one."""

LOOK_ON_DEVICE = 5
"""Steps whose losses are read together on a GPU, because reading waits for it; one on a CPU."""

FORGETTING = 0.5
"""Weight of the old curvature at each check."""

EDGE = 0.8
"""Margin from which a run is at the edge of stability."""

SAFE = 0.7
"""Margin that messages recommend."""

_log = logging.getLogger("ravine.torch")


@dataclass(frozen=True)
class Reading:
    """The result of one check."""

    step: int
    lr: float
    """The lr of the optimizer: that of the scheduler, times the factor of the guard."""
    momentum: float
    """Momentum, or beta1."""
    curvature: float
    """Mean curvature of the last batches along the tracked direction, in the optimizer's
    coordinates."""
    limit: float
    """The largest lr that is stable in mean square along it; NaN if theory has no limit."""
    margin: float
    """lr over the limit: above 1, the error along the direction grows if the preconditioner is
    fixed."""
    loss: float
    """The loss, smoothed over ten steps."""
    rise: float
    """Height of the smoothed loss above its minimum, as a share of its decrease."""
    level: str
    """"calm", "edge" (margin above 0.8) or "warning" (the loss has risen by 0.3)."""
    adaptive: bool
    """Whether the optimizer is Adam, AdamW or RMSprop."""
    action: str
    """The action of the monitor; empty if there was none."""

    @property
    def message(self) -> str:
        """Cause and remedy; empty when calm."""
        if self.level == "calm":
            return ""

        parts = []
        if self.level == "warning":
            risen = f"the loss has risen by {self.rise:.0%} of its decrease"
            parts.append(risen if math.isfinite(self.rise) else "the loss is not a number")
        if math.isfinite(self.margin):
            parts.append(f"lr is {self.margin:.2g} times its limit along the sharpest direction")
        if self.margin > EDGE:
            parts.append(f"below lr {SAFE * self.limit:.2g} that direction is stable")
        elif self.level == "warning":
            parts.append("the curvature does not explain it: look at the data and the warm-up")
        if self.adaptive and self.level == "edge":
            parts.append("Adam's preconditioner usually grows until the limit holds")

        return "; ".join(parts)

    def __str__(self) -> str:
        line = f"step {self.step}: {self.level}, lr {self.lr:.3g}, loss {self.loss:.4g}"
        if math.isfinite(self.margin):
            line += f", margin {self.margin:.2g} (limit {self.limit:.3g})"

        return "; ".join(part for part in (line, self.message, self.action) if part)


class Monitor:
    """Watch a run: two extra gradients every 20 to 100 steps show how close lr is to its limit.

    Call ``check`` after ``loss.backward()`` and before ``optimizer.step()``::

        monitor = Monitor(optimizer, model=model, on_warning="scale")
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            monitor.check(lambda: loss_fn(model(x), y), loss)
            optimizer.step()

    The curvature along a tracked direction u is (g(w + step u) - g(w - step u))/(2 step) on the
    same batch, and u turns towards it; for Adam, AdamW and RMSprop in the coordinates of their
    preconditioner. Its mean and mean square over checks give the largest lr that is stable in mean
    square; ``margin`` is lr over this limit. The loss triggers warnings: if its mean over ten steps
    has risen by 0.3 of its decrease, or is not a number. Warnings go to the logger
    ``ravine.torch``.

    Parameters
    ----------
    optimizer
        ``torch.optim.SGD``, ``Adam``, ``AdamW``, ``RMSprop`` or ``ravine.torch.ASG``. With others
        the margin is NaN, and only the loss is watched.
    every
        Steps between two checks; after eight checks, four times as many while lr is steady, and
        five times as many while the margin is below 0.4.
    model
        If given, its dropout is off in the extra gradients, and its BatchNorm averages do not
        change.
    on_warning
        ``"scale"`` guards the run: gradients are clipped to norm 1, and a warning halves lr for the
        rest of the run, under any scheduler, and restores the last good weights and optimizer
        state. A function is called with the reading. None: only warn.
    snapshots_on
        Device for the last good weights and optimizer state, e.g. ``"cpu"`` if the GPU has no
        memory for them. None: their own device.
    csv_path, writer
        Outputs for readings: a CSV file, and a TensorBoard ``SummaryWriter``.

    Attributes
    ----------
    readings
        All readings, oldest first.
    """

    def __init__(
        self,
        optimizer: torch.optim.Optimizer,
        every: int = 20,
        *,
        model: nn.Module | None = None,
        on_warning: str | Callable[[Reading], None] | None = None,
        snapshots_on: str | None = None,
        csv_path: str | Path | None = None,
        writer: Any = None,
        seed: int = 0,
    ) -> None:
        if isinstance(on_warning, str) and on_warning != "scale":
            raise Refusal("on_warning", "'scale', a function or None", repr(on_warning), "pick one")

        self.every = whole("every", every, 1, remedy="give a number of steps, e.g. 20")
        self.readings: list[Reading] = []
        self.steps = 0
        self._optimizer = optimizer
        self._model = model
        self._on_warning = on_warning
        self._guard: Guard | None = None
        # All ranks must restore weights at the same step, so they use the same loss.
        self._ranks = 1
        if on_warning == "scale":
            if dist.is_available() and dist.is_initialized():
                self._ranks = dist.get_world_size()
            buffers = [] if model is None else list(model.buffers())
            self._guard = Guard(optimizer, buffers, snapshots_on)
        self._csv = None if csv_path is None else Path(csv_path)
        self._writer = writer
        self._direction = TrackedDirection(seed)
        self._has_limit = has_limit(optimizer)
        self._curvature: DirectionalCurvature | None = None
        self._loss = SmoothedLoss()
        self._good_loss = SmoothedLoss()
        self._unread: list[Tensor] = []
        self._checked: Reading | None = None
        self._checks = 0
        self._quiet_until = 0
        if not self._has_limit:
            name = type(optimizer).__name__
            _log.info("no lr limit is known for %s: only the loss is watched", name)

    def check(self, closure: Callable[[], Tensor], loss: Tensor | None = None) -> Reading | None:
        """Count a step, and from time to time measure the margin.

        Parameters
        ----------
        closure
            Computes the loss of the same batch again, and nothing else: no backward pass.
        loss
            The loss of this step. Default: the closure computes it.

        Returns
        -------
        Reading or None
            A reading at a check or a warning, else None.
        """
        self._take(closure() if loss is None else loss)
        reading = None
        if self._has_to_warn():
            reading = self._warn()
        else:
            if self._guard is not None:
                self._guard.clip()
                # Weights are good only if their own loss has been read.
                if self._guard.is_due(self.steps) and not self._unread and self._loss.is_good:
                    self._guard.keep(self.steps)
                    self._good_loss = copy.copy(self._loss)
            if self._is_due():
                if self._has_limit:
                    self._measure(closure)
                reading = self._checked = self._report()
                self._checks += 1

        self.steps += 1
        return reading

    def _take(self, loss: Tensor) -> None:
        """Add a loss; on a GPU several are read together."""
        self._unread.append(loss.detach())
        snapshot = self._guard is not None and self._guard.is_due(self.steps)
        if loss.is_cpu or len(self._unread) >= LOOK_ON_DEVICE or snapshot:
            for value in read_losses(self._unread, self._ranks):
                self._loss.add(value)
            self._unread.clear()

    def _has_to_warn(self) -> bool:
        if math.isfinite(self._loss.value):
            return self.steps >= self._quiet_until and self._loss.has_risen

        # Without a guard the run stays lost, so one warning is enough.
        warned = bool(self.readings) and self.readings[-1].level == "warning"
        return self._guard is not None or not warned

    def _warn(self) -> Reading:
        """Report that the loss has risen; with a guard, restore the last good weights."""
        self._quiet_until = self.steps + WAIT
        if self._guard is None:
            return self._report(warns=True)

        lower = FACTOR * self._lr()
        action = f"went back to the last good weights with lr {lower:.3g}"
        reading = self._report(warns=True, action=action)
        self._guard.go_back()
        self._loss = copy.copy(self._good_loss)
        return reading

    def _is_due(self) -> bool:
        """Whether a check is due: after ``every`` steps, or later if nothing changes."""
        last = self._checked
        if last is None:
            # Adaptive optimizers have no preconditioner before their first steps.
            return self.steps >= (self.every if is_adaptive(self._optimizer) else 0)

        gap = 1
        if self._has_limit and self._checks >= SETTLED:
            lr = self._lr()
            is_still = 1.0 / STILL <= lr / last.lr <= STILL
            gap = CALM_GAP if lr < CALM * last.limit else STILL_GAP if is_still else 1
        return self.steps - last.step >= gap * self.every

    def _lr(self) -> float:
        """The lr that the optimizer uses."""
        lr = float(self._optimizer.param_groups[0]["lr"])
        return lr * (1.0 if self._guard is None else self._guard.pending_factor)

    def _measure(self, closure: Callable[[], Tensor]) -> None:
        """The curvature along the tracked direction, for this batch and earlier ones."""
        if all(p.grad is None for g in self._optimizer.param_groups for p in g["params"]):
            remedy = "call check after loss.backward()"
            raise Refusal("gradients", "there at a check", "none", remedy)

        at = coordinates(self._optimizer, with_gradient=True)
        if not at.params:
            # An adaptive optimizer has no preconditioner if the run was restored to its start.
            return

        model = self._model
        direction = self._direction
        still = nullcontext() if model is None else quiet(model)
        # The extra gradients are not exchanged between ranks.
        alone: Any = getattr(model, "no_sync", nullcontext)()
        own = lambda: gradient(closure(), at.params)  # noqa: E731
        with still, alone, torch.enable_grad():
            if not direction.fits(at.params):
                direction.begin(at, closure)
                self._curvature = None
                for _ in range(FIRST_TURNS):
                    direction.product(at, own)
                    direction.turn()
            seen = direction.product(at, own)

        before = self._curvature
        if before is not None and math.isfinite(seen.variance):
            # The first variance is a guess, because there is no second batch yet. Later, every
            # second check measures it: two products along the same direction.
            keep = 1.0 if not direction.compared else FORGETTING if self._checks > 1 else 0.0
            seen = DirectionalCurvature(
                FORGETTING * before.mean + (1.0 - FORGETTING) * seen.mean,
                keep * before.variance + (1.0 - keep) * seen.variance,
            )
        self._curvature = seen
        if direction.compared:
            direction.turn()

    def _report(self, *, warns: bool = False, action: str = "") -> Reading:
        """Take a reading of the current state, and pass it to every output."""
        lr = self._lr()
        seen = self._curvature
        group = self._optimizer.param_groups[0]
        limit = math.nan if seen is None else seen.limit(group)
        margin = math.inf if limit == 0.0 else lr / limit
        level = "warning" if warns else "edge" if margin > EDGE else "calm"
        reading = Reading(
            step=self.steps,
            lr=lr,
            momentum=float(group["betas"][0] if "betas" in group else group.get("momentum", 0.0)),
            curvature=math.nan if seen is None else seen.mean,
            limit=limit,
            margin=margin,
            loss=self._loss.value,
            rise=self._loss.rise,
            level=level,
            adaptive=is_adaptive(self._optimizer),
            action=action,
        )
        self.readings.append(reading)
        if level == "warning":
            _log.warning("%s", reading)
            if callable(self._on_warning):
                self._on_warning(reading)
        if self._writer is not None:
            for name in ("margin", "curvature", "limit", "loss"):
                self._writer.add_scalar(f"ravine/{name}", getattr(reading, name), reading.step)
        if self._csv is not None:
            is_new = not self._csv.exists()
            with self._csv.open("a", newline="", encoding="utf-8") as file:
                rows = csv.DictWriter(file, list(asdict(reading)))
                if is_new:
                    rows.writeheader()
                rows.writerow(asdict(reading))

        return reading
