"""Measures of runs on the GPU: bins of squared errors there, and what ``summarise`` reads off them.

The measures are taken by the source of ``ravine.engine.measures``, one thread a trajectory, so that
only the results travel back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ravine.engine.cuda.source import cuda, kernel_function, on_device
from ravine.engine.cuda.work_queue import WorkQueue
from ravine.engine.measures import Integers, Setting, bin_edges, summarise_lane

_THREADS = 128
_ROOM = 1 << 30  # bytes of bins in a launch, at most

gpu_summarise_lane = on_device(summarise_lane)


def batches(trajectories: int, bins: int) -> Iterator[tuple[int, int]]:
    """Divide trajectories into launches whose bins fit the buffers."""
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


class Runs(NamedTuple):
    """Results of the kernels for the measures, on the device."""

    bins: Any  # flat: a row of trajectories for each bin, by which kernels save registers
    latest: Any  # squared errors after the last step
    when: Any  # steps at which runs diverged, or 0
    sup: Any  # sums of sup-norms


def new_runs(queue: WorkQueue, trajectories: int, bins: int, *, cleared: bool) -> Runs:
    """Allocate buffers for runs; ``cleared`` where a kernel does not write all of it."""
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


# With 64 registers all threads of a tile fit the GPU at once.
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

    The edges of ``setting`` are on the device; the bins are used up.
    """
    n = int(out.shape[0])
    _summarise[-(-n // _THREADS), _THREADS, queue.stream](*setting, *runs, out)
