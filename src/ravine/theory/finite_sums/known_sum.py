"""Growth of a method on a sum that is known in part: through moments, and through products.

Data rarely allow everything: second moments may be those of a sample of the terms, or in some
directions only, while products with every Hessian are always at hand. Here both are put together
into two statements, growth in mean square and along almost every path, that cannot contradict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.deadline import NEVER, Deadline
from ravine.theory.finite_sums.growth import (
    Growth,
    at_least_the_mean,
    consistent,
    from_paths,
    growth,
)
from ravine.theory.finite_sums.path_growth import Product, almost_sure_by_products
from ravine.theory.finite_sums.rules import epoch_is_small
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.finite_sums.sense import Sense
from ravine.theory.finite_sums.terms import finite_sum, one_method
from ravine.theory.ladder.rates import block_radius, spectral_radius

CALM = 0.2
"""Terms hardly disagree where they change 1 - growth by less than this share."""
_MARGIN = 1.5
"""Limits of a calm growth, times the effect of second order that they stand for."""
_NORMAL = 1.96
"""Standard errors of a 95 % interval from many terms."""
_LARGE = 3000
"""Directions above which paths are short and few: a product takes milliseconds there."""


@dataclass(frozen=True, eq=False)
class KnownSum:
    """What is known of a sum of quadratics.

    Attributes
    ----------
    moments
        Second moments of its terms, of all of them or of a sample, in all directions or in some.
    product
        Hessian of term b times vectors, in all directions: (b, vectors (k, d)) to (k, d).
    terms
        Number of terms.
    dimension
        Number of directions.
    curvature
        Extreme eigenvalues of the mean Hessian.
    certain
        Of the terms in ``moments``, the first so many are there for certain; the others are a
        random draw, which adds an error of its own.
    """

    moments: SecondMoments
    product: Product
    terms: int
    dimension: int
    curvature: Curvature
    certain: int

    @property
    def every_term(self) -> bool:
        """Whether the moments are those of every term."""
        return len(self.moments.weights) == self.terms

    @property
    def every_direction(self) -> bool:
        """Whether the moments are those in every direction."""
        return self.moments.dimension == self.dimension

    @property
    def complete(self) -> bool:
        """Whether nothing is left out."""
        return self.every_term and self.every_direction

    @property
    def hessians(self) -> FloatArray:
        """Hessians of the terms in ``moments``, in its coordinates, shape (k, d, d)."""
        return np.asarray(self.moments.deviations + np.diag(self.moments.eigenvalues))


def both_growths(
    known: KnownSum,
    method: Method,
    sampling: Sampling,
    *,
    seed: int = 0,
    deadline: Deadline = NEVER,
) -> tuple[Growth, Growth]:
    """Growth in mean square and along almost every path; never the latter above the former.

    The mean square is that of independent draws where the rule's own cannot be had; its
    ``sampling`` says which.
    """
    if known.complete and not sampling.traits.random:
        H = known.hessians
        square = growth(H, method, sampling=sampling, sense=Sense.MEAN_SQUARE)
        return square, growth(H, method, sampling=sampling, sense=Sense.ALMOST_SURE)

    mean_rate = float(spectral_radius(known.curvature, method))
    square = mean_square_of(known, method, sampling, seed=seed, deadline=deadline)
    calm = _calm(known, method) if known.every_direction else None
    if calm is not None:
        low, value, high = (math.sqrt(limit) for limit in calm)
        note = "the terms hardly change the rate of their mean"
        sure = Growth(value, low, high, False, Sense.ALMOST_SURE, sampling, note=note)
    elif known.complete:
        sure = growth(
            known.hessians, method, sampling=sampling, sense=Sense.ALMOST_SURE, steps=1000,
            replicas=16, seed=seed, seconds=deadline.left,
        )  # fmt: skip
    else:
        sure = _by_products(known, method, sampling, mean_rate, seed, deadline)

    if square.sampling is not sampling:
        # Statements about two different rules: Jensen's inequality does not join them.
        if known.every_direction:
            return square, sure
        square = replace(square, exact=False)
    return consistent(square, sure, mean_rate)


def _by_products(
    known: KnownSum,
    method: Method,
    sampling: Sampling,
    mean_rate: float,
    seed: int,
    deadline: Deadline,
) -> Growth:
    large = known.dimension > _LARGE
    path = almost_sure_by_products(
        known.product, one_method(method), sampling, terms=known.terms, dimension=known.dimension,
        steps=100 if large else 400, replicas=4 if large else 8, seed=seed, deadline=deadline,
    )  # fmt: skip
    return from_paths(path, Sense.ALMOST_SURE, sampling, mean_rate)


def mean_square_of(
    known: KnownSum,
    method: Method,
    sampling: Sampling,
    *,
    seed: int = 0,
    deadline: Deadline = NEVER,
) -> Growth:
    """Growth of E‖·‖² under the sampling, or of independent draws where that is all there is."""
    if known.complete and not sampling.traits.independent:
        return _sampled(known, method, sampling, seed, deadline)
    # Directions that are not followed decay no faster than the flattest one.
    mean_rate = float(spectral_radius(known.curvature, method))
    moments = known.moments
    if known.every_term:
        root = moments.growth_limits(method, deadline=deadline)
        exact = known.complete and root.settled
        square = Growth(root.value, root.low, root.high, exact, Sense.MEAN_SQUARE, Sampling.IID)
        raised = at_least_the_mean(square, mean_rate)
        return raised if not exact else replace(raised, note="")

    perron = moments.perron(method, tolerance=1e-3)
    error = 0.0
    if perron.value > mean_rate**2:
        # What each drawn term would add if all were like it: their spread is the error.
        drawn = len(moments.weights) - known.certain
        each = drawn * (moments.weights * moments.shares(perron))[known.certain :]
        error = perron.slope * perron.value * float(each.std(ddof=1)) / math.sqrt(drawn)
    value = max(perron.value, mean_rate**2)
    low = max(value - _NORMAL * error, mean_rate**2)
    high = value + _NORMAL * error
    return Growth(value, min(low, value), high, False, Sense.MEAN_SQUARE, Sampling.IID)


def _sampled(
    known: KnownSum, method: Method, sampling: Sampling, seed: int, deadline: Deadline
) -> Growth:
    """Exactly, or where an epoch is too long for it, by limits or by paths.

    Paths that leave open whether it is below 1 are followed by more and longer ones.
    """
    by_epoch_exact = sampling.traits.by_epoch and epoch_is_small(finite_sum(known.hessians))
    if sampling.traits.by_epoch and not by_epoch_exact:
        calm = _calm(known, method)
        if calm is not None:
            low, value, high = calm
            note = "the terms hardly change the rate of their mean"
            return Growth(value, low, high, False, Sense.MEAN_SQUARE, sampling, note=note)

    mean_rate = float(spectral_radius(known.curvature, method))
    # Ten times the memory, within what a second of paths allows.
    memory = int(np.clip(10.0 / max(1.0 - mean_rate, 1e-9), 300, 1500))
    for replicas, population, steps in ((8, 32, memory), (16, 128, 2 * memory)):
        answer = growth(
            known.hessians, method, sampling=sampling, sense=Sense.MEAN_SQUARE, steps=steps,
            replicas=replicas, population=population, seed=seed, seconds=deadline.left,
        )  # fmt: skip
        if answer.exact or answer.diverges is not None or deadline.passed:
            break
    return answer


def _calm(known: KnownSum, method: Method) -> tuple[float, float, float] | None:
    """Limits of the growth of E‖·‖² where the terms hardly change that of their mean, or None.

    Paths would have to be longer than 1/(1 - rate) to see it. The disagreement acts to second
    order: by what iid sampling makes of it, and, as terms that are not drawn again correlate, by
    (alpha/(1 - beta))² uᵀE[Δ²]u in the slowest direction u when an epoch is short against the
    memory. The limits are one and a half times both.
    """
    moments = known.moments
    alone = float(spectral_radius(known.curvature, method)) ** 2
    drawn = max(alone, moments.growth(method, tolerance=1e-5 if known.complete else 1e-3))
    scalars = one_method(method)
    rates = block_radius(moments.eigenvalues, *(np.float64(value) for value in scalars))
    slowest = int(np.argmax(rates))
    spread = float(moments.sandwich(np.eye(moments.dimension))[slowest, slowest])
    kept = max(1.0 - abs(scalars.beta), 1e-9)
    effect = _MARGIN * (drawn - alone + (scalars.alpha / kept) ** 2 * spread)
    if drawn >= 1.0 or effect > CALM * (1.0 - alone):
        return None
    return max(0.0, alone - effect), alone, alone + effect
