"""Curvature of a sample of mini-batches, and the learning rates that it allows.

With momentum and random batches, a direction is stable in mean square iff random curvature feeds
back less noise than it receives: V Var_y < 1, with V the variance of the curvature and Var_y the
stationary variance for unit noise. In several directions the same holds for an operator on second
moments, ``SecondMoments.strain``.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from torch import nn
from torch.func import functional_call, hessian, vmap

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.ladder.safety import largest_step, safe_step
from ravine.theory.noise.moments import stationary_variance
from ravine.torch.borrowed import BatchLoss, each_tensor, joined, quiet, size_of
from ravine.torch.products import Product, flat, hessian_product, movable, shaped, top_eigenpairs

SAMPLES = 256
"""Samples for the mean Hessian, enough to know its top eigenvalue to a few per cent."""

SMALL = 24
"""Maximum number of parameters for which every sample's Hessian is formed."""

DIRECTIONS = 4
"""Number of directions for larger models: the top ones bound lr."""

SINGLES = 8
SINGLE_STEPS = 5
"""Samples whose top eigenvalue is computed, and Lanczos steps for each: a sample's Hessian has
hardly more large eigenvalues than the model has outputs."""

BATCHES = 8
"""Batches whose curvature is compared: enough to know the variance to about half its value."""


@dataclass(frozen=True)
class LrLimit:
    """The largest lr for one momentum and batch size."""

    momentum: float
    batch_size: int
    limit: float
    """Stable in mean square with the measured batches."""
    iid_limit: float
    """Stable in mean square for every distribution of batches whose curvature is at most the
    largest measured (the rung of independent batches)."""


