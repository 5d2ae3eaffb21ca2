"""Running the trajectories of a tile in blocks, on all threads.

A block holds as many trajectories as a kernel has lanes. Kernels release the interpreter's lock, so
plain threads run them side by side; the main thread only waits, and an interrupt reaches it at
once. As many threads are used as Numba is set to.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, local
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.measures import FIELDS, Records, Setting, summarise

State = TypeVar("State")

_PIECES = 64  # a thread, at most, so that one with easy blocks can help the others


def paged(size: int, dtype: npt.DTypeLike) -> Any:
    """Return an uninitialised array that starts on a page.

    A processor takes a load for one of what it has just stored where both end in the same twelve
    bits, and waits: a fifth of the time, where rows lie badly. On pages, and with rows of a power
    of two bytes, what one turn of a loop over lanes stores never looks like what the next loads.
    """
    page = 4096
    size *= np.dtype(dtype).itemsize
    workspace = np.empty(size + page, np.uint8)
    offset = -workspace.ctypes.data % page
    return workspace[offset : offset + size].view(dtype)


def padded(count: int, lanes: int) -> npt.NDArray[np.int64]:
    """Indices of ``count`` trajectories in whole blocks of lanes, filled up with the last one.

    Every lane then goes through the same machine code, whatever its place.
    """
    return np.minimum(np.arange(-(-count // lanes) * lanes), count - 1)


def run_blocks(
    setting: Setting,
    blocks: int,
    lanes: int,
    new_state: Callable[[], State],
    run_block: Callable[[State, Records, int], None],
) -> FloatArray:
    """Call ``run_block(state, records, block)`` for every block; return measures [lanes, fields].

    Each thread has a state of its own. Records are zeros when a block begins.
    """
    out = np.empty((blocks * lanes, len(FIELDS)))
    bins = setting.edges.size - 1
    own = local()

    def run(first: int, last: int) -> None:
        if not hasattr(own, "state"):
            own.state = new_state()
            own.records = Records(
                paged(bins * lanes, np.float64).reshape(bins, lanes),
                paged(lanes, np.float64),
                paged(lanes, np.int64),
                np.empty(lanes),
            )

        for block in range(first, last):
            for array in own.records:
                array.fill(0)
            run_block(own.state, own.records, block)
            summarise(setting, own.records, out[block * lanes : (block + 1) * lanes])

    on_all_threads(run, blocks)
    return out


def on_all_threads(run: Callable[[int, int], None], blocks: int) -> None:
    """Call ``run(first, last)`` for pieces that make up 0..blocks, on all threads."""
    threads = min(numba.get_num_threads(), blocks)
    if threads == 1:
        run(0, blocks)
        return

    size = -(-blocks // (threads * _PIECES))
    pieces = [(at, min(at + size, blocks)) for at in range(0, blocks, size)]
    stop = Event()

    def one(piece: tuple[int, int]) -> None:
        if not stop.is_set():
            run(*piece)

    with ThreadPoolExecutor(threads) as pool:
        try:
            for _ in pool.map(one, pieces):
                pass
        except BaseException:
            stop.set()
            raise
