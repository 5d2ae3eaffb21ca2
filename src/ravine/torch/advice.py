"""``advise``: a learning rate and momentum for a PyTorch model, from real steps on copies."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ravine.arguments import Refusal, one_number, whole
from ravine.torch.copies import Batches, BatchLoss, batch_loss, untouched
from ravine.torch.curvature import SAMPLES, LocalCurvature, measure
from ravine.torch.race import PLANS, Race, race
from ravine.torch.trial import Setting, lr_ratios, set_parameters

CHALLENGERS = (0.9, 0.0)
"""Momenta that are tried against the user's; between them a change of lr does as much."""

GAIN = 0.8
"""A challenger replaces the user's momentum when its loss is below this share of the other's."""

USUAL_LR = 4e-3
"""Where the search starts four times below, for optimizers that curvature says nothing about."""


@dataclass(frozen=True, eq=False)
class Row:
    """One learning rate that was tried."""

    lr: float
    momentum: float | None
    steps: int
    loss: float
    outcome: str


@dataclass(frozen=True, eq=False)
class Advice:
    """What ``advise`` recommends and why."""

    lr: float
    """For the first parameter group; the others keep their proportion to it."""
    momentum: float | None
    """None where the optimizer has none."""
    lrs: list[float]
    """For each parameter group."""
    improves: bool
    """Whether any lr lowered the loss within the steps that were tried."""
    start_loss: float
    loss: float
    """Of the run that won, at its end."""
    rows: list[Row]
    steps: int
    """Real steps taken, on copies."""
    curvature: LocalCurvature | None
    """None for optimizers that are not of the momentum family."""
    gamma: float | None
    budget: str

    @property
    def limit(self) -> float | None:
        """The largest lr that is stable in mean square with this momentum and the user's batches.

        Exact for quadratics with all directions measured, otherwise local: of the curvature here.
        """
        if self.curvature is None or self.momentum is None:
            return None

        return self.curvature.limit(self.momentum, self._look())

    @property
    def critical_batch_size(self) -> float | None:
        """The batch from which lr and momentum are stable in mean square, by the curvature here."""
        if self.curvature is None or self.momentum is None:
            return None

        return self.curvature.critical_batch_size(self.lr, self.momentum, self._look())

    def _look(self) -> float | None:
        return 0.0 if self.gamma == 0.0 else None

    @property
    def scope(self) -> str:
        """What the curvature's limits hold for."""
        if self.curvature is None:
            return "no limits: not a momentum method"
        if not self.curvature.quadratic:
            return "local: the curvature at these weights, which changes as they do"
        if self.curvature.complete:
            return "exact: the loss is quadratic"

        return "quadratic loss, its leading directions"

    def apply(self, optimizer: torch.optim.Optimizer) -> None:
        """Set lr of every group, and momentum, of the user's optimizer."""
        set_parameters(optimizer, self.lr, self.momentum)

    def limits(
        self, momenta: tuple[float, ...] = (0.0, 0.5, 0.9, 0.99), batch_sizes: tuple[int, ...] = ()
    ) -> dict[tuple[float, int], float]:
        """The largest stable lr by (momentum, batch size): the map of what the curvature allows."""
        if self.curvature is None:
            return {}

        size = self.curvature.batch_size
        sizes = batch_sizes or (max(size // 4, 1), size, size * 4)

        return {
            (m, b): self.curvature.limit(m, 0.0 if self.gamma == 0.0 else None, b)
            for m in momenta
            for b in sizes
        }

    @property
    def sentence(self) -> str:
        """The recommendation in a line."""
        pair = f"lr = {self.lr:.3g}"
        if self.momentum is not None:
            pair += f", momentum = {self.momentum:g}"
        if len(self.lrs) > 1:
            pair += f" (groups: {', '.join(f'{lr:.3g}' for lr in self.lrs)})"
        if not self.improves:
            longest = max((row.steps for row in self.rows), default=0)
            return f"no lr improved the loss within {longest} steps; the least harmful: {pair}"

        return f"{pair}: the loss went from {self.start_loss:.4g} to {self.loss:.4g} in real steps"

    def table(self) -> str:
        """Every lr that was tried, and what became of it."""
        lines = [f"{'lr':>10} {'momentum':>9} {'steps':>6} {'loss':>10}  outcome"]
        for row in self.rows:
            momentum = "" if row.momentum is None else f"{row.momentum:g}"
            lines.append(
                f"{row.lr:10.3g} {momentum:>9} {row.steps:6d} {row.loss:10.4g}  {row.outcome}"
            )

        return "\n".join(lines)

    def __str__(self) -> str:
        lines = [self.sentence]
        if self.limit is not None:
            lines.append(
                f"mean-square limit of lr {self.limit:.3g}, critical batch size "
                f"{self.critical_batch_size:.3g} ({self.scope})"
            )

        lines += [self.table(), f"{self.steps} steps on copies; nothing of yours was changed"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{r.lr:.3g}</td><td>{'' if r.momentum is None else r.momentum}</td>"
            f"<td>{r.steps}</td><td>{r.loss:.4g}</td><td>{r.outcome}</td></tr>"
            for r in self.rows
        )

        head = "".join(f"<th>{h}</th>" for h in ("lr", "momentum", "steps", "loss", "outcome"))
        return f"<p><b>{self.sentence}</b></p><table><tr>{head}</tr>{rows}</table>"

    def to_json(self) -> str:
        """Everything as JSON; numbers that are not finite are null."""

        def number(value: float | None) -> float | None:
            return None if value is None or not np.isfinite(value) else float(value)

        return json.dumps(
            {
                "lr": self.lr,
                "momentum": self.momentum,
                "lrs": self.lrs,
                "improves": self.improves,
                "start_loss": number(self.start_loss),
                "loss": number(self.loss),
                "steps": self.steps,
                "budget": self.budget,
                "limit": number(self.limit),
                "critical_batch_size": number(self.critical_batch_size),
                "scope": self.scope,
                "rows": [{**vars(row), "loss": number(row.loss)} for row in self.rows],
            },
            indent=2,
        )

    def plot(self, path: str | None = None) -> Any:
        """Loss against lr, with the curvature's limit; saved to ``path`` if given."""
        from ravine.torch.pictures import draw_advice

        return draw_advice(self, path)


def advise(
    model: nn.Module,
    loss_fn: Callable[..., Tensor] | None,
    loader: Any,
    *,
    optimizer: torch.optim.Optimizer | None = None,
    budget: str = "race",
    momentum: str = "choose",
    batch_loss: BatchLoss | None = None,
    clip_grad_norm: float | None = None,
    accumulate: int = 1,
    autocast: torch.dtype | None = None,
    seed: int = 0,
) -> Advice:
    """Recommend a learning rate and a momentum, in place of a learning-rate finder.

    The curvature of some batches sets where to look, and short runs of real steps decide: on copies
    of the model and the optimizer, with the loader's own batches. The user's model, buffers,
    optimizer, generators and loader are left as they were.

    Parameters
    ----------
    model
        In the mode in which it is trained, and at the weights from which it will be.
    loss_fn
        ``loss_fn(model(inputs), target)`` for batches (inputs, target); None for batches that are
        mappings and models that return their own loss.
    loader
        Batches as they will be trained on; anything that can be iterated more than once.
    optimizer
        The user's: its kind, parameter groups, weight decay and dampening are kept, and its lrs in
        proportion. None: ``torch.optim.SGD(momentum=0.9, nesterov=True)``.
    budget
        ``"race"`` (some 300 steps) or ``"quick"`` (some 90).
    momentum
        ``"choose"`` tries others too, ``"keep"`` leaves the optimizer's.
    batch_loss
        ``batch_loss(model, batch)``, for anything that ``loss_fn`` cannot say.
    clip_grad_norm, accumulate, autocast
        Clip gradients to this norm, add up so many batches a step, run in this precision, as the
        user's loop does.
    seed
        Of dropout in the runs.

    Returns
    -------
    Advice
        The pair, a table of what was tried, the limits of the curvature, a picture, JSON.

    Examples
    --------
    >>> import torch
    >>> _ = torch.manual_seed(0)
    >>> x = torch.randn(64, 3)
    >>> data = torch.utils.data.TensorDataset(x, x.sum(dim=1, keepdim=True))
    >>> loader = torch.utils.data.DataLoader(data, batch_size=16)
    >>> advice = advise(torch.nn.Linear(3, 1), torch.nn.functional.mse_loss, loader)
    >>> advice.improves and advice.lr < advice.limit
    True
    """
    if budget not in PLANS:
        raise Refusal("budget", f"one of {', '.join(PLANS)}", repr(budget), "pick one")
    if momentum not in ("choose", "keep"):
        raise Refusal("momentum", "'choose' or 'keep'", repr(momentum), "pick one")

    whole("accumulate", accumulate, 1, remedy="give the batches a step")
    if clip_grad_norm is not None:
        one_number("clip_grad_norm", clip_grad_norm, "positive", remedy="give a norm, e.g. 1.0")
    if optimizer is None:
        optimizer = torch.optim.SGD(model.parameters(), lr=1.0, momentum=0.9, nesterov=True)

    loss = batch_loss or _loss_of(loss_fn)

    with untouched(model, loader):
        device = next(model.parameters()).device
        batches = Batches(loader, device)
        setting = Setting(
            model, optimizer, loss, batches, clip_grad_norm, accumulate, autocast, seed
        )
        return _decide(setting, budget, momentum == "choose")


def _loss_of(loss_fn: Callable[..., Tensor] | None) -> BatchLoss:
    return batch_loss(loss_fn)


def _decide(setting: Setting, budget: str, choose: bool) -> Advice:
    group = setting.optimizer.param_groups[0]
    family = _is_momentum_method(setting.optimizer)
    own = float(group["momentum"]) if "momentum" in group else None
    gamma = _look_ahead(setting.optimizer, own)
    curvature = _curvature(setting, budget) if family else None

    first = race(setting, _unit(setting, curvature, own, gamma), own, budget)
    races = [first]
    best = first
    if choose and family and own is not None and budget == "race" and first.winner is not None:
        for other in CHALLENGERS:
            if abs(other - own) < 0.05:
                continue
            rival = _challenge(setting, curvature, first, other, gamma)
            races.append(rival)
            if rival.score < GAIN * best.score:
                best = rival

    return _advice(setting, races, best, curvature, gamma, budget)


def _is_momentum_method(optimizer: torch.optim.Optimizer) -> bool:
    """Whether steps are alpha times gradients plus momentum: curvature then bounds lr."""
    from ravine.torch.optimizer import ASG

    return isinstance(optimizer, (torch.optim.SGD, ASG))


def _look_ahead(optimizer: torch.optim.Optimizer, momentum: float | None) -> float | None:
    group = optimizer.param_groups[0]
    if "nesterov" in group:
        return momentum if group["nesterov"] else 0.0

    own = group.get("gamma", momentum)
    return momentum if own is None else own


def _curvature(setting: Setting, budget: str) -> LocalCurvature:
    model = copy.deepcopy(setting.model)
    ratios = lr_ratios(setting.optimizer)
    scale: dict[int, float] = {}
    for group, ratio in zip(setting.optimizer.param_groups, ratios, strict=True):
        scale.update({id(p): ratio for p in group["params"]})

    # A parameter that the optimizer does not have does not move: scale 0.
    scales = [scale.get(id(p), 0.0) for p in setting.model.parameters() if p.requires_grad]
    samples = setting.batches.samples(SAMPLES, at_least=2)
    return measure(model, setting.loss, samples, scales, seed=setting.seed)


def _unit(
    setting: Setting,
    curvature: LocalCurvature | None,
    momentum: float | None,
    gamma: float | None,
) -> float:
    """The lr at which the top of the mean Hessian is just stable: exponent 0 of the race."""
    if curvature is None or curvature.top <= 0.0:
        return USUAL_LR

    m = momentum or 0.0
    group = setting.optimizer.param_groups[0]
    decay = float(group.get("weight_decay", 0.0))
    kept = 1.0 - float(group.get("dampening", 0.0)) if m else 1.0
    look = 0.0 if gamma is None else gamma
    return 2.0 * (1.0 + m) / ((1.0 + 2.0 * look) * (curvature.top + decay) * kept)


def _challenge(
    setting: Setting,
    curvature: LocalCurvature | None,
    first: Race,
    momentum: float,
    gamma: float | None,
) -> Race:
    """Another momentum at the same effective lr, lr/(1 - momentum), for as many steps."""
    from ravine.torch.trial import Trial

    assert first.winner is not None
    assert first.chosen is not None
    assert first.momentum is not None
    won = first.trials[first.winner]
    lr = first.unit * 2.0**first.chosen * (1.0 - momentum) / (1.0 - first.momentum)
    look = 0.0 if gamma == 0.0 else momentum
    # No challenger above its own edge, where the first lr may be with less momentum.
    lr = min(lr, 0.5 * _unit(setting, curvature, momentum, look))
    rival = Race(lr, momentum, {0: Trial(setting, lr, momentum)}, None, None)
    start = won.checks[0]
    rival.trials[0].to(won.steps, start + 2.0 * abs(start))
    if rival.trials[0].alive:
        rival.winner = 0
        rival.chosen = -int(rival.trials[0].rise(3) > PLANS["race"].rise)

    return rival


def _advice(
    setting: Setting,
    races: list[Race],
    best: Race,
    curvature: LocalCurvature | None,
    gamma: float | None,
    budget: str,
) -> Advice:
    rows: list[Row] = []
    for field in races:
        for exponent, trial in sorted(field.trials.items()):
            outcome = "dropped"
            if not trial.alive:
                outcome = "blew up"
            elif field is best and exponent == field.winner:
                outcome = "won"

            rows.append(Row(trial.lr, trial.momentum, trial.steps, trial.checks[-1], outcome))

    any_trial = next(iter(best.trials.values()))
    start = any_trial.checks[0]
    won = best.trials[best.winner] if best.winner is not None else None
    power = best.chosen if best.chosen is not None else float(min(best.trials))
    lr = best.unit * 2.0**power

    return Advice(
        lr=lr,
        momentum=best.momentum,
        lrs=[lr * ratio for ratio in lr_ratios(setting.optimizer)],
        improves=won is not None and won.checks[-1] < start,
        start_loss=start,
        loss=won.checks[-1] if won is not None else float("nan"),
        rows=rows,
        steps=sum(field.steps for field in races),
        curvature=curvature,
        gamma=gamma,
        budget=budget,
    )
