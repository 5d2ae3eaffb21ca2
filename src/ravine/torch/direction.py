"""Curvature along a direction that turns towards the sharpest one, by differences of gradients.

The curvature in an optimizer's own coordinates limits its lr: P^(-1/2) H P^(-1/2), with P the
preconditioner of Adam or RMSprop, or the identity for SGD, scaled by the lrs of the parameter
groups.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ravine.theory.ladder.safety import adam_limit, largest_step
from ravine.torch.optimizer import ASG
from ravine.torch.products import difference, flat, shaped
from ravine.torch.trial import is_adaptive, lr_ratios

STEP = 1e-3
COARSE_STEP = 1e-2
"""Length of the step of a finite difference, relative to the weights: long enough for rounding,
short enough for a constant Hessian; longer if weights or products have 16 bits."""

IDLE = 1e-3
"""Weights whose preconditioner is below this share of the root mean square of all are omitted: the
gradient of a bias before BatchNorm is only a rounding error, which the preconditioner would
amplify."""

FIRST_TURNS = 4
"""Number of products that turn a random direction towards the sharpest one before any is used."""

KEPT = 0.25
"""Shift of the power step, as a share of the curvature: what a turn keeps of the direction."""

LONGEST = 2**30
"""Maximum number of entries of a vector in one BLAS call."""


@dataclass
class Coordinates:
    """An optimizer's parameters, and the coordinates in which it is a momentum method."""

    params: list[Tensor]
    roots: Tensor
    """Square root of the lr ratio over the preconditioner, for every weight or one for all."""
    decays: list[float]
    """Weight decay that is part of the gradient."""


@dataclass(frozen=True)
class DirectionalCurvature:
    """Mean and variance of the curvature of batches along a direction u."""

    mean: float
    """u·Hu."""
    variance: float
    """E‖Du‖² for a batch's deviation D from the mean Hessian."""

    def limit(self, group: dict[str, Any]) -> float:
        """The largest lr that is stable in mean square along the direction.

        ``group`` belongs to SGD, ASG, Adam, AdamW or RMSprop, with the preconditioner held fixed.
        Infinite if the curvature is not positive, 0 if it is not a number.
        """
        if not (math.isfinite(self.mean) and math.isfinite(self.variance)):
            return 0.0
        if self.mean <= 0.0:
            return math.inf

        ratio = self.variance / self.mean
        if "betas" in group:
            decay = float(group["weight_decay"]) if group.get("decoupled_weight_decay") else 0.0
            beta1 = float(group["betas"][0])
            limit = adam_limit(self.mean, variance_ratio=ratio, beta1=beta1, weight_decay=decay)
            return float(limit)

        momentum = float(group["momentum"])
        # With dampening, the step size is lr (1 - dampening).
        kept = 1.0 - float(group.get("dampening", 0.0)) if momentum else 1.0
        gamma = look_ahead(group)
        limit = largest_step(self.mean, variance_ratio=ratio, beta=momentum, gamma=gamma)
        return float(limit) / kept


def has_limit(optimizer: torch.optim.Optimizer) -> bool:
    """Whether theory knows a limit of lr: SGD, ASG, Adam, AdamW, RMSprop."""
    return isinstance(optimizer, (torch.optim.SGD, ASG)) or is_adaptive(optimizer)


def look_ahead(group: dict[str, Any]) -> float | None:
    """Gamma of a parameter group of SGD, ASG or RMSprop; None if it follows momentum."""
    gamma: float | None = group.get("gamma", None if group.get("nesterov") else 0.0)
    return gamma


def coordinates(optimizer: torch.optim.Optimizer, *, with_gradient: bool) -> Coordinates:
    """The parameters that the optimizer moves, with their current scales.

    Parameters that an adaptive optimizer has not moved yet are omitted, because they have no
    preconditioner. ``with_gradient`` selects those with a gradient.
    """
    result = Coordinates([], torch.ones(()), [])
    adaptive = is_adaptive(optimizer)
    scales: list[float] = []
    preconditioners: list[Tensor] = []
    for group, ratio in zip(optimizer.param_groups, lr_ratios(optimizer), strict=True):
        is_decoupled = group.get("decoupled_weight_decay", False)
        decay = 0.0 if is_decoupled else float(group.get("weight_decay", 0.0))
        for p in group["params"]:
            if not p.requires_grad or (with_gradient and p.grad is None):
                continue
            if adaptive:
                if not optimizer.state.get(p):
                    continue
                preconditioners.append(_preconditioner(group, optimizer.state[p]))
            result.params.append(p)
            result.decays.append(decay)
            scales.append(math.sqrt(ratio))

    if preconditioners:
        P = flat(preconditioners)
        floor = IDLE * float(P.norm()) / math.sqrt(P.numel())
        # An infinite preconditioner has a root of zero.
        result.roots = torch.threshold_(P, floor, math.inf).rsqrt_()
    if any(scale != 1.0 for scale in scales):
        sizes = torch.tensor([p.numel() for p in result.params])
        each = torch.repeat_interleave(torch.tensor(scales), sizes).to(result.params[0].device)
        result.roots = result.roots.to(each) * each

    return result


