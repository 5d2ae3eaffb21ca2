"""``Monitor``: how near a running optimizer is to its stability limit, from one extra gradient."""

from __future__ import annotations

import csv
import math
from collections import deque
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ravine.arguments import Refusal, whole
from ravine.torch import alarm
from ravine.torch.copies import quiet
from ravine.torch.optimizer import ASG
from ravine.torch.reading import Reading, stability_limit
from ravine.torch.risk import blow_up_risk
from ravine.torch.trend import LossTrend
from ravine.torch.trial import lr_ratios

STEP = 1e-3
"""Length of the step of a finite difference, relative to the weights: between rounding in single
precision and the change of the Hessian along the step."""

CALM = 0.4
CALM_GAP = 3
"""Below this margin, with the lr of now, a check comes every third time: a blow-up is far."""

STILL = 1.1
STILL_GAP = 2
"""Where lr has changed by less than such a factor since the last check, and the loss has not risen
by it, every second time: curvature that grows alone does so over hundreds of steps."""

FIRST_TURNS = 4
"""Products at the first check, to turn a random direction towards the top of the Hessian."""

LOOK_ON_DEVICE = 5
"""Steps whose losses are read together on a GPU, as reading waits for it; on a CPU every step."""

FORGETTING = 0.5
"""Of the curvature, a check."""


