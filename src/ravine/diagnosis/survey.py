"""The objective at its minimiser: its curvature, that of the batches, and second moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.diagnosis.minimum import Minimum, minimum_of
from ravine.diagnosis.setup import Batching, Setup
from ravine.diagnosis.work import loss_work
from ravine.problems import LinearModel
from ravine.problems.linear_model import Indices
from ravine.theory.finite_sums.positive_map import RowDeviations
from ravine.theory.finite_sums.second_moments import SecondMoments

MOMENT_DIRECTIONS = 128
"""Up to this many coordinates, second moments cover all directions."""

_ROW_NUMBERS = 1e7
"""Largest size k d² of second moments of k rows in d directions: 10 ms per product."""
_BATCH_NUMBERS = 5e7
"""Largest size k d³ of second moments of k batches: 10 ms per product."""
_LEAST_SAMPLE = 96
"""Smallest sample of batches or rows; a quarter of it are the heaviest, the rest is random."""
_TOP = 40
_LOW = 8
_HEAVY_DIRECTIONS = 12
"""Numbers of directions used if there are too many: those of largest curvature, of smallest
curvature, and of the heaviest rows."""
_SHOWN_BATCHES = 400
"""Number of batches of the first epoch whose curvature is computed for the report."""


@dataclass(frozen=True, eq=False)
class Survey:
    """Properties of the batches of a linear model at its minimiser.

    Attributes
    ----------
    setup
        The data and the options.
    minimum
        The minimiser, the minimum, and the spectrum of the Hessian there.
    local
        Extreme eigenvalues (mu_b, L_b) at x* of the batches of one epoch (at most a few hundred),
        shape (n, 2).
    bounds
        Bounds (mu, L) that hold everywhere: for each fixed batch, shape (n, 2), or one pair for all
        batches that can be drawn, shape (1, 2).
    gradient_sizes
        ‖∇f_b(x*)‖ of the batches in ``local``, shape (n,).
    moments
        Second moments of the batch that a step draws.
    sample
        Indices of the rows (of the batches, if they are fixed) in ``moments``.
    sure
        The first ``sure`` of the sample are the heaviest; the others are a random draw.
    """

    setup: Setup
    minimum: Minimum
    local: FloatArray
    bounds: FloatArray
    gradient_sizes: FloatArray
    moments: SecondMoments
    sample: Indices
    sure: int

    @property
    def model(self) -> LinearModel:
        """The objective: all rows count the same, or all batches where they are fixed."""
        return self.setup.model

    @property
    def batching(self) -> Batching:
        """How the rows are split into batches."""
        return self.setup.batching

    @property
    def minimiser(self) -> FloatArray:
        """The minimiser x*, that of smallest norm if there are many, shape (d,)."""
        return self.minimum.point

    @property
    def curvature(self) -> Curvature:
        """Smallest positive and largest curvature of the whole objective at its minimiser."""
        return Curvature(self.minimum.spectrum[0], self.minimum.spectrum[-1])

    @property
    def certified_curvature(self) -> Curvature | None:
        """Bounds mu and L of all batches, everywhere; None if some batch may be flat."""
        mu = float(self.bounds[:, 0].min())
        L = float(self.bounds[:, 1].max())
        if mu <= 64 * np.finfo(float).eps * L:
            return None

        # Wider by more than the rounding of an eigenvalue.
        return Curvature(mu * (1.0 - 1e-9), L * (1.0 + 1e-9))

    @property
    def complete(self) -> bool:
        """Whether ``moments`` covers everything that a step can draw, not only a sample."""
        drawn = self.batching.steps_per_epoch if self.batching.fixed else self.batching.rows
        return len(self.sample) == drawn

    @property
    def every_direction(self) -> bool:
        """Whether ``moments`` covers every direction in which the objective is curved."""
        return self.moments.dimension == len(self.minimum.spectrum)

    @property
    def exact(self) -> bool:
        """Whether second moments are computed, not estimated."""
        return self.complete and self.every_direction and self.minimum.full

    @property
    def quadratic(self) -> bool:
        """Whether the objective is quadratic, so that what holds at x* holds everywhere."""
        return self.model.quadratic

    @property
    def sigma(self) -> float:
        """σ = mean ‖∇f_b(x*)‖."""
        return float(self.gradient_sizes.mean())

    @property
    def interpolates(self) -> bool:
        """Whether x* minimises every batch, up to rounding."""
        size = 1.0 + float(np.linalg.norm(self.minimiser))
        return self.sigma <= 1e-10 * float(self.minimum.spectrum[-1]) * size

    @property
    def start_square(self) -> float:
        """‖x_0 - x*‖² for the start x_0 = 0."""
        return float(np.sum(self.minimiser**2))

    @cached_property
    def start_excess(self) -> float:
        """f(0) - f*."""
        zero = np.zeros(self.model.dimension)
        return max(float(self.excess(self.model.repeated(zero, 1, 1))[0, 0]), 1e-300)

    @cached_property
    def _roots(self) -> FloatArray | None:
        """R with RᵀR the Hessian of a quadratic, shape (k, d)."""
        if not (self.quadratic and self.minimum.full):
            return None

        return np.asarray(np.sqrt(self.minimum.spectrum)[:, None] * self.minimum.vectors.T)

    def excess(self, points: FloatArray) -> FloatArray:
        """Excess f - f* of points (seeds, features, runs * outputs): (seeds, runs)."""
        if self._roots is None:
            # At the minimiser, the difference of two equal losses may be rounded to a negative
            # number.
            return np.maximum(self.model.objectives(points) - self.minimum.value, 0.0)

        turned = self._roots @ (points - self.minimiser[:, None])
        return np.asarray(0.5 * np.einsum("skr,skr->sr", turned, turned))


def survey(setup: Setup, *, seconds: float = math.inf) -> Survey:
    """Find the minimiser, the curvature of the objective and the batches, and second moments.

    The search for the minimiser of wide data ends after about ``seconds`` of counted work.
    """
    model, batching = setup.model, setup.batching
    minimum = minimum_of(model, products=seconds / (4.0 * loss_work(model, 1, 1)))
    point, sizes = minimum.point, row_sizes(model)
    n = batching.steps_per_epoch
    shown = [batching.batch(b) for b in range(n if batching.fixed else min(n, _SHOWN_BATCHES))]
    gradients = np.stack([model.row_gradient(rows, point) for rows in shown])

    if batching.fixed and model.quadratic:
        local = model.batch_curvatures
    else:
        local = np.stack([_local(model, point, rows) for rows in shown])

    values, basis = _directions(model, minimum, sizes)
    k = len(values)

    if batching.fixed:
        bounds = model.batch_curvatures
        sample, weights, sure = _sample(n, _BATCH_NUMBERS / k**3, local[:, 1])
        H = np.stack([_mean_hessian(model, point, shown[i], basis) for i in sample])
        H = 0.5 * (H + np.swapaxes(H, 1, 2)) + np.diag(model.l2 - values)
        moments = SecondMoments(values, H, weights, gradients[sample] @ basis, basis)
    else:
        # The largest eigenvalue of a mean of rows is at most the mean of ‖x_r‖². Drawn with
        # replacement, one row may fill a batch.
        heaviest = np.sort(sizes)[-1 if batching.replaced else -int(batching.sizes.min()) :]
        top = model.loss.curvature_bound * float(heaviest.mean())
        bounds = np.array([[model.l2, top + model.l2]])

        # A batch varies as a row does, less by a factor: E[Δ X Δ] and E[z zᵀ] need nothing else.
        most = _ROW_NUMBERS / (k * model.outputs) ** 2
        sample, weights, sure = _sample(batching.rows, most, sizes)
        weights = weights / weights.sum()
        factor = batching.variance_factor
        roots = np.swapaxes(model.row_roots(sample, point, basis), 1, 2)
        z = model.row_gradients(sample, point, basis)
        z = np.sqrt(factor) * (z - weights @ z)
        deviations = RowDeviations(roots, weights, factor)
        moments = SecondMoments(values, deviations, gradients=z, basis=basis)

    norms = np.linalg.norm(gradients, axis=1)
    return Survey(setup, minimum, local, bounds, norms, moments, sample, sure)


def row_sizes(model: LinearModel) -> FloatArray:
    """‖x_r‖² of every row."""
    if model.sparse:
        return np.asarray(model.X.multiply(model.X).sum(axis=1)).ravel()

    return np.asarray(np.einsum("ij,ij->i", model.X, model.X))


def _local(model: LinearModel, point: FloatArray, rows: Indices) -> FloatArray:
    """Extreme eigenvalues of the Hessian of the mean of some rows, at the minimiser."""
    if len(rows) * model.outputs < model.dimension:
        top = float(np.linalg.eigvalsh(model.root_products(rows, point))[-1])
        return np.array([0.0, top / len(rows)]) + model.l2

    return np.asarray(np.linalg.eigvalsh(_mean_hessian(model, point, rows))[[0, -1]] + model.l2)


def _mean_hessian(
    model: LinearModel, point: FloatArray, rows: Indices, basis: FloatArray | None = None
) -> FloatArray:
    """Hessian of the mean loss of some rows, without the regulariser."""
    roots = model.row_roots(rows, point, basis)
    flat = np.moveaxis(roots, 2, 1).reshape(-1, roots.shape[1])

    return np.asarray(flat.T @ flat / len(rows))


def _directions(
    model: LinearModel, minimum: Minimum, sizes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues of the Hessian, and the directions of second moments, in which it is diagonal.

    These are all curved directions, or those of largest and smallest curvature and of the heaviest
    rows.
    """
    vectors = minimum.vectors
    if minimum.full and vectors.shape[1] <= MOMENT_DIRECTIONS:
        return minimum.spectrum, vectors

    heavy = np.argsort(sizes)[::-1][:_HEAVY_DIRECTIONS]
    roots = np.moveaxis(model.row_roots(heavy, minimum.point), 0, 1)
    parts = [vectors[:, -_TOP:], vectors[:, : _LOW if minimum.full else 0]]
    parts.append(roots.reshape(model.dimension, -1)[:, :_HEAVY_DIRECTIONS])
    together = np.concatenate(parts, axis=1)
    scale = np.linalg.norm(together, axis=0)
    Q, R = np.linalg.qr(together / np.where(scale > 0.0, scale, 1.0))
    # The remainder of a unit vector is a new direction only if it is more than rounding.
    basis = Q[:, np.abs(np.diag(R)) > 1e-6]

    product = model.hessian_at(minimum.point)
    inner = basis.T @ np.stack([product(column) for column in basis.T], axis=1)
    values, turn = np.linalg.eigh(0.5 * (inner + inner.T))

    return values, np.asarray(basis @ turn)


def _sample(count: int, most: float, heaviness: FloatArray) -> tuple[Indices, FloatArray, int]:
    """Everything if it fits; otherwise the heaviest and a random draw of the others.

    Heavy ones are drawn more often and weigh less, because a contribution to a second moment is
    proportional to the square of the curvature. Returns indices, weights, and the number of
    heaviest ones.
    """
    size = int(max(most, _LEAST_SAMPLE))
    if count <= size:
        return np.arange(count), np.full(count, 1.0 / count), count

    sure = max(1, size // 4)
    order = np.argsort(heaviness)[::-1]
    rest = order[sure:]
    k = size - sure
    squares = heaviness[rest] ** 2
    chance = 0.5 / len(rest) + 0.5 * squares / max(float(squares.sum()), 1e-300)
    chance = chance / chance.sum()
    drawn = np.random.default_rng(0).choice(len(rest), k, p=chance)
    weights = np.concatenate([np.full(sure, 1.0), 1.0 / (k * chance[drawn])]) / count

    return np.concatenate([order[:sure], rest[drawn]]), weights, sure
