"""A training task of the benchmarks: data, a model for a seed, and a loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

Loss = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Task:
    """Data, model and loss; ``head`` multiplies the lr of the last layer's parameter group."""

    name: str
    kind: str  # "quadratic", "mse", "logistic", "ce"
    data: Callable[[], tuple[Tensor, Tensor]]
    build: Callable[[], nn.Module]
    loss: Loss
    batches: tuple[int, ...] = (8, 32, 128)
    head: float = 1.0

    def model(self, seed: int = 0) -> nn.Module:
        """A fresh model of this seed."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return self.build()

    def groups(self, model: nn.Module, lr: float) -> list[dict[str, object]]:
        """Parameter groups: one, or the last layer apart with ``head`` times the lr."""
        params = list(model.parameters())
        if self.head == 1.0:
            return [{"params": params, "lr": lr}]
        return [
            {"params": params[:-2], "lr": lr},
            {"params": params[-2:], "lr": lr * self.head},
        ]

    def loader(self, batch: int, seed: int = 0) -> DataLoader[tuple[Tensor, ...]]:
        """Shuffled batches of equal size, in an order that the seed fixes.

        The sampler draws whole batches, which is faster than to collate samples.
        """
        generator = torch.Generator().manual_seed(seed)
        data = TensorDataset(*self.data())
        samples = RandomSampler(data, generator=generator)
        return DataLoader(data, None, sampler=BatchSampler(samples, batch, drop_last=True))

    def endless(self, batch: int, seed: int = 0) -> Iterator[tuple[Tensor, Tensor]]:
        """Batches epoch after epoch, as ``loader`` gives them."""
        x, y = self.data()
        generator = torch.Generator().manual_seed(seed)
        while True:
            order = torch.randperm(len(x), generator=generator)
            for i in range(0, len(x) - batch + 1, batch):
                yield x[order[i : i + batch]], y[order[i : i + batch]]
