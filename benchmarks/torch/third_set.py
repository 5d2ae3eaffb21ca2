"""A third set of training tasks for ``benchmarks.torch.advice``, to judge its rules.

They had been chosen on the first two sets; these were written before any rule was run on them.
New data, losses and architectures; builders are those of the second set. Needs scikit-learn, and
nothing is downloaded. No state besides the weights.
"""

from __future__ import annotations

import inspect
import itertools
import re
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import torch
from sklearn import datasets
from torch import Tensor, nn

from benchmarks.torch.second_set import Pair, _draw, _mlp
from benchmarks.torch.task import Task

F = nn.functional


def _pair(x: np.ndarray, y: np.ndarray, kind: torch.dtype = torch.long) -> Pair:
    """Standardised columns and targets."""
    x = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y, dtype=kind)


# Data


@cache
def _friedman() -> Pair:
    x, y = datasets.make_friedman1(900, n_features=10, noise=0.5, random_state=301)
    return _pair(x, ((y - y.mean()) / y.std())[:, None], torch.float32)


@cache
def _shells() -> Pair:
    """Four shells around the origin of six dimensions."""
    x, y = datasets.make_gaussian_quantiles(
        n_samples=1500, n_features=6, n_classes=4, random_state=302
    )
    return _pair(x, y)


@cache
def _noisy_digits() -> Pair:
    x = torch.tensor(datasets.load_digits().images / 16.0, dtype=torch.float32)[:, None]
    return x + 0.4 * torch.randn(x.shape, generator=_draw(303)), x


@cache
def _digits() -> Pair:
    x, y = datasets.load_digits(return_X_y=True)
    return torch.tensor(x / 16.0, dtype=torch.float32), torch.tensor(y)


@cache
def _source() -> str:
    return Path(inspect.__file__).read_text()


@cache
def _indentation() -> Pair:
    """Lines of Python by their pairs of characters; whether the next is indented more or less."""
    lines = [line for line in _source().splitlines() if line.strip()][:1500]
    x = torch.zeros(len(lines) - 1, 80)
    for row, line in zip(x, lines, strict=False):
        for a, b in itertools.pairwise(line):
            row[(31 * ord(a) + ord(b)) % 80] += 1.0
    depth = torch.tensor([len(line) - len(line.lstrip()) for line in lines])
    return x.log1p(), (depth[1:] - depth[:-1]).sign() + 1


@cache
def _neighbouring_words() -> Pair:
    """Of the 64 most frequent words of a module: each, and the one behind it."""
    words = re.findall(r"\w+", _source())
    rank = {word: i for i, (word, _) in enumerate(Counter(words).most_common(64))}
    codes = torch.tensor([rank.get(word, -1) for word in words])
    both = (codes[:-1] >= 0) & (codes[1:] >= 0)
    return codes[:-1][both], codes[1:][both]


@cache
def _reversed() -> Pair:
    """Nine symbols, and the same from the end."""
    x = torch.randint(0, 8, (1500, 9), generator=_draw(304))
    return x, x.flip(1)


@cache
def _sums() -> Pair:
    """Two numbers of five digits, the lowest first, and their sum."""
    x = torch.randint(0, 10, (2000, 2, 5), generator=_draw(305))
    total = (x * 10 ** torch.arange(5)).sum(dim=(1, 2))
    return x.transpose(1, 2), total[:, None] // 10 ** torch.arange(5) % 10


@cache
def _brackets() -> Pair:
    """Brackets of two kinds, and how deep one is in each of them."""
    x = torch.randint(0, 4, (1000, 20), generator=_draw(306))
    change = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])[x]
    return F.one_hot(x, 4).float(), change.cumsum(dim=1).tanh()


@cache
def _waves() -> Pair:
    """Velocities on a ring of 32 places, and after a while by Burgers' equation."""
    g = _draw(307)
    place = 2.0 * torch.pi * torch.arange(32.0) / 32.0
    k = torch.arange(1.0, 4.0)[None, :, None]
    phase = 6.28 * torch.rand(700, 3, 1, generator=g)
    x = (torch.randn(700, 3, 1, generator=g) * torch.sin(k * place + phase) / k).sum(dim=1)
    y = x
    for _ in range(20):
        left, right = y.roll(1, 1), y.roll(-1, 1)
        y = y - 0.04 * y * (right - left) + 0.2 * (left + right - 2.0 * y)
    return x, y


