"""Mean-square growth of a finite sum: the spectral radius of what a step does to second moments."""

from __future__ import annotations

import math

import numpy as np

from ravine.arguments import FloatArray
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.blocks import moment_step, systems
from ravine.theory.finite_sums.limits import NEVER, Deadline, Root, settled
from ravine.theory.finite_sums.positive_map import DENSE, perron_root
from ravine.theory.finite_sums.rules import moment_map
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.finite_sums.terms import Scalars, Terms

_TOLERANCE = 1e-9
"""Of 1 - growth: what is called exact."""


def mean_square_growth(
    terms: Terms, method: Scalars, sampling: Sampling, deadline: Deadline = NEVER
) -> Root | None:
    """Growth of E‖s‖² per step, or None where an epoch is too long to average exactly."""
    if not sampling.traits.random or terms.counts.size == 1:
        return settled(cyclic_growth(terms, method) ** 2)

    if terms.shared:
        if sampling.traits.independent:
            return settled(float(np.max(iid_by_direction(terms, method))))
        return _fastest_direction(terms, method, sampling, deadline)

    d = terms.hessians.shape[-1]
    if sampling.traits.independent and 2 * d * d + d > DENSE:
        moments = SecondMoments.of(terms.hessians, weights=terms.weights)
        return moments.growth_limits(Method(*method), tolerance=_TOLERANCE, deadline=deadline)

    moved = moment_map(terms, method, sampling)
    if moved is None:
        return None

    root = perron_root(moved.apply, moved.shape, resolvent=moved.resolvent, deadline=deadline)
    power = 1.0 / moved.steps
    return Root(root.value**power, root.low**power, root.high**power, root.settled)


def _fastest_direction(
    terms: Terms, method: Scalars, sampling: Sampling, deadline: Deadline
) -> Root | None:
    roots = [mean_square_growth(alone, method, sampling, deadline) for alone in terms.directions()]
    known = [root for root in roots if root is not None]
    if len(known) < len(roots):
        return None

    values, lows, highs, done = zip(*known, strict=True)
    return Root(max(values), max(lows), max(highs), all(done))


def iid_by_direction(terms: Terms, method: Scalars) -> FloatArray:
    """Growth of E‖s‖² under iid sampling in every direction of a sum with shared eigenvectors."""
    first = terms.weights @ terms.hessians
    variance = terms.weights @ (terms.hessians - first) ** 2
    return direction_growth(first, variance, Method(*method))


def direction_growth(eigenvalue: FloatArray, variance: FloatArray, method: Method) -> FloatArray:
    """Growth of E‖s‖² in one direction, from the mean and the variance of its curvature.

    All arguments broadcast.
    """
    T = moment_step(eigenvalue, variance, method)
    return np.asarray(np.abs(np.linalg.eigvals(T)).max(axis=-1))


def cyclic_growth(terms: Terms, method: Scalars) -> float:
    """Growth of the norm per step when the terms are visited in their order, over and over."""
    if terms.shared:
        return max(cyclic_growth(alone, method) for alone in terms.directions())

    A = systems(terms.hessians, *method)
    norms = np.linalg.norm(A, axis=(1, 2))
    product = np.eye(A.shape[-1])
    log_scale = 0.0
    for b in terms.order:
        product = A[b] @ product
        size = float(np.linalg.norm(product))
        if size <= 64.0 * np.finfo(float).eps * norms[b]:
            return 0.0  # what is left is the rounding of an exact zero
        product = product / size
        log_scale += math.log(size)

    radius = float(np.abs(np.linalg.eigvals(product)).max())
    if radius == 0.0:
        return 0.0

    return math.exp((log_scale + math.log(radius)) / terms.n)
