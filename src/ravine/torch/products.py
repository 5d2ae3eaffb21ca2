"""Gradients and Hessian-vector products as flat vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from ravine.torch.borrowed import BatchLoss

Product: TypeAlias = Callable[[Tensor], Tensor]


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """All entries in one vector."""
    return torch.cat([t.reshape(-1) for t in tensors])


def shaped(vector: Tensor, like: Sequence[Tensor]) -> list[Tensor]:
    """Split a vector into the shapes of ``like``."""
    sizes = [t.numel() for t in like]
    return [part.view_as(t) for part, t in zip(torch.split(vector, sizes), like, strict=True)]


def gradient(
    loss: Tensor | Sequence[Tensor], params: Sequence[Tensor], **options: Any
) -> list[Tensor]:
    """The gradient of a loss, zero for parameters that it does not depend on."""
    grads = torch.autograd.grad(loss, params, allow_unused=True, **options)
    return [torch.zeros_like(p) if g is None else g for p, g in zip(params, grads, strict=True)]


@contextmanager
def movable(
    params: list[Tensor], *, kept_on: str | None = None
) -> Iterator[Callable[[Tensor, float], None]]:
    """Weights that can be shifted: ``move(vector, times)`` adds a multiple to the originals.

    Afterwards they are restored to the last bit. A copy of the originals is on the device
    ``kept_on``, by default on their own.
    """
    kept = [p.detach().to(kept_on or p.device, copy=True) for p in params]

    @torch.no_grad()
    def move(vector: Tensor, times: float) -> None:
        torch._foreach_copy_(params, kept)
        torch._foreach_add_(params, shaped(vector, params), alpha=times)

    try:
        yield move
    finally:
        with torch.no_grad():
            torch._foreach_copy_(params, kept)


def difference(
    params: list[Tensor],
    vector: Callable[[], Tensor],
    gradient: Callable[[], list[Tensor]],
    *,
    kept_on: str | None = None,
) -> Tensor:
    """g(w + v) - g(w - v), twice the product of the Hessian with a short vector v.

    Its error is cubic in v. Each move computes v again, because a copy would take memory while the
    gradients need it.
    """
    with movable(params, kept_on=kept_on) as move:
        move(vector(), 1.0)
        ahead = flat(gradient())
        move(vector(), -1.0)
        # In place, because memory for a second copy of the weights may be missing.
        torch._foreach_sub_(shaped(ahead, params), gradient())
        return ahead


def hessian_product(model: nn.Module, loss: BatchLoss, batches: list[Any]) -> Product:
    """V ↦ H v for the mean loss of the batches, at the model's weights.

    Computed by a second backward pass through the stored graph. If an operation has no second
    derivative (fused attention), by a central difference of gradients at w ± step v, with an error
    quadratic in the step.
    """
    params: list[Tensor] = [p for p in model.parameters() if p.requires_grad]

    def mean_loss() -> Tensor:
        return torch.stack([loss(model, batch) for batch in batches]).mean()

    def product(vector: Tensor) -> Tensor:
        pairs = [
            (g, v) for g, v in zip(grads, shaped(vector, params), strict=True) if g.requires_grad
        ]
        if not pairs:
            return torch.zeros_like(vector)

        live, weights = zip(*pairs, strict=True)
        return flat(gradient(live, params, grad_outputs=weights, retain_graph=True)).detach()

    try:
        grads = gradient(mean_loss(), params, create_graph=True)
        product(torch.ones_like(flat(params)))
    except RuntimeError:
        return _difference(params, mean_loss)

    return product


def _difference(params: list[Tensor], mean_loss: Callable[[], Tensor]) -> Product:
    def product(vector: Tensor) -> Tensor:
        size = float(flat([p.detach() for p in params]).norm())
        # The cube root of the rounding error balances it against the quadratic error.
        step = torch.finfo(vector.dtype).eps ** (1 / 3) * max(1.0, size) / float(vector.norm())
        twice = difference(params, lambda: step * vector, lambda: gradient(mean_loss(), params))
        return twice.div_(2.0 * step)

    return product


def top_eigenpairs(
    product: Product, start: Tensor, count: int, *, steps: int = 10
) -> tuple[Tensor, Tensor]:
    """The ``count`` largest eigenvalues, and their vectors as columns, by Lanczos' method.

    Each vector is reorthogonalised twice against all earlier ones. Power iteration would converge
    to the largest in magnitude, which may be negative.
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
    # Only the lower triangle is read.
    small = np.diag(diagonal) + np.diag(beside[: size - 1], -1)
    values, vectors = torch.linalg.eigh(torch.from_numpy(small))
    ritz = torch.stack(basis[:size], dim=1) @ vectors[:, -count:].flip(1).to(start)
    return values[-count:].flip(0), ritz