@dataclass(frozen=True, eq=False)
class LocalCurvature:
    """Mean and variance of the curvature of single samples, in units of the first group's lr."""

    eigenvalues: FloatArray
    """Largest eigenvalues of the mean Hessian, largest first, shape (d,)."""
    deviations: FloatArray
    """Deviations D of single samples from the mean Hessian in its eigenbasis, shape (k, d, d)."""
    variances: FloatArray
    """u·E[D²]u of one sample for each eigenvector u, with all directions of D."""
    largest: float
    """Largest curvature of a single sample, among those examined."""
    batch_size: int
    """Size of the user's batches."""
    quadratic: bool
    """Whether the Hessian is constant; then limits are exact, otherwise local."""
    complete: bool
    """Whether all directions were measured."""

    @property
    def top(self) -> float:
        """The largest eigenvalue."""
        return float(self.eigenvalues[0])

    @cached_property
    def _moments(self) -> SecondMoments:
        """Second moments of a run with batches of one sample, where the curvature is positive."""
        positive = self.eigenvalues > 0.0
        inside = self.deviations[:, positive][:, :, positive]
        return SecondMoments(self.eigenvalues[positive], inside)

    def limit(self, momentum: float, gamma: float | None = None, batch_size: float = 0) -> float:
        """The largest lr that is stable in mean square with batches of this size (0: the user's).

        Exact for a quadratic with all directions; otherwise for the measured directions at this
        point.
        """
        batch = batch_size or self.batch_size
        if self.top <= 0.0:
            return float("inf")

        def is_stable(lr: float) -> bool:
            method = Method(lr, momentum, gamma)
            # The variance of batches of b samples is 1/b times that of samples.
            return self._moments.mean_rate(method) < 1.0 and self._moments.strain(method) < batch

        # From the limit with exact gradients down to a value at which all batches have been stable.
        high = float(largest_step(self.top, beta=momentum, gamma=gamma))
        low = high * 2.0**-20
        for _ in range(20):
            middle = math.sqrt(low * high)
            if is_stable(middle):
                low = middle
            else:
                high = middle

        return low

    def iid_limit(
        self, momentum: float, gamma: float | None = None, batch_size: float = 0
    ) -> float:
        """The largest lr that is stable in mean square for every distribution of batches.

        Uses only the top eigenvalue of the mean Hessian and the largest curvature of a sample: the
        rung of independent batches, ``ravine.theory.ladder.safety.safe_step``.
        """
        if self.top <= 0.0:
            return float("inf")

        batch = batch_size or self.batch_size
        most = max(self.largest, self.top)
        return float(safe_step(self.top, momentum, gamma, batch_size=batch, L_max=most))

    def critical_batch_size(self, lr: float, momentum: float, gamma: float | None = None) -> float:
        """The smallest batch that is stable in mean square with these parameters; or infinite."""
        positive = self.eigenvalues > 0.0
        variance = stationary_variance(self.eigenvalues[positive], Method(lr, momentum, gamma)).y
        return float(np.max(self.variances[positive] * variance, initial=0.0))

    def limits(
        self,
        momenta: tuple[float, ...],
        batch_sizes: tuple[int, ...] = (),
        gamma: float | None = None,
    ) -> list[LrLimit]:
        """The limits of all pairs. Default batch sizes: 1/4, 1 and 4 times the user's."""
        size = self.batch_size
        sizes = batch_sizes or tuple(sorted({max(size // 4, 1), size, size * 4}))
        return [
            LrLimit(m, b, self.limit(m, gamma, b), self.iid_limit(m, gamma, b))
            for m in momenta
            for b in sizes
        ]


def measure(
    model: nn.Module, loss: BatchLoss, batches: list[Any], scales: list[float], *, seed: int = 0
) -> LocalCurvature:
    """Measure the mean and variance of the curvature at the model's weights.

    ``scales`` are the groups' lrs over the first one's, for every parameter. With D their diagonal
    matrix, lr D^½ H D^½ decides stability, so D^½ H D^½ is measured.
    """
    params: list[torch.Tensor] = [p for p in model.parameters() if p.requires_grad]
    root = flat([torch.full_like(p, s).sqrt() for p, s in zip(params, scales, strict=True)])
    start = _random(root, seed)
    size = size_of(batches[0])
    whole = joined(batches)

    def product_of(some: list[Any]) -> Product:
        product = hessian_product(model, loss, some)
        return lambda vector: root * product(root * vector)

    with quiet(model), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        each = _sample_hessians(model, loss, whole, root) if root.numel() <= SMALL else None
        if each is not None:
            values, vectors = np.linalg.eigh(each.mean(axis=0))
            values, vectors = values[::-1], vectors[:, ::-1]
            images = each @ vectors
            largest = float(np.linalg.eigvalsh(each)[:, -1].max())
            single = 1.0
        else:
            top, U = top_eigenpairs(product_of(whole), start, DIRECTIONS)
            parts = (product_of([batch]) for batch in batches[:BATCHES])
            images = _numpy(torch.stack([torch.stack([*map(part, U.T)], dim=1) for part in parts]))
            values, vectors = _numpy(top), _numpy(U)
            # Squares for single samples are those of a batch times its size; n - 1 because the mean
            # is estimated.
            single = (size * len(images) / max(len(images) - 1, 1)) ** 0.5
            measured = _largest_of_samples(product_of, batches, start)
            # The mean of positive Hessians in a batch is at least a sample's Hessian over the batch
            # size.
            bound = size * float(np.einsum("di,ndi->ni", vectors, images).max())
            largest = bound if measured is None else measured
        quadratic = _is_quadratic(params, lambda: product_of(whole[:1]), root)

    deviations = single * (images - images.mean(axis=0))
    inside = vectors.T @ deviations
    return LocalCurvature(
        eigenvalues=values,
        deviations=(inside + np.swapaxes(inside, 1, 2)) / 2.0,
        variances=(deviations**2).sum(axis=1).mean(axis=0),
        largest=largest,
        batch_size=size,
        quadratic=quadratic,
        complete=each is not None,
    )


def _sample_hessians(
    model: nn.Module, loss: BatchLoss, whole: list[Any], root: torch.Tensor
) -> FloatArray | None:
    """Every sample's Hessian, or None if the batches cannot be split into samples."""
    if len(whole) != 1 or not isinstance(whole[0], list):
        return None

    params = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
    like = list(params.values())

    def one(vector: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        weights = dict(zip(params, shaped(vector, like), strict=True))
        apply = lambda inputs: functional_call(model, weights, (inputs,))  # noqa: E731
        return loss(cast(nn.Module, apply), [x[None], y[None]])

    try:
        each = vmap(hessian(one), in_dims=(None, 0, 0))(flat(like), *whole[0])
    except RuntimeError:
        return None

    return _numpy(root[:, None] * each * root)


def _numpy(tensor: torch.Tensor) -> FloatArray:
    return np.asarray(tensor.double().cpu().numpy())


def _random(like: torch.Tensor, seed: int) -> torch.Tensor:
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(like.numel(), generator=draw, dtype=like.dtype).to(like.device)


def _largest_of_samples(
    product_of: Callable[[list[Any]], Product], batches: list[Any], start: torch.Tensor
) -> float | None:
    """Largest curvature of a few single samples; None if the batches cannot be split."""
    tops = [0.0]
    try:
        for batch in batches[:SINGLES]:
            product = product_of([each_tensor(lambda t: t[:1], batch)])
            values, _ = top_eigenpairs(product, start, 1, steps=SINGLE_STEPS)
            tops.append(float(values[0]))
    except (RuntimeError, TypeError, ValueError, IndexError):
        return None

    return max(tops)


def _is_quadratic(
    params: list[torch.Tensor], product: Callable[[], Product], root: torch.Tensor
) -> bool:
    """Whether a Hessian product is the same at other weights, a random step away."""
    noise = _random(root, seed=1)
    direction = noise / noise.norm()
    here = product()(direction)
    length = max(1.0, float(flat([p.detach() for p in params]).norm()))
    with movable(params) as move:
        move(direction.roll(1), length)
        there = product()(direction)

    # Rounding errors in single precision are about 1e-6; any loss that is not quadratic differs by
    # far more.
    return bool((there - here).norm() <= 1e-3 * here.norm())
