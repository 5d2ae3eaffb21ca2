"""Curvature of a sample of mini-batches, and the learning rates it allows.

With momentum and random batches a direction is stable in mean square iff the noise that a batch's
curvature feeds back is less than what is put in: V Var_y < 1, with V the variance of the curvature
and Var_y the stationary variance of unit noise. In several directions the same is said of the
operator N ↦ E[D (R ∘ N) D], with D a batch's deviation from the mean Hessian in its eigenbasis and
R the covariance of y between two eigendirections per unit of noise: its spectral radius below 1.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import nn
from torch.func import functional_call, hessian, vmap

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.theory.ladder.safety import safe_step
from ravine.theory.noise.moments import stationary_variance
from ravine.torch.batches import BatchLoss, each_tensor, joined, size_of
from ravine.torch.products import flat, hessian_product, shaped, top_eigenpairs
from ravine.torch.untouched import quiet

SAMPLES = 256
"""Samples for the mean Hessian: its top eigenvalue is then known to some per cent."""

SMALL = 24
"""Parameters up to which every sample's Hessian is formed."""

DIRECTIONS = 4
"""Directions of larger models: the top ones bound lr."""

SINGLES = 8
SINGLE_STEPS = 5
"""Samples whose own top eigenvalue is looked for, and Lanczos steps for each: a sample's Hessian
has hardly more large eigenvalues than the model has outputs."""

BATCHES = 8
"""Batches whose curvature is compared; their variance is known to half of itself."""


@dataclass(frozen=True)
class LrLimit:
    """The largest lr with one momentum and batch size."""

    momentum: float
    batch_size: int
    limit: float
    """Stable in mean square with batches as they were measured."""
    iid_limit: float
    """Stable in mean square whatever the law of the batches, of curvature up to the largest
    measured: the rung of independent batches."""


