"""``advise``: a learning rate for a planned run, from short trials of real steps."""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from rich.console import Console
from rich.progress import Progress
from torch import Tensor, nn

from ravine.arguments import Refusal, one_number, whole
from ravine.torch.answer import Advice
from ravine.torch.borrowed import BatchLoss, BatchReplay, quiet, untouched
from ravine.torch.borrowed import batch_loss as loss_of
from ravine.torch.curvature import SAMPLES, LocalCurvature, measure
from ravine.torch.direction import (
    FIRST_TURNS,
    Coordinates,
    DirectionalCurvature,
    TrackedDirection,
    coordinates,
    look_ahead,
)
from ravine.torch.guard import Snapshot
from ravine.torch.optimizer import ASG
from ravine.torch.products import gradient
from ravine.torch.race import PLANS, Plan, Race
from ravine.torch.schedule import ScheduleLike, schedule_of
from ravine.torch.trial import Setting, Trial, is_adaptive, lr_ratios, run_trial

CHALLENGERS = (0.9, 0.0)
"""Momenta that are tried beside the user's; between them, a change of lr has the same effect."""

GAIN = 0.8
"""Another momentum replaces the user's if its loss is below this share of the loss of the
user's."""

SHARE_OF_RUN = 0.1
"""Share of the planned steps that a race may take if no budget is given."""

LARGE = 10**6
"""Number of parameters above which curvature is measured along one direction, to save memory."""

TURNS = 8
"""Number of batches whose curvature along the direction is compared."""

USUAL_LR = 1e-3
"""Start of the search for optimizers without a default lr."""


def advise(
    model: nn.Module,
    loss_fn: Callable[..., Tensor] | None,
    loader: Any,
    *,
    optimizer: torch.optim.Optimizer | None = None,
    steps: int = 10_000,
    schedule: ScheduleLike = "cosine",
    warmup: float | None = None,
    budget: str | None = None,
    momentum: str = "choose",
    batch_loss: BatchLoss | None = None,
    clip_grad_norm: float | None = None,
    accumulate: int = 1,
    autocast: torch.dtype | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Advice:
    """Recommend a learning rate for a planned run, in place of a learning-rate finder.

    Short trials of real steps decide. Every trial starts from the model's weights and passes
    through the whole schedule of the planned run, compressed to the length of the trial. The trials
    use the model itself, so they need no second copy of it on the device; afterwards the weights,
    buffers, gradients, optimizer, random generators and loader are restored.

    Parameters
    ----------
    model
        In training mode, with the initial weights of the run. It may be compiled, or wrapped in
        ``DistributedDataParallel`` if every rank makes the same call.
    loss_fn
        ``loss_fn(model(inputs), target)`` for batches (inputs, target); None for batches that are
        mappings and models that return their own loss.
    loader
        The training batches; anything that can be iterated more than once.
    optimizer
        Any optimizer with an lr. Its type, parameter groups and other options are kept, and so are
        the ratios of the lrs of its groups. None: ``torch.optim.SGD(momentum=0.9, nesterov=True)``.
    steps
        Optimizer steps of the planned run.
    schedule
        ``"constant"``, ``"linear"`` or ``"cosine"``; a function (step, steps) -> factor; or a
        function of an optimizer that returns a ``torch.optim.lr_scheduler``.
    warmup
        Steps of linear warm-up, or, below 1, their share of the run. None: 5 %, and no warm-up
        before a constant learning rate.
    budget
        ``"quick"`` (at most 250 steps), ``"race"`` (800) or ``"thorough"`` (2,000). None: a race
        of at most a tenth of ``steps``.
    momentum
        ``"choose"`` also tries 0.9 and 0 with SGD and ASG if the race leaves enough steps, as a
        thorough one does; ``"keep"`` keeps the optimizer's.
    batch_loss
        ``batch_loss(model, batch)``, for anything that ``loss_fn`` cannot express.
    clip_grad_norm, accumulate, autocast
        As in the user's loop: the norm to which gradients are clipped, the batches added up per
        step, and the precision.
    seed
        Seed of dropout in the trials.
    progress
        Show a progress bar with the time left. None: if the standard error is a terminal.

    Returns
    -------
    Advice
        The lr, the schedule as code, the trials, how flat the optimum is, limits, JSON.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> x = torch.randn(64, 3)
    >>> data = torch.utils.data.TensorDataset(x, x.sum(dim=1, keepdim=True))
    >>> loader = torch.utils.data.DataLoader(data, batch_size=16)
    >>> model = torch.nn.Linear(3, 1)
    >>> adam = torch.optim.AdamW(model.parameters())
    >>> advice = advise(model, torch.nn.functional.mse_loss, loader, optimizer=adam, steps=2_000)
    >>> advice.improves and 0.01 < advice.lr < 10
    True
    """
    if budget is not None and budget not in PLANS:
        raise Refusal("budget", f"one of {', '.join(PLANS)}", repr(budget), "pick one")
    if momentum not in ("choose", "keep"):
        raise Refusal("momentum", "'choose' or 'keep'", repr(momentum), "pick one")

    whole("accumulate", accumulate, 1, remedy="give the batches per step")
    if clip_grad_norm is not None:
        one_number("clip_grad_norm", clip_grad_norm, "positive", remedy="give a norm, e.g. 1.0")
    if any(hasattr(p, "device_mesh") for p in model.parameters()):
        raise Refusal("model", "whole on every rank", "one in shards", "ask before sharding it")

    planned = schedule_of(schedule, steps, warmup)
    plan = PLANS[budget] if budget else PLANS["race"].within(int(SHARE_OF_RUN * steps))
    if optimizer is None:
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9, nesterov=True)

    batches = BatchReplay(loader, next(model.parameters()).device)
    with untouched(model, loader) as weights, _progress_bar(plan, progress) as advanced:
        setting = Setting(
            model, optimizer, batch_loss or loss_of(loss_fn), batches, planned, weights,
            clip_grad_norm, accumulate, autocast, seed, advanced,
        )  # fmt: skip
        return _Search(setting, plan).decide(budget or "race", momentum == "choose")


