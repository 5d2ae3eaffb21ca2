"""Using a user's model and putting everything back as it was."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


class Weights:
    """Parameters and buffers of a model, kept in host memory."""

    def __init__(self, model: nn.Module) -> None:
        self._tensors = [*model.parameters(), *model.buffers()]
        self._values = [t.detach().to("cpu", copy=True) for t in self._tensors]

    @torch.no_grad()
    def put_back(self) -> None:
        """Copy the values into the model's own tensors."""
        for tensor, value in zip(self._tensors, self._values, strict=True):
            tensor.copy_(value)


@contextmanager
def untouched(model: nn.Module, loader: Any) -> Iterator[Weights]:
    """Put a model and every random generator back as they were, even after an exception.

    Weights, buffers, gradients and plain attributes of the modules (``training``, counters); the
    generators of torch, its devices, NumPy, Python and the loader. Yields the weights, for whoever
    wants to start from them again.
    """
    weights = Weights(model)
    # Gradients leave a device meanwhile: a trial has its own.
    grads = [p.grad if p.grad is None else p.grad.cpu() for p in model.parameters()]
    plain = [(module, _plain_attributes(module)) for module in model.modules()]

    try:
        with _generators(model, loader):
            for p in model.parameters():
                p.grad = None
            yield weights
    finally:
        weights.put_back()
        for p, grad in zip(model.parameters(), grads, strict=True):
            p.grad = None if grad is None else grad.to(p.device)
        for module, attributes in plain:
            vars(module).update(attributes)


def _plain_attributes(module: nn.Module) -> dict[str, Any]:
    kinds = (bool, int, float, str, type(None))
    return {name: value for name, value in vars(module).items() if isinstance(value, kinds)}


@contextmanager
def _generators(model: nn.Module, loader: Any) -> Iterator[None]:
    sources = [getattr(loader, "generator", None)]
    for name in ("sampler", "batch_sampler"):
        sampler = getattr(loader, name, None)
        sources += [getattr(sampler, "generator", None)]
        sources += [getattr(getattr(sampler, "sampler", None), "generator", None)]

    generators = {id(g): g for g in sources if isinstance(g, torch.Generator)}
    states = [(g, g.get_state()) for g in generators.values()]
    python = random.getstate()
    numpy = np.random.get_state()  # noqa: NPY002 - users draw from it
    devices = sorted({p.device.index or 0 for p in model.parameters() if p.is_cuda})

    try:
        with torch.random.fork_rng(devices=devices):
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002
        for generator, state in states:
            generator.set_state(state)


@contextmanager
def quiet(model: nn.Module) -> Iterator[None]:
    """Measure a loss without noise: no dropout, batch statistics where the model trains on them.

    Running averages lag behind in the first steps, so BatchNorm keeps using the batch's own
    statistics, without taking them into its averages.
    """
    changed: list[tuple[nn.Module, float | None]] = []
    silenced: list[nn.Module] = []
    for module in model.modules():
        if not module.training:
            continue
        if isinstance(module, nn.modules.batchnorm._BatchNorm):
            changed.append((module, module.momentum))
            module.momentum = 0.0
        else:
            silenced.append(module)
            module.training = False

    try:
        yield
    finally:
        for module, momentum in changed:
            module.momentum = momentum  # type: ignore[assignment]
        for module in silenced:
            module.training = True


def gradients(loss: Tensor, params: list[Tensor]) -> list[Tensor]:
    """The gradient of a loss, zero for parameters that it does not depend on."""
    grads = torch.autograd.grad(loss, params, allow_unused=True)
    return [torch.zeros_like(p) if g is None else g for p, g in zip(params, grads, strict=True)]
