"""``Monitor``: how near a running optimizer is to its stability limit, and a guard for the run."""

from __future__ import annotations

import copy
import csv
import logging
import math
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ravine.arguments import Refusal, whole
from ravine.torch.direction import (
    FIRST_TURNS,
    Coordinates,
    DirectionalCurvature,
    TrackedDirection,
    coordinates,
    has_limit,
    is_adaptive,
    is_coarse,
    momentum_of,
)
from ravine.torch.guard import FACTOR, WAIT, Guard, SmoothedLoss
from ravine.torch.reading import EDGE, Reading
from ravine.torch.trial import read_losses
from ravine.torch.untouched import gradients, quiet

CALM = 0.4
CALM_GAP = 3
"""Below this margin, with the lr of now, a check comes every third time: the limit is far."""

STILL = 1.1
STILL_GAP = 2
"""Where lr has changed by less than such a factor since the last check, every second time:
curvature that grows alone does so over hundreds of steps."""

LOOK_ON_DEVICE = 5
"""Steps whose losses are read together on a GPU, as reading waits for it; on a CPU every step."""

FORGETTING = 0.5
"""Of the curvature, per check."""

_log = logging.getLogger("ravine.torch")


class Monitor:
    """Watch a run: one extra gradient every 20 steps gives the margin of lr to its limit.

    Call ``check`` after ``loss.backward()`` and before ``optimizer.step()``::

        monitor = Monitor(optimizer, model=model, on_warning="scale")
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            monitor.check(lambda: loss_fn(model(x), y), loss)
            optimizer.step()

    The curvature along a tracked direction u is (g(w + step u) - g(w))/step on the same batch, and
    u is turned towards it; for Adam, AdamW and RMSprop in the coordinates of their preconditioner.
    Its mean and mean square over checks give the largest lr that is stable in mean square;
    ``margin`` is lr over that. A warning comes from the loss: its mean over ten steps has risen by
    0.3 of its decrease, or is not a number. Warnings go to the logger ``ravine.torch``.

    Parameters
    ----------
    optimizer
        ``torch.optim.SGD``, ``Adam``, ``AdamW``, ``RMSprop`` or ``ravine.torch.ASG``; with others
        the margin is NaN, and the loss is watched.
    every
        Steps between two checks; twice as many while lr is steady, three times as many while the
        margin is below 0.4.
    model
        Given, it is kept free of dropout in the extra gradient and its BatchNorm averages are left
        alone. With dropout a check costs two gradients.
    on_warning
        ``"scale"`` guards the run: gradients are clipped to norm 1, and at a warning lr is halved
        for good, under any scheduler, and weights and optimizer state go back to the last good
        ones. A function is called with the reading; None does nothing.
    snapshots_on
        Device of the last good weights and optimizer state, e.g. ``"cpu"`` where the GPU has no
        memory for them. None: where they are.
    csv_path, writer
        Where readings are written: a file, and a TensorBoard ``SummaryWriter``.

    Attributes
    ----------
    readings
        All of them, oldest first.
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
        if on_warning == "scale":
            buffers = [] if model is None else list(model.buffers())
            self._guard = Guard(optimizer, buffers, snapshots_on)
        self._csv = None if csv_path is None else Path(csv_path)
        self._writer = writer
        self._direction = TrackedDirection(seed)
        self._coarse = False
        self._curvature: DirectionalCurvature | None = None
        self._loss = SmoothedLoss()
        self._good_loss = SmoothedLoss()
        self._unread: list[Tensor] = []
        self._checked: Reading | None = None
        self._checks = 0
        self._quiet_until = 0
        if not has_limit(optimizer):
            name = type(optimizer).__name__
            _log.info("no limit of lr is known for %s: only the loss is watched", name)

    def check(self, closure: Callable[[], Tensor], loss: Tensor | None = None) -> Reading | None:
        """Count a step; every so often read the margin.

        Parameters
        ----------
        closure
            Computes the loss of the same batch again; nothing else, no backward pass.
        loss
            The loss of this step; left out, the closure is called for it.

        Returns
        -------
        Reading or None
            None between two checks, unless the loss has come to a warning.
        """
        self._take(closure() if loss is None else loss)
        reading = None
        if self._has_to_warn():
            reading = self._warn()
        else:
            if self._guard is not None:
                self._guard.clip()
                # Good weights are those whose own loss has been read.
                if self._guard.is_due(self.steps) and not self._unread and self._loss.is_good:
                    self._guard.keep(self.steps)
                    self._good_loss = copy.copy(self._loss)
            if self._due():
                reading = self._read(closure)

        self.steps += 1
        return reading

    def _take(self, loss: Tensor) -> None:
        """Add a loss to those that are watched; on a GPU several are read together."""
        self._unread.append(loss.detach())
        snapshot = self._guard is not None and self._guard.is_due(self.steps)
        if loss.is_cpu or len(self._unread) >= LOOK_ON_DEVICE or snapshot:
            # All ranks have to go back at the same step, so they look at the same loss.
            together = self._guard is not None and dist.is_available() and dist.is_initialized()
            for value in read_losses(self._unread, dist.get_world_size() if together else 1):
                self._loss.add(value)
            self._unread.clear()

    def _has_to_warn(self) -> bool:
        if not math.isfinite(self._loss.value):
            return self._level_before() != "warning" or self._guard is not None

        return self.steps >= self._quiet_until and self._loss.has_risen

    def _level_before(self) -> str:
        return self.readings[-1].level if self.readings else "calm"

    def _warn(self) -> Reading:
        """Report that the loss has risen, and go back where the run is guarded."""
        action = ""
        if self._guard is not None:
            action = f"went back to the last good weights with lr {FACTOR * self._lr():.3g}"

        reading = self._report("warning", action)
        self._quiet_until = self.steps + WAIT
        if self._guard is not None:
            self._guard.go_back()
            self._loss = copy.copy(self._good_loss)
        return reading

    def _due(self) -> bool:
        """Whether a check is due: after ``every`` steps, later where nothing changes."""
        if not has_limit(self._optimizer):
            return self.steps % self.every == 0
        if self._checked is None:
            # Adaptive optimizers have no preconditioner before their first steps.
            return self.steps >= (self.every if is_adaptive(self._optimizer) else 0)

        gap = self.steps - self._checked.step
        return gap >= self.every and gap >= self.every * self._patience()

    def _patience(self) -> int:
        """How many times ``every`` the next check can wait."""
        assert self._checked is not None
        if self._checks < 3:
            return 1

        lr = self._lr()
        if lr < CALM * self._checked.limit:
            return CALM_GAP

        return STILL_GAP if 1.0 / STILL <= lr / self._checked.lr <= STILL else 1

    def _lr(self) -> float:
        """The lr that the optimizer uses."""
        lr = float(self._optimizer.param_groups[0]["lr"])
        return lr * (1.0 if self._guard is None else self._guard.pending_factor)

    def _read(self, closure: Callable[[], Tensor]) -> Reading:
        if has_limit(self._optimizer):
            self._measure(closure)

        limit = self._limit()
        level = "edge" if self._lr() > EDGE * limit else "calm"
        self._checked = self._report(level)
        self._checks += 1
        return self._checked

    def _limit(self) -> float:
        return math.nan if self._curvature is None else self._curvature.limit(self._optimizer)

    def _measure(self, closure: Callable[[], Tensor]) -> None:
        """The curvature along the tracked direction, on this batch and those before."""
        every = [p for group in self._optimizer.param_groups for p in group["params"]]
        if all(p.grad is None for p in every):
            raise Refusal(
                "gradients", "there at a check", "none", "call check after loss.backward()"
            )
        at = coordinates(self._optimizer, with_gradient=True)
        if not at.params:
            # An adaptive optimizer whose run went back to its start has no preconditioner yet.
            return

        model = self._model
        still = nullcontext() if model is None else quiet(model)
        # The extra gradient stays on its rank.
        alone: Any = getattr(model, "no_sync", nullcontext)()
        with still, alone, torch.enable_grad():
            if model is not None and _has_dropout(model):
                here = gradients(closure(), at.params)
            else:
                here = [p.grad for p in at.params if p.grad is not None]

            if not self._direction.fits(at.params):
                self._direction.begin(at)
                self._coarse = is_coarse(closure)
                self._curvature = None
                for _ in range(FIRST_TURNS):
                    self._product(at, here, closure)
                    self._direction.turn()
            seen = self._product(at, here, closure)

        before = self._curvature
        if before is not None and math.isfinite(seen.variance):
            # The first variance is a guess, as there is no second batch yet. Later every second
            # check has one: two products along the same direction.
            keep = FORGETTING if self._checks > 1 else 0.0
            if not self._direction.compared:
                keep = 1.0
            seen = DirectionalCurvature(
                FORGETTING * before.mean + (1.0 - FORGETTING) * seen.mean,
                keep * before.variance + (1.0 - keep) * seen.variance,
            )
        self._curvature = seen
        if self._direction.compared:
            self._direction.turn()

    def _product(
        self, at: Coordinates, here: list[Tensor], closure: Callable[[], Tensor]
    ) -> DirectionalCurvature:
        return self._direction.product(
            at, here, lambda: gradients(closure(), at.params), coarse=self._coarse
        )

    def _report(self, level: str, action: str = "") -> Reading:
        """Make a reading of the state of now, and hand it to whoever wants to know."""
        lr = self._lr()
        limit = self._limit()
        reading = Reading(
            step=self.steps,
            lr=lr,
            momentum=momentum_of(self._optimizer),
            curvature=math.nan if self._curvature is None else self._curvature.mean,
            limit=limit,
            margin=math.inf if limit == 0.0 else lr / limit,
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
            self._write(self._csv, reading)

        return reading

    @staticmethod
    def _write(path: Path, reading: Reading) -> None:
        fresh = not path.exists()
        with path.open("a", newline="", encoding="utf-8") as file:
            rows = csv.DictWriter(file, list(asdict(reading)))
            if fresh:
                rows.writeheader()
            rows.writerow(asdict(reading))


def _has_dropout(model: nn.Module) -> bool:
    kinds = (nn.modules.dropout._DropoutNd,)
    return any(isinstance(m, kinds) and m.training and m.p > 0.0 for m in model.modules())
