"""Measures of runs on the GPU: bins of squared errors there, and what ``summarise`` reads off them.

The measures are taken by the source of ``ravine.engine.measures``, one thread a trajectory, so that
only the results travel back.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.cuda.source import cuda, kernel_function, on_device
from ravine.engine.measures import FIELDS, Integers, bin_edges, summarise_lane

_SUP, _FLOOR = FIELDS.index("floor_sup"), FIELDS.index("floor_square")
_THREADS = 128
_ROOM = 1 << 30  # bytes of bins in a launch, at most

gpu_summarise_lane = on_device(summarise_lane)


def batches(trajectories: int, bins: int) -> Iterator[tuple[int, int]]:
    """Cut trajectories into launches whose bins fit the room that is meant for them."""
    size = max(1, _ROOM // (8 * bins))
    for start in range(0, trajectories, size):
        yield start, min(start + size, trajectories)


def bins_of_steps(edges: Integers) -> npt.NDArray[np.int32]:
    """The bin that each of the steps 0..edges[-1] falls into; step 0 counts to the first."""
    steps = np.arange(edges[-1] + 1)
    return np.maximum(np.searchsorted(edges, steps) - 1, 0).astype(np.int32)


def bin_levels(steps: int, chunk: int) -> npt.NDArray[np.int32]:
    """For each chunk of steps the binary logarithm of the width of its bins, at most the chunk's.

    The last bin counts as wide as it would be in a longer run.
    """
    most = chunk.bit_length() - 1
    edges = bin_edges(max(chunk, 1 << (steps - 1).bit_length()))
    starts = np.arange(0, steps, chunk)
    widths = np.diff(edges)[np.searchsorted(edges, starts, side="right") - 1]
    return np.minimum(np.log2(widths).astype(np.int32), most).astype(np.int32)


@kernel_function()
def _clear(array: Any) -> None:
    i = cuda.grid(1)
    if i < array.size:
        array[i] = 0


def cleared(shape: tuple[int, ...], dtype: npt.DTypeLike) -> Any:
    """Return an array of zeros on the device."""
    array = cuda.device_array(shape, dtype)
    size = int(np.prod(shape))
    _clear[-(-size // _THREADS), _THREADS](array.reshape(size))
    return array


@kernel_function()
def _summarise(
    bins: Any, edges: Any, start_square: Any, latest: Any, when: Any, noisy: Any, tiny: Any,
    sup: Any, samples: Any, out: Any,
) -> None:  # fmt: skip
    at = cuda.grid(1)
    if at >= latest.size:
        return

    for b in range(edges.size - 1):
        bins[b, at] /= edges[b + 1] - edges[b]

    last = latest[at]
    if not noisy and last < tiny:
        last = 0.0

    row = out[at]
    gpu_summarise_lane(bins[:, at], edges, start_square, last, when[at], noisy, tiny, row)
    row[_SUP] = np.nan if samples == 0 or isnan(row[_FLOOR]) else sup[at] / samples


def summarised(
    bins: Any,
    edges: Integers,
    start_square: float,
    latest: Any,
    when: Any,
    noisy: bool,
    tiny: float,
    sup: Any,
    samples: int,
) -> FloatArray:
    """Return the measures, (trajectories, fields), from flat bins, which are used up."""
    n = int(latest.shape[0])
    out = cuda.device_array((n, len(FIELDS)), np.float64)
    _summarise[-(-n // _THREADS), _THREADS](
        bins.reshape(len(edges) - 1, n),
        cuda.to_device(edges),
        start_square,
        latest,
        when,
        noisy,
        tiny,
        sup,
        samples,
        out,
    )

    return np.asarray(out.copy_to_host())
