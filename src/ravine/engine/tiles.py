"""Divide the plane of a sweep into tiles, and run them.

A tile is a pure function of (spec, first pixel, last pixel): tiles may run in any order and
anywhere, with the same numbers bit for bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module

import numba
import numpy as np

from ravine.arguments import FloatArray, Refusal, refuse_too_large
from ravine.engine.device import kernel_for
from ravine.engine.repeats import reduce_repeats
from ravine.engine.spec import Spec

Tile = tuple[int, int]
"""Its first pixel, and the one after its last."""
Part = dict[str, FloatArray]
"""The variables of the dataset for the pixels of a tile."""

_WORK = 2e9
"""Approximate number of coordinate updates per tile: a second or less on two cores."""
_FEWEST, _MOST = 256, 4096
"""Pixels per tile: enough for every thread, and few enough that the progress bar moves."""
_BYTES_A_RUN = 256
"""Memory of one run of a tile: its measures, its sums and its parameters."""
_GPU_TRAJECTORIES = 1 << 17
"""Trajectories per tile on a GPU, which runs tens of thousands at a time: few enough that little
remains to be copied back at the end."""


def cut_plane(spec: Spec, size: int | None) -> list[Tile]:
    """Divide the pixels into tiles of ``size``, or of about half a second each."""
    pixels = size
    if pixels is None and spec.device == "cpu":
        cost = spec.steps * spec.repeats * spec.problem.dimension
        pixels = int(np.clip(_WORK / cost, _FEWEST, _MOST))
    elif pixels is None:
        pixels = max(_FEWEST, _GPU_TRAJECTORIES // spec.repeats)

    runs = min(pixels, spec.pixels) * spec.repeats
    refuse_too_large("repeats", _BYTES_A_RUN * runs, spec.repeats, "take fewer runs")
    ends = [*range(pixels, spec.pixels, pixels), spec.pixels]
    return list(zip([0, *ends[:-1]], ends, strict=True))


def run_tile(spec: Spec, first: int, last: int) -> Part:
    """Run the pixels first..last-1; return each variable of the dataset, shape (last - first,)."""
    if spec.device != "cpu":
        part = next(_run_on_gpu(spec, [(first, last)]))[1]
        return {name: values.copy() for name, values in part.items()}

    fields = kernel_for(spec).run(spec, first, last)
    return reduce_repeats(fields, spec.measures, spec.repeats)


def _run_on_gpu(spec: Spec, tiles: Iterable[Tile]) -> Iterator[tuple[Tile, Part]]:
    pipeline = import_module("ravine.engine.cuda.pipeline")
    yield from pipeline.run_tiles(spec, kernel_for(spec).new_launcher, tiles)


def run_tiles(
    spec: Spec, tiles: Iterable[Tile], threads: int | None
) -> Iterator[tuple[Tile, Part]]:
    """Run tiles in this process on ``threads`` threads; yield each when it is finished.

    On a GPU, the next tile reuses the memory of the variables, so copy what you keep.
    """
    before = numba.get_num_threads()
    if threads is not None:
        most = numba.config.NUMBA_NUM_THREADS
        if threads > most:
            remedy = "give fewer, or set NUMBA_NUM_THREADS before Python starts"
            raise Refusal("threads", f"at most {most}", threads, remedy)
        numba.set_num_threads(threads)

    try:
        if spec.device != "cpu":
            yield from _run_on_gpu(spec, tiles)
            return

        for first, last in tiles:
            yield (first, last), run_tile(spec, first, last)
    finally:
        numba.set_num_threads(before)
