"""Training tasks for the benchmarks of ``ravine.torch``: those tuned on, and those not.

A task is data, a model for a seed, and a loss. Nothing is downloaded. The tasks in ``TUNED`` were
looked at when the rules of ``ravine.torch`` were chosen; those in ``KEPT_BACK`` were not.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import torch
from sklearn import datasets
from torch import Tensor, nn

from benchmarks.torch.task import Loss, Task


def _draw(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@cache
def _digits() -> tuple[Tensor, Tensor]:
    x, y = datasets.load_digits(return_X_y=True)
    return torch.tensor(x / 16.0, dtype=torch.float32), torch.tensor(y)


@cache
def _digits_images() -> tuple[Tensor, Tensor]:
    x, y = _digits()
    return x.reshape(-1, 1, 8, 8), y


@cache
def _digits_one_hot() -> tuple[Tensor, Tensor]:
    x, y = _digits()
    return x, nn.functional.one_hot(y, 10).float()


@cache
def _digits_itself() -> tuple[Tensor, Tensor]:
    return _digits()[0], _digits()[0]


@cache
def _ill_conditioned() -> tuple[Tensor, Tensor]:
    """Least squares with Q = 100, and noise in the answers."""
    g = _draw(11)
    x = torch.randn(512, 20, generator=g) * torch.logspace(-1, 0, 20)
    return x, x @ torch.randn(20, 1, generator=g) + 0.1 * torch.randn(512, 1, generator=g)


@cache
def _heavy_rows() -> tuple[Tensor, Tensor]:
    """Least squares whose rows differ much in length: batches disagree on the curvature."""
    g = _draw(12)
    scale = torch.exp(torch.randn(512, 1, generator=g))
    x = torch.randn(512, 12, generator=g) * scale
    return x, x @ torch.randn(12, 1, generator=g)


@cache
def _diabetes() -> tuple[Tensor, Tensor]:
    x, y = datasets.load_diabetes(return_X_y=True)
    x = x / x.std(axis=0)
    y = (y - y.mean()) / y.std()
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=torch.float32)[:, None]


@cache
def _cancer() -> tuple[Tensor, Tensor]:
    x, y = datasets.load_breast_cancer(return_X_y=True)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


@cache
def _wine() -> tuple[Tensor, Tensor]:
    x, y = datasets.load_wine(return_X_y=True)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


@cache
def _waves() -> tuple[Tensor, Tensor]:
    g = _draw(13)
    x = 4.0 * torch.rand(1024, 4, generator=g) - 2.0
    return x, torch.sin(2.0 * x).sum(dim=1, keepdim=True) / 2.0


@cache
def _wine_itself() -> tuple[Tensor, Tensor]:
    return _wine()[0], _wine()[0]


@cache
def _friedman() -> tuple[Tensor, Tensor]:
    """Friedman's first function of five of eight uniform variables, with noise."""
    g = _draw(21)
    x = torch.rand(1024, 8, generator=g)
    y = 10 * torch.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    y = y + 10 * x[:, 3] + 5 * x[:, 4]
    y = (y - y.mean()) / y.std()
    return 2.0 * x - 1.0, y[:, None] + 0.1 * torch.randn(1024, 1, generator=g)


@cache
def _teacher() -> tuple[Tensor, Tensor]:
    """Four rectified linear functions."""
    g = _draw(22)
    x = torch.randn(1024, 10, generator=g)
    return x, torch.relu(x @ torch.randn(10, 4, generator=g) / 10**0.5)


@cache
def _linear_map() -> tuple[Tensor, Tensor]:
    g = _draw(23)
    x = torch.randn(1024, 12, generator=g) * torch.logspace(-0.5, 0.3, 12)
    y = x @ torch.randn(12, 4, generator=g) / 12**0.5
    return x, y + 0.05 * torch.randn(1024, 4, generator=g)


@cache
def _standardised_digits() -> tuple[Tensor, Tensor]:
    """The data of ``examples/torch_digits.py``."""
    images, labels = datasets.load_digits(return_X_y=True)
    x = torch.tensor(images, dtype=torch.float32)
    x = (x - x.mean(dim=0)) / x.std(dim=0).clamp(min=0.1)
    return x, nn.functional.one_hot(torch.tensor(labels), 10).float()


def _summed_square(output: Tensor, target: Tensor) -> Tensor:
    return (output - target).square().sum(dim=1).mean()


@cache
def _moons() -> tuple[Tensor, Tensor]:
    x, y = datasets.make_moons(1000, noise=0.15, random_state=4)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


@cache
def _sequences() -> tuple[Tensor, Tensor]:
    """Sequences of 8 symbols out of 8; the answer is the symbol that the first one points at."""
    g = _draw(14)
    x = torch.randint(0, 8, (2048, 8), generator=g)
    return x, x[torch.arange(len(x)), x[:, 0]]


