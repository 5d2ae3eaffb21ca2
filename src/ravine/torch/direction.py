"""Curvature along a direction that turns towards the sharpest one, from differences of gradients.

What limits an optimizer's lr is the curvature in its own coordinates: P^(-1/2) H P^(-1/2) with P
the preconditioner of Adam or RMSprop, or the identity for SGD, and the lrs of the parameter groups
in proportion.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ravine.theory.ladder.step_limits import adam_limit, largest_step
from ravine.torch.optimizer import ASG
from ravine.torch.trial import lr_ratios

STEP = 1e-3
COARSE_STEP = 1e-2
"""Length of the step of a finite difference, relative to the weights: between rounding and the
change of the Hessian along the step; longer where weights or products have 16 bits."""

IDLE = 1e-3
"""Weights whose preconditioner is below so much of the root mean square of all are left out: a bias
before BatchNorm has no gradient but rounding, which the preconditioner would blow up."""

FIRST_TURNS = 4
"""Products that turn a random direction towards the sharpest one, before any is used."""


KEPT = 0.25
"""Share of the direction, times its curvature, that a turn keeps."""


@dataclass
class Coordinates:
    """An optimizer's parameters, and the coordinates in which it is a momentum method."""

    params: list[Tensor]
    roots: list[Any]
    """Square roots of lr ratio over preconditioner: a tensor or a number for each parameter."""
    decays: list[float]
    """Weight decay that is part of the gradient."""


@dataclass(frozen=True)
class DirectionalCurvature:
    """Mean and variance of the curvature of batches along a direction u."""

    mean: float
    """u·Hu."""
    variance: float
    """E‖Du‖² of a batch's deviation D from the mean Hessian."""

    @property
    def variance_ratio(self) -> float:
        """Variance over mean."""
        return self.variance / self.mean if self.mean > 0.0 else 0.0

    def limit(self, optimizer: torch.optim.Optimizer) -> float:
        """The largest lr that is stable in mean square along the direction, by T9 or T10.

        For Adam, AdamW and RMSprop the preconditioner is held fixed. Infinite where the curvature
        is not positive, 0 where it is not a number.
        """
        if not (math.isfinite(self.mean) and math.isfinite(self.variance)):
            return 0.0
        if self.mean <= 0.0:
            return math.inf

        group = optimizer.param_groups[0]
        ratio = self.variance_ratio
        if isinstance(optimizer, torch.optim.Adam):
            decay = float(group["weight_decay"]) if _is_decoupled(group) else 0.0
            beta1 = float(group["betas"][0])
            return float(
                adam_limit(self.mean, variance_ratio=ratio, beta1=beta1, weight_decay=decay)
            )

        momentum = float(group["momentum"])
        # With dampening the step size is lr (1 - dampening).
        kept = 1.0 - float(group.get("dampening", 0.0)) if momentum else 1.0
        gamma = look_ahead(group)
        return (
            float(largest_step(self.mean, variance_ratio=ratio, beta=momentum, gamma=gamma)) / kept
        )


def has_limit(optimizer: torch.optim.Optimizer) -> bool:
    """Whether theory knows a limit of lr: SGD, ASG, Adam, AdamW, RMSprop."""
    known = (torch.optim.SGD, ASG, torch.optim.Adam, torch.optim.RMSprop)
    return isinstance(optimizer, known)


def is_adaptive(optimizer: torch.optim.Optimizer) -> bool:
    """Whether the optimizer divides by the root of its mean squared gradient."""
    return isinstance(optimizer, (torch.optim.Adam, torch.optim.RMSprop))


def look_ahead(group: dict[str, Any]) -> float:
    """Gamma of a parameter group of SGD, ASG or RMSprop."""
    momentum = float(group["momentum"])
    if "gamma" in group:
        return momentum if group["gamma"] is None else float(group["gamma"])

    return momentum if group.get("nesterov") else 0.0


def momentum_of(optimizer: torch.optim.Optimizer) -> float:
    """Momentum, beta1 for Adam, 0 where there is none."""
    group = optimizer.param_groups[0]
    betas = group.get("betas")
    return float(betas[0] if betas else group.get("momentum", 0.0))


def coordinates(optimizer: torch.optim.Optimizer, *, with_gradient: bool) -> Coordinates:
    """The parameters that the optimizer moves, as it scales them now.

    Parameters of an adaptive optimizer that it has not moved yet are left out: they have no
    preconditioner. ``with_gradient``: only those that have a gradient.
    """
    found = Coordinates([], [], [])
    ratios = lr_ratios(optimizer)
    preconditioners: list[Tensor] = []
    for group, ratio in zip(optimizer.param_groups, ratios, strict=True):
        decay = 0.0 if _is_decoupled(group) else float(group.get("weight_decay", 0.0))
        for p in group["params"]:
            if not p.requires_grad or (with_gradient and p.grad is None):
                continue
            if is_adaptive(optimizer):
                if not optimizer.state.get(p):
                    continue
                preconditioners.append(_preconditioner(group, optimizer.state[p]))
            found.params.append(p)
            found.roots.append(math.sqrt(ratio))
            found.decays.append(decay)

    if preconditioners:
        count = sum(each.numel() for each in preconditioners)
        floor = IDLE * _norm(preconditioners) / math.sqrt(count)
        found.roots = [
            torch.where(each > floor, root * each.rsqrt(), 0.0)
            for root, each in zip(found.roots, preconditioners, strict=True)
        ]
    return found


def _is_decoupled(group: dict[str, Any]) -> bool:
    return bool(group.get("decoupled_weight_decay", False))


