"""Growth over whole epochs: of one fixed order, of epochs drawn at random, or between bounds.

An epoch takes the state s to P s, so that second moments go from X to E[P X Pᵀ]. With the mean
taken over epochs that were drawn at random, its spectral radius is the growth of E‖s‖² per epoch.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ravine.arguments import FloatArray
from ravine.sampling import Sampling
from ravine.theory.finite_sums.growth import Growth, consistent
from ravine.theory.finite_sums.limits import Interval, interval
from ravine.theory.finite_sums.positive_map import (
    Operator,
    arnoldi,
    by_table,
    perron,
    sandwich_table,
)
from ravine.theory.finite_sums.terms import Sense

TABLE = 48
"""Rows of P up to which the map is kept as a table of P ⊗ P, whose size is their fourth power."""
_TOLERANCE = 1e-8
"""Residual of an eigenvector, over its eigenvalue."""
_ROUNDING = 1e-7
"""How far the logarithm of a double eigenvalue may be too large by rounding."""
_LARGEST = 700.0
"""Logarithm of the largest growth that is told apart from others: beyond are no numbers."""
_PRODUCT = 0.06e-9
_SMALL_PRODUCT = 1e-6
_PASS = 0.5e-9
_ENTRY = 40e-9
_APPLICATION = 4e-5
"""Seconds of a multiplication in a product of matrices, of a small product beside that, of a number
of the table in one application, of its making, and of an application beside."""
_APPLICATIONS = 200
"""Applications of the map in all: of all epochs, of the adjoint, and of both halves."""
_REPLICAS = 32
_LENGTH = 150
"""Random products of epochs for the almost-sure growth: so many, each of so many epochs."""
_CALM = 0.05
"""Batches hardly disagree where they change 1 - growth by less than this share."""
_NOTICEABLE = 0.05
"""Change of the mean square in an epoch that epochs drawn at random can tell."""


class Products(NamedTuple):
    """Products P e^scale of the blocks of whole epochs: (epochs, 2k, 2k) and (epochs,)."""

    matrices: FloatArray
    scales: FloatArray


class Growths(NamedTuple):
    """Growth per step in both senses; the almost-sure one is never above the mean square's root."""

    mean_square: Growth
    almost_sure: Growth


