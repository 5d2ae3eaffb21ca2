"""Measures of runs on the GPU, from bins of squared errors to means over repeats.

The source of ``ravine.engine.measures`` computes the measures, one thread per trajectory. They are
reduced to the variables of ``ravine.engine.repeats``, so that only these are copied back.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf, isinf, isnan, nan, sqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.engine.cuda.source import cuda, kernel_function, on_device
from ravine.engine.cuda.work_queue import WorkQueue
from ravine.engine.measures import FIELDS, Integers, Outcome, Setting, bin_edges, summarise_lane
from ravine.engine.repeats import EARLIEST, ERROR, LARGEST, ROOT_ERROR, ROOT_MEAN, SHARE, VARIABLES

_THREADS = 128
_ROOM = 1 << 30  # maximum bytes of bins in a launch
_DIVERGED = int(Outcome.DIVERGED)

gpu_summarise_lane = on_device(summarise_lane)


def batches(trajectories: int, bins: int) -> Iterator[tuple[int, int]]:
    """Divide trajectories into launches whose bins fit the buffers."""
    size = max(1, _ROOM // (8 * bins))
    for start in range(0, trajectories, size):
        yield start, min(start + size, trajectories)


def bins_of_steps(edges: Integers) -> npt.NDArray[np.int32]:
    """The bin of each step 0..edges[-1]; step 0 counts to the first."""
    steps = np.arange(edges[-1] + 1)
    return np.maximum(np.searchsorted(edges, steps) - 1, 0).astype(np.int32)


def bin_levels(steps: int, chunk: int) -> npt.NDArray[np.int32]:
    """For each chunk of steps, the binary logarithm of the width of its bins, up to its own.

    The last bin counts with its width in a longer run.
    """
    most = chunk.bit_length() - 1
    edges = bin_edges(max(chunk, 1 << (steps - 1).bit_length()))
    starts = np.arange(0, steps, chunk)
    widths = np.diff(edges)[np.searchsorted(edges, starts, side="right") - 1]
    return np.minimum(np.log2(widths).astype(np.int32), most).astype(np.int32)


class Runs(NamedTuple):
    """Records of the kernels for the measures, on the device."""

    bins: Any  # flat, with a row of trajectories per bin, to save registers
    latest: Any  # squared errors after the last step
    when: Any  # steps at which runs diverged, or 0
    sup: Any  # sums of sup-norms


def new_runs(queue: WorkQueue, trajectories: int, bins: int, *, cleared: bool) -> Runs:
    """Allocate buffers for runs; ``cleared`` if a kernel does not write all of them."""
    runs = Runs(
        queue.buffer("bins", (bins * trajectories,), np.float64),
        queue.buffer("latest", (trajectories,), np.float64),
        queue.buffer("when", (trajectories,), np.int32),
        queue.buffer("sup", (trajectories,), np.float64),
    )
    if cleared:
        for array in runs:
            clear(array, queue.stream)

    return runs


@kernel_function("clear")
def _clear(array: Any) -> None:
    i = cuda.grid(1)
    if i < array.size:
        array[i] = 0


def clear(array: Any, stream: Any) -> None:
    """Fill a flat array on the device with zeros."""
    _clear[-(-array.shape[0] // _THREADS), _THREADS, stream](array)


# With 64 registers, all threads of a tile fit on the GPU at once.
@kernel_function("summarise", 64)
def _summarise(
    edges: Any, start_square: Any, noisy: Any, tiny: Any, samples: Any, bins: Any, latest: Any,
    when: Any, sup: Any, out: Any,
) -> None:  # fmt: skip
    at = cuda.grid(1)
    n = latest.size
    if at >= n:
        return

    for b in range(edges.size - 1):
        bins[b * n + at] /= edges[b + 1] - edges[b]

    last = latest[at]
    if not noisy and last < tiny:
        last = 0.0

    setting = Setting(edges, start_square, noisy, tiny, samples)
    gpu_summarise_lane(setting, bins[at::n], last, when[at], sup[at], out[at])


def summarise(queue: WorkQueue, runs: Runs, setting: Setting, out: Any) -> None:
    """Queue the measures of finished runs, into ``out`` (trajectories, fields).

    The edges of ``setting`` are on the device; the bins are overwritten.
    """
    n = int(out.shape[0])
    _summarise[-(-n // _THREADS), _THREADS, queue.stream](*setting, *runs, out)


def reductions(names: list[str]) -> npt.NDArray[np.int32]:
    """Rows (reduction, field) for variables of these names."""
    rows = [(how, FIELDS.index(field)) for _, how, field in (VARIABLES[name] for name in names)]
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
        # Squared deviations from the mean, whose sum loses no digits.
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

    With ``outer``, all pixels of a repeat come before those of the next.
    """
    variables = int(rows.shape[0])
    across = 1 if outer else repeats
    along = pixels if outer else 1
    out = queue.buffer("variables", (variables, pixels), np.float64)
    blocks = -(-variables * pixels // _THREADS)
    _reduce[blocks, _THREADS, queue.stream](fields, repeats, across, along, rows, out)
    return out
