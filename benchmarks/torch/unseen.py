"""Training tasks for ``benchmarks.torch.advice``, written after the rules of the race were fixed.

Small ones, a fraction of a millisecond per step, and nothing is downloaded: data sets of
scikit-learn, made-up data, and bytes of Python's standard library. No state besides the weights, so
that many learning rates can be trained at once under ``torch.vmap``.
"""

from __future__ import annotations

import itertools
import json
from functools import cache
from pathlib import Path

import numpy as np
import torch
from sklearn import datasets
from torch import Tensor, nn

from benchmarks.torch.task import Task

F = nn.functional


def _draw(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _standardised(x: np.ndarray) -> Tensor:
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9)
    return torch.tensor(x, dtype=torch.float32)


@cache
def _iris() -> tuple[Tensor, Tensor]:
    x, y = datasets.load_iris(return_X_y=True)
    return _standardised(x), torch.tensor(y)


@cache
def _wine() -> tuple[Tensor, Tensor]:
    x, y = datasets.load_wine(return_X_y=True)
    return torch.tensor(np.log1p(x), dtype=torch.float32), torch.tensor(y)


@cache
def _cancer() -> tuple[Tensor, Tensor]:
    x, y = datasets.load_breast_cancer(return_X_y=True)
    return _standardised(x), torch.tensor(y)


@cache
def _digits() -> tuple[Tensor, Tensor]:
    x, y = datasets.load_digits(return_X_y=True)
    return torch.tensor(x / 8.0 - 1.0, dtype=torch.float32), torch.tensor(y)


@cache
def _digit_images() -> tuple[Tensor, Tensor]:
    x, y = _digits()
    return x.reshape(-1, 1, 8, 8), y


@cache
def _digit_halves() -> tuple[Tensor, Tensor]:
    """The lower half of an image from its upper half."""
    x = (_digits()[0] + 1.0) / 2.0
    return x[:, :32], x[:, 32:]


@cache
def _binary_digits() -> tuple[Tensor, Tensor]:
    x = (_digits()[0] > 0.0).float()
    return x, x


@cache
def _diabetes() -> tuple[Tensor, Tensor]:
    x, y = datasets.load_diabetes(return_X_y=True)
    return _standardised(x), _standardised(y[:, None])


@cache
def _correlated() -> tuple[Tensor, Tensor]:
    """Least squares on columns that share most of their variance."""
    g = _draw(101)
    x = torch.randn(600, 1, generator=g) + 0.3 * torch.randn(600, 16, generator=g)
    return x, x @ torch.randn(16, 1, generator=g) / 4.0 + 0.3 * torch.randn(600, 1, generator=g)


@cache
def _bytes() -> Tensor:
    text = Path(json.__file__).with_name("decoder.py").read_bytes()
    return torch.tensor(list(text[:12000])) % 64


@cache
def _next_byte() -> tuple[Tensor, Tensor]:
    """The byte behind three others."""
    text = _bytes()
    return torch.stack([text[i : len(text) - 3 + i] for i in range(3)], dim=1), text[3:]


@cache
def _text() -> tuple[Tensor, Tensor]:
    """Windows of 8 bytes, and the same a byte later."""
    windows = _bytes()[: 8 * 1490 + 1]
    x = windows[:-1].reshape(-1, 8)
    return x, windows[1:].reshape(-1, 8)


@cache
def _modular() -> tuple[Tensor, Tensor]:
    pairs = torch.cartesian_prod(torch.arange(19), torch.arange(19))
    return pairs, pairs.sum(dim=1) % 19


@cache
def _swiss_roll() -> tuple[Tensor, Tensor]:
    x, t = datasets.make_swiss_roll(800, noise=0.3, random_state=6)
    return _standardised(x), _standardised(t[:, None])


@cache
def _deep_linear() -> tuple[Tensor, Tensor]:
    g = _draw(102)
    x = torch.randn(800, 10, generator=g)
    low_rank = torch.randn(10, 2, generator=g) @ torch.randn(2, 6, generator=g) / 3.0
    return x, x @ low_rank + 0.1 * torch.randn(800, 6, generator=g)


@cache
def _spirals() -> tuple[Tensor, Tensor]:
    g = _draw(103)
    t = 3.0 * torch.rand(800, generator=g) ** 0.5
    side = torch.arange(800) % 2
    angle = 3.0 * t + np.pi * side
    x = t[:, None] * torch.stack([angle.cos(), angle.sin()], dim=1)
    return x + 0.05 * torch.randn(800, 2, generator=g), side


@cache
def _ratings() -> tuple[Tensor, Tensor]:
    """Entries of a noisy matrix of rank 3."""
    g = _draw(104)
    users, items = torch.randn(60, 3, generator=g), torch.randn(40, 3, generator=g)
    pairs = torch.stack([torch.randint(0, n, (2000,), generator=g) for n in (60, 40)], dim=1)
    y = (users[pairs[:, 0]] * items[pairs[:, 1]]).sum(dim=1, keepdim=True)
    return pairs, y + 0.2 * torch.randn(2000, 1, generator=g)


