"""The largest ratio of two cubics over an interval, certain to be the global one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ravine.arguments import FloatArray, Real

_MOST_ROUNDS = 60
"""The ratio converges quadratically: five to eight rounds are usual."""
_SETTLED = 4e-16
"""Relative change, about two units in the last place, that ends the search."""


def polynomial_product(one: Sequence[Real], other: Sequence[Real]) -> tuple[Real, Real, Real, Real]:
    """Coefficients of a product of degree three or less, the constant first."""
    out: list[Real] = [np.float64(0.0)] * 4
    for i, a in enumerate(one):
        for j, b in enumerate(other):
            if i + j < 4:
                out[i + j] = out[i + j] + a * b

    return out[0], out[1], out[2], out[3]


def largest_ratio(
    numerator: Sequence[Real], denominator: Sequence[Real], low: Real, high: Real
) -> FloatArray:
    """Largest N(h)/D(h) over [low, high] for cubics N and D > 0; everything broadcasts.

    For a ratio θ that some h attains, the h where θ D - N is least has no smaller one: either
    θ D - N >= 0 everywhere, and θ is the largest, or the ratio there exceeds θ. The least value
    of a cubic on an interval has a closed form, so no local maximum can trap the search.
    """
    with np.errstate(all="ignore"):
        ends = np.broadcast_arrays(low, high)
        starts = (ends[0], 0.5 * (ends[0] + ends[1]), ends[1])
        ratios = [_value(numerator, h) / _value(denominator, h) for h in starts]
        best = np.asarray(np.fmax(np.fmax(ratios[0], ratios[1]), ratios[2]))
        for _ in range(_MOST_ROUNDS):
            gap = [best * d - n for n, d in zip(numerator, denominator, strict=True)]
            h = _least_on_interval(gap, ends[0], ends[1])
            ratio = _value(numerator, h) / _value(denominator, h)
            higher = ratio > best + _SETTLED * np.abs(best)
            if not higher.any():
                break
            best = np.where(higher, ratio, best)

    return best


def _value(cubic: Sequence[Real], h: Real) -> Real:
    c0, c1, c2, c3 = cubic
    return c0 + h * (c1 + h * (c2 + h * c3))


def _least_on_interval(cubic: Sequence[Real], low: FloatArray, high: FloatArray) -> FloatArray:
    """Where each cubic is least on its interval: at an end, or at its one local minimum."""
    _, c1, c2, c3 = cubic
    root = np.sqrt(np.maximum(c2 * c2 - 3.0 * c3 * c1, 0.0))
    # The stationary point where the second derivative 2·root is positive, without cancellation.
    inner = np.where(c2 > 0.0, -c1 / (c2 + root), (root - c2) / (3.0 * c3))
    inner = np.where((inner > low) & (inner < high), inner, low)
    at_low = _value(cubic, low)
    at_high = _value(cubic, high)
    at_inner = _value(cubic, inner)
    best = np.where(at_high < at_low, high, low)
    return np.where(at_inner < np.minimum(at_low, at_high), inner, best)
