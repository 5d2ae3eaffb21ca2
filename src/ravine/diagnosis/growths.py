"""Growth of a method on the batches: in mean square and along almost every path."""

from __future__ import annotations

import math

import numpy as np

from ravine.diagnosis.batches import Survey
from ravine.diagnosis.paths import almost_sure_on_data
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.growth import Growth, growth
from ravine.theory.finite_sums.sense import Sense
from ravine.theory.finite_sums.terms import one_method
from ravine.theory.ladder.rates import block_radius, spectral_radius

CALM = 0.2
"""Batches hardly disagree where they change 1 - growth by less than this share."""

_SMALL_EPOCH = 1e6


def both_growths(
    survey: Survey, method: Method, sampling: Sampling, seed: int
) -> tuple[Growth, Growth]:
    """Mean-square and almost-sure growth; the latter is never above the root of the former."""
    if survey.exact and sampling is Sampling.CYCLIC:
        both = (
            growth(survey.hessians, method, sampling=sampling, sense=sense)
            for sense in (Sense.MEAN_SQUARE, Sense.ALMOST_SURE)
        )
        return next(both), next(both)
    square = mean_square(survey, method, sampling, seed)
    if not survey.every_direction:
        return _with_paths(survey, method, square, sampling, seed)
    calm = _calm(survey, method)
    if calm is not None:
        low, value, high = (math.sqrt(v) for v in calm)
        return square, Growth(value, low, high, False, Sense.ALMOST_SURE, sampling)
    if survey.exact:
        sure = growth(
            survey.hessians, method, sampling=sampling, sense=Sense.ALMOST_SURE, steps=1000,
            replicas=16, seed=seed,
        )  # fmt: skip
    else:
        sure = almost_sure_on_data(survey, method, sampling=sampling, seed=seed)
    if square.sampling is sampling and square.high <= 1.0:
        high = math.sqrt(square.high)
        value, low = min(sure.value, high), min(sure.low, high)
        sure = Growth(value, low, min(sure.high, high), sure.exact, sure.sense, sure.sampling)
    return square, sure


def _with_paths(
    survey: Survey, method: Method, square: Growth, sampling: Sampling, seed: int
) -> tuple[Growth, Growth]:
    """Growth in some directions, raised to what paths in all of them show.

    The disagreement of directions that are not followed adds up; paths feel it, and their growth
    is never above that of the mean square.
    """
    large = survey.problem.dimension > 3000
    sure = almost_sure_on_data(
        survey, method, sampling=sampling, seed=seed, steps=100 if large else 400,
        replicas=4 if large else 8,
    )  # fmt: skip
    value, low, high = (
        max(found, path**2)
        for found, path in zip(
            (square.value, square.low, square.high), (sure.value, sure.low, sure.high), strict=True
        )
    )
    return Growth(value, low, high, False, square.sense, square.sampling), sure


def _calm(survey: Survey, method: Method) -> tuple[float, float, float] | None:
    """Limits of the growth of E‖·‖² where the batches hardly change that of their mean, or None.

    Paths would have to be longer than 1/(1 - rate) to see it. The disagreement acts to second
    order: by what iid sampling makes of it, and, as terms that are not drawn again correlate, by
    (alpha/(1 - beta))² uᵀE[Δ²]u in the slowest direction u when an epoch is short against the
    memory. The limits are one and a half times both.
    """
    moments = survey.moments
    alone = float(spectral_radius(survey.curvature, method)) ** 2
    tolerance = 1e-5 if survey.exact else 1e-3
    drawn = max(alone, moments.growth(method, tolerance=tolerance))
    by = one_method(method)
    rates = block_radius(moments.eigenvalues, *(np.float64(v) for v in by))
    slowest = int(np.argmax(rates))
    spread = float(moments.sandwich(np.eye(moments.dimension))[slowest, slowest])
    kept = max(1.0 - abs(by.beta), 1e-9)
    effect = 1.5 * (drawn - alone + (by.alpha / kept) ** 2 * spread)
    if drawn >= 1.0 or effect > CALM * (1.0 - alone):
        return None
    return max(0.0, alone - effect), alone, alone + effect


def mean_square(survey: Survey, method: Method, sampling: Sampling, seed: int) -> Growth:
    """Growth of E‖·‖² under the sampling, or under iid sampling where that is all there is."""
    if survey.exact and sampling is not Sampling.IID:
        return _sampled_mean_square(survey, method, sampling, seed)
    # Directions that are not followed decay no faster than the flattest one.
    alone = float(spectral_radius(survey.curvature, method)) ** 2
    if survey.every_batch:
        value = max(survey.moments.growth(method), alone)
        return Growth(value, value, value, survey.exact, Sense.MEAN_SQUARE, Sampling.IID)
    found = survey.moments.perron(method, tolerance=1e-3)
    value, error = max(found.value, alone), 0.0
    if found.value > alone:
        k = len(survey.sample) - survey.sure
        drawn = k * (survey.moments.weights * survey.moments.shares(found))[survey.sure :]
        error = found.slope * value * float(drawn.std(ddof=1)) / math.sqrt(k)
    low = max(value - 1.96 * error, alone)
    return Growth(
        value, min(low, value), value + 1.96 * error, False, Sense.MEAN_SQUARE, Sampling.IID
    )


def _sampled_mean_square(survey: Survey, method: Method, sampling: Sampling, seed: int) -> Growth:
    """By the theory's own estimate, with more paths where the first few leave it open."""
    terms, d = survey.problem.terms, survey.problem.dimension
    calm = None if 2.0**terms * terms * d**3 <= _SMALL_EPOCH else _calm(survey, method)
    if calm is not None:
        return Growth(calm[1], calm[0], calm[2], False, Sense.MEAN_SQUARE, sampling)
    radius = float(spectral_radius(survey.curvature, method))
    memory = int(np.clip(10.0 / max(1.0 - radius, 1e-9), 300, 1500))
    for replicas, population, steps in ((8, 32, memory), (16, 128, 2 * memory)):
        found = growth(
            survey.hessians, method, sampling=sampling, sense=Sense.MEAN_SQUARE, steps=steps,
            replicas=replicas, population=population, seed=seed,
        )  # fmt: skip
        if found.exact or found.diverges is not None:
            break
    return found