@cache
def _counts() -> tuple[Tensor, Tensor]:
    g = _draw(105)
    x = torch.randn(800, 6, generator=g)
    rate = torch.exp(0.6 * x[:, :1] - 0.4 * x[:, 1:2] * x[:, 2:3])
    return x, torch.poisson(rate, generator=g)


@cache
def _labels() -> tuple[Tensor, Tensor]:
    """Eight labels, several at a time."""
    g = _draw(106)
    x = torch.randn(800, 20, generator=g) * (torch.rand(800, 20, generator=g) < 0.3)
    return x, (x @ torch.randn(20, 8, generator=g) > 0.5).float()


@cache
def _uneven_noise() -> tuple[Tensor, Tensor]:
    g = _draw(107)
    x = 4.0 * torch.rand(800, 1, generator=g) - 2.0
    return x, torch.sin(2.0 * x) + (0.05 + 0.2 * x.abs()) * torch.randn(800, 1, generator=g)


@cache
def _sets() -> tuple[Tensor, Tensor]:
    """Sets of six points; the class is the quadrant of the one farthest out."""
    g = _draw(108)
    x = torch.randn(1000, 6, 2, generator=g)
    far = x[torch.arange(1000), x.norm(dim=2).argmax(dim=1)]
    return x, (far[:, 0] > 0).long() + 2 * (far[:, 1] > 0).long()


@cache
def _heavy_tails() -> tuple[Tensor, Tensor]:
    g = _draw(109)
    x = torch.randn(800, 8, generator=g)
    noise = torch.tensor(np.random.default_rng(9).standard_t(2, (800, 1)), dtype=torch.float32)
    return x, torch.relu(x @ torch.randn(8, 1, generator=g)) + 0.3 * noise


@cache
def _checkers() -> tuple[Tensor, Tensor]:
    g = _draw(110)
    x = 4.0 * torch.rand(1000, 2, generator=g) - 2.0
    turned = x @ torch.tensor([[0.8, -0.6], [0.6, 0.8]])
    return x, (turned.floor().long().sum(dim=1) % 2)


@cache
def _autoregression() -> tuple[Tensor, Tensor]:
    """The next value of a noisy oscillator from six before."""
    g = _draw(111)
    full = torch.zeros(900, 7)
    full[:, :2] = torch.randn(900, 2, generator=g)
    for t in range(2, 7):
        full[:, t] = 1.6 * full[:, t - 1] - 0.9 * full[:, t - 2]
    full = full + 0.1 * torch.randn(900, 7, generator=g)
    return full[:, :6, None], full[:, 6:]


def _mlp(*sizes: int, act: type[nn.Module] = nn.ReLU, norm: bool = False) -> nn.Module:
    layers: list[nn.Module] = []
    for a, b in itertools.pairwise(sizes[:-1]):
        layers += [nn.Linear(a, b), *([nn.LayerNorm(b)] if norm else []), act()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


class Embedded(nn.Module):
    """An embedding of each symbol, and a network on all of them."""

    def __init__(self, symbols: int, width: int, count: int, outputs: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(symbols, width)
        self.net = _mlp(count * width, 64, outputs, act=nn.GELU)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        return self.net(self.embed(x).flatten(1))


class Factors(nn.Module):
    """Products of a user's and an item's factors."""

    def __init__(self) -> None:
        super().__init__()
        self.users, self.items = nn.Embedding(60, 8), nn.Embedding(40, 8)

    def forward(self, x: Tensor) -> Tensor:
        """Ratings."""
        return (self.users(x[:, 0]) * self.items(x[:, 1])).sum(dim=1, keepdim=True)


class Block(nn.Module):
    """A causal transformer block, written out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 32), nn.GELU(), nn.Linear(32, width))

    def forward(self, x: Tensor) -> Tensor:
        """Add attention, then the feed-forward network."""
        q, k, v = self.qkv(self.first(x)).chunk(3, dim=-1)
        mask = torch.triu(torch.ones(x.shape[1], x.shape[1], dtype=torch.bool), 1)
        weights = (q @ k.transpose(1, 2) / q.shape[-1] ** 0.5).masked_fill(mask, -1e9)
        x = x + self.out(weights.softmax(dim=-1) @ v)
        return x + self.feed(self.second(x))


class ByteModel(nn.Module):
    """A transformer of one block over bytes."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(64, width)
        self.place = nn.Parameter(0.02 * torch.randn(8, width))
        self.block = Block(width)
        self.head = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 64))

    def forward(self, x: Tensor) -> Tensor:
        """Logits of the next byte, classes second as ``cross_entropy`` has them."""
        return self.head(self.block(self.embed(x) + self.place)).transpose(1, 2)


class SetAttention(nn.Module):
    """Points, weighted by a score."""

    def __init__(self) -> None:
        super().__init__()
        self.value, self.score = _mlp(2, 24, 24), _mlp(2, 24, 1)
        self.head = nn.Linear(24, 4)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        return self.head((self.score(x).softmax(dim=1) * self.value(x)).sum(dim=1))


