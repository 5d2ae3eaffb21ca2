"""Elementwise formulas on large grids, evaluated in cache-sized pieces."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np

from ravine.arguments import FloatArray, Real

PIXELS = 32768
"""Pixels per piece: a dozen temporary arrays of this size fit into the caches."""


def by_chunks(
    formula: Callable[..., tuple[Real, ...]], shape: tuple[int, ...], *parameters: Real
) -> tuple[FloatArray, ...]:
    """Evaluate an elementwise ``formula`` on parameters that broadcast to ``shape``.

    A formula with many temporary arrays runs several times faster in pieces of the longest axis
    than at once, on a grid of a million pixels, and gives the same numbers. Parts that depend on
    fewer axes are computed on those axes only.
    """
    if int(np.prod(shape)) <= PIXELS:
        return tuple(np.array(np.broadcast_to(v, shape)) for v in formula(*parameters))

    given = [np.reshape(v, (1,) * (len(shape) - np.ndim(v)) + np.shape(v)) for v in parameters]
    outputs = [np.empty(shape) for _ in formula(*(v.ravel()[:1] for v in given))]
    for part in pieces(shape, PIXELS):
        axis = len(part) - 1
        values = formula(*(v if v.shape[axis] == 1 else v[part] for v in given))
        for target, value in zip(outputs, values, strict=True):
            target[part] = value

    return tuple(outputs)


def pieces(shape: tuple[int, ...], pixels: int) -> list[tuple[slice, ...]]:
    """Divide a grid along its longest axis into pieces of about ``pixels`` pixels."""
    axis = int(np.argmax(shape))
    length = max(1, pixels * shape[axis] // int(np.prod(shape)))
    starts = range(0, shape[axis], length)
    return [(slice(None),) * axis + (slice(first, first + length),) for first in starts]


def on_threads(work: Callable[[tuple[slice, ...]], object], parts: list[tuple[slice, ...]]) -> None:
    """Call ``work`` for every part of a grid, on all cores."""
    if len(parts) == 1:  # a thread takes longer to start than a small piece takes
        work(parts[0])
        return

    # Imported here to keep ``import ravine`` fast.
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(work, parts))
