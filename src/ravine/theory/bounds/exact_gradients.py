"""Bounds for exact gradients: the paper's equations (4) to (6)."""

from __future__ import annotations

import numpy as np

from ravine.arguments import overflow_allowed
from ravine.curvature import Curvature
from ravine.theory.bounds.bound import (
    EXACT_OBJECTIVE,
    Bound,
    Kind,
    constant,
    geometric,
    one_curvature,
)

__all__ = ["first_order", "gradient_descent", "nesterov"]


def _noiseless(first: float, rate: float, statement: str, kind: Kind = "upper") -> Bound:
    """The bound first · rate^k · distance² of f(x_k) - f*."""
    return Bound(
        bounds=EXACT_OBJECTIVE,
        kind=kind,
        statement=statement,
        rate=float(rate),
        noise_gain=None,
        transient=geometric(first, rate),
        noise=constant(0.0),
    )


@overflow_allowed
def gradient_descent(curvature: Curvature) -> Bound:
    """Equation (4): gradient descent with alpha = 2/(mu+L) and exact gradients.

    f(x_k) - f* <= L/2 ((Q-1)/(Q+1))^{2k} ‖x_0 - x*‖², for every L-smooth, mu-strongly convex f.
    Attained at k = 0, and at every k by ‖x_k - x*‖ on a quadratic. Scalar mu and L.

    Examples
    --------
    >>> gradient_descent(Curvature(1, 3)).envelope(steps=2).values.tolist()
    [1.5, 0.375, 0.09375]
    """
    mu, L = one_curvature(curvature)
    statement = "equation (4): gradient descent, alpha = 2/(mu+L), exact gradients"
    return _noiseless(0.5 * L, ((L - mu) / (L + mu)) ** 2, statement)


@overflow_allowed
def nesterov(curvature: Curvature) -> Bound:
    """Equation (5): Nesterov's method at its standard parameters with exact gradients.

    f(x_k) - f* <= L (1 - 1/√Q)^k ‖x_0 - x*‖², for every L-smooth, mu-strongly convex f. Scalar mu
    and L.

    Examples
    --------
    >>> nesterov(Curvature(1, 4)).envelope(steps=2).values.tolist()
    [4.0, 2.0, 1.0]
    """
    mu, L = one_curvature(curvature)
    statement = "equation (5): Nesterov's method at its standard parameters, exact gradients"
    return _noiseless(L, 1.0 - np.sqrt(mu / L), statement)


@overflow_allowed
def first_order(curvature: Curvature) -> Bound:
    """Equation (6): what no first-order method can beat on every problem; a lower bound.

    For some L-smooth, mu-strongly convex f in infinite dimension, every method whose iterates
    stay in the span of past gradients has
    f(x_k) - f* >= mu/2 ((√Q-1)/(√Q+1))^{2k} ‖x_0 - x*‖². Scalar mu and L.

    Examples
    --------
    >>> first_order(Curvature(2, 18)).envelope(steps=1).values.tolist()
    [1.0, 0.25]
    """
    mu, L = one_curvature(curvature)
    root = (np.sqrt(L) - np.sqrt(mu)) / (np.sqrt(L) + np.sqrt(mu))
    statement = "equation (6): the hardest problem for any first-order method"
    return _noiseless(0.5 * mu, root**2, statement, "lower")
