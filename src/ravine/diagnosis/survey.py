"""The objective at its minimiser: curvature of the whole and of the batches, second moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.diagnosis.batching import Batching
from ravine.diagnosis.minimum import Minimum, minimum_of
from ravine.diagnosis.setup import Setup
from ravine.problems import LinearModel
from ravine.problems.row_model import Indices
from ravine.theory.finite_sums.deviations import RowDeviations
from ravine.theory.finite_sums.second_moments import SecondMoments

MOMENT_DIRECTIONS = 128
"""Up to this many coordinates second moments are followed in full."""

_ROW_NUMBERS = 1e7
"""Of the rows in second moments, k d² for k rows in d directions: a product takes 10 ms."""
_BATCH_NUMBERS = 5e7
"""Of the batches in second moments, k d³ for k batches: a product takes 10 ms."""
_LEAST_SAMPLE = 96
"""Batches or rows in a sample at least; a quarter of them are the heaviest, the rest random."""
_HEAVY_SHARE = 4
_TOP = 40
_LOW = 8
_HEAVY_DIRECTIONS = 12
"""Directions that are followed where there are too many: of the largest curvature of the whole,
of the least, and of the heaviest rows."""
_NEW = 1e-6
"""Part of a unit vector that has to be new for it to count as a further direction."""
_SHOWN_BATCHES = 400
"""Batches of the first epoch whose curvature is computed for the report."""
_MARGIN = 1e-9
"""Relative widening of curvature bounds: more than the rounding of an eigenvalue."""


@dataclass(frozen=True, eq=False)
class Survey:
    """What the batches of a linear model look like at its minimiser.

    Attributes
    ----------
    model, batching
        The whole objective, in which all rows count the same, or all batches if they are fixed, and
        how its rows are split into batches.
    minimum
        The minimiser, the least value, and the spectrum of the Hessian there.
    local
        Extreme eigenvalues (mu_b, L_b) at x* of the batches of one epoch, or of the first few
        hundred of them, shape (n, 2).
    bounds
        Bounds (mu, L) that hold everywhere: of each fixed batch, shape (n, 2), or one pair for
        every batch that can ever be drawn, shape (1, 2).
    gradient_sizes
        ‖∇f_b(x*)‖ of the batches in ``local``, shape (n,).
    moments
        Second moments of what a step draws.
    sample
        Indices of the rows (or of the batches, if they are fixed) in ``moments``.
    sure
        Of the sample, the first ``sure`` are the heaviest; the others are a random draw.
    basis
        Directions of ``moments`` as columns, shape (d, k).
    """

    model: LinearModel
    batching: Batching
    minimum: Minimum
    local: FloatArray
    bounds: FloatArray
    gradient_sizes: FloatArray
    moments: SecondMoments
    sample: Indices
    sure: int
    basis: FloatArray

    @property
    def minimiser(self) -> FloatArray:
        """The point x*, of least norm if there are many, shape (d,)."""
        return self.minimum.point

    @property
    def curvature(self) -> Curvature:
        """Least positive and largest curvature of the whole objective at its minimiser."""
        return Curvature(self.minimum.spectrum[0], self.minimum.spectrum[-1])

    @property
    def certified_curvature(self) -> Curvature | None:
        """Bounds mu and L of all batches, everywhere; None where some batch may be flat."""
        mu = float(self.bounds[:, 0].min())
        L = float(self.bounds[:, 1].max())
        if mu <= 64 * np.finfo(float).eps * L:
            return None

        return Curvature(mu * (1.0 - _MARGIN), L * (1.0 + _MARGIN))

    @cached_property
    def heaviest_row(self) -> float:
        """Largest curvature that a single row can have, everywhere."""
        top = float(row_sizes(self.model).max())
        bound = self.model.loss.curvature_bound * top + self.model.l2

        # Never below the whole objective's, of which it is part.
        return max(bound, float(self.curvature.L))

    @property
    def complete(self) -> bool:
        """Whether ``moments`` holds everything that a step can draw, not a sample."""
        drawn = self.batching.steps_per_epoch if self.batching.fixed else self.batching.rows
        return len(self.sample) == drawn

    @property
    def every_direction(self) -> bool:
        """Whether ``moments`` holds every direction in which the objective is curved."""
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
        """‖x_0 - x*‖² of the start, which is zero."""
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
            # At the minimiser the difference of two equal losses may round to less than zero.
            return np.maximum(self.model.objectives(points) - self.minimum.value, 0.0)

        turned = self._roots @ (points - self.minimiser[:, None])
        return np.asarray(0.5 * np.einsum("skr,skr->sr", turned, turned))


def survey(setup: Setup, *, seconds: float = math.inf) -> Survey:
    """Find the minimiser, the curvature of the whole and of the batches, and second moments.

    The search for the minimiser of wide data ends after about ``seconds`` of counted work.
    """
    model, batching = setup.model, setup.batching
    minimum = minimum_of(model, seconds=seconds)
    sizes = row_sizes(model)
    shown = range(
        batching.steps_per_epoch
        if batching.fixed
        else min(batching.steps_per_epoch, _SHOWN_BATCHES)
    )
    if batching.fixed and model.quadratic:
        local = model.batch_curvatures
    else:
        local = np.stack([_local(model, minimum, batching.batch(b)) for b in shown])

    bounds = model.batch_curvatures if batching.fixed else _any_batch(model, batching, sizes)
    gradients = np.stack([model.row_gradient(batching.batch(b), minimum.point) for b in shown])
    values, basis = _directions(model, minimum, sizes)
    if batching.fixed:
        moments, sample, sure = _batch_moments(model, batching, minimum, values, basis, local[:, 1])
    else:
        moments, sample, sure = _row_moments(model, batching, minimum, values, basis, sizes)

    norms = np.linalg.norm(gradients, axis=1)
    return Survey(model, batching, minimum, local, bounds, norms, moments, sample, sure, basis)


def row_sizes(model: LinearModel) -> FloatArray:
    """‖x_r‖² of every row."""
    if model.sparse:
        return np.asarray(model.X.multiply(model.X).sum(axis=1)).ravel()

    return np.asarray(np.einsum("ij,ij->i", model.X, model.X))


def _any_batch(model: LinearModel, batching: Batching, sizes: FloatArray) -> FloatArray:
    """Bounds of every batch that can be drawn: λ_max of a mean is at most the mean of ‖x_r‖²."""
    heaviest = np.sort(sizes)[-int(batching.sizes.min()) :]
    # Drawn with replacement, one row may fill a batch.
    top = heaviest[-1] if batching.replaced else heaviest.mean()
    return np.array([[model.l2, model.loss.curvature_bound * float(top) + model.l2]])


def _local(model: LinearModel, minimum: Minimum, rows: Indices) -> FloatArray:
    """Extreme eigenvalues of the Hessian of the mean of some rows, at the minimiser."""
    if len(rows) * model.outputs < model.dimension:
        top = float(np.linalg.eigvalsh(model.root_products(rows, minimum.point))[-1])
        return np.array([0.0, top / len(rows)]) + model.l2

    return np.asarray(np.linalg.eigvalsh(_mean_hessian(model, minimum, rows))[[0, -1]] + model.l2)


def _mean_hessian(
    model: LinearModel, minimum: Minimum, rows: Indices, basis: FloatArray | None = None
) -> FloatArray:
    """Hessian of the mean loss of some rows, without the regulariser."""
    roots = model.row_roots(rows, minimum.point, basis)
    flat = np.moveaxis(roots, 2, 1).reshape(-1, roots.shape[1])
    return np.asarray(flat.T @ flat / len(rows))


def _directions(
    model: LinearModel, minimum: Minimum, sizes: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues of the Hessian, and the directions that are followed, in which it is diagonal.

    All that are curved, or those of the largest curvature, the least, and the heaviest rows.
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
    basis = Q[:, np.abs(np.diag(R)) > _NEW]

    product = model.hessian_at(minimum.point)
    inner = basis.T @ np.stack([product(column) for column in basis.T], axis=1)
    values, turn = np.linalg.eigh(0.5 * (inner + inner.T))
    return values, np.asarray(basis @ turn)


_Moments = tuple[SecondMoments, Indices, int]


def _row_moments(
    model: LinearModel, batching: Batching, minimum: Minimum, values: FloatArray, basis: FloatArray,
    sizes: FloatArray,
) -> _Moments:  # fmt: skip
    """Moments of batches that are fresh draws of rows, from single rows."""
    k = len(values)
    most = int(max(_ROW_NUMBERS / (k * k * model.outputs**2), _LEAST_SAMPLE))
    sample, weights, sure = _sample(batching.rows, most, sizes)
    weights = weights / weights.sum()
    roots = model.row_roots(sample, minimum.point, basis)
    z = model.row_gradients(sample, minimum.point, basis)
    z -= weights @ z
    # A batch varies as a row does, less by this factor: E[Δ X Δ] and E[z zᵀ] need nothing else.
    factor = batching.variance_factor
    deviations = RowDeviations(np.swapaxes(roots, 1, 2), weights, factor)
    moments = SecondMoments(values, deviations, gradients=np.sqrt(factor) * z, basis=basis)
    return moments, sample, sure


def _batch_moments(
    model: LinearModel, batching: Batching, minimum: Minimum, values: FloatArray, basis: FloatArray,
    heaviness: FloatArray,
) -> _Moments:  # fmt: skip
    """Moments of batches that stay the same."""
    most = int(max(_BATCH_NUMBERS / len(values) ** 3, _LEAST_SAMPLE))
    sample, weights, sure = _sample(batching.steps_per_epoch, most, heaviness)
    batches = [batching.batch(int(b)) for b in sample]
    H = np.stack([_mean_hessian(model, minimum, rows, basis) for rows in batches])
    H = 0.5 * (H + np.swapaxes(H, 1, 2)) + np.diag(model.l2 - values)
    z = np.stack([basis.T @ model.row_gradient(rows, minimum.point) for rows in batches])
    return SecondMoments(values, H, weights, z, basis), sample, sure


def _sample(count: int, most: int, heaviness: FloatArray) -> tuple[Indices, FloatArray, int]:
    """Everything where it fits; otherwise the heaviest, and a random draw of the others.

    Heavy ones are drawn more often, and weigh less: what one adds to a second moment goes with
    the square of its curvature.
    """
    if count <= most:
        return np.arange(count), np.full(count, 1.0 / count), count

    sure = max(1, most // _HEAVY_SHARE)
    order = np.argsort(heaviness)[::-1]
    rest = order[sure:]
    k = most - sure
    squares = heaviness[rest] ** 2
    chance = 0.5 / len(rest) + 0.5 * squares / max(float(squares.sum()), 1e-300)
    chance = chance / chance.sum()
    drawn = np.random.default_rng(0).choice(len(rest), k, p=chance)
    weights = np.concatenate([np.full(sure, 1.0), 1.0 / (k * chance[drawn])]) / count
    picked: npt.NDArray[np.intp] = np.concatenate([order[:sure], rest[drawn]]).astype(np.intp)
    return picked, weights, sure
