"""Growth of a method on the batches in their order: what theory needs to know of the data."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray
from ravine.diagnosis.survey import MOMENT_DIRECTIONS, Survey
from ravine.diagnosis.work import step_work
from ravine.engine.recursion import held, iterate
from ravine.methods import Method
from ravine.theory.finite_sums.epochs import EpochGrowth, Growths, Products, root_work
from ravine.theory.ladder.rates import spectral_radius

_EPOCHS = (12288, 3072, 768, 256, 64, 24, 8)
"""Epochs that are drawn for an estimate: as many as the time allows, and none with fewer. Rates far
below 1 are made by rare batches, which a few dozen epochs do not show."""
_NUMBERS = 8e6
"""Numbers that the states of all drawn epochs have at most: 64 MB."""
_FAR = 50.0
"""Logarithm of the size at which products are scaled back: far from overflow."""


def growths(survey: Survey, method: Method, *, seed: int, seconds: float) -> Growths:
    """Growth of a method, in both senses, in the order in which the batches come."""
    known = EpochGrowth(
        exact_gradients=float(spectral_radius(survey.curvature, method)) ** 2,
        independent=lambda: survey.moments.growth(method),
        exact=survey.exact,
        sampling=survey.batching.sampling,
        steps=survey.batching.steps_per_epoch,
        directions=survey.basis.shape[1],
    )
    return known.growths(lambda: epoch_products(survey, method, seed=seed, seconds=seconds), seed)


def epoch_products(survey: Survey, method: Method, *, seed: int, seconds: float) -> Products | None:
    """What a whole epoch does to (y - x*, x - x₋) near the minimiser, for randomly drawn epochs.

    In the curved directions, as columns of one run on the data. None where the directions are too
    many, or ``seconds`` of counted work too few.
    """
    k = survey.basis.shape[1]
    epochs = _affordable_epochs(survey, seconds)
    if epochs is None:
        return None

    model = survey.model
    n = survey.batching.steps_per_epoch
    slopes = model.hessian_slopes(survey.minimiser)
    draws = survey.batching.draws(epochs, np.random.default_rng([seed, 11]))
    units = np.concatenate([_columns(survey), np.zeros_like(_columns(survey))], axis=1)
    speeds = np.roll(units, k * model.outputs, axis=1)
    gamma = float(method.gamma)

    # y = x + gamma v is the state r, so that x = r - gamma v.
    states = iterate(
        lambda _, y: model.drawn_gradient(next(draws), y, slopes),
        np.repeat((units - gamma * speeds)[None], epochs, axis=0),
        np.repeat(speeds[None], epochs, axis=0),
        steps=n,
        alpha=float(method.alpha),
        betas=held(method.beta, n),
        gammas=held(method.gamma, n + 1),
    )
    scales = np.zeros(epochs)
    for state in states:
        size = np.maximum(np.abs(state.x).max(axis=(1, 2)), np.abs(state.v).max(axis=(1, 2)))
        size = np.maximum(size, 1e-300)
        if (np.abs(np.log(size)) > _FAR).any():
            for points in (state.x, state.v, state.y):
                points /= size[:, None, None]
            scales += np.log(size)

    rows = [_inner(survey, points) for points in (state.y, state.v)]
    return Products(np.concatenate(rows, axis=1), scales)


def _affordable_epochs(survey: Survey, seconds: float) -> int | None:
    """How many epochs to draw; None where not even a few are within ``seconds``."""
    k = survey.basis.shape[1]
    if not survey.every_direction or k > MOMENT_DIRECTIONS:
        return None
    if not survey.batching.sampling.traits.random:
        return 1

    for epochs in _EPOCHS:
        # The 2k columns of the product are runs of their own.
        steps = survey.batching.steps_per_epoch * step_work(
            survey.model, survey.batching, 2 * k, epochs
        )
        numbers = epochs * survey.model.features * survey.model.outputs * 2 * k
        if steps + root_work(epochs, 2 * k) <= seconds and numbers <= _NUMBERS:
            return epochs

    return None


def _columns(survey: Survey) -> FloatArray:
    """Basis vectors as points: (features, k * outputs)."""
    model = survey.model
    split = survey.basis.reshape(model.features, model.outputs, -1)
    return np.swapaxes(split, 1, 2).reshape(model.features, -1)


def _inner(survey: Survey, points: FloatArray) -> FloatArray:
    """Coordinates in the basis, (epochs, k, 2k), of points (epochs, features, 2k * outputs)."""
    epochs, features, width = points.shape
    outputs = survey.model.outputs
    split = points.reshape(epochs, features, width // outputs, outputs)
    flat = np.moveaxis(split, 3, 2).reshape(epochs, features * outputs, width // outputs)
    return np.asarray(survey.basis.T @ flat)
