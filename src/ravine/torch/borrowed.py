"""The user's model and batches: used for a while, then restored."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from ravine.arguments import Refusal

BatchLoss: TypeAlias = Callable[[nn.Module, Any], Tensor]
"""The loss of a model on one batch."""


def batch_loss(loss_fn: Callable[..., Tensor] | None) -> BatchLoss:
    """Turn ``loss_fn(output, target)`` into a loss of (model, batch).

    A batch is (inputs, target), or a mapping of named inputs for models that return their own loss;
    then ``loss_fn`` is None.
    """

    def loss(model: nn.Module, batch: Any) -> Tensor:
        if isinstance(batch, Mapping):
            output = model(**batch)
            value: Tensor = output.loss if loss_fn is None else loss_fn(output, batch)
            return value

        if loss_fn is None or not isinstance(batch, Sequence) or len(batch) != 2:
            shown = f"{type(batch).__name__} with loss_fn={loss_fn!r:.40}"
            rule = "pairs (inputs, target), or mappings with loss_fn=None"
            remedy = "give batch_loss=lambda model, batch: ... instead of loss_fn"
            raise Refusal("batches", rule, shown, remedy)

        inputs, target = batch
        return loss_fn(model(inputs), target)

    return loss


def each_tensor(function: Callable[..., Any], batch: Any, *others: Any) -> Any:
    """Apply a function to the tensors of a batch, with the corresponding ones of other batches."""
    if isinstance(batch, Tensor):
        return function(batch, *others)
    if isinstance(batch, Mapping):
        return {
            name: each_tensor(function, value, *(other[name] for other in others))
            for name, value in batch.items()
        }
    if isinstance(batch, (list, tuple)):
        return [each_tensor(function, *values) for values in zip(batch, *others, strict=True)]
    if others:
        raise TypeError(f"tensors are needed, got {type(batch).__name__}")

    return batch


def size_of(batch: Any) -> int:
    """Number of samples of a batch: the first length of its first tensor."""
    sizes: list[int] = []
    each_tensor(lambda tensor: sizes.append(len(tensor) if tensor.ndim else 1), batch)
    return sizes[0] if sizes else 1


def joined(batches: list[Any]) -> list[Any]:
    """Join the batches to one large batch if their tensors allow it; else return them."""
    try:
        return [each_tensor(lambda *tensors: torch.cat(tensors), *batches)]
    except (KeyError, RuntimeError, TypeError, ValueError):
        return batches


class BatchReplay:
    """Batches of a loader in their original order, so that every trial sees the same ones.

    At its end, the loader is started again, with a new order if it shuffles. Batches are kept in
    host memory, and moved to the device one at a time.
    """

    MOST_BYTES = 2**31
    """Limit on the host memory of the batches; beyond it, later steps see the first batches
    again."""

    def __init__(self, loader: Any, device: torch.device) -> None:
        self._batches = _endless(loader)
        self._device = device
        self._kept: list[Any] = []
        self._bytes = 0

    def __getitem__(self, index: int) -> Any:
        while len(self._kept) <= index and self._bytes < self.MOST_BYTES:
            self._kept.append(each_tensor(self._on_host, next(self._batches)))

        batch = self._kept[index % len(self._kept)]
        return each_tensor(lambda t: t.to(self._device, non_blocking=True), batch)

    def _on_host(self, tensor: Tensor) -> Tensor:
        self._bytes += tensor.nbytes
        return tensor.cpu()

    def samples(self, wanted: int) -> list[Any]:
        """The first batches with ``wanted`` samples together: at least 2 batches, at most 256."""
        taken: list[Any] = []
        count = 0
        while (count < wanted or len(taken) < 2) and len(taken) < 256:
            taken.append(self[len(taken)])
            count += size_of(taken[-1])

        return taken


def _endless(loader: Any) -> Iterator[Any]:
    """The batches of a loader, over and over."""
    while True:
        batch = None
        for batch in loader:
            yield batch
        if batch is None:
            rule = "non-empty and able to start again"
            raise Refusal("loader", rule, "nothing", "give a DataLoader")


class Weights:
    """Parameters and buffers of a model, kept in host memory."""

    def __init__(self, model: nn.Module) -> None:
        self._tensors = [*model.parameters(), *model.buffers()]
        self._values = [t.detach().to("cpu", copy=True) for t in self._tensors]

    @torch.no_grad()
    def put_back(self) -> None:
        """Copy the values back into the model's tensors."""
        torch._foreach_copy_(self._tensors, self._values)


@contextmanager
def untouched(model: nn.Module, loader: Any) -> Iterator[Weights]:
    """Restore a model and every random generator, even after an exception.

    Restores weights, buffers, gradients and plain attributes of the modules (``training``,
    counters), and the generators of torch, its devices, NumPy, Python and the loader. Yields the
    weights, for callers that start from them again.
    """
    weights = Weights(model)
    # Gradients are moved off the device meanwhile: a trial has its own.
    grads = [p.grad if p.grad is None else p.grad.cpu() for p in model.parameters()]
    try:
        with _generators(model, loader), _attributes(model):
            model.zero_grad()
            yield weights
    finally:
        weights.put_back()
        for p, grad in zip(model.parameters(), grads, strict=True):
            p.grad = None if grad is None else grad.to(p.device)


@contextmanager
def _attributes(model: nn.Module) -> Iterator[None]:
    """Restore numbers, strings and flags of the modules."""
    kinds = (bool, int, float, str, type(None))
    kept = [
        (module, {name: value for name, value in vars(module).items() if isinstance(value, kinds)})
        for module in model.modules()
    ]
    try:
        yield
    finally:
        for module, attributes in kept:
            vars(module).update(attributes)


@contextmanager
def _generators(model: nn.Module, loader: Any) -> Iterator[None]:
    """Restore the random generators."""
    samplers = [getattr(loader, name, None) for name in ("sampler", "batch_sampler")]
    inner = [getattr(sampler, "sampler", None) for sampler in samplers]
    generators = [getattr(owner, "generator", None) for owner in (loader, *samplers, *inner)]
    states = [(g, g.get_state()) for g in generators if isinstance(g, torch.Generator)]
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
    """Measure a loss without dropout, but with batch statistics where the model trains on them.

    Running averages lag behind in the first steps, so BatchNorm keeps using the batch's own
    statistics, but does not add them to its averages.
    """
    with _attributes(model):
        for module in model.modules():
            if module.training and isinstance(module, nn.modules.batchnorm._BatchNorm):
                module.momentum = 0.0
            else:
                module.training = False
        yield
