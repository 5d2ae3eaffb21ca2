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
from ravine.theory.finite_sums.positive_map import Sandwiches, perron
from ravine.theory.finite_sums.terms import Interval, Sense, exactly, interval

TABLE = 48
"""Rows of P up to which the map of many epochs is a table, whose size is their fourth power."""
_TOLERANCE = 1e-8
"""Residual of an eigenvector, over its eigenvalue."""
_ROUNDING = 1e-7
"""How far the logarithm of a double eigenvalue may be too large by rounding."""
_SAME = 1e-10
"""Growths that differ by less are equal: the rounding of a radius near 1."""
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
"""Random products for the almost-sure growth: how many, and epochs in each."""
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
    """Growth of a method on batches in their order.

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
        if drawn - self.exact_gradients < _SAME:
            drawn = self.exact_gradients

        away = abs(1.0 - self.exact_gradients)
        same_side = (drawn < 1.0) == (self.exact_gradients < 1.0)
        calm = drawn - self.exact_gradients <= _CALM * away and same_side
        if traits.independent and (drawn < 1.0 or calm):
            return self._computed(exactly(drawn), self.exact)

        # What changes little in an epoch is not told apart by epochs that are drawn at random.
        slow = self.steps * away < _NOTICEABLE
        many = 2 * self.directions > TABLE  # few directions cost little to know better
        products = None
        if not (calm and (slow or many)) and not (not calm and slow and drawn < 1.0):
            products = draw()

        if traits.independent:
            square = self._growth(exactly(drawn), self.exact)
            if products is None:
                return self._computed(exactly(drawn), self.exact, least=0.0)
        else:
            # Two batches that make up an epoch can even be faster than exact gradients, as their
            # errors are each other's opposite; by as much as independent draws are slower.
            least = max(2.0 * self.exact_gradients - drawn, 0.0)
            seen = None if products is None else drawn_mean_square(products, self.steps)
            if products is None or seen is None or seen.high - seen.value > drawn - least:
                # A long memory sees batches cancel; these epochs would know less than the ends.
                memory = 1.0 / max(abs(1.0 - math.sqrt(drawn)), 1e-12)
                share = self.steps / (self.steps + memory)
                value = self.exact_gradients + (drawn - self.exact_gradients) * share
                return self._computed(Interval(value, least, drawn), False)
            if calm:
                return self._computed(Interval(*(min(limit, drawn) for limit in seen)), False)

            square = self._growth(seen, False)

        logs = interval(_path_logs(products, seed) / self.steps)
        sure = self._growth(Interval(*(math.exp(log) for log in logs)), False, Sense.ALMOST_SURE)
        return Growths(*consistent(square, sure))

    def _growth(self, known: Interval, exact: bool, sense: Sense = Sense.MEAN_SQUARE) -> Growth:
        return Growth(*known, exact, sense, self.sampling)

    def _fixed_order(self, products: Products | None) -> Growths:
        """A fixed order is one product over an epoch: exact in every sense."""
        if products is None:
            alone = self.exact_gradients
            most = max(alone, self.independent())
            return self._computed(Interval(alone, alone, most), False)

        radius = float(np.abs(np.linalg.eigvals(products.matrices[0])).max())
        log = math.log(max(radius, 1e-300)) + float(products.scales[0])
        value = math.exp(log / self.steps)
        sure = self._growth(exactly(value), True, Sense.ALMOST_SURE)
        return Growths(self._growth(exactly(value**2), True), sure)

    def _computed(self, square: Interval, exact: bool, least: float | None = None) -> Growths:
        """A mean square, and its root as the most that almost every run can grow."""
        value, low, high = (math.sqrt(limit) for limit in square)
        if exact or least is not None:
            low = least or 0.0

        sure = self._growth(Interval(value, low, high), False, Sense.ALMOST_SURE)
        return Growths(self._growth(square, exact), sure)


def root_work(epochs: int, size: int) -> float:
    """Seconds of :func:`drawn_mean_square` for given numbers of epochs and rows."""
    if size <= TABLE and epochs > size:
        table = size**4 * (epochs * _PRODUCT + _ENTRY)
        return table + _APPLICATIONS * (_APPLICATION + 0.25 * size**4 * _PASS)

    return _APPLICATIONS * epochs * (_SMALL_PRODUCT + 2.0 * size**3 * _PRODUCT)


def drawn_mean_square(products: Products, steps: int) -> Interval:
    """Growth of E‖s‖² per step, with limits from the variance over the drawn epochs."""
    top = float(products.scales.max())
    P = products.matrices * np.exp(products.scales - top)[:, None, None]
    shape = P.shape[1:]
    halves = [Sandwiches(half, np.full(len(half), 1.0 / len(P))) for half in (P[0::2], P[1::2])]
    root, X = _root(halves, shape)
    _, V = _root([half.adjoint() for half in halves], shape)
    parts = np.einsum("sij,ji->s", P @ X @ np.swapaxes(P, 1, 2), V)
    mean = float(parts.mean())
    error = float(parts.std(ddof=1)) / (mean * math.sqrt(len(parts))) if mean > 0.0 else 0.0
    log = math.log(max(root.value, 1e-300)) + 2.0 * top
    doubt = math.log(max(root.high, 1e-300) / max(root.low, 1e-300))

    # The root of a mean over few epochs is too large, by an amount that falls like one over their
    # number: half of them show it twice. It is taken out, and added to the limits.
    apart = [_root([half], shape)[0].value for half in halves]
    excess = 0.0
    if root.value > 0.0 and min(apart) > 0.0:
        shares = len(P[0::2]) * len(P[1::2]) / len(P) ** 2
        excess = 0.5 * math.log(apart[0] * apart[1] / shares / root.value**2)
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


def _root(maps: list[Sandwiches], shape: tuple[int, ...]) -> tuple[Interval, FloatArray]:
    """The spectral radius of a sum of maps and its eigenvector.

    By ARPACK even where the map is small: that is the quickest for the many maps of a diagnosis.
    """

    def apply(X: FloatArray) -> FloatArray:
        return np.asarray(sum(one.sandwich(X) for one in maps))

    return perron(apply, shape, tolerance=_TOLERANCE, dense=0, kept=24)


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