@cache
def _clouds() -> Pair:
    """Clouds of 24 points: balls, shells, sticks and discs, turned at random."""
    g = _draw(308)
    y = torch.randint(0, 4, (900,), generator=g)
    points = torch.randn(900, 24, 3, generator=g)
    shell = F.normalize(points, dim=2)
    flat = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 0.1, 0.1], [1.0, 1.0, 0.1]])[y]
    points = torch.where((y == 1)[:, None, None], shell, 0.6 * points * flat[:, None])
    turn = torch.linalg.qr(torch.randn(900, 3, 3, generator=g))[0]
    return points @ turn + 0.1 * torch.randn(900, 1, 3, generator=g), y


@cache
def _pieces() -> Pair:
    """Another linear function in each quarter of the plane."""
    g = _draw(309)
    x = torch.randn(1200, 8, generator=g)
    quarter = 2 * (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    y = (x * torch.randn(4, 8, generator=g)[quarter]).sum(dim=1, keepdim=True)
    return x, y / 2.0 + 0.1 * torch.randn(1200, 1, generator=g)


@cache
def _bilinear() -> Pair:
    """Two vectors, and their product through a matrix of rank 2."""
    g = _draw(310)
    x = torch.randn(800, 2, 12, generator=g)
    left, right = torch.randn(2, 12, 2, generator=g) / 3.0
    return x, ((x[:, 0] @ left) * (x[:, 1] @ right)).sum(dim=1, keepdim=True)


@cache
def _wine() -> Pair:
    return _pair(*datasets.load_wine(return_X_y=True))


@cache
def _lists() -> Pair:
    """Lists of 8 items, and how much of the attention each should get."""
    g = _draw(311)
    x = torch.randn(600, 8, 10, generator=g)
    value = x[..., 0] * x[..., 1] + x[..., 2] + 0.3 * torch.randn(600, 8, generator=g)
    return x, (2.0 * value).softmax(dim=1)


@cache
def _moons_and_noise() -> Pair:
    """Two moons under more or less noise; the noise is to be told."""
    points, _ = datasets.make_moons(2000, noise=0.03, random_state=312)
    clean, _ = _pair(points, points[:, 0])
    g = _draw(312)
    angle = 0.5 * torch.pi * torch.rand(2000, 1, generator=g)
    noise = torch.randn(2000, 2, generator=g)
    return torch.cat([angle.cos() * clean + angle.sin() * noise, 2.0 * angle - 1.57], 1), noise


@cache
def _star() -> Pair:
    """Places as waves of three lengths, and their distance to the edge of a star."""
    x = 2.0 * torch.rand(2500, 2, generator=_draw(313)) - 1.0
    waves = torch.cat([f(x * 3.14 * 2.0**k) for k in range(3) for f in (torch.sin, torch.cos)], 1)
    edge = 0.6 + 0.2 * torch.cos(5.0 * torch.atan2(x[:, 1:], x[:, :1]))
    return torch.cat([x, waves], dim=1), (x.norm(dim=1, keepdim=True) - edge).clamp(-0.3, 0.3)


@cache
def _costs() -> Pair:
    """Costs with a Gamma distribution of shape 2."""
    g = _draw(314)
    x = torch.randn(1000, 9, generator=g)
    mean = torch.exp(0.6 * x[:, :1] + 0.4 * x[:, 1:2] * x[:, 2:3].sign())
    return x, mean * torch.empty(1000, 2).exponential_(generator=g).mean(dim=1, keepdim=True)


@cache
def _blobs() -> Pair:
    """Images of 12 x 12 with a bright and a dark blob, and where the bright one is."""
    g = _draw(315)
    grid = torch.arange(12.0)
    middle = 2.0 + 8.0 * torch.rand(500, 2, 2, 1, 1, generator=g)
    away = (grid - middle[:, :, 0]) ** 2 + (grid[:, None] - middle[:, :, 1]) ** 2
    blobs = (away < 5.0).float()
    x = blobs[:, :1] - blobs[:, 1:] + 0.5 * torch.randn(500, 1, 12, 12, generator=g)
    return x, blobs[:, :1]


@cache
def _powers() -> Pair:
    """The powers of a number up to the seventh, and a function of it: ill-conditioned."""
    t = 2.0 * torch.rand(600, 1, generator=_draw(316)) - 1.0
    return t ** torch.arange(1.0, 8.0), torch.sin(4.0 * t) + 0.5 * t


@cache
def _circles() -> Pair:
    return _pair(*datasets.make_circles(1000, noise=0.08, factor=0.6, random_state=317))


# Models


class Residual(nn.Module):
    """Four residual blocks, normalised in front."""

    def __init__(self, inputs: int, outputs: int, width: int = 24) -> None:
        super().__init__()
        self.into, self.head = nn.Linear(inputs, width), nn.Linear(width, outputs)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), _mlp(width, 32, width, act=nn.GELU))
            for _ in range(4)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        h = self.into(x)
        for block in self.blocks:
            h = h + block(h)
        return self.head(h)


