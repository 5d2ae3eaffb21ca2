"""A second set of training tasks for ``benchmarks.torch.advice``, for a rule that was then fixed.

The first set (``unseen.py``) had been looked at when the present rule was chosen; nothing was
chosen on these. Other data, losses, architectures and sizes; all of it is made up or taken from
Python's standard library, so that nothing but torch is needed. No state besides the weights.
"""

from __future__ import annotations

import argparse
import colorsys
import io
import itertools
import tokenize
import unicodedata
from functools import cache
from pathlib import Path

import torch
from torch import Tensor, nn

from benchmarks.torch.task import Task

F = nn.functional
Pair = tuple[Tensor, Tensor]


def _draw(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _mlp(*sizes: int, act: type[nn.Module] = nn.ReLU, norm: bool = False) -> nn.Module:
    layers: list[nn.Module] = []
    for a, b in itertools.pairwise(sizes[:-1]):
        layers += [nn.Linear(a, b), *([nn.LayerNorm(b)] if norm else []), act()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


# Data


@cache
def _tic_tac_toe() -> Pair:
    """Full boards of tic-tac-toe, one in two: who has three in a row (nobody, X, O or both)."""
    boards = torch.cartesian_prod(*(torch.arange(3) for _ in range(9)))[::2]
    lines = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]
    rows = torch.stack([boards[:, line] for line in lines], dim=1)
    wins = [(rows == side).all(dim=2).any(dim=1).long() for side in (1, 2)]
    return F.one_hot(boards, 3).flatten(1).float(), wins[0] + 2 * wins[1]


@cache
def _life() -> Pair:
    """Boards of Conway's game of life, and their next step."""
    x = (torch.rand(800, 1, 10, 10, generator=_draw(201)) < 0.35).float()
    around = F.conv2d(x, torch.ones(1, 1, 3, 3), padding=1) - x
    return x, ((around == 3) | ((around == 2) & (x > 0))).float()


@cache
def _colours() -> Pair:
    rgb = torch.rand(1500, 3, generator=_draw(202))
    hls = torch.tensor([colorsys.rgb_to_hls(*row) for row in rgb.tolist()])
    angle = 2.0 * torch.pi * hls[:, :1]
    return 2.0 * rgb - 1.0, torch.cat([angle.cos(), angle.sin(), hls[:, 1:]], dim=1)


@cache
def _source() -> bytes:
    return Path(argparse.__file__).read_bytes()


@cache
def _tokens() -> Pair:
    """Windows of 9 characters of Python, and the kind of token that the middle one is in."""
    text = _source().decode()[:14000]
    kinds = torch.zeros(len(text), dtype=torch.long)
    starts = [0, *itertools.accumulate(len(line) for line in text.splitlines(keepends=True))]
    group = {tokenize.NAME: 1, tokenize.OP: 2, tokenize.STRING: 3, tokenize.COMMENT: 4}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            a = starts[token.start[0] - 1] + token.start[1]
            b = starts[token.end[0] - 1] + token.end[1]
            kinds[a:b] = group.get(token.type, 0)
    except (tokenize.TokenError, IndentationError):
        pass  # The text is cut somewhere.
    codes = torch.tensor([min(ord(c), 127) for c in text])
    return codes.unfold(0, 9, 1)[::3], kinds[4 : len(text) - 4][::3]


@cache
def _character_names() -> Pair:
    """The first 14 letters of a Unicode name, and whether it is a capital, a small letter ..."""
    kinds = {"Lu": 0, "Ll": 1, "Lo": 2, "Mn": 3, "So": 4, "Sm": 5}
    names: list[list[int]] = []
    labels: list[int] = []
    for code in range(0x250, 0x2C00, 3):
        name, kind = unicodedata.name(chr(code), ""), unicodedata.category(chr(code))
        if name and kind in kinds:
            names.append([ord(c) % 64 for c in name.ljust(14)[:14]])
            labels.append(kinds[kind])
    return torch.tensor(names), torch.tensor(labels)


@cache
def _prey() -> Pair:
    """Populations of predators and prey (logarithms, with parameters), and their rates."""
    x = 2.0 * torch.rand(2000, 5, generator=_draw(203)) - 1.0
    prey, predators = x[:, :1].exp(), x[:, 1:2].exp()
    a, b, c = (1.0 + 0.5 * x[:, i : i + 1] for i in (2, 3, 4))
    return x, torch.cat([a - b * predators, c * prey / (1.0 + prey) - 0.5], dim=1)


@cache
def _chirps() -> Pair:
    """Signals of 48 values: rising, falling, steady or broken tones, with noise."""
    g = _draw(204)
    t = torch.linspace(0.0, 1.0, 48)
    kind = torch.randint(0, 4, (1000,), generator=g)
    base = 3.0 + 4.0 * torch.rand(1000, 1, generator=g)
    bend = torch.tensor([4.0, -4.0, 0.0, 0.0])[kind][:, None]
    phase = 6.28 * (base * t + 0.5 * bend * t**2 + torch.rand(1000, 1, generator=g))
    x = torch.sin(phase) * torch.where((kind[:, None] == 3) & (t > 0.5), 0.2, 1.0)
    return (x + 0.4 * torch.randn(1000, 48, generator=g))[:, None], kind


@cache
def _views() -> Pair:
    """Two noisy views of one hidden point."""
    g = _draw(205)
    hidden = torch.randn(1000, 6, generator=g)
    views = [
        torch.tanh(hidden @ torch.randn(6, 16, generator=g))
        + 0.3 * torch.randn(1000, 16, generator=g)
        for _ in range(2)
    ]
    return torch.stack(views, dim=1), torch.zeros(1000)


@cache
def _preferences() -> Pair:
    """Differences of two items, of which the first is preferred but for noise."""
    g = _draw(206)
    x = torch.randn(600, 15, generator=g) * torch.logspace(0.3, -0.7, 15)
    better = x @ torch.randn(15, 1, generator=g) + 0.5 * torch.randn(600, 1, generator=g)
    return x * better.sign(), torch.ones(600, 1)


@cache
def _skewed() -> Pair:
    g = _draw(207)
    x = torch.rand(1000, 4, generator=g) * 2.0 - 1.0
    noise = torch.empty(1000, 1).exponential_(generator=g)
    return x, (x[:, :1] * 2.0).sin() + x[:, 1:2] * x[:, 2:3] + (0.2 + x[:, 3:].abs()) * noise


@cache
def _lifetimes() -> Pair:
    """Times until failure and whether it was seen."""
    g = _draw(208)
    x = torch.randn(900, 8, generator=g)
    rate = torch.exp(0.7 * x[:, :1] - 0.5 * x[:, 1:2].abs())
    time = torch.empty(900, 1).exponential_(generator=g) / rate
    end = 2.0 * torch.rand(900, 1, generator=g)
    return x, torch.cat([torch.minimum(time, end), (time <= end).float()], dim=1)


@cache
def _teacher() -> Pair:
    """The soft answers of a random network."""
    g = _draw(209)
    x = torch.randn(1200, 20, generator=g)
    hidden = torch.relu(x @ torch.randn(20, 30, generator=g) / 3.0)
    return x, (hidden @ torch.randn(30, 10, generator=g)).softmax(dim=1)


@cache
def _graphs() -> Pair:
    """Graphs of 9 nodes; their triangles and their longest row, standardised."""
    g = _draw(210)
    upper = torch.rand(800, 9, 9, generator=g) < 0.15 + 0.4 * torch.rand(800, 1, 1, generator=g)
    a = upper.float().triu(1)
    a = a + a.transpose(1, 2)
    triangles = torch.diagonal(a @ a @ a, dim1=1, dim2=2).sum(dim=1, keepdim=True) / 6.0
    y = torch.cat([triangles.sqrt(), a.sum(dim=2).amax(dim=1, keepdim=True)], dim=1)
    return a, (y - y.mean(dim=0)) / y.std(dim=0)


@cache
def _shapes() -> Pair:
    """Images of 16 x 16: discs, squares, crosses, rings and stripes, with noise."""
    g = _draw(211)
    count = 1200
    grid = torch.arange(16.0)
    middle = 5.0 + 6.0 * torch.rand(count, 2, 1, 1, generator=g)
    size = 2.5 + 2.0 * torch.rand(count, 1, 1, generator=g)
    dx, dy = grid[None, None, :] - middle[:, 0], grid[None, :, None] - middle[:, 1]
    radius = (dx**2 + dy**2).sqrt()
    square = torch.maximum(dx.abs(), dy.abs()) < size
    kinds = torch.stack([
        radius < size, square, square & (torch.minimum(dx.abs(), dy.abs()) < 1.0),
        (radius < size) & (radius > size - 1.5), square & ((dx + 32).floor() % 2 == 0),
    ], dim=1)  # fmt: skip
    y = torch.randint(0, 5, (count,), generator=g)
    x = kinds[torch.arange(count), y].float()[:, None]
    return x + 0.3 * torch.randn(x.shape, generator=g), y


@cache
def _picture() -> Pair:
    """Places in a picture, and its value there."""
    x = 2.0 * torch.rand(3000, 2, generator=_draw(212)) - 1.0
    radius = x.norm(dim=1, keepdim=True)
    return x, torch.sin(9.0 * radius) * torch.cos(3.0 * torch.atan2(x[:, 1:], x[:, :1]))


@cache
def _heat() -> Pair:
    """Profiles on a rod of 24 places, and the same after a while with a nonlinear loss."""
    g = _draw(213)
    x = torch.randn(900, 24, generator=g).cumsum(dim=1) / 4.0
    y = x
    for _ in range(12):
        left, right = y.roll(1, dims=1), y.roll(-1, dims=1)
        y = y + 0.25 * (left + right - 2.0 * y) - 0.02 * y**3
    return x, y


@cache
def _rare_rows() -> Pair:
    """Least squares with Q = 400 in which one row of thirty is ten times as long."""
    g = _draw(214)
    x = torch.randn(900, 24, generator=g) * torch.logspace(-1.3, 0.0, 24)
    x = x * torch.where(torch.rand(900, 1, generator=g) < 1 / 30, 10.0, 1.0)
    return x, x @ torch.randn(24, 1, generator=g) + 0.05 * torch.randn(900, 1, generator=g)


@cache
def _separable() -> Pair:
    """Two classes that a plane separates."""
    g = _draw(215)
    x = torch.randn(500, 40, generator=g)
    return x, (x @ torch.randn(40, 1, generator=g) > 0.0).float()


@cache
def _recall() -> Pair:
    """Ten symbols; the answer is the one behind the marker 0."""
    g = _draw(216)
    x = torch.randint(1, 7, (2000, 10), generator=g)
    place = torch.randint(0, 9, (2000,), generator=g)
    x[torch.arange(2000), place] = 0
    return x, x[torch.arange(2000), place + 1]


@cache
def _curve() -> Pair:
    """Points of 30 dimensions on a bent surface of two."""
    g = _draw(217)
    hidden = 4.0 * torch.rand(1000, 2, generator=g) - 2.0
    x = torch.sin(hidden @ torch.randn(2, 30, generator=g) + torch.rand(30, generator=g))
    return x, x + 0.0


@cache
def _ranks() -> Pair:
    """Six numbers, and the rank of each."""
    x = torch.rand(1500, 6, generator=_draw(218))
    return x[..., None], x.argsort(dim=1).argsort(dim=1)


@cache
def _text() -> Pair:
    """Windows of 16 bytes of Python, and the same a byte later."""
    codes = torch.tensor(list(_source()[: 16 * 900 + 1])) % 96
    return codes[:-1].reshape(-1, 16), codes[1:].reshape(-1, 16)


@cache
def _outliers() -> Pair:
    g = _draw(219)
    x = torch.randn(800, 12, generator=g)
    y = x[:, :1].abs() - 0.5 * x[:, 1:2] * x[:, 2:3]
    return x, y + torch.where(torch.rand(800, 1, generator=g) < 0.1, 8.0, 0.1) * torch.randn(
        800, 1, generator=g
    )


@cache
def _branches() -> Pair:
    """An answer that has two branches: a mixture is to be predicted."""
    g = _draw(220)
    x = 2.0 * torch.rand(1000, 1, generator=g) - 1.0
    side = torch.where(torch.rand(1000, 1, generator=g) < 0.4, 1.0, -1.0)
    return x, side * (0.5 + x**2) + 0.08 * torch.randn(1000, 1, generator=g)


@cache
def _clusters() -> Pair:
    """Forty overlapping clusters in ten classes, one label in ten wrong."""
    g = _draw(221)
    centres = torch.randn(40, 64, generator=g)
    which = torch.randint(0, 40, (3000,), generator=g)
    x = centres[which] + 1.2 * torch.randn(3000, 64, generator=g)
    wrong = torch.rand(3000, generator=g) < 0.1
    return x, torch.where(wrong, torch.randint(0, 10, (3000,), generator=g), which % 10)


@cache
def _two_answers() -> Pair:
    """A class and a number from the same inputs."""
    g = _draw(222)
    x = torch.randn(1000, 10, generator=g)
    kind = (x @ torch.randn(10, 4, generator=g)).argmax(dim=1)
    number = (x[:, 0] * x[:, 1]).tanh()
    return x, torch.stack([kind.float(), number], dim=1)


@cache
def _rare_class() -> Pair:
    """Two of a hundred samples are of the class that is looked for."""
    g = _draw(223)
    x = torch.randn(2000, 12, generator=g)
    score = x[:, :1] * x[:, 1:2] + 0.5 * x[:, 2:3]
    return x, (score > score.quantile(0.96)).float()


@cache
def _parity() -> Pair:
    """The parity of three bits among twelve: a plateau at first."""
    x = torch.randint(0, 2, (2000, 12), generator=_draw(224)).float()
    return 2.0 * x - 1.0, (x[:, :3].sum(dim=1).long() % 2)


# Models


class CharacterConvolution(nn.Module):
    """Characters embedded, convolved, and read off in the middle."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(128, 12)
        self.first, self.second = nn.Conv1d(12, 24, 5), nn.Conv1d(24, 24, 5)
        self.head = nn.Linear(24, 5)

    def forward(self, x: Tensor) -> Tensor:
        """Logits of the kind."""
        h = torch.relu(self.first(self.embed(x).transpose(1, 2)))
        return self.head(torch.relu(self.second(h)).flatten(1))


class Bag(nn.Module):
    """The mean of the embedded pairs of neighbours, and a network."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(64, 16)
        self.pair, self.net = nn.Linear(32, 32), _mlp(32, 32, 6)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        h = self.embed(x)
        both = torch.cat([h[:, :-1], h[:, 1:]], dim=2)
        return self.net(F.gelu(self.pair(both)).mean(dim=1))


class Encoder(nn.Module):
    """Both views through one network, to length 1."""

    def __init__(self) -> None:
        super().__init__()
        self.net = _mlp(16, 48, 12)

    def forward(self, x: Tensor) -> Tensor:
        """Two unit vectors for each sample."""
        return F.normalize(self.net(x), dim=2)


class MessagePassing(nn.Module):
    """Three rounds of messages between neighbours."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.start = nn.Parameter(torch.ones(width))
        self.rounds = nn.ModuleList(nn.Linear(2 * width, width) for _ in range(3))
        self.head = _mlp(width, 24, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Two numbers for each graph."""
        h = self.start.expand(x.shape[0], x.shape[1], -1)
        for layer in self.rounds:
            h = torch.relu(layer(torch.cat([h, x @ h / 3.0], dim=2)))
        return self.head(h.mean(dim=1))


class Block(nn.Module):
    """A transformer block; the normalisation before its parts (pre) or behind them (post)."""

    def __init__(self, width: int, heads: int, *, post: bool = False, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.post, self.causal = heads, post, causal
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def attend(self, x: Tensor) -> Tensor:
        """Attention of several heads, written out."""
        n, length, width = x.shape
        q, k, v = self.qkv(x).reshape(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind()
        scores = q @ k.transpose(2, 3) / q.shape[-1] ** 0.5
        if self.causal:
            mask = torch.triu(torch.ones(length, length, dtype=torch.bool), 1)
            scores = scores.masked_fill(mask, -1e9)
        mixed = scores.softmax(dim=-1) @ v
        return self.out(mixed.transpose(1, 2).reshape(n, length, width))

    def forward(self, x: Tensor) -> Tensor:
        """Attention, then the feed-forward network."""
        if self.post:
            x = self.first(x + self.attend(x))
            return self.second(x + self.feed(x))
        x = x + self.attend(self.first(x))
        return x + self.feed(self.second(x))


class Patches(nn.Module):
    """A vision transformer of two blocks on patches of 4 x 4."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.into = nn.Linear(16, width)
        self.place = nn.Parameter(0.02 * torch.randn(16, width))
        self.blocks = nn.Sequential(Block(width, 2), Block(width, 2), nn.LayerNorm(width))
        self.head = nn.Linear(width, 5)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        parts = x.reshape(-1, 4, 4, 4, 4).transpose(2, 3).reshape(-1, 16, 16)
        return self.head(self.blocks(self.into(parts) + self.place).mean(dim=1))


class ResidualConvolution(nn.Module):
    """Two residual blocks of convolutions with group normalisation."""

    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.into = nn.Conv2d(1, width, 3, stride=2, padding=1)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(3, width), nn.ReLU(),
                          nn.Conv2d(width, width, 3, padding=1), nn.GroupNorm(3, width))
            for _ in range(2)
        )  # fmt: skip
        self.head = nn.Linear(width, 5)

    def forward(self, x: Tensor) -> Tensor:
        """Logits."""
        h = self.into(x)
        for block in self.blocks:
            h = torch.relu(h + block(h))
        return self.head(h.mean(dim=(2, 3)))


class Waves(nn.Module):
    """A network whose activations are sines."""

    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, width), nn.Linear(width, width)])
        self.head = nn.Linear(width, 1)
        for layer in self.layers:
            nn.init.uniform_(layer.weight, -3.0 / layer.in_features, 3.0 / layer.in_features)

    def forward(self, x: Tensor) -> Tensor:
        """The value at each place."""
        for i, layer in enumerate(self.layers):
            x = torch.sin((5.0 if i == 0 else 2.0) * layer(x))
        return self.head(x)


class Memory(nn.Module):
    """A gated recurrent unit, written out."""

    def __init__(self, width: int = 24) -> None:
        super().__init__()
        self.embed = nn.Embedding(7, 8)
        self.gates, self.new = nn.Linear(8 + width, 2 * width), nn.Linear(8 + width, width)
        self.head = nn.Linear(width, 7)
        self.width = width

    def forward(self, x: Tensor) -> Tensor:
        """Logits of the symbol that is asked for."""
        inputs = self.embed(x)
        h = inputs.new_zeros(x.shape[0], self.width)
        for t in range(x.shape[1]):
            z, r = self.gates(torch.cat([inputs[:, t], h], dim=1)).sigmoid().chunk(2, dim=1)
            h = (1 - z) * h + z * torch.tanh(self.new(torch.cat([inputs[:, t], r * h], dim=1)))
        return self.head(h)


class Sorter(nn.Module):
    """Two blocks with the normalisation behind; the rank of every number."""

    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.into = nn.Linear(1, width)
        self.blocks = nn.Sequential(Block(width, 2, post=True), Block(width, 2, post=True))
        self.head = nn.Linear(width, 6)

    def forward(self, x: Tensor) -> Tensor:
        """Logits, classes second as ``cross_entropy`` has them."""
        return self.head(self.blocks(self.into(x))).transpose(1, 2)


class TiedText(nn.Module):
    """Two causal blocks over bytes; the embedding is the last layer as well."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.embed = nn.Parameter(0.02 * torch.randn(96, width))
        self.place = nn.Parameter(0.02 * torch.randn(16, width))
        self.blocks = nn.Sequential(
            Block(width, 2, causal=True), Block(width, 2, causal=True), nn.LayerNorm(width)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Logits of the next byte."""
        h = self.blocks(F.embedding(x, self.embed) + self.place)
        return (h @ self.embed.T).transpose(1, 2)


def _life_network() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 8, 1), nn.ReLU(),
        nn.Conv2d(8, 1, 1),
    )  # fmt: skip


def _signal_network() -> nn.Module:
    return nn.Sequential(
        nn.Conv1d(1, 8, 7, stride=2), nn.GroupNorm(2, 8), nn.ELU(),
        nn.Conv1d(8, 16, 5, stride=2), nn.ELU(), nn.Flatten(), nn.Linear(144, 4),
    )  # fmt: skip


def _deep_tanh() -> nn.Module:
    return _mlp(*(12 for _ in range(7)), 1, act=nn.Tanh)


# Losses


def _contrastive(output: Tensor, target: Tensor) -> Tensor:
    """Every first view should be nearest to its own second view among those of the batch."""
    scores = output[:, 0] @ output[:, 1].T / 0.2
    return F.cross_entropy(scores, torch.arange(len(scores)))


def _hinge(output: Tensor, target: Tensor) -> Tensor:
    return (1.0 - output * target).clamp(min=0.0).mean()


def _pinball(output: Tensor, target: Tensor) -> Tensor:
    levels = torch.tensor([0.1, 0.5, 0.9])
    return torch.maximum(levels * (target - output), (levels - 1.0) * (target - output)).mean()


def _survival(output: Tensor, target: Tensor) -> Tensor:
    """Negative log-likelihood of exponential lifetimes, some of them cut off."""
    rate = output.clamp(-10.0, 10.0)
    return (rate.exp() * target[:, :1] - rate * target[:, 1:]).mean()


def _divergence(output: Tensor, target: Tensor) -> Tensor:
    return F.kl_div(output.log_softmax(dim=1), target, reduction="batchmean")


def _log_cosh(output: Tensor, target: Tensor) -> Tensor:
    gap = (output - target).abs()
    return (gap + F.softplus(-2.0 * gap) - 0.6931).mean()


def _mixture(output: Tensor, target: Tensor) -> Tensor:
    """Negative log-likelihood of a mixture of two Gaussians."""
    weight, mean, scale = output[:, :2].log_softmax(dim=1), output[:, 2:4], output[:, 4:]
    scale = scale.clamp(-4.0, 4.0)
    density = weight - scale - 0.5 * ((target - mean) * torch.exp(-scale)) ** 2
    return -torch.logsumexp(density, dim=1).mean()


def _both(output: Tensor, target: Tensor) -> Tensor:
    return F.cross_entropy(output[:, :4], target[:, 0].long()) + F.mse_loss(
        output[:, 4], target[:, 1]
    )


def _focal(output: Tensor, target: Tensor) -> Tensor:
    each = F.binary_cross_entropy_with_logits(output, target, reduction="none")
    return ((1.0 - torch.exp(-each)) ** 2 * each).mean()


_CE, _MSE, _BCE = F.cross_entropy, F.mse_loss, F.binary_cross_entropy_with_logits

SECOND_SET = [
    Task("tic-tac-toe, MLP", "ce", _tic_tac_toe, lambda: _mlp(27, 64, 64, 4), _CE, (64,)),
    Task("game of life, convolution", "ce", _life, _life_network, _BCE, (8,)),
    Task("colours, tanh MLP", "mse", _colours, lambda: _mlp(3, 40, 40, 4, act=nn.Tanh), _MSE,
         (128,)),
    Task("tokens of Python, convolution", "ce", _tokens, CharacterConvolution, _CE, (32,)),
    Task("names of characters, bag", "ce", _character_names, Bag, _CE, (64,)),
    Task("predator and prey, SiLU MLP", "mse", _prey, lambda: _mlp(5, 48, 48, 2, act=nn.SiLU),
         F.smooth_l1_loss, (256,)),
    Task("chirps, convolution", "ce", _chirps, _signal_network, _CE, (32,)),
    Task("two views, contrastive", "other", _views, Encoder, _contrastive, (64,)),
    Task("preferences, hinge", "other", _preferences, lambda: _mlp(15, 1), _hinge, (16,)),
    Task("skewed noise, quantiles", "other", _skewed, lambda: _mlp(4, 32, 32, 3), _pinball, (32,)),
    Task("lifetimes, survival", "other", _lifetimes, lambda: _mlp(8, 24, 1, norm=True), _survival,
         (64,)),
    Task("teacher, divergence", "ce", _teacher, lambda: _mlp(20, 64, 10, act=nn.GELU), _divergence,
         (64,)),
    Task("graphs, messages", "mse", _graphs, MessagePassing, _MSE, (16,)),
    Task("shapes, patches", "ce", _shapes, Patches, _CE, (32,)),
    Task("shapes, residual convolution", "ce", _shapes, ResidualConvolution, _CE, (16,)),
    Task("picture, sines", "mse", _picture, Waves, _MSE, (256,)),
    Task("heat, deep residual map", "mse", _heat, lambda: _mlp(24, 48, 48, 24, act=nn.GELU), _MSE,
         (32,)),
    Task("rare long rows, linear", "quadratic", _rare_rows, lambda: _mlp(24, 1), _MSE, (4,)),
    Task("separable, logistic", "logistic", _separable, lambda: _mlp(40, 1), _BCE, (8,)),
    Task("recall, gated recurrence", "ce", _recall, Memory, _CE, (32,)),
    Task("bent surface, autoencoder", "mse", _curve, lambda: _mlp(30, 32, 16, 2, 16, 32, 30), _MSE,
         (64,)),
    Task("ranks, post-norm transformer", "ce", _ranks, Sorter, _CE, (32,)),
    Task("bytes, tied transformer", "ce", _text, TiedText, _CE, (16,)),
    Task("outliers, log cosh", "other", _outliers, _deep_tanh, _log_cosh, (16,)),
    Task("branches, mixture", "other", _branches, lambda: _mlp(1, 32, 6, act=nn.Tanh), _mixture,
         (64,)),
    Task("clusters, 10^5 weights", "ce", _clusters, lambda: _mlp(64, 256, 256, 10), _CE, (128,)),
    Task("two answers, MLP", "other", _two_answers, lambda: _mlp(10, 48, 5), _both, (32,)),
    Task("rare class, focal", "other", _rare_class, lambda: _mlp(12, 32, 32, 1), _focal, (128,)),
    Task("parity, MLP", "ce", _parity, lambda: _mlp(12, 48, 2), _CE, (64,)),
]  # fmt: skip