@contextmanager
def _progress_bar(plan: Plan, wanted: bool | None) -> Iterator[Callable[[int], None]]:
    """A function to call with the steps taken; the bar ends early if the budget is not used up."""
    shown = sys.stderr.isatty() if wanted is None else wanted
    with Progress(console=Console(stderr=True), transient=True, disable=not shown) as bar:
        task = bar.add_task("trying learning rates", total=plan.most)
        yield lambda steps: bar.advance(task, steps)


class _Search:
    """One call of ``advise``."""

    def __init__(self, setting: Setting, plan: Plan) -> None:
        self.setting = setting
        self.rule = setting.optimizer
        self.is_momentum_method = isinstance(self.rule, (torch.optim.SGD, ASG))
        self.plan = plan.longer() if self.is_momentum_method else plan
        self.bare = _bare(setting.model)
        self.curvature = self._local_curvature()
        # The end of the best trial so far, for its preconditioner.
        self.best: tuple[Trial, Snapshot] | None = None

    def decide(self, budget: str, choose: bool) -> Advice:
        """Race the candidates, measure the curvature along the sharpest direction, and report."""
        group = self.rule.param_groups[0]
        own = float(group["momentum"]) if self.is_momentum_method else None
        along = None
        if self.is_momentum_method and self.curvature is None:
            along = self._along_direction(coordinates(self.rule, with_gradient=False))

        top = self.curvature.top if self.curvature else along.mean if along else 0.0
        keep = self._keep if is_adaptive(self.rule) else None
        race = Race(self.setting, self.plan, self._unit(top, own), own, keep)
        race.run()
        won = race.winner
        tried = sorted(race.trials.values(), key=lambda trial: (trial.steps, trial.lr))
        if choose and won is not None:
            for trial in self._challengers(won, race.steps):
                tried.append(trial)
                if trial.loss < GAIN * won.loss:
                    won = trial

        if self.best is not None:
            end = self.best[1]
            end.put_back()
            at = coordinates(end.optimizer, with_gradient=False)
            # Only the coordinates of the state are needed.
            end.optimizer.state.clear()
            along = self._along_direction(at)

        if won is None:
            lr = min(trial.lr for trial in tried)
        else:
            won.won = True
            lr = won.lr * self._factor()

        # The user's momentum first.
        tried.sort(key=lambda trial: trial.momentum != own)
        return Advice(
            lr=lr,
            momentum=own if won is None else won.momentum,
            lrs=[lr * ratio for ratio in lr_ratios(self.rule)],
            schedule=self.setting.schedule,
            start_loss=self.setting.start,
            rows=tried,
            curvature=self.curvature,
            gamma=look_ahead(group),
            direction=along,
            direction_limit=None if along is None else along.limit(group),
            budget=budget,
            optimizer=_constructor(self.rule, self.setting.model),
        )

    def _local_curvature(self) -> LocalCurvature | None:
        """Mean and variance of the Hessian, for momentum methods and models of moderate size."""
        model = self.bare
        size = sum(p.numel() for p in model.parameters())
        if not self.is_momentum_method or self.setting.ranks > 1 or size > LARGE:
            return None

        ratio_of: dict[int, float] = {}
        for group, ratio in zip(self.rule.param_groups, lr_ratios(self.rule), strict=True):
            ratio_of.update({id(p): ratio for p in group["params"]})

        # A parameter that the optimizer does not have does not move, so its scale is 0.
        scales = [ratio_of.get(id(p), 0.0) for p in model.parameters() if p.requires_grad]
        samples = self.setting.batches.samples(SAMPLES)
        return measure(model, self.setting.loss, samples, scales, seed=self.setting.seed)

    def _along_direction(self, at: Coordinates) -> DirectionalCurvature:
        """The curvature of some batches along the sharpest direction at the model's weights."""
        setting = self.setting
        direction = TrackedDirection(setting.seed, weights_on="cpu")
        seen: list[DirectionalCurvature] = []

        def slope(i: int) -> list[Tensor]:
            return gradient(setting.loss_of(i, self.bare), at.params)

        with quiet(self.bare):
            direction.begin(at, lambda: setting.loss_of(0, self.bare))
            for i in range(FIRST_TURNS + TURNS):
                seen.append(direction.product(at, partial(slope, i)))
                if i < FIRST_TURNS:
                    direction.turn()

        # The first product after a turn has no other to compare with.
        used = seen[FIRST_TURNS + 1 :]
        moments = torch.tensor([[each.mean, each.variance] for each in used])
        mean, variance = setting.read(list(moments.mean(dim=0).to(setting.device)))
        # A step uses the mean of several batches: those that it adds up, and those of all ranks.
        count = setting.accumulate * setting.ranks
        return DirectionalCurvature(mean, variance / count)

    def _unit(self, top: float, momentum: float | None) -> float:
        """The first lr to try: the limit with exact gradients, or the optimizer's default."""
        if momentum is None or not (math.isfinite(top) and top > 0.0):
            return default_lr(self.rule)

        group = {**self.rule.param_groups[0], "momentum": momentum}
        decay = float(group.get("weight_decay", 0.0)) if self.curvature else 0.0
        return DirectionalCurvature(top + decay, 0.0).limit(group)

    def _challengers(self, won: Trial, spent: int) -> Iterator[Trial]:
        """Other momenta at the same effective lr, lr/(1 - momentum), while the budget lasts."""
        if won.momentum is None:
            return
        for other in CHALLENGERS:
            if abs(other - won.momentum) < 0.05 or spent + won.steps > self.plan.most:
                continue
            lr = won.lr * (1.0 - other) / (1.0 - won.momentum)
            # With less momentum, the same effective lr may be unstable: use at most half the limit.
            if self.curvature is not None:
                lr = min(lr, 0.5 * self._unit(self.curvature.top, other))
            trial, _ = run_trial(self.setting, lr, other, won.steps)
            spent += trial.taken
            yield trial

    def _keep(self, trial: Trial, optimizer: torch.optim.Optimizer) -> None:
        """Keep the end of the best of the longest trials, in host memory."""
        best = None if self.best is None else self.best[0]
        better = best is None or (trial.steps, -trial.loss) > (best.steps, -best.loss)
        if math.isfinite(trial.loss) and better:
            model = self.setting.model
            end = Snapshot(optimizer, [*model.parameters(), *model.buffers()], "cpu")
            end.take()
            optimizer.state.clear()
            self.best = (trial, end)

    def _factor(self) -> float:
        """Factor on the winner's lr: a long run stays near the peak for longer than a trial."""
        if self.is_momentum_method:
            return math.sqrt(0.5)

        return 1.0 if self.setting.schedule.falls else 0.5


