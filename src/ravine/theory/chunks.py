"""Elementwise formulas over large grids, a cache-sized piece at a time."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ravine.arguments import FloatArray, Real

PIXELS = 8192
"""Pixels of one piece: a dozen temporaries of this size stay in the second-level cache."""


def by_chunks(
    formula: Callable[..., tuple[Real, ...]], shape: tuple[int, ...], *parameters: Real
) -> tuple[FloatArray, ...]:
    """Evaluate an elementwise ``formula`` on parameters that broadcast to ``shape``.

    A formula of many temporaries over a grid of a million pixels runs several times faster in
    pieces than in one go, and gives the same numbers.
    """
    if int(np.prod(shape)) <= PIXELS:
        return tuple(np.array(np.broadcast_to(v, shape)) for v in formula(*parameters))

    outputs = [np.empty(shape) for _ in formula(*(np.ravel(v)[:1] for v in parameters))]
    access: list[Any] = [["readonly"]] * len(parameters) + [["writeonly"]] * len(outputs)
    pieces = np.nditer(
        [*parameters, *outputs],
        flags=["external_loop", "buffered"],
        op_flags=access,
        order="C",
        buffersize=PIXELS,
    )

    with pieces:
        for views in pieces:
            values = formula(*views[: len(parameters)])
            for target, value in zip(views[len(parameters) :], values, strict=True):
                target[...] = value

    return tuple(outputs)


def on_threads(work: Callable[[slice], object], size: int, chunk: int) -> None:
    """Call ``work`` for slices of ``chunk`` entries that make up ``size``, on all cores."""
    slices = [slice(first, first + chunk) for first in range(0, size, chunk)]
    if len(slices) == 1:  # a thread takes longer to start than a small piece takes
        work(slices[0])
        return

    from concurrent.futures import ThreadPoolExecutor  # here, for the sake of a fast import

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(work, slices))
