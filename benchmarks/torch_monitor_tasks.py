"""Training tasks for the benchmark of ``ravine.torch.Monitor``, besides those of ``torch_tasks``.

The rule and the risk of the monitor were chosen on these: ``WATCHED`` (squared losses) and
``JUDGED`` (cross-entropies). ``torch_monitor_unseen`` has those that they are measured on.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import torch
from sklearn import datasets
from torch import Tensor, nn

from benchmarks import torch_tasks as tasks
from benchmarks.torch_tasks import Task

_mse = nn.functional.mse_loss
_ce = nn.functional.cross_entropy


def _draw(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _standard(x: np.ndarray) -> Tensor:
    return torch.tensor((x - x.mean(axis=0)) / x.std(axis=0), dtype=torch.float32)


@cache
def _noisy_plane() -> tuple[Tensor, Tensor]:
    """Least squares whose answers are noise for the greater part."""
    g = _draw(41)
    x = torch.randn(1024, 40, generator=g)
    return x, x @ torch.randn(40, 1, generator=g) / 40**0.5 + torch.randn(1024, 1, generator=g)


@cache
def _heavy_inputs() -> tuple[Tensor, Tensor]:
    """Inputs with the tails of Student's t of three degrees of freedom."""
    g = _draw(42)
    chi = torch.randn(1024, 3, generator=g).square().mean(dim=1, keepdim=True)
    x = torch.randn(1024, 6, generator=g) / chi.sqrt()
    return x, torch.tanh(x @ torch.randn(6, 2, generator=g) / 6**0.5)


@cache
def _bumps() -> tuple[Tensor, Tensor]:
    """A bump of some width in noise, 32 values; the answers are its place and width."""
    g = _draw(43)
    place = torch.rand(1024, 1, generator=g)
    width = 0.05 + 0.15 * torch.rand(1024, 1, generator=g)
    t = torch.linspace(0.0, 1.0, 32)
    signal = torch.exp(-(((t - place) / width) ** 2)) + 0.1 * torch.randn(1024, 32, generator=g)
    return signal[:, None, :], torch.cat([2.0 * place - 1.0, 10.0 * width - 1.25], dim=1)


@cache
def _sums() -> tuple[Tensor, Tensor]:
    """Sequences of eight values; the answer is the sum of those that are marked."""
    g = _draw(44)
    value = torch.randn(1024, 8, generator=g)
    mark = (torch.rand(1024, 8, generator=g) < 0.4).float()
    return torch.stack([value, mark], dim=2), (value * mark).sum(dim=1, keepdim=True)


@cache
def _pointers() -> tuple[Tensor, Tensor]:
    """The sequences of ``torch_tasks``; the answers are eight numbers, one for each symbol."""
    x, y = tasks._sequences()
    return x, torch.randn(8, 8, generator=_draw(45))[y]


@cache
def _iris_itself() -> tuple[Tensor, Tensor]:
    x = _standard(datasets.load_iris(return_X_y=True)[0])
    return x, x


@cache
def _sphere() -> tuple[Tensor, Tensor]:
    g = _draw(51)
    x = nn.functional.normalize(torch.randn(1024, 3, generator=g), dim=1)
    return x, (3.0 * x[:, :1] * x[:, 1:2] + torch.sin(3.0 * x[:, 2:])) / 1.2


@cache
def _images_of_digits() -> tuple[Tensor, Tensor]:
    """From the label and two random numbers to the image."""
    x, y = tasks._digits_one_hot()
    return torch.cat([y, torch.randn(len(y), 2, generator=_draw(52))], dim=1), x


@cache
def _random_features() -> tuple[Tensor, Tensor]:
    """Least squares on 64 random waves of a spiral's points."""
    g = _draw(53)
    angle = 9.0 * torch.rand(1024, 1, generator=g)
    points = torch.cat([angle * angle.cos(), angle * angle.sin()], dim=1) / 9.0
    waves = torch.cos(
        points @ (3.0 * torch.randn(2, 64, generator=g)) + 6.0 * torch.rand(64, generator=g)
    )
    return waves, torch.sin(angle) + 0.1 * torch.randn(1024, 1, generator=g)


