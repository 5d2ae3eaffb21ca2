"""One step of second moments: the same few lines for every operator and every schedule.

A second moment X = E[s sᵀ] of the state s = (r, v) = (y - x*, x - x₋) is a symmetric (2d, 2d)
matrix. A step with the gradient g is::

    r⁺ = r + a v - p g,     v⁺ = b v - q g

so that the block A of a step never has to be formed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ravine.arguments import FloatArray
from ravine.theory.finite_sums.terms import Scalars


class Step(NamedTuple):
    """Coefficients of a step: numbers, or arrays that broadcast against the matrices."""

    a: Any
    """What the velocity adds to y: beta (1 + gamma) - gamma."""
    b: Any
    """What is kept of the velocity: beta."""
    p: Any
    """What the gradient takes from y: alpha (1 + gamma)."""
    q: Any
    """What the gradient takes from the velocity: alpha."""


def constant_step(method: Scalars) -> Step:
    """The step of a method with constant parameters."""
    return Step(method.c, method.beta, method.alpha * (1.0 + method.gamma), method.alpha)


def advance(states: FloatArray, hessians: FloatArray, step: Step) -> FloatArray:
    """A S for columns S of states, shape (..., 2d, w).

    ``hessians`` has shape (..., d, d), or (d,) for the diagonal of a diagonal one.
    """
    d = hessians.shape[-1]
    r = states[..., :d, :]
    v = states[..., d:, :]
    g = hessians[:, None] * r if hessians.ndim == 1 else hessians @ r
    return np.concatenate([r + step.a * v - step.p * g, step.b * v - step.q * g], axis=-2)


def carry(X: FloatArray, hessians: FloatArray, step: Step) -> FloatArray:
    """A X Aᵀ of symmetric moments X, shape (..., 2d, 2d)."""
    return advance(np.swapaxes(advance(X, hessians, step), -1, -2), hessians, step)


def add_gradient_noise(X: FloatArray, covariance: FloatArray, step: Step) -> None:
    """Add in place what gradient noise of a given covariance, shape (..., d, d), leaves in X."""
    d = covariance.shape[-1]
    mixed = step.p * step.q * covariance
    X[..., :d, :d] += step.p**2 * covariance
    X[..., :d, d:] += mixed
    X[..., d:, :d] += mixed
    X[..., d:, d:] += step.q**2 * covariance


def symmetric(X: FloatArray) -> FloatArray:
    """The symmetric part of matrices (..., s, s)."""
    return np.asarray(0.5 * (X + np.swapaxes(X, -1, -2)))
