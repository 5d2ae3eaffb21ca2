"""Growth of a method on the batches in their order: in mean square and along almost every run."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ravine.arguments import FloatArray
from ravine.diagnosis.cut import Drawn
from ravine.diagnosis.epoch_operator import TABLE, Products, mean_square_growth, root_work
from ravine.diagnosis.survey import MOMENT_DIRECTIONS, Survey
from ravine.diagnosis.work import step_work
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.growth import Growth, consistent
from ravine.theory.finite_sums.interval import interval
from ravine.theory.finite_sums.sense import Sense
from ravine.theory.ladder.rates import spectral_radius

_CALM = 0.05
"""Batches hardly disagree where they change 1 - growth by less than this share."""
_NOTICEABLE = 0.05
"""Change of the mean square in an epoch that epochs drawn at random can tell."""
_EPOCHS = (12288, 3072, 768, 256, 64, 24, 8)
"""Epochs that are drawn for an estimate: as many as the time allows, and none with fewer. Rates far
below 1 are made by rare batches, which a few dozen epochs do not show."""
_NUMBERS = 8e6
"""Numbers that the states of all drawn epochs have at most: 64 MB."""
_REPLICAS = 32
_LENGTH = 150
"""Random products of epochs for the almost-sure growth: so many, each of so many epochs."""
_FAR = 50.0
"""Logarithm of the size at which products are scaled back: far from overflow."""


class Growths(NamedTuple):
    """Growth per step in both senses; the almost-sure one is never above the mean square's root."""

    mean_square: Growth
    almost_sure: Growth


def growths(survey: Survey, method: Method, *, seed: int, seconds: float) -> Growths:
    """Growth of a method in the order in which the batches come.

    Independent draws: the root of the operator on second moments. An order with a memory lies near
    that and exact gradients, most often between them; where the two differ, epochs are drawn at
    random, and the growth is that of X ↦ E[P X Pᵀ] over them. Where the time does not suffice for
    that, the limits reach from the one to as far on the other side of the other.
    """
    rule = survey.cut.sampling
    alone = float(spectral_radius(survey.curvature, method)) ** 2
    if rule is Sampling.CYCLIC:
        return _cyclic(survey, method, alone)

    drawn = max(alone, survey.moments.growth(method))
    near = drawn - alone <= _CALM * abs(1.0 - alone)
    same_side = (drawn < 1.0) == (alone < 1.0)
    if rule is Sampling.IID and drawn < 1.0:
        return _between(drawn, drawn, drawn, survey.exact, rule)

    # What changes little in an epoch is not told apart by epochs that are drawn at random.
    slow = survey.cut.steps_per_epoch * abs(1.0 - alone) < _NOTICEABLE
    if near and same_side:
        if rule is Sampling.IID:
            return _between(drawn, drawn, drawn, survey.exact, rule)
        if slow or 2 * survey.basis.shape[1] > TABLE:  # few directions cost little to know better
            return _reshuffled(survey, alone, drawn)
    elif slow and drawn < 1.0:
        return _reshuffled(survey, alone, drawn)

    products = epoch_products(survey, method, seed=seed, seconds=seconds)
    if products is None:
        if rule is Sampling.IID:
            square = Growth(drawn, drawn, drawn, survey.exact, Sense.MEAN_SQUARE, rule)
            wide = Growth(math.sqrt(drawn), 0.0, math.sqrt(drawn), False, Sense.ALMOST_SURE, rule)
            return Growths(square, wide)

        return _reshuffled(survey, alone, drawn)

    if rule is Sampling.IID:
        square = Growth(drawn, drawn, drawn, survey.exact, Sense.MEAN_SQUARE, rule)
    else:
        value, low, high = mean_square_growth(products, survey.cut.steps_per_epoch)
        least, most = _ends(alone, drawn)
        if high - value > most - least:
            return _reshuffled(survey, alone, drawn)  # the ends know more than these epochs do
        if near and same_side:
            return _between(min(value, most), min(low, most), min(high, most), False, rule)

        square = Growth(value, low, high, False, Sense.MEAN_SQUARE, rule)

    sure = _almost_sure(products, survey.cut.steps_per_epoch, rule, seed)
    return Growths(*consistent(square, sure))


def _ends(alone: float, drawn: float) -> tuple[float, float]:
    """Least and largest growth of reshuffled batches, from exact gradients and independent draws.

    Two batches that make up an epoch can even be faster than exact gradients, as their errors are
    each other's opposite; by as much as independent draws are slower.
    """
    return max(2.0 * alone - drawn, 0.0), drawn


def _reshuffled(survey: Survey, alone: float, drawn: float) -> Growths:
    """Between exact gradients and independent draws: a long memory sees its batches cancel."""
    epoch = survey.cut.steps_per_epoch
    memory = 1.0 / max(abs(1.0 - math.sqrt(drawn)), 1e-12)
    value = alone + (drawn - alone) * epoch / (epoch + memory)
    return _between(value, *_ends(alone, drawn), False, survey.cut.sampling)


