"""Training tasks on which ``ravine.torch.Monitor`` is measured and nothing of it was chosen.

Data, architectures and losses differ from those of ``torch_monitor_tasks``. They were written down
when the rule and the risk were settled.
"""

from __future__ import annotations

from functools import cache

import torch
from sklearn import datasets
from torch import Tensor, nn

from benchmarks import torch_tasks as tasks
from benchmarks.torch_monitor_tasks import Gated, Waves, _draw, _normalised
from benchmarks.torch_tasks import Task

_mlp = tasks._mlp
_mse = nn.functional.mse_loss
_ce = nn.functional.cross_entropy


@cache
def _pendulum() -> tuple[Tensor, Tensor]:
    """Angle and velocity of a damped pendulum, and both a second later."""
    start = torch.randn(1024, 2, generator=_draw(71)) * torch.tensor([1.5, 1.0])
    state = start
    for _ in range(50):
        angle, speed = state[:, :1], state[:, 1:]
        state = torch.cat([angle + 0.02 * speed, speed - 0.02 * (4 * angle.sin() + speed)], dim=1)
    return start, state


@cache
def _polynomial() -> tuple[Tensor, Tensor]:
    """Least squares on the monomials of three variables up to the third degree."""
    g = _draw(72)
    x = 2.0 * torch.rand(1024, 3, generator=g) - 1.0
    powers = [(a, b, c) for a in range(4) for b in range(4) for c in range(4) if 0 < a + b + c <= 3]
    columns = torch.stack([(x ** torch.tensor(p)).prod(dim=1) for p in powers], dim=1)
    columns = (columns - columns.mean(dim=0)) / columns.std(dim=0)
    y = columns @ torch.randn(len(powers), 1, generator=g) / 4.0
    return columns, y + 0.3 * torch.randn(1024, 1, generator=g)


@cache
def _next_rows() -> tuple[Tensor, Tensor]:
    """The first five rows of a digit; the answer is the sixth."""
    images = tasks._digits_images()[0][:, 0]
    return images[:, :5], images[:, 5]


@cache
def _cancer_itself() -> tuple[Tensor, Tensor]:
    return tasks._cancer()[0], tasks._cancer()[0]


@cache
def _wine_classes() -> tuple[Tensor, Tensor]:
    x, y = tasks._wine()
    return x, nn.functional.one_hot(y, 3).float()


@cache
def _noisy_images() -> tuple[Tensor, Tensor]:
    """Digits with noise, and without."""
    clean = tasks._digits_images()[0]
    return clean + 0.3 * torch.randn(clean.shape, generator=_draw(73)), clean


@cache
def _products() -> tuple[Tensor, Tensor]:
    """Sums of products of neighbours."""
    x = torch.randn(1024, 8, generator=_draw(74))
    return x, (x[:, :-1] * x[:, 1:]).sum(dim=1, keepdim=True) / 7**0.5


@cache
def _correlated() -> tuple[Tensor, Tensor]:
    """Least squares whose columns are neighbours of a random walk's steps."""
    g = _draw(75)
    noise = torch.randn(768, 24, generator=g)
    x = torch.zeros(768, 24)
    x[:, 0] = noise[:, 0]
    for k in range(1, 24):
        x[:, k] = 0.8 * x[:, k - 1] + 0.6 * noise[:, k]
    return x, x @ torch.randn(24, 2, generator=g) / 24**0.5 + 0.2 * torch.randn(768, 2, generator=g)


@cache
def _counts() -> tuple[Tensor, Tensor]:
    """How often each of eight symbols is in a sequence."""
    x = torch.randint(0, 8, (1024, 8), generator=_draw(76))
    return x, nn.functional.one_hot(x, 8).float().sum(dim=1) - 1.0


@cache
def _upper_halves() -> tuple[Tensor, Tensor]:
    x, y = tasks._digits()
    return 2.0 * x[:, :32] - 0.5, y


