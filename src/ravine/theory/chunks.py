"""Elementwise formulas over large grids, a cache-sized piece at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ravine.arguments import FloatArray, Real

PIXELS = 16384
"""Pixels of one piece: its temporaries stay in the second-level cache."""


def by_chunks(
    formula: Callable[..., tuple[Real, ...]], shape: tuple[int, ...], *parameters: Real
) -> tuple[FloatArray, ...]:
    """Evaluate an elementwise ``formula`` on parameters that broadcast to ``shape``.

    The pieces are cut along the leading axis. A formula of many temporaries over a grid of a
    million pixels runs several times faster than in one go, and gives the same numbers.
    """
    size = int(np.prod(shape))
    if size <= PIXELS:
        return tuple(np.broadcast_to(v, shape) for v in formula(*parameters))
    rows = max(1, PIXELS * shape[0] // size)
    results: tuple[FloatArray, ...] = ()
    for first in range(0, shape[0], rows):
        part = slice(first, first + rows)
        values = formula(*(_cut(v, part, len(shape)) for v in parameters))
        results = results or tuple(np.empty(shape, np.asarray(v).dtype) for v in values)
        for result, value in zip(results, values, strict=True):
            result[part] = value
    return results


def _cut(value: Real, part: slice, dimensions: int) -> Real:
    """The part of a parameter that belongs to a piece; what broadcasts stays whole."""
    array = np.asarray(value)
    return array[part] if array.ndim == dimensions and array.shape[0] > 1 else value
