"""Mean-square growth of a finite sum: the spectral radius of what a step does to second moments."""

from __future__ import annotations

import math

import numpy as np

from ravine.arguments import FloatArray
from ravine.sampling import Sampling
from ravine.theory.blocks import coupling, systems
from ravine.theory.finite_sums.deadline import NEVER, Deadline
from ravine.theory.finite_sums.pairs import one
from ravine.theory.finite_sums.positive_map import DENSE, Root, perron_root, settled
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
        return moments.growth_limits(one(method), tolerance=_TOLERANCE, deadline=deadline)

    values, turn = np.linalg.eigh(np.tensordot(terms.weights, terms.hessians, axes=1))
    turned = Terms(turn.T @ terms.hessians @ turn, terms.counts, terms.order)
    moved = moment_map(turned, values, method, sampling)
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

    return Root(
        max(root.value for root in known),
        max(root.low for root in known),
        max(root.high for root in known),
        all(root.settled for root in known),
    )


def iid_by_direction(terms: Terms, method: Scalars) -> FloatArray:
    """Growth of E‖s‖² under iid sampling in every direction of a sum with shared eigenvectors."""
    first = terms.weights @ terms.hessians
    second = terms.weights @ terms.hessians**2
    alpha, beta, gamma = (np.float64(value) for value in method)
    return lift_radius(alpha, beta, gamma, first, second)


def lift_radius(
    alpha: FloatArray | np.float64,
    beta: FloatArray | np.float64,
    gamma: FloatArray | np.float64,
    first: FloatArray,
    second: FloatArray,
) -> FloatArray:
    """Spectral radius of one direction's operator on (E r², E rv, E v²); all arguments broadcast.

    ``first`` and ``second`` are the mean curvature and the mean squared curvature of the direction:
    nothing else of its law matters. With p = alpha (1 + gamma), q = alpha, a and b as in a step,
    r⁺ = (1 - p h) r + a v and v⁺ = b v - q h r are squared and averaged over h.
    """
    g = 1.0 + gamma
    a = coupling(beta, gamma)
    h = alpha * first
    h2 = alpha**2 * second

    T = np.empty((*np.broadcast_shapes(np.shape(h), np.shape(a)), 3, 3))
    T[..., 0, 0] = 1.0 - 2.0 * g * h + g**2 * h2
    T[..., 0, 1] = 2.0 * a * (1.0 - g * h)
    T[..., 0, 2] = a**2
    T[..., 1, 0] = g * h2 - h
    T[..., 1, 1] = beta * (1.0 - g * h) - a * h
    T[..., 1, 2] = a * beta
    T[..., 2, 0] = h2
    T[..., 2, 1] = -2.0 * beta * h
    T[..., 2, 2] = beta**2
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