def _between(value: float, low: float, high: float, exact: bool, rule: Sampling) -> Growths:
    square = Growth(value, low, high, exact, Sense.MEAN_SQUARE, rule)
    sure = Growth(
        math.sqrt(value), math.sqrt(low) if not exact else 0.0, math.sqrt(high), False,
        Sense.ALMOST_SURE, rule,
    )  # fmt: skip
    return Growths(square, sure)


def epoch_products(survey: Survey, method: Method, *, seed: int, seconds: float) -> Products | None:
    """What a whole epoch does to (y - x*, x - x₋) near the minimiser, for randomly drawn epochs.

    In the curved directions, as columns of one run on the data. None where the directions are too
    many, or ``seconds`` of counted work too few.
    """
    k = survey.basis.shape[1]
    if not survey.every_direction or k > MOMENT_DIRECTIONS:
        return None

    fixed = survey.cut.sampling is Sampling.CYCLIC
    n = survey.cut.steps_per_epoch
    for epochs in (1,) if fixed else _EPOCHS:
        # The 2k columns of the product are runs of their own.
        cost = n * step_work(survey.model, survey.cut, 2 * k, epochs) + root_work(epochs, 2 * k)
        numbers = epochs * survey.model.features * survey.model.outputs * 2 * k
        if fixed or (cost <= seconds and numbers <= _NUMBERS):
            break
    else:
        return None

    walk = _Walk(survey, method, epochs)
    draws = survey.cut.draws(epochs, np.random.default_rng([seed, 11]))
    for _ in range(n):
        walk.step(next(draws))

    return Products(walk.matrices(), walk.scales)


class _Walk:
    """The homogeneous recursion on 2k states at once, for every drawn epoch."""

    def __init__(self, survey: Survey, method: Method, epochs: int) -> None:
        self.model = survey.model
        self.basis = survey.basis
        self.bent = survey.model.bent_at(survey.minimiser)
        self.alpha = float(method.alpha)
        self.beta = float(method.beta)
        self.gamma = float(method.gamma)
        units = np.concatenate([self._columns(), 0.0 * self._columns()], axis=1)
        speeds = np.concatenate([0.0 * self._columns(), self._columns()], axis=1)
        # y = x + gamma v is the state r, so that x = r - gamma v.
        self.x = np.repeat((units - self.gamma * speeds)[None], epochs, axis=0)
        self.v = np.repeat(speeds[None], epochs, axis=0)
        self.scales = np.zeros(epochs)

    def _columns(self) -> FloatArray:
        """Basis vectors as points: (features, k * outputs)."""
        k = self.basis.shape[1]
        split = self.basis.reshape(self.model.features, self.model.outputs, k)

        return np.swapaxes(split, 1, 2).reshape(self.model.features, -1)

    def step(self, drawn: Drawn) -> None:
        """One step of every epoch, scaled back where it grows or falls far."""
        y = self.x + self.gamma * self.v
        pull = self.model.pull(drawn, y, self.bent)
        self.v = self.beta * self.v - self.alpha * pull
        self.x = self.x + self.v
        size = np.maximum(np.abs(self.x).max(axis=(1, 2)), np.abs(self.v).max(axis=(1, 2)))
        size = np.maximum(size, 1e-300)

        if (np.abs(np.log(size)) > _FAR).any():
            self.x /= size[:, None, None]
            self.v /= size[:, None, None]
            self.scales += np.log(size)

    def matrices(self) -> FloatArray:
        """The products, (epochs, 2k, 2k), of rows (r, v) and columns (r, v)."""
        return np.concatenate(
            [self._inner(self.x + self.gamma * self.v), self._inner(self.v)], axis=1
        )

    def _inner(self, points: FloatArray) -> FloatArray:
        epochs, f, width = points.shape
        K = self.model.outputs
        split = points.reshape(epochs, f, width // K, K)
        flat = np.moveaxis(split, 3, 2).reshape(epochs, f * K, width // K)

        return np.asarray(self.basis.T @ flat)


def _cyclic(survey: Survey, method: Method, alone: float) -> Growths:
    """A fixed order is one product over an epoch: exact in every sense."""
    products = epoch_products(survey, method, seed=0, seconds=math.inf)
    rule = survey.cut.sampling
    if products is None:
        return _between(alone, alone, max(alone, survey.moments.growth(method)), False, rule)

    radius = float(np.abs(np.linalg.eigvals(products.matrices[0])).max())
    log = math.log(max(radius, 1e-300)) + float(products.scales[0])
    value = math.exp(log / survey.cut.steps_per_epoch)

    return Growths(
        Growth(value**2, value**2, value**2, True, Sense.MEAN_SQUARE, rule),
        Growth(value, value, value, True, Sense.ALMOST_SURE, rule),
    )


def _almost_sure(products: Products, steps: int, rule: Sampling, seed: int) -> Growth:
    """Top Lyapunov exponent of random products of the drawn epochs."""
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

    rates = total / (_LENGTH * steps)
    value, low, high = (math.exp(log) for log in interval(rates))
    return Growth(value, low, high, False, Sense.ALMOST_SURE, rule)
