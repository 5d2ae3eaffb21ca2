"""One step of second moments: the same few lines for every operator and every schedule.

A second moment E[s sᵀ] of s = (r, v) = (y - x*, x - x₋) is kept as three d x d matrices,
X = (E rrᵀ, E rvᵀ, E vvᵀ). A step with the gradient g is::

    r⁺ = r + a v - p g,     v⁺ = b v - q g

so that it needs only E[g rᵀ], E[g vᵀ] and E[g gᵀ] besides; no matrix of (2d)² rows is formed.
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
    pull = method.alpha * (1.0 + method.gamma)
    return Step(method.c, method.beta, pull, method.alpha)


def advance(
    X: FloatArray, gr: FloatArray, gv: FloatArray, gg: FloatArray, step: Step
) -> FloatArray:
    """Moments (..., 3, d, d) after a step, given E[g rᵀ], E[g vᵀ] and E[g gᵀ]."""
    a, b, p, q = step
    rr = X[..., 0, :, :]
    rv = X[..., 1, :, :]
    vv = X[..., 2, :, :]
    vr = np.swapaxes(rv, -1, -2)
    rg = np.swapaxes(gr, -1, -2)
    vg = np.swapaxes(gv, -1, -2)

    out = np.empty(np.broadcast_shapes(X.shape, (*gg.shape[:-2], 3, *gg.shape[-2:])))
    out[..., 0, :, :] = (
        rr + a * (rv + vr) + a**2 * vv - p * (gr + rg) - a * p * (gv + vg) + p**2 * gg
    )
    out[..., 1, :, :] = b * (rv + a * vv) - q * rg - a * q * vg - p * b * gv + p * q * gg
    out[..., 2, :, :] = b**2 * vv - b * q * (gv + vg) + q**2 * gg
    return out


def apply_term(X: FloatArray, hessians: FloatArray, step: Step) -> FloatArray:
    """One step with given Hessians, g = H r, broadcast against the moments."""
    gr = hessians @ X[..., 0, :, :]
    return advance(X, gr, hessians @ X[..., 1, :, :], gr @ hessians, step)


def symmetric(X: FloatArray) -> FloatArray:
    """Moments with the two diagonal blocks made symmetric, as the operators take them to be."""
    out = X.copy()
    out[..., ::2, :, :] = 0.5 * (X[..., ::2, :, :] + np.swapaxes(X[..., ::2, :, :], -1, -2))
    return out
