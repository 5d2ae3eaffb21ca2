"""``advise``: a learning rate and momentum for a PyTorch model, from real steps on copies."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from ravine.arguments import Refusal, one_number, whole
from ravine.torch.answer import Advice, Row
from ravine.torch.copies import Batches, BatchLoss, batch_loss, untouched
from ravine.torch.curvature import SAMPLES, LocalCurvature, measure
from ravine.torch.race import PLANS, Race, race
from ravine.torch.trial import Setting, Trial, lr_ratios

CHALLENGERS = (0.9, 0.0)
"""Momenta that are tried against the user's; between them a change of lr does as much."""

GAIN = 0.8
"""A challenger replaces the user's momentum when its loss is below this share of the other's."""

USUAL_LR = 4e-3
"""Where the search starts four times below, for optimizers that curvature says nothing about."""


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