@cache
def _ratings() -> tuple[Tensor, Tensor]:
    """Rows and columns of a noisy matrix of rank three."""
    g = _draw(54)
    full = torch.randn(60, 3, generator=g) @ torch.randn(3, 40, generator=g) / 3**0.5
    rows = torch.randint(0, 60, (2048,), generator=g)
    columns = torch.randint(0, 40, (2048,), generator=g)
    y = full[rows, columns] + 0.1 * torch.randn(2048, generator=g)
    return torch.stack([rows, columns], dim=1), y[:, None]


@cache
def _sets() -> tuple[Tensor, Tensor]:
    """Ten points of the plane; the answer is their largest distance from the origin."""
    x = torch.randn(1024, 10, 2, generator=_draw(55))
    y = x.norm(dim=2).amax(dim=1, keepdim=True)
    return x, y - y.mean()


@cache
def _cancer_margin() -> tuple[Tensor, Tensor]:
    x, y = tasks._cancer()
    return x, 2.0 * y[:, None].float() - 1.0


@cache
def _iris() -> tuple[Tensor, Tensor]:
    x, y = datasets.load_iris(return_X_y=True)
    return _standard(x), torch.tensor(y)


@cache
def _wrong_labels() -> tuple[Tensor, Tensor]:
    """Digits of which every fifth has a random label."""
    g = _draw(46)
    x, y = tasks._digits()
    other = torch.randint(0, 10, y.shape, generator=g)
    return x, torch.where(torch.rand(y.shape, generator=g) < 0.2, other, y)


@cache
def _clusters() -> tuple[Tensor, Tensor]:
    g = _draw(47)
    y = torch.randint(0, 6, (1024,), generator=g)
    return 1.5 * torch.randn(6, 5, generator=g)[y] + torch.randn(1024, 5, generator=g), y


@cache
def _circles() -> tuple[Tensor, Tensor]:
    x, y = datasets.make_circles(1000, noise=0.1, factor=0.5, random_state=5)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


@cache
def _largest() -> tuple[Tensor, Tensor]:
    """Eight numbers; the answer is the place of the largest."""
    x = torch.randn(1024, 8, 1, generator=_draw(56))
    return x, x[:, :, 0].argmax(dim=1)


@cache
def _binary_digits() -> tuple[Tensor, Tensor]:
    """Digits in black and white, standardised; even or odd."""
    x, y = tasks._digits()
    x = (x > 0.5).float()
    return (x - x.mean(dim=0)) / x.std(dim=0).clamp(min=0.1), y % 2


class Waves(nn.Module):
    """The sine, as an activation."""

    def forward(self, x: Tensor) -> Tensor:
        """sin(2 x)."""
        return torch.sin(2.0 * x)


class Gated(nn.Module):
    """A gated recurrence of twelve units, read off at its end."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.gate = nn.Linear(inputs + 12, 12)
        self.new = nn.Linear(inputs + 12, 12)
        self.out = nn.Linear(12, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs after the last value."""
        h = torch.zeros(x.shape[0], 12, device=x.device)
        for t in range(x.shape[1]):
            both = torch.cat([x[:, t], h], dim=1)
            z = torch.sigmoid(self.gate(both))
            h = (1.0 - z) * h + z * torch.tanh(self.new(both))
        return self.out(h)


class Factors(nn.Module):
    """The inner product of a row's and a column's vector."""

    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(60, 4)
        self.columns = nn.Embedding(40, 4)

    def forward(self, x: Tensor) -> Tensor:
        """The entry."""
        product = self.rows(x[:, 0]) * self.columns(x[:, 1])
        return product.sum(dim=1, keepdim=True) / 2.0


class Pooled(nn.Module):
    """A network on every element, their mean, and a network on that."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.each = tasks._mlp(inputs, 32, 16)
        self.whole = tasks._mlp(16, 32, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Outputs of the set."""
        return self.whole(self.each(x).mean(dim=1))


def _convolution(channels: int, outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(1, channels, 5, stride=2), nn.ReLU(), nn.Conv1d(channels, channels, 5, stride=2),
        nn.ReLU(), nn.Flatten(), nn.Linear(5 * channels, outputs),
    )  # fmt: skip


