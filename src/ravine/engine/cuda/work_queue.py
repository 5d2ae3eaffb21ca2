"""Work for the GPU with the memory that it needs, and the way back of its results.

All queues compute in one stream, in the order in which they were asked; results travel back in
streams of their own while the next tile is under way. Two tiles that compute side by side would
end together: the short kernels at the end of the first wait for all blocks of the second, and then
the GPU waits for this side. Memory is kept from tile to tile and from sweep to sweep: to ask for
it and to give it back makes the GPU wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.cuda.source import cuda

_idle: list[WorkQueue] = []


@cache
def _computing() -> Any:
    """Return the stream that all queues compute in."""
    return cuda.stream()


class WorkQueue:
    """Room on the GPU for the work of a tile, and pinned memory on this side for its results."""

    def __init__(self) -> None:
        self.stream = _computing()
        self._travelling = cuda.stream()
        self._computed = cuda.event()
        self._done = cuda.event()
        self._rooms: dict[str, Any] = {}
        self._views: dict[str, Any] = {}
        self._pinned = cuda.pinned_array(1, np.float64)
        self._results: FloatArray = self._pinned

    def room(self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Any:
        """Return an array on the GPU, the one of this name as long as it is large enough."""
        view = self._views.get(name)
        if view is not None and view.shape == shape and view.dtype == dtype:
            return view  # to cut an array anew costs more time than many a launch

        size = int(np.prod(shape))
        kept = self._rooms.get(name)
        if kept is None or kept.shape[0] < size or kept.dtype != dtype:
            self._rooms[name] = kept = cuda.device_array(size, dtype)

        self._views[name] = view = kept[:size].reshape(shape)
        return view

    def fetch(self, results: Any) -> None:
        """Send an array of numbers back as soon as what is in the queue is done."""
        size = int(np.prod(results.shape))
        if self._pinned.size < size:
            self._pinned = cuda.pinned_array(size, np.float64)

        self._results = self._pinned[:size].reshape(results.shape)
        self._computed.record(self.stream)
        self._computed.wait(self._travelling)
        results.copy_to_host(self._results, stream=self._travelling)
        self._done.record(self._travelling)

    def fetched(self) -> FloatArray:
        """Wait for what ``fetch`` sent for; it stays there until ``fetch`` is called again."""
        self._done.synchronize()
        return self._results

    def settle(self) -> None:
        """Wait until nothing is under way any more."""
        self.stream.synchronize()
        self._travelling.synchronize()


@contextmanager
def work_queues(count: int) -> Iterator[list[WorkQueue]]:
    """Lend queues that nobody else uses."""
    lent = [_idle.pop() if _idle else WorkQueue() for _ in range(count)]
    try:
        yield lent
    finally:
        for queue in lent:
            queue.settle()
        _idle.extend(lent)
