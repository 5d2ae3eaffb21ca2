"""Means over the repeats of a pixel, taken on the GPU: only these travel back.

The same variables as ``ravine.engine.repeats.reduce_repeats`` makes on the CPU.
"""

from __future__ import annotations

from math import inf, isinf, isnan, nan, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.engine.cuda.source import cuda, kernel_function
from ravine.engine.cuda.work_queue import WorkQueue
from ravine.engine.measures import FIELDS, Outcome

_THREADS = 128
_DIVERGED = int(Outcome.DIVERGED)

MEAN, ROOT_MEAN, EARLIEST, LARGEST, SHARE, ERROR, ROOT_ERROR = range(7)
_REDUCTIONS = {
    "rate": (MEAN, "rate"),
    "rate_start": (EARLIEST, "rate_start"),
    "rate_stop": (LARGEST, "rate_stop"),
    "floor": (ROOT_MEAN, "floor_square"),
    "floor_sup": (MEAN, "floor_sup"),
    "outcome": (LARGEST, "outcome"),
    "diverged_share": (SHARE, "outcome"),
    "diverged_at": (EARLIEST, "diverged_at"),
    "final_error": (MEAN, "final_error"),
    "rate_se": (ERROR, "rate"),
    "floor_se": (ROOT_ERROR, "floor_square"),
    "floor_sup_se": (ERROR, "floor_sup"),
    "final_error_se": (ERROR, "final_error"),
}
"""How each variable is made, and of which field."""


def reductions(names: list[str]) -> npt.NDArray[np.int32]:
    """Rows (reduction, field) for variables of these names."""
    rows = [(_REDUCTIONS[name][0], FIELDS.index(_REDUCTIONS[name][1])) for name in names]
    return np.array(rows, dtype=np.int32)


@kernel_function("reduce_repeats")
def _reduce(fields: Any, repeats: Any, across: Any, along: Any, rows: Any, out: Any) -> None:
    """Reduce one field of one pixel to ``out`` [variables, pixels].

    Repeat r of pixel p is trajectory p ``across`` + r ``along``.
    """
    at = cuda.grid(1)
    pixels = out.shape[1]
    if at >= pixels * rows.shape[0]:
        return

    variable = at // pixels
    pixel = at % pixels
    how = rows[variable, 0]
    field = rows[variable, 1]

    count = 0
    infinite = False
    total = 0.0
    largest = -inf
    first = inf
    hits = 0
    for r in range(repeats):
        value = fields[pixel * across + r * along, field]
        largest = max(largest, value)
        hits += value == _DIVERGED
        if value > 0.0:
            first = min(first, value)
        if not isnan(value):
            count += 1
            total += value
            infinite = infinite or isinf(value)

    mean = total / count if count > 0 else nan
    result = mean
    if how == ROOT_MEAN:
        result = sqrt(mean)
    elif how == EARLIEST:
        result = first if first < inf else -1.0
    elif how == LARGEST:
        result = largest
    elif how == SHARE:
        result = hits / repeats
    elif how >= ERROR:
        # Deviations from the mean, squared: their sum loses no digits that way.
        square = 0.0
        for r in range(repeats):
            value = fields[pixel * across + r * along, field]
            if not isnan(value):
                square += (value - mean) * (value - mean)

        result = nan if infinite or count < 2 else sqrt(square / (count - 1) / count)
        if how == ROOT_ERROR:
            # d sqrt(m) = dm / (2 sqrt(m)), and 0 where the floor is.
            root = sqrt(mean)
            result = result / (2.0 * root) if root != 0.0 else 0.0

    out[variable, pixel] = result


def reduced(
    queue: WorkQueue, fields: Any, pixels: int, repeats: int, outer: bool, rows: Any
) -> Any:
    """Queue the reduction of fields [trajectories, fields]; return the array (variables, pixels).

    ``outer`` says that all pixels of a repeat come before those of the next.
    """
    variables = int(rows.shape[0])
    across = 1 if outer else repeats
    along = pixels if outer else 1
    out = queue.buffer("variables", (variables, pixels), np.float64)
    blocks = -(-variables * pixels // _THREADS)
    _reduce[blocks, _THREADS, queue.stream](fields, repeats, across, along, rows, out)
    return out