def _preconditioner(group: dict[str, Any], state: dict[str, Any]) -> Tensor:
    """Divisor of the momentum in Adam or RMSprop."""
    if "square_avg" in state:
        square = state["square_avg"].float()
        if group["centered"]:
            square = (square - state["grad_avg"].float().square()).clamp(min=0.0)
        correction = 1.0
    else:
        square = state["max_exp_avg_sq" if group["amsgrad"] else "exp_avg_sq"].float()
        correction = math.sqrt(1.0 - group["betas"][1] ** float(state["step"]))

    root: Tensor = square.sqrt().div_(correction).add_(group["eps"])
    return root


def is_coarse(closure: Callable[[], Tensor]) -> bool:
    """Whether a loss is computed in numbers of 16 bits, as under ``torch.autocast``."""
    seen: set[torch.dtype] = set()

    def pack(tensor: Tensor) -> None:
        # Nothing is kept for a backward pass: a graph that held its outputs would not be freed.
        seen.add(tensor.dtype)

    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        closure()
    return any(dtype.is_floating_point and dtype.itemsize < 4 for dtype in seen)


class TrackedDirection:
    """A direction u that turns towards the sharpest one, by one product at a time.

    Between two turns, u and the optimizer's coordinates are constant, so only the batch changes
    from one product to the next, and not the preconditioner. Vectors are flat: a check is a few
    passes over them and one gradient.
    """

    def __init__(self, seed: int = 0, *, weights_on: str | None = None) -> None:
        self.weights_on = weights_on
        """Where the weights are kept while they are moved: their own device unless given."""
        self.compared = False
        """Whether the last two products are along the same u."""
        self._draw = torch.Generator().manual_seed(seed)
        self._coarse = False
        self._shapes: list[torch.Size] = []
        self._direction = torch.zeros(0)
        self._roots = torch.ones(())
        # Hu of the last product since the last turn, and of the one before it.
        self._image: Tensor | None = None
        self._earlier: Tensor | None = None

    def fits(self, params: list[Tensor]) -> bool:
        """Whether there is already a direction for these parameters."""
        return self._shapes == [p.shape for p in params]

    def begin(self, at: Coordinates, loss: Callable[[], Tensor]) -> None:
        """Start a random direction, with equal size in every weight, for losses like this one."""
        self._coarse = is_coarse(loss)
        self._shapes = [p.shape for p in at.params]
        noise = flat([torch.randn(shape, generator=self._draw) for shape in self._shapes])
        noise = noise.to(at.params[0].device)
        noise = torch.where(at.roots > 0.0, noise / at.roots.to(noise), 0.0)
        self._direction = noise / noise.norm()
        self._image = None

    @torch.no_grad()
    def product(
        self, at: Coordinates, gradient: Callable[[], list[Tensor]]
    ) -> DirectionalCurvature:
        """The curvature of one batch along u, from two gradients at shifted weights.

        The variance is half the squared difference from the previous product, which had another
        batch. For the first product since a turn, it is the part that is not along u.
        """
        u, before = self._direction, self._image
        self.compared = before is not None
        self._earlier = None
        roots = self._roots if self.compared else at.roots.to(u)
        image = self._image_of(at, roots, gradient)
        self._earlier, self._image, self._roots = before, image, roots
        if before is None:
            # One synchronisation with the device for both numbers.
            mean, square = torch.stack([_dot(u, image), _dot(image, image)]).tolist()
            return DirectionalCurvature(mean, max(square - mean**2, 0.0))

        gap = image - before
        # The same displacement, in the current coordinates.
        gaps = [_dot(u, image), _dot(gap, gap)]
        now = (roots / at.roots.to(u)).nan_to_num_(0.0, 0.0) * u
        mean, square, length = torch.stack([*gaps, _dot(now, now)]).tolist()
        return DirectionalCurvature(mean / length, 0.5 * square)

    def _image_of(
        self, at: Coordinates, roots: Tensor, gradient: Callable[[], list[Tensor]]
    ) -> Tensor:
        """Hu in the optimizer's coordinates, by a central difference of gradients.

        Both are computed here. The gradient of the step itself is another one where it is clipped,
        averaged over batches or ranks, or has dropout.
        """
        u = self._direction
        sizes = torch.stack([nn.utils.get_total_norm(at.params), (u * roots).norm()]).tolist()
        step = (COARSE_STEP if self._coarse else STEP) * max(1.0, sizes[0]) / sizes[1]

        def move() -> Tensor:
            return (u * roots).mul_(step)

        with torch.enable_grad():
            image = difference(at.params, move, gradient, kept_on=self.weights_on).float()

        if any(at.decays):
            parts = zip(shaped(image, at.params), shaped(move(), at.params), at.decays, strict=True)
            for part, own, decay in parts:
                part.add_(own, alpha=2.0 * decay)

        return image.mul_(roots).mul_(0.5 / step)

    def turn(self) -> None:
        """Turn u towards Hu, or towards the mean of the last two products along it.

        A power step of H + shift, which keeps part of u, so that batches are averaged and u does
        not converge to negative curvature.
        """
        assert self._image is not None
        image = self._image if self._earlier is None else 0.5 * (self._image + self._earlier)
        self._image = self._earlier = None
        turned = image + (KEPT * _dot(self._direction, image).abs()) * self._direction
        length = float(turned.norm())
        if math.isfinite(length) and length > 0.0:
            self._direction = turned.div_(length)


def _dot(first: Tensor, second: Tensor) -> Tensor:
    """The inner product of two vectors of any length."""
    parts = zip(torch.split(first, LONGEST), torch.split(second, LONGEST), strict=True)
    return torch.stack([torch.dot(a, b) for a, b in parts]).sum()
