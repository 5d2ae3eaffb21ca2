"""The benchmark's workloads in PyTorch: eager over all pixels, and ``torch.optim`` loops."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch


def quadratic(
    eigenvalues: np.ndarray, start: np.ndarray, alpha: np.ndarray, beta: np.ndarray,
    *, steps: int, shared: bool,
) -> Callable[[], object]:  # fmt: skip
    """Nesterov on a quadratic in its eigenbasis with additive noise; mean squared errors."""
    lam = torch.from_numpy(eigenvalues)
    a, b = torch.from_numpy(alpha)[:, None], torch.from_numpy(beta)[:, None]
    c1, c2 = (1 + b) * (1 - a * lam), -b * (1 - a * lam)
    generator = torch.Generator().manual_seed(0)

    @torch.no_grad()
    def work() -> torch.Tensor:
        x = torch.from_numpy(start).expand(len(alpha), -1).clone()
        previous, squares = x, torch.zeros(len(alpha), dtype=torch.float64)
        for _ in range(steps):
            z = torch.randn(1 if shared else len(alpha), len(start), generator=generator)
            x, previous = c1 * x + c2 * previous - a * z, x
            y = x + b * (x - previous)
            squares += (y * y).sum(dim=1)
        return squares / steps

    return work


def softmax(
    X: np.ndarray, labels: np.ndarray, classes: int, l2: float, sigma: float,
    alpha: np.ndarray, beta: np.ndarray, *, steps: int,
) -> Callable[[], object]:  # fmt: skip
    """Nesterov on multinomial logistic regression with additive noise, as fat matrix products."""
    n, d = X.shape
    data, pixels = torch.from_numpy(X), len(alpha)
    target = torch.nn.functional.one_hot(torch.from_numpy(labels), classes).double()[:, None, :]
    a, b = torch.from_numpy(alpha)[None, :, None], torch.from_numpy(beta)[None, :, None]
    generator = torch.Generator().manual_seed(0)

    @torch.no_grad()
    def work() -> torch.Tensor:
        w = torch.zeros(d, pixels, classes, dtype=torch.float64)
        previous = w
        for _ in range(steps):
            y = w + b * (w - previous)
            p = torch.softmax((data @ y.reshape(d, -1)).reshape(n, pixels, classes), dim=-1)
            g = (data.T @ (p - target).reshape(n, -1)).reshape(d, pixels, classes) / n + l2 * y
            if sigma > 0.0:
                g += sigma * torch.randn(y.shape, generator=generator)
            w, previous = y - a * g, w
        return w

    return work


def example(
    mu: float, L: float, n: int, *, trajectories: int, steps: int, reshuffle: bool
) -> Callable[[], object]:
    """The 3-d finite sum of the paper at usual parameters, many trajectories at once."""
    s = np.sqrt(L / mu)
    alpha, beta = 1 / L, (s - 1) / (s + 1)
    generator = torch.Generator().manual_seed(0)

    @torch.no_grad()
    def work() -> torch.Tensor:
        x = torch.ones(trajectories, 3, dtype=torch.float64)
        previous, curvature = (
            x,
            torch.tensor([L, mu, mu], dtype=torch.float64).repeat(trajectories, 1),
        )
        for k in range(steps):
            if reshuffle:
                if k % n == 0:
                    order = torch.rand(trajectories, n, generator=generator).argsort(dim=1)
                odd = order[:, k % n] == n - 1
            else:
                odd = torch.randint(n, (trajectories,), generator=generator) == n - 1
            curvature[:, 2] = torch.where(odd, L, mu)
            y = x + beta * (x - previous)
            x, previous = y - alpha * curvature * y, x
        return x

    return work


def optimizer_loop(
    eigenvalues: np.ndarray, start: np.ndarray, alpha: float, beta: float, *, steps: int
) -> Callable[[], object]:
    """One pixel with ``torch.optim.SGD(nesterov=True)`` in a Python loop."""
    lam = torch.from_numpy(eigenvalues)

    def work() -> None:
        x = torch.from_numpy(start.copy()).requires_grad_()
        rule = torch.optim.SGD([x], lr=alpha, momentum=beta, nesterov=True)
        for _ in range(steps):
            x.grad = lam * x.detach() + torch.randn(len(start))
            rule.step()

    return work
