"""Running the blocks of a tile on all threads.

Kernels release the interpreter's lock, so plain threads run them side by side; the main thread only
waits, and an interrupt reaches it at once. As many threads are used as Numba is set to.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numba
import numpy as np
import numpy.typing as npt

_PIECES = 64  # a thread, at most, so that one with easy blocks can help the others


def padded(count: int, lanes: int) -> npt.NDArray[np.int64]:
    """Indices of ``count`` trajectories in whole blocks of lanes, filled up with the last one.

    Every lane then goes through the same machine code, whatever its place.
    """
    return np.minimum(np.arange(-(-count // lanes) * lanes), count - 1)


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