def _bare(model: Any) -> Any:
    """The module inside the wrappers of ``torch.compile`` and ``DistributedDataParallel``."""
    if isinstance(model, nn.parallel.DistributedDataParallel):
        return _bare(model.module)

    return _bare(model._orig_mod) if hasattr(model, "_orig_mod") else model


def default_lr(optimizer: torch.optim.Optimizer) -> float:
    """The default lr of the optimizer's class."""
    parameter = inspect.signature(type(optimizer)).parameters.get("lr")
    default = None if parameter is None else parameter.default
    return float(default) if isinstance(default, (int, float)) and default > 0.0 else USUAL_LR


def _constructor(optimizer: torch.optim.Optimizer, model: nn.Module) -> str:
    """The optimizer as code, with the fields ``{lr}`` and ``{momentum}``.

    Empty if it has several groups, or not all of the model's parameters.
    """
    if [id(p) for p in optimizer.param_groups[0]["params"]] != [id(p) for p in model.parameters()]:
        return ""

    kind = type(optimizer)
    module = "torch.optim" if kind.__module__.startswith("torch.optim") else kind.__module__
    module = "ravine.torch" if kind is ASG else module
    parameters = inspect.signature(kind).parameters
    chosen = isinstance(optimizer, (torch.optim.SGD, ASG))
    given = ["momentum={momentum}"] if chosen else []
    given += [
        f"{name}={value!r}"
        for name, value in optimizer.defaults.items()
        if name in parameters and name != "lr" and not (chosen and name == "momentum")
        and not isinstance(value, Tensor) and value != parameters[name].default
    ]  # fmt: skip
    return f"{module}.{kind.__name__}({', '.join(['model.parameters()', 'lr={lr}', *given])})"
