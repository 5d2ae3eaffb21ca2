"""Growth over whole epochs: exact for a fixed order, estimated from random epochs, or bounded.

An epoch maps the state s to P s, and second moments X to E[P X Pᵀ]. The spectral radius of this
map, with the mean over random epochs, is the growth of E‖s‖² per epoch.
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
"""Maximum number of rows of P for which the map of epochs is a table; its size is the fourth
power."""
_TOLERANCE = 1e-8
"""Relative residual of an eigenvector."""
_ROUNDING = 1e-7
"""Largest rounding error of the logarithm of a double eigenvalue."""
_SAME = 1e-10
"""Growth rates that differ by less count as equal: the rounding error of a radius near 1."""
_LARGEST = 700.0
"""Logarithm of the largest growth that is computed; larger ones overflow."""
_PRODUCT = 0.06e-9
_SMALL_PRODUCT = 1e-6
_PASS = 0.5e-9
_ENTRY = 40e-9
_APPLICATION = 4e-5
"""Seconds of a multiplication in a matrix product, of the overhead of a small product, of a number
of the table in one application, of building it, and of the overhead of an application."""
_APPLICATIONS = 200
"""Total number of applications of the map: for all epochs, for the adjoint, and for both halves."""
_REPLICAS = 32
_LENGTH = 150
"""Random products for the almost-sure growth: their number, and the epochs in each."""
_CALM = 0.05
"""Batches hardly disagree if they change 1 - growth by less than this share."""
_NOTICEABLE = 0.05
"""Smallest change of the mean square per epoch that random epochs can detect."""


class Products(NamedTuple):
    """Products P e^scale of the blocks of whole epochs: (epochs, 2k, 2k) and (epochs,)."""

    matrices: FloatArray
    scales: FloatArray


class Growths(NamedTuple):
    """Growth per step in both senses; almost sure, it is at most the root of the mean square."""

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
        Computes the same for independent draws; not needed for some fixed orders.
    exact
        Whether the growth for independent draws is exact, not estimated from a sample.
    sampling, steps
        The order of the batches, and their number per epoch.
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
        """Compute the growth per step in mean square and along almost every run.

        For independent draws, this is the spectral radius of the operator on second moments. For an
        order with memory, the growth is close to that and to exact gradients, usually between the
        two. If they differ, epochs are drawn at random. If there is no time for that (``draw``
        returns None), the limits extend from independent draws to an equal distance on the other
        side of exact gradients.
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

        # Random epochs cannot detect small changes per epoch.
        slow = self.steps * away < _NOTICEABLE
        many = 2 * self.directions > TABLE  # few directions are cheap to compute accurately
        products = None
        if not (calm and (slow or many)) and not (not calm and slow and drawn < 1.0):
            products = draw()

        if traits.independent:
            square = self._growth(exactly(drawn), self.exact)
            if products is None:
                return self._computed(exactly(drawn), self.exact, least=0.0)
        else:
            # With two batches per epoch, convergence can even be faster than with exact gradients,
            # because their errors are opposite: by as much as independent draws are slower.
            least = max(2.0 * self.exact_gradients - drawn, 0.0)
            seen = None if products is None else drawn_mean_square(products, self.steps)
            if products is None or seen is None or seen.high - seen.value > drawn - least:
                # Over a long memory the batches average out; these epochs would be less accurate
                # than the ends.
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
        """A fixed order is one product over an epoch, which is exact in every sense."""
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
        """Growth in mean square, with its root as the bound for almost every run."""
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
    """Growth of E‖s‖² per step, with limits from the variance over random epochs."""
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

    # The estimate from few epochs is too large, by an amount inversely proportional to their
    # number, so half of the epochs show it doubled. It is subtracted, and added to the limits.
    apart = [_root([half], shape)[0].value for half in halves]
    excess = 0.0
    if root.value > 0.0 and min(apart) > 0.0:
        shares = len(P[0::2]) * len(P[1::2]) / len(P) ** 2
        excess = 0.5 * math.log(apart[0] * apart[1] / shares / root.value**2)
        log -= max(excess, 0.0)

    # E‖s‖² >= ‖E s‖² (Jensen), and E s follows the mean product. This differs from the product with
    # exact gradients: batches of one epoch exclude each other, which may be slower or faster.
    slowest = float(np.abs(np.linalg.eigvals(P.mean(axis=0))).max())
    floor = 2.0 * (math.log(max(slowest, 1e-300)) + top)
    reach = 2.0 * error + abs(excess) + doubt
    value = max(log, floor)
    least = max(log - reach - _ROUNDING, floor - _ROUNDING)
    limits = (value, least, max(log + reach, value))
    return Interval(*(math.exp(min(limit / steps, _LARGEST)) for limit in limits))


def _root(maps: list[Sandwiches], shape: tuple[int, ...]) -> tuple[Interval, FloatArray]:
    """The spectral radius of a sum of maps, and its eigenvector.

    Uses ARPACK even if the map is small, which is fastest for the many maps of a diagnosis.
    """

    def apply(X: FloatArray) -> FloatArray:
        return np.asarray(sum(one.sandwich(X) for one in maps))

    return perron(apply, shape, tolerance=_TOLERANCE, dense=0, kept=24)


def _path_logs(products: Products, seed: int) -> FloatArray:
    """Logarithms of the growth per epoch along random products of the epochs."""
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