class Mixer(nn.Module):
    """Rows of an image mixed, then their channels."""

    def __init__(self) -> None:
        super().__init__()
        self.into = nn.Linear(8, 24)
        self.rows, self.channels = _mlp(8, 16, 8, act=nn.GELU), _mlp(24, 48, 24, act=nn.GELU)
        self.norms = nn.ModuleList(nn.LayerNorm(24) for _ in range(2))
        self.head = nn.Linear(24, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        h = self.into(x[:, 0])
        h = h + self.rows(self.norms[0](h).transpose(1, 2)).transpose(1, 2)
        h = h + self.channels(self.norms[1](h))
        return self.head(h.mean(dim=1))


class Gated(nn.Module):
    """A recurrence with one gate."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.new = nn.Linear(17, 16), nn.Linear(17, 16)
        self.out = nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The next value."""
        h = x.new_zeros(x.shape[0], 16)
        for t in range(x.shape[1]):
            both = torch.cat([h, x[:, t]], dim=1)
            gate = torch.sigmoid(self.gate(both))
            h = gate * h + (1.0 - gate) * torch.tanh(self.new(both))
        return self.out(h)


def _conv() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.GroupNorm(2, 8), nn.ReLU(),
        nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip


def _smoothed(output: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(output, target, label_smoothing=0.1)


def _gaussian(output: Tensor, target: Tensor) -> Tensor:
    """Negative log-likelihood of a mean and a log-variance; may be negative."""
    mean, log_variance = output[:, :1], output[:, 1:].clamp(-8.0, 8.0)
    return 0.5 * (log_variance + (target - mean).square() * torch.exp(-log_variance)).mean()


def _poisson(output: Tensor, target: Tensor) -> Tensor:
    return F.poisson_nll_loss(output.clamp(max=20.0), target)


_CE, _MSE = F.cross_entropy, F.mse_loss

UNSEEN = [
    Task("iris, tanh MLP", "ce", _iris, lambda: _mlp(4, 16, 3, act=nn.Tanh), _CE, (16,)),
    Task("wine in logs, GELU MLP", "ce", _wine, lambda: _mlp(13, 24, 3, act=nn.GELU), _CE, (32,)),
    Task("cancer, LayerNorm MLP", "ce", _cancer, lambda: _mlp(30, 32, 32, 2, norm=True), _CE,
         (32,)),
    Task("digits, strided CNN", "ce", _digit_images, _conv, _CE, (16,)),
    Task("digits, smoothed labels", "ce", _digits, lambda: _mlp(64, 48, 10, act=nn.SiLU), _smoothed,
         (64,)),
    Task("digits, mixer", "ce", _digit_images, Mixer, _CE, (8,)),
    Task("digits, half from half", "mse", _digit_halves, lambda: _mlp(32, 48, 32), _MSE, (32,)),
    Task("digits, binary autoencoder", "ce", _binary_digits, lambda: _mlp(64, 16, 64, act=nn.Tanh),
         F.binary_cross_entropy_with_logits, (64,)),
    Task("diabetes, MLP", "mse", _diabetes, lambda: _mlp(10, 32, 1), _MSE, (32,)),
    Task("correlated columns, linear", "quadratic", _correlated, lambda: _mlp(16, 1), _MSE, (16,)),
    Task("next byte, MLP", "ce", _next_byte, lambda: Embedded(64, 8, 3, 64), _CE, (64,)),
    Task("bytes, transformer", "ce", _text, ByteModel, _CE, (8,)),
    Task("modular addition", "ce", _modular, lambda: Embedded(19, 12, 2, 19), _CE, (32,)),
    Task("swiss roll, Huber", "mse", _swiss_roll, lambda: _mlp(3, 32, 32, 1, act=nn.Tanh),
         F.smooth_l1_loss, (32,)),
    Task("deep linear", "mse", _deep_linear,
         lambda: nn.Sequential(*(nn.Linear(10, 10) for _ in range(3)), nn.Linear(10, 6)), _MSE,
         (32,)),
    Task("spirals, tanh MLP", "ce", _spirals, lambda: _mlp(2, 32, 32, 2, act=nn.Tanh), _CE, (64,)),
    Task("ratings, factors", "mse", _ratings, Factors, _MSE, (128,)),
    Task("counts, Poisson", "other", _counts, lambda: _mlp(6, 24, 1), _poisson, (32,)),
    Task("labels, logistic", "logistic", _labels, lambda: _mlp(20, 8),
         F.binary_cross_entropy_with_logits, (16,)),
    Task("uneven noise, Gaussian", "other", _uneven_noise, lambda: _mlp(1, 32, 2, act=nn.GELU),
         _gaussian, (32,)),
    Task("sets, attention", "ce", _sets, SetAttention, _CE, (32,)),
    Task("heavy tails, absolute error", "other", _heavy_tails, lambda: _mlp(8, 32, 1), F.l1_loss,
         (32,)),
    Task("checkers, deep MLP", "ce", _checkers, lambda: _mlp(2, 32, 32, 32, 2), _CE, (64,)),
    Task("oscillator, gated recurrence", "mse", _autoregression, Gated, _MSE, (32,)),
]  # fmt: skip