class Monitor:
    """Watch an optimizer: one extra gradient every 20 steps gives its margin to the limit.

    Call ``check`` after ``loss.backward()`` and before ``optimizer.step()``::

        monitor = Monitor(optimizer, model=model)
        for x, y in loader:
            optimizer.zero_grad()
            loss = loss_fn(model(x), y)
            loss.backward()
            monitor.check(lambda: loss_fn(model(x), y), loss)
            optimizer.step()

    The curvature along a tracked direction u is (g(w + step u) - g(w))/step on the same batch, and
    u is turned towards it. Its mean and mean square over checks give the largest lr that is stable
    in mean square; ``margin`` is lr over that. Between two checks the losses themselves are looked
    at, which costs nothing: ``steps_left`` is when they reach ten times their start at their pace.

    Parameters
    ----------
    optimizer
        ``torch.optim.SGD`` or ``ravine.torch.ASG``.
    every
        Steps between two checks; twice as many while lr and loss are steady, three times as many
        while the margin is below 0.4.
    model
        Given, it is kept free of dropout in the extra gradient and its BatchNorm averages are left
        alone. With dropout a check costs two gradients.
    loss_kind
        ``"mse"`` or ``"cross-entropy"``: which runs the risk was calibrated on; None: both.
    on_warning
        ``"scale"`` lowers lr at a warning to 0.7 of the limit, at least by half, and says so; a
        function is called with the reading; None does nothing.
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
        loss_kind: str | None = None,
        on_warning: str | Callable[[Reading], None] | None = None,
        csv_path: str | Path | None = None,
        writer: Any = None,
        seed: int = 0,
    ) -> None:
        if not isinstance(optimizer, (torch.optim.SGD, ASG)):
            raise Refusal(
                "optimizer", "torch.optim.SGD or ravine.torch.ASG", type(optimizer).__name__,
                "the limit of other optimizers is not known",
            )  # fmt: skip

        if loss_kind not in (None, "mse", "cross-entropy"):
            raise Refusal(
                "loss_kind", "'mse', 'cross-entropy' or None", repr(loss_kind), "pick one"
            )

        if isinstance(on_warning, str) and on_warning != "scale":
            raise Refusal("on_warning", "'scale', a function or None", repr(on_warning), "pick one")

        self.every = whole("every", every, 1, remedy="give a number of steps, e.g. 20")
        self.readings: list[Reading] = []
        self.steps = 0
        self._optimizer = optimizer
        self._model = model
        self._kind = loss_kind
        self._on_warning = on_warning
        self._csv = None if csv_path is None else Path(csv_path)
        self._writer = writer
        self._draw = torch.Generator().manual_seed(seed)
        self._direction: Tensor | None = None
        self._moments: tuple[float, float] | None = None
        self._trend = LossTrend()
        self._unread: list[Tensor] = []
        self._lrs: deque[float] = deque(maxlen=alarm.GROWTH_OF_LR + 1)
        self._checks: list[Reading] = []

    def check(self, closure: Callable[[], Tensor], loss: Tensor | None = None) -> Reading | None:
        """Count a step; every so often read the margin.

        Parameters
        ----------
        closure
            Computes the loss of the same batch again; nothing else, no backward pass.
        loss
            The loss of this step, for the smoothed loss; left out, that of the closure is used.

        Returns
        -------
        Reading or None
            None between two checks, unless lr or the loss has come to a warning since.
        """
        self._lrs.append(float(self._optimizer.param_groups[0]["lr"]))
        fresh = loss is not None and self._take(loss)

        reading = None
        if self._due():
            reading = self._read(closure, loss is None)
            self._checks.append(reading)
        elif fresh:
            reading = self._look()

        self.steps += 1
        return reading

    def _take(self, loss: Tensor) -> bool:
        """Add a loss to the trend; whether it, and those that waited, have been read."""
        if loss.is_cpu:
            self._trend.add(loss.item())
            return True

        self._unread.append(loss.detach())
        if len(self._unread) < LOOK_ON_DEVICE:
            return False

        self._read_losses()
        return True

    def _read_losses(self) -> None:
        if self._unread:
            for value in torch.stack(self._unread).tolist():
                self._trend.add(value)
            self._unread.clear()

    def _due(self) -> bool:
        """Whether a check is due: after ``every`` steps, later where nothing changes."""
        if not self._checks:
            return True

        gap = self.steps - self._checks[-1].step
        return gap >= self.every and gap >= self.every * self._patience()

    def _patience(self) -> int:
        """How many times ``every`` the next check can wait."""
        if len(self._checks) < 3:
            return 1

        last = self._checks[-1]
        lr = self._lrs[-1]
        if lr < CALM * last.limit:
            return CALM_GAP
        if last.lr / STILL <= lr <= STILL * last.lr and self._trend.rise <= STILL:
            return STILL_GAP

        return 1

    def _look(self) -> Reading | None:
        """Between two checks: the limit of the last one with today's lr and losses; no gradient."""
        last = self.readings[-1]
        steady = max(self._changes_of_lr()) < alarm.GROWN
        if steady and self._trend.rise < alarm.at_rest(last.momentum):
            return None

        if self._moments is None or last.level == "warning":
            return None

        margin = self._lrs[-1] / last.limit if last.limit > 0.0 else math.inf
        if not alarm.warns(self._trend, self._danger(margin)):
            return None

        reading = self._judge(*self._moments)
        self.readings.append(reading)
        self._report(reading)
        return reading

    def _danger(self, margin: float) -> float:
        momentum = float(self._optimizer.param_groups[0]["momentum"])
        return alarm.danger(self._trend, margin, *self._changes_of_lr(), momentum)

    def _changes_of_lr(self) -> tuple[float, float]:
        """How many times lr became what it was 20 and 5 steps before."""
        lrs = self._lrs
        now = lrs[-1]
        long_ago = lrs[0]
        before = lrs[-1 - alarm.JUMP_OF_LR] if len(lrs) > alarm.JUMP_OF_LR else long_ago
        return (
            now / long_ago if long_ago > 0.0 else 1.0,
            now / before if before > 0.0 else 1.0,
        )

    def _read(self, closure: Callable[[], Tensor], use_its_loss: bool) -> Reading:
        self._read_losses()
        params, root = self._weights()
        count = sum(p.numel() for p in params)
        if self._direction is None or self._direction.numel() != count:
            noise = torch.randn(count, generator=self._draw).to(params[0])
            self._direction = noise / noise.norm()
            for _ in range(FIRST_TURNS):
                self._turn(params, root, closure, use_its_loss=False)

        first, second = self._turn(params, root, closure, use_its_loss)
        if self._moments is not None and math.isfinite(first) and math.isfinite(second):
            first = FORGETTING * self._moments[0] + (1.0 - FORGETTING) * first
            second = FORGETTING * self._moments[1] + (1.0 - FORGETTING) * second

        self._moments = (first, second)

        reading = self._judge(first, second)
        self.readings.append(reading)
        self._report(reading)
        return reading

    def _weights(self) -> tuple[list[Tensor], Tensor | float]:
        """Weights that have a gradient, and the roots of their lrs over the first group's."""
        params: list[Tensor] = []
        roots: list[Tensor] = []
        ratios = lr_ratios(self._optimizer)
        for group, ratio in zip(self._optimizer.param_groups, ratios, strict=True):
            for p in group["params"]:
                if p.grad is not None:
                    params.append(p)
                    if any(other != 1.0 for other in ratios):
                        roots.append(torch.full_like(p, math.sqrt(ratio)).reshape(-1))

        if not params:
            raise Refusal(
                "gradients", "there at a check", "none", "call check after loss.backward()"
            )

        return params, torch.cat(roots) if roots else 1.0

    def _turn(
        self,
        params: list[Tensor],
        root: Tensor | float,
        closure: Callable[[], Tensor],
        use_its_loss: bool,
    ) -> tuple[float, float]:
        """u·Hu and ‖Hu‖², and u turned towards Hu."""
        u = self._direction
        assert u is not None

        with torch.no_grad():
            lengths = torch.stack(torch._foreach_norm([p.detach() for p in params]))
            step = STEP * max(1.0, float(lengths.norm()))

        here = self._gradient_here(params, closure)
        there, loss = self._gradient_there(params, (root * step) * u, closure)
        if use_its_loss:
            self._trend.add(float(loss))

        # In place: these passes over the weights are a tenth of a check.
        image = there.sub_(here).mul_(root / step)
        first, second = torch.stack([u @ image, image @ image]).tolist()
        turned = image.add_(u, alpha=abs(first))
        length = float(turned.norm())
        if math.isfinite(length) and length > 0.0:
            self._direction = turned.div_(length)

        return first, second

    def _gradient_here(self, params: list[Tensor], closure: Callable[[], Tensor]) -> Tensor:
        if self._model is not None and _has_dropout(self._model):
            with quiet(self._model):
                return _gradient(params, closure())

        return torch.cat([p.grad.reshape(-1) for p in params if p.grad is not None])

    def _gradient_there(
        self, params: list[Tensor], move: Tensor, closure: Callable[[], Tensor]
    ) -> tuple[Tensor, Tensor]:
        kept = [p.detach().clone() for p in params]
        parts = torch.split(move, [p.numel() for p in params])
        still = nullcontext() if self._model is None else quiet(self._model)

        try:
            with torch.no_grad():
                shaped = [part.view_as(p) for p, part in zip(params, parts, strict=True)]
                torch._foreach_add_(params, shaped)
            with torch.enable_grad(), still:
                loss = closure()
                return _gradient(params, loss), loss.detach()
        finally:
            with torch.no_grad():
                torch._foreach_copy_(params, kept)

    def _judge(self, first: float, second: float) -> Reading:
        group = self._optimizer.param_groups[0]
        momentum = float(group["momentum"])
        gamma = _look_ahead(group, momentum)
        decay = float(group.get("weight_decay", 0.0))
        # Weight decay adds to every curvature; with dampening the step size is lr (1 - dampening).
        second += 2.0 * decay * first + decay**2
        first += decay
        kept = 1.0 - float(group.get("dampening", 0.0)) if momentum else 1.0
        lr = float(group["lr"])
        finite = math.isfinite(first) and math.isfinite(second)
        limit = stability_limit(first, second, momentum, gamma) / kept if finite else 0.0
        margin = math.inf if limit == 0.0 else lr / limit

        rise = self._trend.rise
        left = self._trend.steps_left
        danger = self._danger(margin)
        level = "calm"
        if alarm.warns(self._trend, danger):
            level = "warning"
        elif margin > alarm.EDGE:
            level = "edge"

        before = [r for r in self.readings if r.step >= self.steps - 2 * self.every]
        message = ""
        if level != "calm":
            message = alarm.margin_words(self.steps, margin, momentum)
            message += alarm.growth_words(alarm.margin_to_come(margin, *self._changes_of_lr()))
            message += alarm.curvature_words(self.steps, first, before)
            message += alarm.loss_words(self._trend) if level == "warning" else ""
            message += alarm.remedy_words(lr, margin, first, second, momentum, gamma)

        action = ""
        if level == "warning" and self._on_warning == "scale":
            factor = alarm.lowered(margin)
            for each in self._optimizer.param_groups:
                each["lr"] = each["lr"] * factor
            action = f"lr was lowered from {lr:.3g} to {lr * factor:.3g}"

        risk = blow_up_risk(danger, self._kind)

        return Reading(
            self.steps, lr, momentum, first, limit, margin, rise, left, danger, risk, level,
            message, action,
        )  # fmt: skip

    def _report(self, reading: Reading) -> None:
        if reading.level == "warning" and callable(self._on_warning):
            self._on_warning(reading)
        if self._writer is not None:
            for name in ("margin", "risk", "curvature", "limit"):
                self._writer.add_scalar(f"ravine/{name}", getattr(reading, name), reading.step)

        if self._csv is not None:
            fresh = not self._csv.exists()
            with self._csv.open("a", newline="", encoding="utf-8") as file:
                rows = csv.DictWriter(file, list(asdict(reading)))
                if fresh:
                    rows.writeheader()
                rows.writerow(asdict(reading))


def _gradient(params: list[Tensor], loss: Tensor) -> Tensor:
    grads = torch.autograd.grad(loss, params, allow_unused=True)
    parts = [torch.zeros_like(p) if g is None else g for p, g in zip(params, grads, strict=True)]
    return torch.cat([part.reshape(-1) for part in parts])


def _has_dropout(model: nn.Module) -> bool:
    kinds = (nn.modules.dropout._DropoutNd,)
    return any(isinstance(m, kinds) and m.training and m.p > 0.0 for m in model.modules())


def _look_ahead(group: dict[str, Any], momentum: float) -> float:
    if "nesterov" in group:
        return momentum if group["nesterov"] else 0.0

    return momentum if group["gamma"] is None else float(group["gamma"])
