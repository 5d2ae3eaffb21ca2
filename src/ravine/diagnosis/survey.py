"""The objective at its minimiser: curvature of the whole and of the batches, second moments."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.diagnosis.batching import Batching, Indices
from ravine.diagnosis.measurement import Watch, objective_watch, quadratic_watch
from ravine.diagnosis.minimum import Minimum, minimum_of
from ravine.problems import LinearModel
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
    model, cut
        The whole objective, of all rows alike or of all batches alike for a fixed cut, and how its
        rows are cut into batches.
    minimum
        The minimiser, the least value, and the spectrum of the Hessian there.
    local
        Extreme eigenvalues (mu_b, L_b) at x* of the batches of one epoch, or of the first few
        hundred of them, shape (n, 2).
    bounds
        Bounds (mu, L) that hold everywhere: of each batch of a fixed cut, shape (n, 2), or one
        pair for every batch that could ever be cut, shape (1, 2).
    gradient_sizes
        ‖∇f_b(x*)‖ of the batches in ``local``, shape (n,).
    moments
        Second moments of what a step draws.
    sample
        Indices of the rows (or, for a fixed cut, of the batches) in ``moments``.
    sure
        Of the sample, the first ``sure`` are the heaviest; the others are a random draw.
    basis
        Directions of ``moments`` as columns, shape (d, k).
    """

    model: LinearModel
    cut: Batching
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
    def start(self) -> FloatArray:
        """Where runs begin: zero."""
        return np.zeros(self.model.dimension)

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
        drawn = self.cut.rows if self.cut.recut else self.cut.steps_per_epoch
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
    def away(self) -> FloatArray:
        """The start seen from the minimiser, in the directions of ``moments``."""
        return np.asarray(self.basis.T @ (self.start - self.minimiser))

    @property
    def start_square(self) -> float:
        """‖x_0 - x*‖²."""
        return float(np.sum((self.start - self.minimiser) ** 2))

    @cached_property
    def start_excess(self) -> float:
        """f(x_0) - f*."""
        points = self.model.repeated(self.start, 1, 1)
        return max(float(self.watch(points)[0, 0]), 1e-300)

    @cached_property
    def watch(self) -> Watch:
        """What turns points of runs into their excess loss."""
        if self.quadratic and self.minimum.full:
            scaled = np.sqrt(self.minimum.spectrum)[:, None] * self.minimum.vectors.T
            return quadratic_watch(self.model, self.minimiser, scaled)

        return objective_watch(self.model, self.minimum.value)


def survey(model: LinearModel, cut: Batching, *, seconds: float = math.inf) -> Survey:
    """Find the minimiser, the curvature of the whole and of the batches, and second moments.

    The search for the minimiser of wide data ends after about ``seconds`` of counted work.
    """
    minimum = minimum_of(model, seconds=seconds)
    sizes = row_sizes(model)
    shown = min(cut.steps_per_epoch, _SHOWN_BATCHES)

    if cut.recut:
        bounds = _any_batch(model, cut, sizes)
        local = np.stack([_local(model, minimum, cut.batch(b)) for b in range(shown)])
    else:
        bounds = model.batch_curvatures
        local = bounds
        if not model.quadratic:
            every = range(cut.steps_per_epoch)
            local = np.stack([_local(model, minimum, cut.batch(b)) for b in every])

    gradients = [model.row_gradient(cut.batch(b), minimum.point) for b in range(len(local))]
    basis = _basis(model, minimum, sizes)
    if cut.recut:
        moments, sample, sure, basis = _row_moments(model, cut, minimum, basis, sizes)
    else:
        moments, sample, sure, basis = _batch_moments(model, cut, minimum, basis, local[:, 1])

    norms = np.linalg.norm(np.stack(gradients), axis=1)
    return Survey(model, cut, minimum, local, bounds, norms, moments, sample, sure, basis)


def row_sizes(model: LinearModel) -> FloatArray:
    """‖x_r‖² of every row."""
    if model.sparse:
        return np.asarray(model.X.multiply(model.X).sum(axis=1)).ravel()

    return np.asarray(np.einsum("ij,ij->i", model.X, model.X))


def _any_batch(model: LinearModel, cut: Batching, sizes: FloatArray) -> FloatArray:
    """Bounds of every batch that can be cut: λ_max of a mean is at most the mean of the ‖x_r‖²."""
    least = int(cut.sizes.min())
    heaviest = np.sort(sizes)[-least:]
    # Drawn with replacement, one row may fill a batch.
    top = heaviest[-1] if not cut.sampling.traits.by_epoch else heaviest.mean()

    return np.array([[model.l2, model.loss.curvature_bound * float(top) + model.l2]])


def _local(model: LinearModel, minimum: Minimum, rows: Indices) -> FloatArray:
    """Extreme eigenvalues of the Hessian of the mean of some rows, at the minimiser."""
    if len(rows) * model.outputs < model.dimension:
        top = float(np.linalg.eigvalsh(model.root_products(rows, minimum.point))[-1])
        return np.array([0.0, top / len(rows)]) + model.l2

    roots = model.row_roots(rows, minimum.point)
    flat = np.moveaxis(roots, 2, 1).reshape(-1, roots.shape[1])
    return np.asarray(np.linalg.eigvalsh(flat.T @ flat / len(rows))[[0, -1]] + model.l2)


