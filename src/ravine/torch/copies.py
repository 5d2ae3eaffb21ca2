"""Trying things on copies: nothing of the user's model, generators or loader is changed."""

from __future__ import annotations

import copy
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

    A batch is (inputs, target), or a mapping of named inputs for models that return their own loss,
    in which case ``loss_fn`` is None.
    """

    def loss(model: nn.Module, batch: Any) -> Tensor:
        if isinstance(batch, Mapping):
            output = model(**batch)
            value: Tensor = output.loss if loss_fn is None else loss_fn(output, batch)
            return value

        if loss_fn is None or not isinstance(batch, Sequence) or len(batch) != 2:
            shown = f"{type(batch).__name__} with loss_fn={loss_fn!r:.40}"
            raise Refusal(
                "batches", "pairs (inputs, target), or mappings with loss_fn=None", shown,
                "give batch_loss=lambda model, batch: ... instead of loss_fn",
            )  # fmt: skip

        inputs, target = batch
        return loss_fn(model(inputs), target)

    return loss


def to_device(batch: Any, device: torch.device) -> Any:
    """The batch with its tensors on the device."""
    if isinstance(batch, Tensor):
        return batch.to(device)
    if isinstance(batch, Mapping):
        return {name: to_device(value, device) for name, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [to_device(value, device) for value in batch]

    return batch


def size_of(batch: Any) -> int:
    """How many samples a batch has: the first length of its first tensor."""
    if isinstance(batch, Tensor):
        return int(batch.shape[0]) if batch.ndim else 1

    values = batch.values() if isinstance(batch, Mapping) else batch
    return next((size_of(v) for v in values if isinstance(v, (Tensor, Mapping, list, tuple))), 1)


def joined(batches: list[Any]) -> list[Any]:
    """The batches as one large batch where their tensors allow it, else as they are."""
    try:
        return [_cat(batches)]
    except (RuntimeError, TypeError, ValueError):
        return batches


def _cat(batches: list[Any]) -> Any:
    first = batches[0]
    if isinstance(first, Tensor):
        return torch.cat(batches)
    if isinstance(first, Mapping):
        return {name: _cat([b[name] for b in batches]) for name in first}
    if isinstance(first, (list, tuple)):
        return [_cat([b[i] for b in batches]) for i in range(len(first))]

    raise TypeError


def first_sample(batch: Any) -> Any:
    """The batch with its first sample alone."""
    if isinstance(batch, Tensor):
        return batch[:1]
    if isinstance(batch, Mapping):
        return {name: first_sample(value) for name, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [first_sample(value) for value in batch]

    raise TypeError


class Batches:
    """Batches of a loader, kept in the order in which they came, so that every run sees the same.

    At the end of the loader it is started again; with a shuffling loader that is another order.
    """

    KEPT = 256
    """Batches kept at most; later ones come round again. Enough for the longest run of a race."""

    def __init__(self, loader: Any, device: torch.device) -> None:
        self._loader = loader
        self._device = device
        self._iterator: Iterator[Any] | None = None
        self._kept: list[Any] = []

    def __getitem__(self, index: int) -> Any:
        index %= self.KEPT
        while len(self._kept) <= index:
            self._kept.append(to_device(self._next(), self._device))

        return self._kept[index]

    def _next(self) -> Any:
        for _ in range(2):
            if self._iterator is None:
                self._iterator = iter(self._loader)
            try:
                return next(self._iterator)
            except StopIteration:
                self._iterator = None

        raise Refusal("loader", "non-empty and able to start again", "nothing", "give a DataLoader")

    def samples(self, wanted: int, at_least: int = 1) -> list[Any]:
        """The first batches that together hold at least ``wanted`` samples."""
        taken: list[Any] = []
        count = 0
        while (count < wanted or len(taken) < at_least) and len(taken) < self.KEPT:
            taken.append(self[len(taken)])
            count += size_of(taken[-1])

        return taken


@contextmanager
def untouched(model: nn.Module, loader: Any) -> Iterator[None]:
    """Put every generator back as it was: torch, its devices, NumPy, Python, and the loader's."""
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


def copied(model: nn.Module, optimizer: torch.optim.Optimizer) -> tuple[Any, Any]:
    """A copy of both that belong together, the optimizer without its state."""
    twin, rule = copy.deepcopy((model, optimizer))
    rule.state.clear()
    rule.zero_grad()
    return twin, rule