@dataclass(frozen=True, eq=False)
class EpochGrowth:
    """What decides the growth of a method on batches in their order.

    Attributes
    ----------
    exact_gradients
        Growth of the mean square per step with exact gradients.
    independent
        Computes the same with independent draws; a fixed order may not need it.
    exact
        Whether the growth of independent draws is computed and not estimated from a sample.
    sampling, steps
        The order in which the batches come, and how many make an epoch.
    directions
        Number k of directions in which the objective is curved.
    """

    exact_gradients: float
    independent: Callable[[], float]
    exact: bool
    sampling: Sampling
    steps: int
    directions: int

    def growths(self, draw: Callable[[], Products | None], seed: int) -> Growths:
        """Growth per step in mean square and along almost every run.

        Independent draws: the root of the operator on second moments. An order with a memory lies
        near that and exact gradients, most often between them; where the two differ, epochs are
        drawn at random. Where the time does not suffice for that (``draw`` returns None), the
        limits reach from the one to as far on the other side of the other.
        """
        traits = self.sampling.traits
        if not traits.random:
            return self._fixed_order(draw())

        drawn = max(self.exact_gradients, self.independent())
        away = abs(1.0 - self.exact_gradients)
        same_side = (drawn < 1.0) == (self.exact_gradients < 1.0)
        calm = drawn - self.exact_gradients <= _CALM * away and same_side
        if traits.independent and (drawn < 1.0 or calm):
            return self._between(drawn, drawn, drawn, self.exact)

        # What changes little in an epoch is not told apart by epochs that are drawn at random.
        slow = self.steps * away < _NOTICEABLE
        many = 2 * self.directions > TABLE  # few directions cost little to know better
        products = None
        if not (calm and (slow or many)) and not (not calm and slow and drawn < 1.0):
            products = draw()
        if products is None:
            return self._without_epochs(drawn)

        if traits.independent:
            square = self._growth(drawn, drawn, drawn, self.exact)
        else:
            value, low, high = drawn_mean_square(products, self.steps)
            least, most = self._ends(drawn)
            if high - value > most - least:
                return self._reshuffled(drawn)  # the ends know more than these epochs do
            if calm:
                return self._between(min(value, most), min(low, most), min(high, most), False)

            square = self._growth(value, low, high, False)

        logs = interval(_path_logs(products, seed) / self.steps)
        value, low, high = (math.exp(log) for log in logs)
        sure = Growth(value, low, high, False, Sense.ALMOST_SURE, self.sampling)
        return Growths(*consistent(square, sure))

    def _growth(self, value: float, low: float, high: float, exact: bool) -> Growth:
        return Growth(value, low, high, exact, Sense.MEAN_SQUARE, self.sampling)

    def _fixed_order(self, products: Products | None) -> Growths:
        """A fixed order is one product over an epoch: exact in every sense."""
        if products is None:
            alone = self.exact_gradients
            return self._between(alone, alone, max(alone, self.independent()), False)

        radius = float(np.abs(np.linalg.eigvals(products.matrices[0])).max())
        log = math.log(max(radius, 1e-300)) + float(products.scales[0])
        value = math.exp(log / self.steps)
        sure = Growth(value, value, value, True, Sense.ALMOST_SURE, self.sampling)
        return Growths(self._growth(value**2, value**2, value**2, True), sure)

    def _without_epochs(self, drawn: float) -> Growths:
        if not self.sampling.traits.independent:
            return self._reshuffled(drawn)

        root = math.sqrt(drawn)
        sure = Growth(root, 0.0, root, False, Sense.ALMOST_SURE, self.sampling)
        return Growths(self._growth(drawn, drawn, drawn, self.exact), sure)

    def _ends(self, drawn: float) -> tuple[float, float]:
        """Least and largest growth of reshuffled batches.

        Two batches that make up an epoch can even be faster than exact gradients, as their errors
        are each other's opposite; by as much as independent draws are slower.
        """
        return max(2.0 * self.exact_gradients - drawn, 0.0), drawn

    def _reshuffled(self, drawn: float) -> Growths:
        """Between exact gradients and independent draws: a long memory sees batches cancel."""
        memory = 1.0 / max(abs(1.0 - math.sqrt(drawn)), 1e-12)
        alone = self.exact_gradients
        value = alone + (drawn - alone) * self.steps / (self.steps + memory)
        return self._between(value, *self._ends(drawn), False)

    def _between(self, value: float, low: float, high: float, exact: bool) -> Growths:
        least = 0.0 if exact else math.sqrt(low)
        limits = math.sqrt(value), least, math.sqrt(high)
        sure = Growth(*limits, False, Sense.ALMOST_SURE, self.sampling)
        return Growths(self._growth(value, low, high, exact), sure)


def root_work(epochs: int, size: int) -> float:
    """Seconds of :func:`drawn_mean_square` for so many epochs of so many rows."""
    if _tabulated(epochs, size):
        table = size**4 * (epochs * _PRODUCT + _ENTRY)
        return table + _APPLICATIONS * (_APPLICATION + 0.25 * size**4 * _PASS)

    return _APPLICATIONS * epochs * (_SMALL_PRODUCT + 2.0 * size**3 * _PRODUCT)


def _tabulated(epochs: int, size: int) -> bool:
    return size <= TABLE and epochs > size


