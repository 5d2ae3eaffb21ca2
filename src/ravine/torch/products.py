"""Products of a loss's Hessian with vectors, without the matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from ravine.torch.batches import BatchLoss

Product: TypeAlias = Callable[[Tensor], Tensor]


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """All entries in one vector."""
    return torch.cat([t.reshape(-1) for t in tensors])


def shaped(vector: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """A vector cut into the shapes of ``like``."""
    sizes = [t.numel() for t in like]
    return [part.view_as(t) for part, t in zip(torch.split(vector, sizes), like, strict=True)]


def hessian_product(model: nn.Module, loss: BatchLoss, batches: list[Any]) -> Product:
    """V ↦ H v for the mean loss of the batches, at the model's weights.

    By a second backward pass through a kept graph. Where an operation has no second derivative
    (fused attention), by a difference of gradients at w ± step v, which is central, so its error is
    quadratic in the step.
    """
    params = [p for p in model.parameters() if p.requires_grad]

    def mean_loss() -> Tensor:
        return torch.stack([loss(model, batch) for batch in batches]).mean()

    try:
        grads = torch.autograd.grad(mean_loss(), params, create_graph=True, allow_unused=True)
        filled = [
            torch.zeros_like(p) if g is None else g for p, g in zip(params, grads, strict=True)
        ]
        product = _second_backward(params, filled)
        product(torch.zeros_like(flat(params)).add_(1.0))
    except RuntimeError:
        return _difference(params, mean_loss)

    return product


def _second_backward(params: Sequence[Tensor], grads: list[Tensor]) -> Product:
    live = [g for g in grads if g.requires_grad]

    def product(vector: Tensor) -> Tensor:
        parts = shaped(vector, params)
        weights = [part for part, g in zip(parts, grads, strict=True) if g.requires_grad]
        if not live:
            return torch.zeros_like(vector)

        seconds = torch.autograd.grad(
            live, params, grad_outputs=weights, retain_graph=True, allow_unused=True
        )

        return flat(
            [torch.zeros_like(p) if s is None else s for p, s in zip(params, seconds, strict=True)]
        ).detach()

    return product


def _difference(params: Sequence[Tensor], mean_loss: Callable[[], Tensor]) -> Product:
    def gradient() -> Tensor:
        grads = torch.autograd.grad(mean_loss(), params, allow_unused=True)
        return flat(
            [torch.zeros_like(p) if g is None else g for p, g in zip(params, grads, strict=True)]
        ).detach()

    def product(vector: Tensor) -> Tensor:
        size = float(flat([p.detach() for p in params]).norm())
        # The cube root of the rounding error balances it against the quadratic error.
        step = torch.finfo(vector.dtype).eps ** (1 / 3) * max(1.0, size) / float(vector.norm())
        sides: list[Tensor] = []
        for sign in (1.0, -2.0, 1.0):
            with torch.no_grad():
                for p, part in zip(params, shaped(vector, params), strict=True):
                    p.add_(part, alpha=sign * step)
            if len(sides) < 2:
                sides.append(gradient())

        difference: Tensor = (sides[0] - sides[1]) / (2.0 * step)
        return difference

    return product


def top_eigenpairs(
    product: Product, start: Tensor, count: int, *, steps: int = 10
) -> tuple[Tensor, Tensor]:
    """The ``count`` largest eigenvalues, and their vectors as columns, by Lanczos' method.

    Reorthogonalised against all earlier vectors, twice. The largest, not the largest in magnitude:
    power iteration would settle on negative curvature.
    """
    basis = [start / start.norm()]
    diagonal: list[float] = []
    beside: list[float] = []
    for _ in range(min(steps, start.numel())):
        image = product(basis[-1])
        diagonal.append(float(image @ basis[-1]))
        for _ in range(2):
            for vector in basis:
                image = image - (image @ vector) * vector
        length = float(image.norm())
        if length <= 1e-6 * max(abs(d) for d in diagonal) + 1e-30:
            break
        beside.append(length)
        basis.append(image / length)

    size = len(diagonal)
    small = torch.diag(torch.tensor(diagonal, dtype=torch.float64))
    for i, length in enumerate(beside[: size - 1]):
        small[i, i + 1] = small[i + 1, i] = length

    values, vectors = torch.linalg.eigh(small)
    chosen = vectors[:, -count:].flip(1).to(start)
    ritz = torch.stack(basis[:size], dim=1) @ chosen
    return values[-count:].flip(0), ritz