@dataclass(frozen=True, eq=False)
class LocalCurvature:
    """Mean and variance of the curvature of single samples, in units of the first group's lr."""

    eigenvalues: FloatArray
    """Largest eigenvalues of the mean Hessian, largest first."""
    kernel: FloatArray
    """E[D ⊗ D] of one sample's deviation D in the eigenbasis, as a matrix on d×d matrices."""
    variances: FloatArray
    """u·E[D²]u of one sample for each eigenvector u, all directions of D counted."""
    largest: float
    """Largest curvature of a single sample, of those that were looked at."""
    batch_size: int
    """Of the user's batches."""
    quadratic: bool
    """Whether the Hessian is the same elsewhere: then limits are exact, otherwise local."""
    complete: bool
    """Whether all directions are there."""

    @property
    def top(self) -> float:
        """The largest eigenvalue."""
        return float(self.eigenvalues[0])

    def limit(self, momentum: float, gamma: float | None = None, batch_size: float = 0) -> float:
        """The largest lr that is stable in mean square with batches of this size (0: the user's).

        Exact for a quadratic with all directions; otherwise for the measured directions, here.
        """
        batch = batch_size or self.batch_size
        look = momentum if gamma is None else gamma
        positive = self.eigenvalues > 0.0
        if not positive.any():
            return float("inf")

        edge = 2.0 * (1.0 + momentum) / ((1.0 + 2.0 * look) * self.top)
        # Up in steps of √2 to the first lr that is not stable, then fourteen bisections.
        low = edge * 2.0**-20
        while low < edge and self._feedback(low * 2.0**0.5, momentum, look, batch) < 1.0:
            low *= 2.0**0.5

        high = low * 2.0**0.5
        for _ in range(14):
            middle = float(np.sqrt(low * high))
            if self._feedback(middle, momentum, look, batch) >= 1.0:
                high = middle
            else:
                low = middle

        return float(low)

    def iid_limit(
        self, momentum: float, gamma: float | None = None, batch_size: float = 0
    ) -> float:
        """The largest lr that is stable in mean square for every law of the batches.

        Only the top of the mean Hessian and the largest curvature of a sample are used: the rung of
        independent batches, ``ravine.theory.ladder.safety.safe_step``.
        """
        if self.top <= 0.0:
            return float("inf")

        batch = batch_size or self.batch_size
        most = max(self.largest, self.top)
        return float(safe_step(self.top, momentum, gamma, batch_size=batch, L_max=most))

    def critical_batch_size(self, lr: float, momentum: float, gamma: float | None = None) -> float:
        """The least batch that is stable in mean square with these parameters; may be infinite."""
        positive = self.eigenvalues > 0.0
        variance = stationary_variance(self.eigenvalues[positive], Method(lr, momentum, gamma)).y
        return float(np.max(self.variances[positive] * variance, initial=0.0))

    def limits(
        self,
        momenta: tuple[float, ...],
        batch_sizes: tuple[int, ...] = (),
        gamma: float | None = None,
    ) -> list[LrLimit]:
        """The limits of all pairs; batch sizes are a quarter, one and four times the user's."""
        size = self.batch_size
        sizes = batch_sizes or tuple(sorted({max(size // 4, 1), size, size * 4}))
        return [
            LrLimit(m, b, self.limit(m, gamma, b), self.iid_limit(m, gamma, b))
            for m in momenta
            for b in sizes
        ]

    def _feedback(self, lr: float, beta: float, gamma: float, batch: float) -> float:
        """Spectral radius of N ↦ E[D (R ∘ N) D] / batch; infinite where the mean is unstable."""
        h = lr * self.eigenvalues
        trace = 1.0 + beta - h * (1.0 + gamma)
        det = beta - h * gamma
        d = len(h)
        C = np.zeros((d, 2, 2))
        C[:, 0, 0] = trace
        C[:, 0, 1] = -det
        C[:, 1, 0] = 1.0
        positive = self.eigenvalues > 0.0
        if np.any(np.abs(np.linalg.eigvals(C[positive])) >= 1.0):
            return float("inf")

        # X_ab = C_a X_ab C_bᵀ + e₁e₁ᵀ for each pair of directions, then y = (1+gamma) x - gamma x₋.
        pair = np.einsum("aij,bkl->abikjl", C, C).reshape(d, d, 4, 4)
        unit = np.array([1.0, 0.0, 0.0, 0.0])

        with np.errstate(all="ignore"):
            X = np.linalg.solve(
                np.eye(4) - pair + 1e-300, np.broadcast_to(unit, (d, d, 4))[..., None]
            )

        look = np.array([1.0 + gamma, -gamma])
        response = lr**2 * (X[..., 0] @ np.outer(look, look).reshape(4))
        keep = np.outer(positive, positive)
        response = np.where(keep & np.isfinite(response), response, 0.0)
        return _radius(self.kernel * response.reshape(-1) / batch)


def _radius(matrix: FloatArray) -> float:
    """Spectral radius of a map that keeps the cone of positive matrices, by power iteration."""
    d = round(np.sqrt(len(matrix)))
    vector = np.eye(d).reshape(-1)
    value = 0.0
    for _ in range(200):
        image = matrix @ vector
        size = float(np.linalg.norm(image))
        if size == 0.0:
            return 0.0
        # A part in a hundred thousand: far below the error of the measured curvature.
        if abs(size - value) < 1e-5 * size:
            return size
        value = size
        vector = image / size

    return value


def measure(
    model: nn.Module, loss: BatchLoss, batches: list[Any], scales: list[float], *, seed: int = 0
) -> LocalCurvature:
    """Measure mean and variance of the curvature at the model's weights.

    ``scales`` are the groups' lrs over the first one's, parameter by parameter: with D their
    diagonal matrix, lr D^½ H D^½ decides what is stable, so that is what is measured.
    """
    params = [p for p in model.parameters() if p.requires_grad]
    root = flat([torch.full_like(p, s).sqrt() for p, s in zip(params, scales, strict=True)])
    size = size_of(batches[0])

    with quiet(model), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if root.numel() <= SMALL:
            each = _sample_hessians(model, loss, batches, root)
            if each is not None:
                quadratic = _is_quadratic(model, loss, batches, root)
                return _complete(each, size, quadratic)

        return _leading(model, loss, batches, root, size, seed)


def _sample_hessians(
    model: nn.Module, loss: BatchLoss, batches: list[Any], root: torch.Tensor
) -> FloatArray | None:
    """Every sample's Hessian, or None where the batches cannot be cut into samples."""
    whole = joined(batches)
    if len(whole) != 1 or not isinstance(whole[0], list):
        return None

    params = {name: p.detach() for name, p in model.named_parameters() if p.requires_grad}
    like = list(params.values())

    def one(vector: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        weights = dict(zip(params, shaped(vector, like), strict=True))

        def apply(inputs: torch.Tensor) -> Any:
            return functional_call(model, weights, (inputs,))

        return loss(cast(nn.Module, apply), [x[None], y[None]])

    try:
        each = vmap(hessian(one), in_dims=(None, 0, 0))(flat(like), *whole[0])
    except RuntimeError:
        return None

    return np.asarray((root[:, None] * each * root).double().cpu().numpy())


def _complete(each: FloatArray, size: int, quadratic: bool) -> LocalCurvature:
    mean = each.mean(axis=0)
    values, vectors = np.linalg.eigh((mean + mean.T) / 2.0)
    order = np.argsort(values)[::-1]
    turned = vectors[:, order].T @ each @ vectors[:, order]
    deviations = turned - turned.mean(axis=0)
    kernel = _kernel(deviations)
    variances = np.einsum("nij,nij->j", deviations, deviations) / len(each)
    largest = float(np.linalg.eigvalsh(each)[:, -1].max())
    return LocalCurvature(values[order], kernel, variances, largest, size, quadratic, True)


def _kernel(deviations: FloatArray) -> FloatArray:
    count, d, _ = deviations.shape
    rows = deviations.reshape(count, d * d)
    # E[D N D]_ij = Σ_kl E[D_ik D_jl] N_kl.
    fourth = (rows.T @ rows / count).reshape(d, d, d, d)
    return np.asarray(fourth.transpose(0, 2, 1, 3).reshape(d * d, d * d))


def _leading(
    model: nn.Module, loss: BatchLoss, batches: list[Any], root: torch.Tensor, size: int, seed: int
) -> LocalCurvature:
    whole = joined(batches)
    product = hessian_product(model, loss, whole)
    draw = torch.Generator().manual_seed(seed)
    start = torch.randn(root.numel(), generator=draw, dtype=root.dtype).to(root.device)
    values, U = top_eigenpairs(lambda v: root * product(root * v), start, DIRECTIONS)

    images = []
    for batch in batches[:BATCHES]:
        one = hessian_product(model, loss, [batch])
        images.append(torch.stack([root * one(root * u) for u in U.T], dim=1))

    stack = torch.stack(images).double().cpu()
    deviations = stack - stack.mean(dim=0)
    # Squares of single samples are a batch's times its size; n - 1 for the estimated mean.
    single = size * len(images) / max(len(images) - 1, 1)
    variances = single * deviations.square().sum(dim=1).mean(dim=0).numpy()
    inside = torch.einsum("di,ndj->nij", U.double().cpu(), deviations).numpy()
    inside = (inside + inside.transpose(0, 2, 1)) / 2.0
    quadratic = _is_quadratic(model, loss, whole, root)
    largest = _largest_of_samples(model, loss, batches, root, start)
    if largest is None:
        # A batch's mean of positive Hessians is at least a sample's over the batch size.
        seen = torch.einsum("di,ndi->ni", U.double().cpu(), stack)
        largest = size * float(seen.max())

    return LocalCurvature(
        values.numpy(), single * _kernel(inside), variances, largest, size, quadratic, False
    )


def _largest_of_samples(
    model: nn.Module, loss: BatchLoss, batches: list[Any], root: torch.Tensor, start: torch.Tensor
) -> float | None:
    """Largest curvature of a few single samples; None where the batches cannot be cut into them."""
    largest = 0.0
    for batch in batches[:SINGLES]:
        try:
            one = hessian_product(model, loss, [each_tensor(lambda t: t[:1], batch)])
            product = lambda v, one=one: root * one(root * v)  # noqa: E731
            values, _ = top_eigenpairs(product, start, 1, steps=SINGLE_STEPS)
        except (RuntimeError, TypeError, ValueError, IndexError):
            return None
        largest = max(largest, float(values[0]))

    return largest


def _is_quadratic(
    model: nn.Module, loss: BatchLoss, batches: list[Any], root: torch.Tensor
) -> bool:
    """Whether one product is the same at other weights, a random step of their own length away."""
    params = [p for p in model.parameters() if p.requires_grad]
    draw = torch.Generator().manual_seed(1)
    noise = torch.randn(root.numel(), generator=draw, dtype=root.dtype).to(root.device)
    vector = noise / noise.norm()
    here = hessian_product(model, loss, batches[:1])(vector)
    length = max(1.0, float(flat([p.detach() for p in params]).norm()))
    moved = shaped(length * noise.roll(1) / noise.norm(), params)

    with torch.no_grad():
        for p, part in zip(params, moved, strict=True):
            p.add_(part)

    there = hessian_product(model, loss, batches[:1])(vector)

    with torch.no_grad():
        for p, part in zip(params, moved, strict=True):
            p.sub_(part)

    # Rounding in single precision is about 1e-6; anything curved differs by far more.
    return bool((there - here).norm() <= 1e-3 * here.norm())
