"""Many learning rates of one task, trained at once under ``torch.vmap`` on the same batches."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.func import functional_call, grad_and_value, vmap

from benchmarks.torch.task import Task

BETAS, EPS, DECAY = (0.9, 0.999), 1e-8, 0.01
"""Of AdamW; SGD has Nesterov's momentum 0.9 and no weight decay."""

JUDGED = 2048
"""Samples of the final loss, at most."""

HISTORY, OUTLIER = 128, 6.0
"""A step is skipped when its loss or gradient norm is so many standard deviations above the mean of
so many steps before: the rule of OLMo."""


def train_all(
    task: Task,
    kind: str,
    lr_at: Callable[[int], Tensor],
    steps: int,
    *,
    clip: Tensor | None = None,
    skip: Tensor | None = None,
) -> list[float]:
    """The final loss of every copy on all data; infinite where it is not a number.

    ``lr_at(step)`` is the lr of each copy; ``clip`` and ``skip`` say which copies have their
    gradients clipped to norm 1, and which skip outliers.
    """
    model = task.model(0)
    count = len(lr_at(0))
    weights = {k: v.detach().expand(count, *v.shape).clone() for k, v in model.named_parameters()}
    first = {k: torch.zeros_like(v) for k, v in weights.items()}
    second = {k: torch.zeros_like(v) for k, v in weights.items()}
    seen: list[Tensor] = []

    def loss(params: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return task.loss(functional_call(model, params, (x,)), y)

    gradient = vmap(grad_and_value(loss), in_dims=(0, None, None))
    batches = task.endless(task.batches[0], seed=1000)
    with torch.no_grad():
        for step in range(steps):
            grads, losses = gradient(weights, *next(batches))
            moves = torch.ones(count, dtype=torch.bool)
            if clip is not None and skip is not None:
                norms = sum(g.flatten(1).square().sum(dim=1) for g in grads.values()).sqrt()
                scale = torch.where(clip, (1.0 / (norms + 1e-6)).clamp(max=1.0), 1.0)
                grads = {k: g * _like(scale, g) for k, g in grads.items()}
                moves = ~(skip & _is_outlier(seen, torch.stack([losses, norms])))
            for k, w in weights.items():
                lr = _like(lr_at(step), w)
                _move(kind, w, grads[k], first[k], second[k], lr, step + 1, _like(moves, w))
        x, y = (part[:JUDGED] for part in task.data())
        ends = vmap(loss, in_dims=(0, None, None))(weights, x, y).tolist()
    return [end if math.isfinite(end) else math.inf for end in ends]


def _like(values: Tensor, tensor: Tensor) -> Tensor:
    return values.reshape(-1, *(1 for _ in tensor.shape[1:]))


def _is_outlier(seen: list[Tensor], now: Tensor) -> Tensor:
    """Which copies have a loss or norm far above those before; ``now`` is added to them."""
    result = torch.zeros(now.shape[1], dtype=torch.bool)
    if len(seen) >= 10:
        before = torch.stack(seen[-HISTORY:])
        bound = before.mean(dim=0) + OUTLIER * before.std(dim=0)
        result = (~(now <= bound)).any(dim=0)
    seen.append(now)
    return result


def _move(
    kind: str, w: Tensor, g: Tensor, m: Tensor, v: Tensor, lr: Tensor, t: int, moves: Tensor
) -> None:
    """One step of ``torch.optim.AdamW`` or ``SGD(nesterov=True)``, in place, where it moves."""
    if kind == "SGD":
        new = 0.9 * m + g
        m.copy_(torch.where(moves, new, m))
        w.sub_(torch.where(moves, lr * (g + 0.9 * new), 0.0))
        return
    new_m = BETAS[0] * m + (1.0 - BETAS[0]) * g
    new_v = BETAS[1] * v + (1.0 - BETAS[1]) * g * g
    m.copy_(torch.where(moves, new_m, m))
    v.copy_(torch.where(moves, new_v, v))
    root = (new_v / (1.0 - BETAS[1] ** t)).sqrt() + EPS
    w.sub_(torch.where(moves, lr * (DECAY * w + new_m / (1.0 - BETAS[0] ** t) / root), 0.0))