@cache
def _series() -> tuple[Tensor, Tensor]:
    """Noisy sums of two waves, twelve values; the answer is the thirteenth."""
    g = _draw(15)
    phase = 2 * np.pi * torch.rand(1024, 2, generator=g)
    speed = 0.3 + torch.rand(1024, 2, generator=g)
    t = torch.arange(13.0)
    full = torch.sin(phase[:, :, None] + speed[:, :, None] * t).sum(dim=1)
    full = full + 0.05 * torch.randn(full.shape, generator=g)
    return full[:, :12, None], full[:, 12:]


class Attention(nn.Module):
    """One transformer block over 8 symbols, read off at the first place."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(8, width)
        self.place = nn.Parameter(0.1 * torch.randn(8, width))
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.norm = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))
        self.head = nn.Linear(width, 8)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of the answer."""
        h = self.embed(x) + self.place
        weights = torch.softmax(self.q(h) @ self.k(h).transpose(1, 2) / h.shape[-1] ** 0.5, dim=-1)
        h = h + weights @ self.v(h)
        h = h + self.feed(self.norm(h))
        return self.head(h[:, 0])


class Recurrent(nn.Module):
    """A plain tanh recurrence of 16 units, written out."""

    def __init__(self) -> None:
        super().__init__()
        self.into = nn.Linear(1, 16)
        self.again = nn.Linear(16, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The next value."""
        h = torch.zeros(x.shape[0], 16, device=x.device)
        for t in range(x.shape[1]):
            h = torch.tanh(self.into(x[:, t]) + self.again(h))
        return self.out(h)


class Residual(nn.Module):
    """Three residual blocks with layer normalisation."""

    def __init__(self, inputs: int, outputs: int, width: int = 24) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU(),
                          nn.Linear(width, width))
            for _ in range(3)
        )  # fmt: skip
        self.last = nn.Linear(width, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of the last layer."""
        h = self.first(x)
        for block in self.blocks:
            h = h + block(h)
        return self.last(h)


def _mlp(*sizes: int, act: type[nn.Module] = nn.ReLU, norm: bool = False) -> nn.Module:
    layers: list[nn.Module] = []
    for i, (a, b) in enumerate(itertools.pairwise(sizes)):
        layers.append(nn.Linear(a, b))
        if i < len(sizes) - 2:
            layers += [nn.BatchNorm1d(b)] if norm else []
            layers.append(act())
    return nn.Sequential(*layers)


def _cnn(norm: bool) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1), *([nn.BatchNorm2d(8)] if norm else []), nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1), *([nn.BatchNorm2d(16)] if norm else []), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip


_mse: Loss = nn.functional.mse_loss
_ce: Loss = nn.functional.cross_entropy

TUNED = [
    Task("least squares", "quadratic", _ill_conditioned, lambda: _mlp(20, 1), _mse),
    Task("heavy rows", "quadratic", _heavy_rows, lambda: _mlp(12, 1), _mse),
    Task("digits one-hot, MLP", "mse", _digits_one_hot, lambda: _mlp(64, 32, 10), _mse),
    Task("digits autoencoder", "mse", _digits_itself,
         lambda: _mlp(64, 32, 8, 32, 64, act=nn.Tanh), _mse),
    Task("digits, logistic", "logistic", _digits, lambda: _mlp(64, 10), _ce),
    Task("digits, MLP", "ce", _digits, lambda: _mlp(64, 32, 10), _ce),
    Task("digits, CNN", "ce", _digits_images, lambda: _cnn(False), _ce, (32, 128)),
    Task("digits, MLP with BatchNorm", "ce", _digits, lambda: _mlp(64, 32, 32, 10, norm=True), _ce),
    Task("sequences, attention", "ce", _sequences, Attention, _ce, (32, 128)),
]  # fmt: skip

KEPT_BACK = [
    Task("diabetes, linear", "quadratic", _diabetes, lambda: _mlp(10, 1), _mse),
    Task("waves, GELU MLP", "mse", _waves, lambda: _mlp(4, 48, 48, 1, act=nn.GELU), _mse),
    Task("series, recurrent", "mse", _series, Recurrent, _mse, (8, 32)),
    Task("cancer, logistic", "logistic", _cancer, lambda: _mlp(30, 2), _ce),
    Task("moons, deep MLP", "ce", _moons, lambda: _mlp(2, 32, 32, 32, 32, 2), _ce),
    Task("wine, residual with LayerNorm", "ce", _wine, lambda: Residual(13, 3), _ce, (8, 32)),
    Task("digits, CNN with BatchNorm", "ce", _digits_images, lambda: _cnn(True), _ce, (32, 128)),
    Task("digits, BatchNorm, head at 5 lr", "ce", _digits,
         lambda: _mlp(64, 48, 10, act=nn.Tanh, norm=True), _ce, (8, 32), 5.0),
    Task("digits, 10^6 parameters", "ce", _digits, lambda: _mlp(64, 960, 960, 10), _ce, (32,)),
]  # fmt: skip

WORKED_EXAMPLE = Task(
    "worked example", "mse", _standardised_digits, lambda: _mlp(64, 32, 10), _summed_square, (32,)
)