@cache
def _signs() -> tuple[Tensor, Tensor]:
    """Ten numbers; whether more than half of them are positive."""
    x = torch.randn(1024, 10, 1, generator=_draw(77))
    return x, ((x[:, :, 0] > 0).sum(dim=1) > 5).long()


@cache
def _teacher_classes() -> tuple[Tensor, Tensor]:
    x, y = tasks._teacher()
    return x, y.argmax(dim=1)


@cache
def _arms() -> tuple[Tensor, Tensor]:
    """Three arms of a spiral."""
    g = _draw(78)
    y = torch.randint(0, 3, (1024,), generator=g)
    radius = torch.rand(1024, generator=g)
    angle = 4.0 * radius + 2.1 * y + 0.15 * torch.randn(1024, generator=g)
    return 2.0 * torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), y


@cache
def _covered() -> tuple[Tensor, Tensor]:
    """Two classes of Gaussians that differ in their spread alone."""
    x, y = datasets.make_gaussian_quantiles(n_samples=1000, n_features=4, random_state=6)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(y)


class Bilinear(nn.Module):
    """The product of two linear maps, and a linear map of it."""

    def __init__(self, inputs: int, width: int = 24) -> None:
        super().__init__()
        self.left = nn.Linear(inputs, width)
        self.right = nn.Linear(inputs, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The answer."""
        return self.out(self.left(x) * self.right(x))


def _filter() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 6, 3, padding=1), nn.ReLU(),
        nn.Conv2d(6, 1, 3, padding=1),
    )  # fmt: skip


UNWATCHED = [
    Task("pendulum, softplus MLP", "mse", _pendulum,
         lambda: _mlp(2, 32, 32, 2, act=nn.Softplus), _mse),
    Task("polynomial, linear", "quadratic", _polynomial, lambda: _mlp(19, 1), _mse),
    Task("correlated, linear", "quadratic", _correlated, lambda: _mlp(24, 2), _mse),
    Task("next row, gated recurrence", "mse", _next_rows, lambda: Gated(8, 8), _mse, (8, 32)),
    Task("cancer autoencoder, ReLU", "mse", _cancer_itself, lambda: _mlp(30, 12, 30), _mse),
    Task("wine classes, tanh MLP", "mse", _wine_classes,
         lambda: _mlp(13, 24, 3, act=nn.Tanh), _mse, (8, 32)),
    Task("noisy images, convolution", "mse", _noisy_images, _filter, _mse, (8, 32)),
    Task("products, bilinear", "mse", _products, lambda: Bilinear(8), _mse),
    Task("diabetes, deep leaky MLP", "mse", tasks._diabetes,
         lambda: _mlp(10, 24, 24, 24, 24, 1, act=nn.LeakyReLU), _mse),
    Task("counts, attention", "mse", _counts, tasks.Attention, _mse, (32, 128)),
]  # fmt: skip
"""Squared losses."""

UNJUDGED = [
    Task("wine, logistic", "logistic", tasks._wine, lambda: _mlp(13, 3), _ce, (8, 32)),
    Task("cancer, ReLU MLP", "ce", tasks._cancer, lambda: _mlp(30, 32, 2), _ce),
    Task("upper halves of digits, ELU MLP", "ce", _upper_halves,
         lambda: _mlp(32, 32, 32, 10, act=nn.ELU), _ce),
    Task("signs, gated recurrence", "ce", _signs, lambda: Gated(1, 2), _ce, (8, 32)),
    Task("teacher classes, wide MLP", "ce", _teacher_classes, lambda: _mlp(10, 128, 4), _ce),
    Task("arms, sine MLP", "ce", _arms, lambda: _mlp(2, 32, 32, 3, act=Waves), _ce),
    Task("quantiles, LayerNorm MLP", "ce", _covered, lambda: _normalised(4, 24, 24, 3), _ce),
    Task("quantiles, BatchNorm MLP", "ce", _covered, lambda: _mlp(4, 32, 3, norm=True), _ce),
]  # fmt: skip
"""Cross-entropies."""