def _normalised(*sizes: int) -> nn.Module:
    layers: list[nn.Module] = []
    for a, b in itertools.pairwise(sizes[:-1]):
        layers += [nn.Linear(a, b), nn.LayerNorm(b), nn.ReLU()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


_mlp = tasks._mlp

LARGE = ("digits, CNN", "digits, CNN with BatchNorm", "digits, 10^6 parameters")

WATCHED = [
    *(task for task in tasks.TUNED if task.kind in ("quadratic", "mse")),
    Task("Friedman, tanh MLP", "mse", tasks._friedman,
         lambda: _mlp(8, 32, 32, 1, act=nn.Tanh), _mse),
    Task("teacher, ReLU MLP", "mse", tasks._teacher, lambda: _mlp(10, 24, 4), _mse),
    Task("linear map, deep linear", "mse", tasks._linear_map,
         lambda: _mlp(12, 16, 16, 4, act=nn.Identity), _mse),
    Task("teacher, BatchNorm MLP", "mse", tasks._teacher,
         lambda: _mlp(10, 24, 24, 4, norm=True), _mse),
    Task("noisy plane", "quadratic", _noisy_plane, lambda: _mlp(40, 1), _mse),
    Task("heavy inputs, ReLU MLP", "mse", _heavy_inputs, lambda: _mlp(6, 32, 2), _mse),
    Task("bumps, convolution", "mse", _bumps, lambda: _convolution(8, 2), _mse, (8, 32)),
    Task("sums, gated recurrence", "mse", _sums, lambda: Gated(2, 1), _mse, (8, 32)),
    Task("pointers, attention", "mse", _pointers, tasks.Attention, _mse, (32, 128)),
    Task("Friedman, residual with LayerNorm", "mse", tasks._friedman,
         lambda: tasks.Residual(8, 1), _mse, (8, 32)),
    Task("iris autoencoder, tanh", "mse", _iris_itself,
         lambda: _mlp(4, 16, 2, 16, 4, act=nn.Tanh), _mse, (8, 32)),
    *(task for task in tasks.KEPT_BACK if task.kind in ("quadratic", "mse")),
    Task("diabetes, SiLU MLP", "mse", tasks._diabetes, lambda: _mlp(10, 32, 1, act=nn.SiLU), _mse),
    Task("wine autoencoder, linear", "mse", tasks._wine_itself,
         lambda: _mlp(13, 6, 13, act=nn.Identity), _mse, (8, 32)),
    Task("sphere, sine MLP", "mse", _sphere, lambda: _mlp(3, 32, 32, 1, act=Waves), _mse),
    Task("images of digits, ELU MLP", "mse", _images_of_digits,
         lambda: _mlp(12, 48, 64, act=nn.ELU), _mse),
    Task("spiral, random features", "quadratic", _random_features, lambda: _mlp(64, 1), _mse),
    Task("ratings, factors", "mse", _ratings, Factors, _mse, (32, 128)),
    Task("sets, pooled", "mse", _sets, lambda: Pooled(2, 1), _mse),
    Task("cancer, LayerNorm MLP", "mse", _cancer_margin, lambda: _normalised(30, 32, 32, 1), _mse),
]  # fmt: skip
"""Squared losses on which the rule of ``ravine.torch.Monitor`` was chosen."""

JUDGED = [
    *(t for t in tasks.TUNED if t.kind in ("ce", "logistic") and t.name not in LARGE),
    Task("iris, tanh MLP", "ce", _iris, lambda: _mlp(4, 16, 16, 3, act=nn.Tanh), _ce, (8, 32)),
    Task("digits with wrong labels, MLP", "ce", _wrong_labels, lambda: _mlp(64, 48, 10), _ce),
    Task("clusters, logistic", "logistic", _clusters, lambda: _mlp(5, 6), _ce),
    Task("clusters, LayerNorm MLP", "ce", _clusters, lambda: _normalised(5, 32, 32, 6), _ce),
    *(t for t in tasks.KEPT_BACK if t.kind in ("ce", "logistic") and t.name not in LARGE),
    Task("circles, GELU MLP", "ce", _circles, lambda: _mlp(2, 32, 32, 2, act=nn.GELU), _ce),
    Task("largest of eight, gated recurrence", "ce", _largest, lambda: Gated(1, 8), _ce, (32,)),
    Task("black and white digits, SiLU MLP", "ce", _binary_digits,
         lambda: _mlp(64, 32, 2, act=nn.SiLU), _ce),
]  # fmt: skip
"""Cross-entropies on which the risk was calibrated; those that take long are left out."""
