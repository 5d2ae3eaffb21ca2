"""Training with many learning rates and momenta at once: what the best of a grid reaches."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad, replace_all_batch_norm_modules_, vmap

from benchmarks.torch_tasks import Task

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")

STEPS = 300
"""Steps of a run: the horizon at which a choice is judged."""

CHECKS = (280, 290, 300)
"""Steps whose losses are averaged into the final one."""

MOMENTA = (0.0, 0.5, 0.9, 0.99)
EXPONENTS = tuple(range(-12, 7))
"""The grid of lr is 2^k times the stability limit of the Hessian's top eigenvalue."""


@dataclass
class Outcomes:
    """Start and final loss of every (momentum, lr), and whether it diverged on the way."""

    start: float
    final: np.ndarray
    diverged: np.ndarray


def stability_limit(top: float, momentum: float) -> float:
    """The lr at which Nesterov's method is just stable in a direction of curvature ``top``."""
    return 2.0 * (1.0 + momentum) / ((1.0 + 2.0 * momentum) * top)


def partly_trained(task: Task, batch: int, top: float) -> nn.Module:
    """The model after 100 steps with a lr that was lowered until they went well."""
    stream = task.endless(batch, seed=777)
    lr = stability_limit(top, 0.9) / 8.0
    for _ in range(8):
        model = task.model(0).to(DEVICE)
        rule = torch.optim.SGD(task.groups(model, lr), lr=lr, momentum=0.9, nesterov=True)
        losses: list[float] = []
        for _ in range(100):
            x, y = (part.to(DEVICE) for part in next(stream))
            loss = task.loss(model(x), y)
            rule.zero_grad()
            loss.backward()
            rule.step()
            losses.append(float(loss.detach()))
        if np.isfinite(losses).all() and np.mean(losses[-10:]) < losses[0]:
            return model
        lr /= 4.0
    return task.model(0).to(DEVICE)


def train_all(
    task: Task, model: nn.Module, batch: int, pairs: list[tuple[float, float]]
) -> Outcomes:
    """Train from the same weights, on the same batches, with every (momentum, lr) of ``pairs``.

    Nesterov's method as in ``torch.optim.SGD``, all pairs at once by ``vmap``.
    """
    twin = copy.deepcopy(model).train()
    replace_all_batch_norm_modules_(twin)
    names = [name for name, _ in twin.named_parameters()]
    head = set(names[-2:]) if task.head != 1.0 else set()
    momentum = torch.tensor([m for m, _ in pairs], device=DEVICE)
    lr = torch.tensor([value for _, value in pairs], device=DEVICE)
    count = len(pairs)
    weights = {n: p.detach().expand(count, *p.shape).clone() for n, p in twin.named_parameters()}
    buffers = {n: torch.zeros_like(w) for n, w in weights.items()}

    def loss(params: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        return task.loss(functional_call(twin, params, (x,)), y)

    gradient = vmap(grad(loss), in_dims=(0, None, None))
    evaluate = vmap(loss, in_dims=(0, None, None))
    x_all, y_all = (part.to(DEVICE) for part in task.data())
    order = torch.randperm(len(x_all), generator=torch.Generator().manual_seed(5))[:512]
    order = order.to(DEVICE)
    few = order[:128]
    stream = task.endless(batch, seed=1)

    with torch.no_grad():
        start = evaluate(weights, x_all[order], y_all[order])
        first = evaluate(weights, x_all[few], y_all[few])
        diverged = torch.zeros(count, dtype=torch.bool, device=DEVICE)
        finals = []
        for step in range(1, STEPS + 1):
            x, y = (part.to(DEVICE) for part in next(stream))
            grads = gradient(weights, x, y)
            for name, g in grads.items():
                shape = (count, *[1] * (g.ndim - 1))
                m = momentum.view(shape)
                scale = (lr * (task.head if name in head else 1.0)).view(shape)
                buffers[name].mul_(m).add_(g)
                weights[name].sub_(scale * (g + m * buffers[name]))
            if step % 20 == 0:
                now = evaluate(weights, x_all[few], y_all[few])
                diverged |= ~(now <= 10.0 * first)
            if step in CHECKS:
                finals.append(evaluate(weights, x_all[order], y_all[order]))
    final = torch.stack(finals).mean(dim=0).double().cpu().numpy()
    lost = diverged.cpu().numpy() | ~np.isfinite(final)
    return Outcomes(float(start[0]), np.where(lost, np.inf, final), lost)