class LinearAttention(nn.Module):
    """One layer of attention without softmax, and a network, at every place."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(8, width), nn.Parameter(0.3 * torch.randn(9, width))
        self.qkv, self.net = nn.Linear(width, 3 * width), _mlp(width, 48, 8)

    def forward(self, x: Tensor) -> Tensor:
        """Logits, classes second."""
        h = self.embed(x) + self.place
        q, k, v = self.qkv(h).chunk(3, dim=2)
        q, k = F.elu(q) + 1.0, F.elu(k) + 1.0
        mixed = q @ (k.transpose(1, 2) @ v) / (q @ k.sum(dim=1)[:, :, None])
        return self.net(mixed + h).transpose(1, 2)


class Adder(nn.Module):
    """An LSTM, written out, that reads two digits at a time and writes one."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.embed, self.width = nn.Embedding(10, 6), width
        self.gates, self.head = nn.Linear(12 + width, 4 * width), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Logits, classes second."""
        inputs = self.embed(x).flatten(2)
        h = cell = inputs.new_zeros(x.shape[0], self.width)
        seen = []
        for t in range(x.shape[1]):
            new, *gates = self.gates(torch.cat([inputs[:, t], h], dim=1)).chunk(4, dim=1)
            into, keep, out = (gate.sigmoid() for gate in gates)
            cell = keep * cell + into * new.tanh()
            h = out * cell.tanh()
            seen.append(self.head(h))
        return torch.stack(seen, dim=2)


class StateSpace(nn.Module):
    """States that decay each at its own rate, and a network behind them."""

    def __init__(self, states: int = 24) -> None:
        super().__init__()
        self.into, self.rate = nn.Linear(4, states), nn.Parameter(torch.linspace(-1.0, 4.0, states))
        self.net = _mlp(states, 32, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Two depths at every place."""
        u, keep = self.into(x), self.rate.sigmoid()
        h = torch.zeros_like(u[:, 0])
        seen = []
        for t in range(x.shape[1]):
            h = keep * h + (1.0 - keep) * u[:, t]
            seen.append(h)
        return self.net(torch.stack(seen, dim=1))


class Spectral(nn.Module):
    """Two layers of weights on the longest waves, each beside a pointwise one."""

    def __init__(self, width: int = 10, waves: int = 7) -> None:
        super().__init__()
        self.into, self.head = nn.Linear(1, width), nn.Linear(width, 1)
        self.real = nn.Parameter(torch.randn(2, waves, width, width) / width)
        self.imaginary = nn.Parameter(torch.randn(2, waves, width, width) / width)
        self.beside = nn.ModuleList(nn.Linear(width, width) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """Velocities."""
        h = self.into(x[..., None])
        for real, imaginary, beside in zip(self.real, self.imaginary, self.beside, strict=True):
            f = torch.fft.rfft(h, dim=1)[:, : real.shape[0]]
            a = torch.einsum("nkc,kcd->nkd", f.real, real)
            a = a - torch.einsum("nkc,kcd->nkd", f.imag, imaginary)
            b = torch.einsum("nkc,kcd->nkd", f.real, imaginary)
            b = b + torch.einsum("nkc,kcd->nkd", f.imag, real)
            h = F.gelu(torch.fft.irfft(torch.complex(a, b), n=x.shape[1], dim=1) + beside(h))
        return self.head(h)[..., 0]


class PointNetwork(nn.Module):
    """The same network for every point, and the largest of each feature."""

    def __init__(self) -> None:
        super().__init__()
        self.each, self.head = _mlp(3, 24, 40, act=nn.ReLU), _mlp(40, 24, 4)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        return self.head(self.each(x).amax(dim=1))


class Experts(nn.Module):
    """Four small networks, mixed by a fifth."""

    def __init__(self) -> None:
        super().__init__()
        self.experts, self.gate = nn.ModuleList(_mlp(8, 8, 1) for _ in range(4)), _mlp(8, 16, 4)

    def forward(self, x: Tensor) -> Tensor:
        """One number."""
        each = torch.cat([expert(x) for expert in self.experts], dim=1)
        return (each * self.gate(x).softmax(dim=1)).sum(dim=1, keepdim=True)


class Bilinear(nn.Module):
    """A matrix of rank 4 between two vectors, from a small start."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = (nn.Parameter(0.1 * torch.randn(12, 4)) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """One number."""
        return ((x[:, 0] @ self.left) * (x[:, 1] @ self.right)).sum(dim=1, keepdim=True)


class GatedLayers(nn.Module):
    """Two gated linear layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 64), nn.Linear(32, 64)
        self.head = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        return self.head(F.glu(self.second(F.glu(self.first(x)))))


