"""A line fit to the errors of a run: slope and scatter of ½ ln(mean square) over bins of steps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.kernels.compiled import inner

Integers = npt.NDArray[np.int64]

_REFINEMENTS = 8
"""Number of corrections of a fit for the widths of the bins; each gains at least a digit."""
_SETTLED = 1e-11
"""Change of the slope per step at which the refinement ends."""
_SMALL_BULGE = 1e-3
"""Slope times width below which the first term of the bulge's series has a relative error of
1e-7."""


@inner
def bulge(slope: float, width: float) -> float:
    """Return the height of ½ ln of the mean square of a bin above the line at its middle.

    A geometric sequence has the mean square sinh(width slope) / (width sinh(slope)) times the
    square in the middle.
    """
    s = abs(slope)
    if s * width < _SMALL_BULGE:
        return s * s * (width * width - 1.0) / 12.0

    tails = np.log1p(-np.exp(-2.0 * width * s)) - np.log1p(-np.exp(-2.0 * s))
    return float(0.5 * ((width - 1.0) * s + tails - np.log(width)))


@inner
def fit(
    mean: FloatArray, edges: Integers, first: int, last: int, group: int, refine: bool
) -> tuple[float, float]:
    """Return slope and residual deviation of the errors in bins first to last - 1.

    Bins are joined in groups of ``group``; ``refine`` corrects single bins for their bulges.
    """
    # Times are relative to the middle of the window and levels to the first bin, so that the sums
    # below lose no digits.
    middle = 0.5 * (edges[first] + edges[last] + 1)
    base = 0.5 * np.log(mean[first])
    total = mid = height = along = across = scatter = 0.0
    end: int = first
    while end < last:
        b = end
        end = min(end + group, last)
        level = 0.0
        for c in range(b, end):
            level += mean[c] * (edges[c + 1] - edges[c])
        width = float(edges[end] - edges[b])
        t = 0.5 * (edges[b] + edges[end] + 1) - middle
        v = 0.5 * np.log(level / width) - base
        total += width
        mid += width * t
        height += width * v
        along += width * t * v
        across += width * t * t
        scatter += width * v * v

    # Sums about the means of t and v, weighted by the widths of the bins.
    mid /= total
    height /= total
    along -= total * mid * height
    across -= total * mid * mid
    scatter -= total * height * height

    straight = slope = along / across
    for _ in range(_REFINEMENTS if refine else 0):
        # The slope is linear in the levels, so only the contribution of the bulges is fitted again.
        tilt = lift = width = 0.0
        for b in range(first, last):
            if edges[b + 1] - edges[b] != width:
                width = float(edges[b + 1] - edges[b])
                lift = bulge(slope, width)
            tilt += width * (0.5 * (edges[b] + edges[b + 1] + 1) - middle - mid) * lift

        before = slope
        slope = straight - tilt / across
        if abs(slope - before) <= _SETTLED:
            break

    return slope, np.sqrt(max(scatter - straight * along, 0.0) / total)