def drawn_mean_square(products: Products, steps: int) -> Interval:
    """Growth of E‖s‖² per step, with limits from the variance over the drawn epochs."""
    top = float(products.scales.max())
    P = products.matrices * np.exp(products.scales - top)[:, None, None]
    halves, whole, adjoint = _mean_maps(P)
    start = np.eye(P.shape[1])
    root, X, doubt = _root(whole, start)
    V = _root(adjoint, start)[1]
    parts = np.einsum("sij,ji->s", P @ X @ np.swapaxes(P, 1, 2), V)
    mean = float(parts.mean())
    error = float(parts.std(ddof=1)) / (mean * math.sqrt(len(parts))) if mean > 0.0 else 0.0
    log = math.log(max(root, 1e-300)) + 2.0 * top

    # The root of a mean over few epochs is too large, by an amount that falls like one over their
    # number: half of them show it twice. It is taken out, and added to the limits.
    apart = [_root(half, start)[0] for half in halves]
    excess = 0.0
    if root > 0.0 and min(apart) > 0.0:
        excess = 0.5 * math.log(apart[0] * apart[1] / root**2)
        log -= max(excess, 0.0)

    # E‖s‖² >= ‖E s‖² (Jensen), and E s moves by the mean product. That is not the product of exact
    # gradients: batches of one epoch exclude each other, which may make it slower or faster.
    slowest = float(np.abs(np.linalg.eigvals(P.mean(axis=0))).max())
    floor = 2.0 * (math.log(max(slowest, 1e-300)) + top)
    reach = 2.0 * error + abs(excess) + doubt
    value = max(log, floor)
    least = max(log - reach - _ROUNDING, floor - _ROUNDING)
    limits = (value, least, max(log + reach, value))
    return Interval(*(math.exp(min(limit / steps, _LARGEST)) for limit in limits))


def _mean_maps(P: FloatArray) -> tuple[list[Operator], Operator, Operator]:
    """X ↦ E[P X Pᵀ] over each half of the epochs and over all, and V ↦ E[Pᵀ V P] over all."""
    count, size, _ = P.shape
    parts = [P[0::2], P[1::2]]
    if not _tabulated(count, size):
        adjoint = _mean_sandwich(np.swapaxes(P, 1, 2))
        return [_mean_sandwich(part) for part in parts], _mean_sandwich(P), adjoint

    flat = [part.reshape(len(part), size * size) for part in parts]
    tables = [sandwich_table((one.T @ one / len(one)).reshape((size,) * 4)) for one in flat]
    table = (len(parts[0]) * tables[0] + len(parts[1]) * tables[1]) / count

    # In the inner product of matrices each number beside the diagonal counts twice.
    counts = (2.0 - np.eye(size))[np.triu_indices(size)]
    adjoint = _by_table(counts[:, None] * table.T / counts)
    return [_by_table(one) for one in tables], _by_table(table), adjoint


def _by_table(table: FloatArray) -> Operator:
    return lambda X: by_table(X, table)


def _mean_sandwich(P: FloatArray) -> Operator:
    """X ↦ E[P X Pᵀ] of (..., s, s), product by product."""

    def apply(X: FloatArray) -> FloatArray:
        every = X.reshape(-1, *X.shape[-2:])
        return np.stack([(P @ one @ np.swapaxes(P, 1, 2)).mean(axis=0) for one in every]).reshape(
            X.shape
        )

    return apply


def _root(apply: Operator, start: FloatArray) -> tuple[float, FloatArray, float]:
    """The spectral radius, its eigenvector, and how far the logarithm may be off.

    By ARPACK even where the map is small: it is the quickest for the many maps of a diagnosis.
    """
    pair = arnoldi(apply, start, _TOLERANCE, kept=24)
    if pair is not None:
        return *pair, 0.0

    (value, low, high, _), X = perron(apply, start.shape)
    if low <= 0.0:
        return value, X, math.inf

    return value, X, max(math.log(high / value), math.log(value / low))


def _path_logs(products: Products, seed: int) -> FloatArray:
    """Logarithms of the growth per epoch along random products of the drawn epochs."""
    rng = np.random.default_rng([seed, 12])
    count, size, _ = products.matrices.shape
    s = rng.standard_normal((_REPLICAS, size, 1))
    burn = _LENGTH // 4
    total = np.zeros(_REPLICAS)

    for k in range(burn + _LENGTH):
        which = rng.integers(count, size=_REPLICAS)
        s = products.matrices[which] @ s
        norm = np.maximum(np.sqrt((s * s).sum(axis=(1, 2))), 1e-300)
        s = s / norm[:, None, None]
        if k >= burn:
            total += np.log(norm) + products.scales[which]

    return np.asarray(total / _LENGTH)
