"""Batches of a user's loader: their loss, their size, and the same ones again for every trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

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


def each_tensor(function: Callable[[Tensor], Tensor], batch: Any) -> Any:
    """The batch with a function applied to its tensors."""
    if isinstance(batch, Tensor):
        return function(batch)
    if isinstance(batch, Mapping):
        return {name: each_tensor(function, value) for name, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return [each_tensor(function, value) for value in batch]

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


class BatchReplay:
    """Batches of a loader in the order in which they came, so that every trial sees the same.

    At the end of the loader it is started again; with a shuffling loader that is another order.
    They wait in host memory, and go to the device one at a time.
    """

    MOST_BYTES = 2**31
    """Host memory that the batches may take. Later steps see the first batches again."""

    def __init__(self, loader: Any, device: torch.device) -> None:
        self._loader = loader
        self._device = device
        self._iterator: Iterator[Any] | None = None
        self._kept: list[Any] = []
        self._bytes = 0

    def __getitem__(self, index: int) -> Any:
        while len(self._kept) <= index and self._bytes < self.MOST_BYTES:
            self._keep(self._next())

        batch = self._kept[index % len(self._kept)]
        return each_tensor(lambda t: t.to(self._device, non_blocking=True), batch)

    def _keep(self, batch: Any) -> None:
        def on_host(tensor: Tensor) -> Tensor:
            self._bytes += tensor.nbytes
            return tensor.cpu()

        self._kept.append(each_tensor(on_host, batch))

    def _next(self) -> Any:
        for _ in range(2):
            if self._iterator is None:
                self._iterator = iter(self._loader)
            try:
                return next(self._iterator)
            except StopIteration:
                self._iterator = None

        raise Refusal("loader", "non-empty and able to start again", "nothing", "give a DataLoader")

    def samples(self, wanted: int, at_least: int = 1, at_most: int = 256) -> list[Any]:
        """The first batches that together hold at least ``wanted`` samples."""
        taken: list[Any] = []
        count = 0
        while (count < wanted or len(taken) < at_least) and len(taken) < at_most:
            taken.append(self[len(taken)])
            count += size_of(taken[-1])

        return taken