class DownAndUp(nn.Module):
    """Convolutions on half the resolution, with a path around them."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, width, 3, padding=1)
        self.down = nn.Conv2d(width, 2 * width, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(2 * width, 4 * width, 3, padding=1)
        self.head = nn.Conv2d(2 * width, 1, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """A value for every pixel."""
        h = torch.relu(self.first(x))
        low = torch.relu(self.middle(torch.relu(self.down(h))))
        return self.head(torch.cat([h, F.pixel_shuffle(low, 2)], dim=1))


def _deep_selu() -> nn.Module:
    return _mlp(2, *(16 for _ in range(9)), 2, act=nn.SELU)


# Losses


def _margins(output: Tensor, target: Tensor) -> Tensor:
    """Every wrong class should be lower than the right one by 1."""
    right = output.gather(1, target[:, None])
    return (1.0 + output - right).clamp(min=0.0).sum(dim=1).mean() - 1.0


def _attention_error(output: Tensor, target: Tensor) -> Tensor:
    return -(target * output[..., 0].log_softmax(dim=1)).sum(dim=1).mean()


def _gamma(output: Tensor, target: Tensor) -> Tensor:
    return (output + target * torch.exp(-output.clamp(-10.0, 10.0))).mean()


def _dice(output: Tensor, target: Tensor) -> Tensor:
    """One minus twice the overlap over both areas."""
    p = output.sigmoid()
    return 1.0 - (2.0 * (p * target).sum() + 1.0) / (p.sum() + target.sum() + 1.0)


def _brier(output: Tensor, target: Tensor) -> Tensor:
    return (output.softmax(dim=1) - F.one_hot(target, 10)).square().sum(dim=1).mean()


_CE, _MSE = F.cross_entropy, F.mse_loss

THIRD_SET = [
    Task("friedman, SiLU MLP", "mse", _friedman, lambda: _mlp(10, 48, 48, 1, act=nn.SiLU), _MSE,
         (48,)),
    Task("shells, residual MLP", "ce", _shells, lambda: Residual(6, 4), _CE, (128,)),
    Task("noisy digits, down and up", "mse", _noisy_digits, DownAndUp, _MSE, (16,)),
    Task("indentation, logistic", "logistic", _indentation, lambda: _mlp(80, 3), _CE, (10,)),
    Task("neighbouring words, embedding", "ce", _neighbouring_words,
         lambda: nn.Sequential(nn.Embedding(64, 16), nn.Linear(16, 64)), _CE, (100,)),
    Task("reversal, linear attention", "ce", _reversed, LinearAttention, _CE, (40,)),
    Task("sums, LSTM", "ce", _sums, Adder, _CE, (64,)),
    Task("brackets, state space", "mse", _brackets, StateSpace, _MSE, (32,)),
    Task("Burgers, spectral layers", "mse", _waves, Spectral, _MSE, (20,)),
    Task("clouds, largest features", "ce", _clouds, PointNetwork, _CE, (16,)),
    Task("pieces, mixture of experts", "mse", _pieces, Experts, _MSE, (96,)),
    Task("bilinear form, factors", "mse", _bilinear, Bilinear, _MSE, (8,)),
    Task("wine, margins", "other", _wine, lambda: _mlp(13, 24, 3), _margins, (12,)),
    Task("lists, listwise", "other", _lists, lambda: _mlp(10, 32, 1, norm=True), _attention_error,
         (16,)),
    Task("moons, noise", "mse", _moons_and_noise, lambda: _mlp(3, 64, 64, 2, act=nn.GELU), _MSE,
         (256,)),
    Task("star, absolute error", "other", _star, lambda: _mlp(14, 48, 48, 1), F.l1_loss, (512,)),
    Task("costs, Gamma", "other", _costs, lambda: _mlp(9, 32, 1, act=nn.Tanh), _gamma, (50,)),
    Task("blobs, overlap", "other", _blobs, DownAndUp, _dice, (8,)),
    Task("digits, gated, Brier", "other", _digits, GatedLayers, _brier, (40,)),
    Task("powers, linear", "quadratic", _powers, lambda: _mlp(7, 1), _MSE, (6,)),
    Task("circles, deep SELU", "ce", _circles, _deep_selu, _CE, (32,)),
]  # fmt: skip