def _basis(model: LinearModel, minimum: Minimum, sizes: FloatArray) -> FloatArray:
    """All curved directions, or those of the largest curvature, the least, and the heavy rows."""
    vectors = minimum.vectors
    if minimum.full and vectors.shape[1] <= MOMENT_DIRECTIONS:
        return vectors

    parts = [vectors[:, -_TOP:]]
    if minimum.full:
        parts.append(vectors[:, :_LOW])

    heavy = np.argsort(sizes)[::-1][:_HEAVY_DIRECTIONS]
    roots = model.row_roots(heavy, minimum.point)
    parts.append(np.moveaxis(roots, 0, 1).reshape(model.dimension, -1)[:, :_HEAVY_DIRECTIONS])
    together = np.concatenate(parts, axis=1)
    scale = np.linalg.norm(together, axis=0)
    Q, R = np.linalg.qr(together / np.where(scale > 0.0, scale, 1.0))

    return np.asarray(Q[:, np.abs(np.diag(R)) > _NEW])


_Moments = tuple[SecondMoments, Indices, int, FloatArray]


def _row_moments(
    model: LinearModel, cut: Batching, minimum: Minimum, basis: FloatArray, sizes: FloatArray
) -> _Moments:
    """Moments of batches that are fresh draws of rows, from single rows."""
    k = basis.shape[1]
    room = int(max(_ROW_NUMBERS / (k * k * model.outputs**2), _LEAST_SAMPLE))
    sample, weights, sure = _sample(cut.rows, room, sizes)
    weights = weights / weights.sum()
    values, basis = _directions(model, minimum, basis)
    roots = model.row_roots(sample, minimum.point, basis)
    z = model.row_gradients(sample, minimum.point, basis)
    z -= weights @ z
    # A batch varies as a row does, less by this factor: E[Δ X Δ] and E[z zᵀ] need nothing else.
    factor = cut.variance_factor
    spread = RowDeviations(np.swapaxes(roots, 1, 2), weights, factor)
    moments = SecondMoments(values, spread, gradients=np.sqrt(factor) * z, basis=basis)

    return moments, sample, sure, basis


def _batch_moments(
    model: LinearModel, cut: Batching, minimum: Minimum, basis: FloatArray, heaviness: FloatArray
) -> _Moments:
    """Moments of the batches of a fixed cut."""
    k = basis.shape[1]
    room = int(max(_BATCH_NUMBERS / k**3, _LEAST_SAMPLE))
    sample, weights, sure = _sample(cut.steps_per_epoch, room, heaviness)
    values, basis = _directions(model, minimum, basis)
    H = np.empty((len(sample), k, k))
    z = np.empty((len(sample), k))

    for i, b in enumerate(sample):
        rows = cut.batch(int(b))
        roots = model.row_roots(rows, minimum.point, basis)
        flat = np.moveaxis(roots, 2, 1).reshape(-1, k)
        H[i] = flat.T @ flat / len(rows)
        z[i] = basis.T @ model.row_gradient(rows, minimum.point)

    H[:, np.arange(k), np.arange(k)] += model.l2 - values
    H = 0.5 * (H + np.swapaxes(H, 1, 2))
    return SecondMoments(values, H, weights, z, basis), sample, sure, basis


def _directions(
    model: LinearModel, minimum: Minimum, basis: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues of the whole Hessian within the basis, and the basis turned to diagonalise it."""
    if minimum.full and basis.shape[1] == len(minimum.spectrum):
        return minimum.spectrum, basis

    product = model.hessian_at(minimum.point)
    products = [product(basis[:, j]) for j in range(basis.shape[1])]
    inner = basis.T @ np.stack(products, axis=1)
    values, turn = np.linalg.eigh(0.5 * (inner + inner.T))

    return values, basis @ turn


def _sample(count: int, room: int, heaviness: FloatArray) -> tuple[Indices, FloatArray, int]:
    """Everything where it fits; otherwise the heaviest, and a random draw of the others.

    Heavy ones are drawn more often, and weigh less: what one adds to a second moment goes with
    the square of its curvature.
    """
    if count <= room:
        return np.arange(count), np.full(count, 1.0 / count), count

    sure = max(1, room // _HEAVY_SHARE)
    order = np.argsort(heaviness)[::-1]
    rest = order[sure:]
    k = room - sure
    squares = heaviness[rest] ** 2
    chance = 0.5 / len(rest) + 0.5 * squares / max(float(squares.sum()), 1e-300)
    chance = chance / chance.sum()
    drawn = np.random.default_rng(0).choice(len(rest), k, p=chance)
    weights = np.concatenate([np.full(sure, 1.0), 1.0 / (k * chance[drawn])]) / count
    picked: npt.NDArray[np.intp] = np.concatenate([order[:sure], rest[drawn]]).astype(np.intp)

    return picked, weights, sure
