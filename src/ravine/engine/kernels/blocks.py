"""Run the trajectories of a tile in blocks, on all threads.

A block has as many trajectories as a kernel has lanes. Kernels release the interpreter's lock, so
plain threads run them in parallel; the main thread only waits, so an interrupt reaches it at once.
The number of threads is Numba's setting.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import local
from typing import Any, TypeVar

import numba
import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.measures import FIELDS, Records, Setting, summarise

State = TypeVar("State")

_PIECES = 64  # maximum per thread, so that one with easy blocks can help the others


def paged(size: int, dtype: npt.DTypeLike) -> Any:
    """Return an uninitialised array that starts on a page.

    A processor mistakes a load for one of recently stored data if both addresses end in the same
    twelve bits, and waits: a fifth of the time for unlucky rows. On pages, with rows of a power of
    two bytes, a store in one iteration of a loop over lanes never looks like a load of the next.
    """
    page = 4096
    size *= np.dtype(dtype).itemsize
    workspace = np.empty(size + page, np.uint8)
    offset = -workspace.ctypes.data % page
    return workspace[offset : offset + size].view(dtype)


def padded(count: int, lanes: int) -> npt.NDArray[np.int64]:
    """Indices of ``count`` trajectories in whole blocks of lanes, padded with the last one.

    Every lane then runs the same machine code, whatever its place.
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

    Each thread has its own state. Records are zero at the start of a block.
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
    """Call ``run(first, last)`` for pieces of 0..blocks, on all threads."""
    threads = min(numba.get_num_threads(), blocks)
    if threads == 1:
        run(0, blocks)
        return

    size = -(-blocks // (threads * _PIECES))
    starts = range(0, blocks, size)
    with ThreadPoolExecutor(threads) as pool:
        # Where one fails, or the main thread is interrupted, ``map`` cancels those not begun yet.
        for _ in pool.map(run, starts, (min(at + size, blocks) for at in starts)):
            pass