def _preconditioner(group: dict[str, Any], state: dict[str, Any]) -> Tensor:
    """What the momentum of Adam or RMSprop is divided by."""
    if "square_avg" in state:
        square = state["square_avg"]
        if group["centered"]:
            square = (square - state["grad_avg"].square()).clamp(min=0.0)
    else:
        square = state["max_exp_avg_sq" if group["amsgrad"] else "exp_avg_sq"]
        square = square / (1.0 - group["betas"][1] ** float(state["step"]))

    return torch.as_tensor(square.float().sqrt() + group["eps"])


def is_coarse(closure: Callable[[], Tensor]) -> bool:
    """Whether a loss is computed in numbers of 16 bits, as under ``torch.autocast``."""
    seen: set[torch.dtype] = set()

    def pack(tensor: Tensor) -> Tensor:
        seen.add(tensor.dtype)
        return tensor

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        closure()
    return any(dtype.is_floating_point and dtype.itemsize < 4 for dtype in seen)


class TrackedDirection:
    """A direction u that turns towards the sharpest one, a product at a time.

    Between two turns, u and the optimizer's coordinates stay as they are: what changes from one
    product to the next is then the batch, and not a preconditioner that moves.
    """

    def __init__(self, seed: int = 0) -> None:
        self.compared = False
        """Whether the last product had another one before it along the same u."""
        self._draw = torch.Generator().manual_seed(seed)
        self._direction: list[Tensor] = []
        self._image: list[Tensor] = []
        self._earlier: list[Tensor] = []
        self._roots: list[Any] = []

    def fits(self, params: list[Tensor]) -> bool:
        """Whether there is a direction for these parameters already."""
        return [u.shape for u in self._direction] == [p.shape for p in params]

    def begin(self, at: Coordinates) -> None:
        """A random direction, of the same length in every weight."""
        noise = [torch.randn(p.shape, generator=self._draw).to(p.device) for p in at.params]
        self._direction = [
            torch.where(torch.as_tensor(root) > 0.0, each / root, 0.0)
            for each, root in zip(noise, at.roots, strict=True)
        ]
        torch._foreach_div_(self._direction, _norm(self._direction))
        self._image = []

    @torch.no_grad()
    def product(
        self,
        at: Coordinates,
        here: list[Tensor],
        there: Callable[[], list[Tensor]],
        *,
        coarse: bool = False,
    ) -> DirectionalCurvature:
        """The curvature of one batch along u.

        ``here`` is the batch's gradient at the weights, ``there`` computes it at moved weights. The
        variance is half the squared difference from the product before, which had another batch;
        of the first product since a turn, what is not along u.
        """
        self.compared = bool(self._image)
        now = at.roots
        if self.compared:
            at = replace(at, roots=self._roots)
        image = self._product(at, here, there, coarse)
        mean = _dot(self._direction, image)
        variance = max(_dot(image, image) - mean**2, 0.0)
        if self.compared:
            difference = list(torch._foreach_sub(image, self._image))
            variance = 0.5 * _dot(difference, difference)

        self._earlier = self._image
        self._image = image
        self._roots = at.roots
        # The same displacement, measured in the coordinates of now.
        ratios = [torch.as_tensor(old / new) for old, new in zip(at.roots, now, strict=True)]
        u = [u * r.nan_to_num(0.0, 0.0) for u, r in zip(self._direction, ratios, strict=True)]
        return DirectionalCurvature(mean / _norm(u) ** 2, variance)

    def turn(self) -> None:
        """Turn u towards Hu, the mean of the last two products along it if there are two.

        A power step of H + shift, which keeps some of u, so that batches are averaged and u does
        not settle on negative curvature.
        """
        image = self._image
        if self.compared:
            image = list(torch._foreach_add(image, self._earlier))
            torch._foreach_mul_(image, 0.5)
        shift = KEPT * abs(_dot(self._direction, image))
        turned = list(torch._foreach_add(image, self._direction, alpha=shift))
        length = _norm(turned)
        if math.isfinite(length) and length > 0.0:
            torch._foreach_div_(turned, length)
            self._direction = turned
        self._image = []

    def _product(
        self, at: Coordinates, here: list[Tensor], there: Callable[[], list[Tensor]], coarse: bool
    ) -> list[Tensor]:
        """Hu in the optimizer's coordinates, by a difference of gradients.

        Weights and products of 16 bits are rounded by much of the step. There the difference is
        central: twice as long for the same curvature, and without the rounding of ``here``.
        """
        move = list(torch._foreach_mul(self._direction, at.roots))
        length = (COARSE_STEP if coarse else STEP) * max(1.0, _norm(at.params))
        step = length / _norm(move)
        torch._foreach_mul_(move, step)
        kept = [p.detach().clone() for p in at.params]

        def moved(sign: float) -> list[Tensor]:
            for p, value, part in zip(at.params, kept, move, strict=True):
                p.copy_(value + sign * part)
            with torch.enable_grad():
                return there()

        try:
            ahead = moved(1.0)
            behind = moved(-1.0) if coarse else here
        finally:
            torch._foreach_copy_(at.params, kept)

        image = [a.float() - b.float() for a, b in zip(ahead, behind, strict=True)]
        torch._foreach_div_(image, 2.0 * step if coarse else step)
        torch._foreach_add_(
            image, [d / step * part for part, d in zip(move, at.decays, strict=True)]
        )
        torch._foreach_mul_(image, at.roots)
        return image


def _dot(first: list[Tensor], second: list[Tensor]) -> float:
    return float(torch.stack([torch.sum(a * b) for a, b in zip(first, second, strict=True)]).sum())


def _norm(tensors: list[Tensor]) -> float:
    parts = torch._foreach_norm([t.detach() for t in tensors])
    return float(torch.stack([part.float() for part in parts]).norm())
