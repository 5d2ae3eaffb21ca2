"""The rate over finite sums of quadratics that share eigenvectors, visited in any order."""

from __future__ import annotations

import numpy as np

from ravine.arguments import FloatArray, Refusal, one_number, overflow_allowed
from ravine.curvature import Curvature
from ravine.methods import Method
from ravine.theory.blocks import block
from ravine.theory.bracket import Bracket
from ravine.theory.chunks import on_threads, pieces
from ravine.theory.joint_spectral_radius.planar import (
    ComplexArray,
    as_complex,
    compiled_sweep,
    sweep,
)
from ravine.theory.ladder.rates import check_shapes, spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate

_FEW = 64
"""Up to this many pairs, the interpreter is faster than loading compiled code. Both give the same
bits."""
_CHUNK = 256
"""Pairs per task of a thread, to distribute hard and easy ones evenly."""


@overflow_allowed
def commuting_rate(curvature: Curvature, method: Method, *, tolerance: float = 1e-4) -> Bracket:
    """Bracket of the rate when all quadratics of the finite sum share their eigenvectors.

    It is the joint spectral radius of {B(λ) : mu <= λ <= L}, the largest growth per step over all
    orders. B is affine in λ, so the two ends B(mu), B(L) decide. The lower bound is the spectral
    radius of a product, to the power one over its length; the upper bound is the norm of both ends
    in the norm of an invariant polygon, or :func:`ravine.worst_case_rate` if that is smaller.

    At the standard parameters the value is 4^(1/5) (1 - 1/√Q) for every Q, attained by four steps
    with mu and one with L. There, and wherever a polygon closes at the radius of its product, both
    bounds agree to rounding. If the worst-case rate equals the spectral radius, both bounds are
    that number. The bounds respect spectral_radius <= lower <= upper <= worst_case_rate.

    Parameters
    ----------
    curvature, method
        Arrays broadcast. Parameters may diverge; their growth is bracketed in the same way.
    tolerance
        Target for the relative width ``upper / lower - 1``, between 1e-9 and 1. Most results are
        far narrower. If the limit on vertices is reached first, a wider bracket is returned.

    Returns
    -------
    Bracket
        ``lower`` and ``upper`` in the common shape of the parameters.

    Examples
    --------
    >>> from ravine import Curvature, nesterov
    >>> c = Curvature(1, 32)
    >>> rate = commuting_rate(c, nesterov(c))
    >>> round(float(rate.lower), 9), round(float(rate.upper), 9)
    (1.086249663, 1.086249663)
    """
    remedy = "give the relative width to aim at, e.g. tolerance=1e-3"
    goal = one_number("tolerance", tolerance, "positive", remedy=remedy)
    if not 1e-9 <= goal <= 1.0:
        raise Refusal("tolerance", "between 1e-9 and 1", f"{goal:g}", remedy)

    shape = check_shapes(curvature, method)
    floor = np.broadcast_to(spectral_radius(curvature, method), shape).ravel()
    ceiling = np.broadcast_to(worst_case_rate(curvature, method), shape).ravel()
    lower = floor.copy()
    upper = ceiling.copy()
    open_ = np.flatnonzero(ceiling > floor * (1.0 + 1e-13))
    if open_.size:
        pairs = _pairs(curvature, method, shape)[open_]
        low, high = _brackets(pairs, ceiling[open_], goal)
        # The three are computed in different ways; rounding must not change their order.
        lower[open_] = np.clip(low, floor[open_], ceiling[open_])
        upper[open_] = np.clip(high, lower[open_], ceiling[open_])

    return Bracket(lower.reshape(shape)[()], upper.reshape(shape)[()])


def _pairs(curvature: Curvature, method: Method, shape: tuple[int, ...]) -> ComplexArray:
    """B(mu) and B(L) as z -> u z + v z̄, in units of the velocity that balance the entries."""
    blocks = np.empty((*shape, 2, 2, 2))
    blocks[..., 0, :, :] = block(curvature.mu, method)
    blocks[..., 1, :, :] = block(curvature.L, method)
    right = np.abs(blocks[..., 0, 1]).sum(axis=-1)
    left = np.abs(blocks[..., 1, 0]).sum(axis=-1)
    both = (right > 0.0) & (left > 0.0)
    unit = np.sqrt(np.divide(left, right, out=np.ones(shape), where=both))[..., None]
    blocks[..., 0, 1] *= unit
    blocks[..., 1, 0] /= unit
    return as_complex(blocks).reshape(-1, 4)


def _brackets(
    pairs: ComplexArray, ceiling: FloatArray, tolerance: float
) -> tuple[FloatArray, FloatArray]:
    """Bounds of every pair, in units of the ceiling so that no product overflows."""
    scaled = pairs / ceiling[:, None]
    lower = np.empty(len(pairs))
    upper = np.empty(len(pairs))
    if len(pairs) <= _FEW and not compiled_sweep.cache_info().currsize:
        sweep(scaled.astype(object), tolerance, lower, upper)
    else:
        compiled = compiled_sweep()

        def work(part: tuple[slice, ...]) -> None:
            compiled(scaled[part], tolerance, lower[part], upper[part])

        on_threads(work, pieces(lower.shape, _CHUNK))

    return lower * ceiling, upper * ceiling
