"""One step of second moments: the same few lines for every operator and every schedule.

A second moment X = E[s sᵀ] of the state s = (r, v) = (y - x*, x - x₋) is a symmetric (2d, 2d)
matrix. A step with the gradient g is::

    r⁺ = r + a v - c q g,     v⁺ = b v - q g

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
    c: Any
    """How much more the gradient takes from y than from the velocity: 1 + gamma."""
    q: Any
    """What the gradient takes from the velocity: alpha."""


def constant_step(method: Scalars) -> Step:
    """The step of a method with constant parameters."""
    return Step(method.c, method.beta, 1.0 + method.gamma, method.alpha)


def advance(states: FloatArray, hessians: FloatArray, step: Step) -> FloatArray:
    """A S for columns S of states, shape (..., 2d, w).

    ``hessians`` has shape (..., d, d), or (d,) for the diagonal of a diagonal one.
    """
    d = hessians.shape[-1]
    out = np.empty_like(states)
    r = states[..., :d, :]
    g = hessians[:, None] * r if hessians.ndim == 1 else hessians @ r
    _move(r, states[..., d:, :], g, step, out[..., :d, :], out[..., d:, :])
    return out


def carry(X: FloatArray, hessians: FloatArray, step: Step) -> FloatArray:
    """A X Aᵀ of moments X, shape (..., 2d, 2d)."""
    d = hessians.shape[-1]
    half = advance(X, hessians, step)
    out = np.empty_like(half)
    r = half[..., :d]
    g = hessians * r if hessians.ndim == 1 else r @ hessians
    _move(r, half[..., d:], g, step, out[..., :d], out[..., d:])
    return out


def _move(
    r: FloatArray, v: FloatArray, g: FloatArray, step: Step, next_r: FloatArray, next_v: FloatArray
) -> None:
    """Write the step into ``next_r`` and ``next_v``; overwrites ``g``."""
    g *= step.q
    np.multiply(v, step.b, out=next_v)
    next_v -= g
    g *= step.c
    np.multiply(v, step.a, out=next_r)
    next_r += r
    next_r -= g


def add_gradient_noise(X: FloatArray, covariance: FloatArray, step: Step) -> None:
    """Add in place what gradient noise of a given covariance, shape (..., d, d), leaves in X."""
    d = covariance.shape[-1]
    slow = step.q**2 * covariance
    mixed = step.c * slow
    X[..., :d, :d] += step.c * mixed
    X[..., :d, d:] += mixed
    X[..., d:, :d] += mixed
    X[..., d:, d:] += slow


def symmetric(X: FloatArray) -> FloatArray:
    """The symmetric part of matrices (..., s, s)."""
    return np.asarray(0.5 * (X + np.swapaxes(X, -1, -2)))
