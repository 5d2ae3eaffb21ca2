"""Queues of work for the GPU, with its memory and the transfer of its results.

A queue has a stream for its long kernel, one for the short kernels before and after it, and one for
copying results back. Long kernels of two queues run side by side, so that the second uses the
processors that the last blocks of the first leave idle. Short kernels have priority; otherwise the
measures of one tile would wait for all blocks of the next, and then the GPU for the host. Memory is
reused from tile to tile and from sweep to sweep, because allocating and freeing it makes the GPU
wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.engine.cuda.source import SIMULATED, cuda

_USUAL, _FIRST = 0, -5  # priorities; a GPU uses the nearest that it has

_idle: list[WorkQueue] = []


def _new_stream(priority: int) -> Any:
    """Return a stream whose waiting blocks precede those of streams with a higher number."""
    if SIMULATED:
        return cuda.stream()

    cuda.current_context()  # a context must exist before a stream
    driver: Any = import_module("cuda.bindings.driver")
    # 0 for a stream that waits for copies in the default stream, like Numba's own streams.
    error, handle = driver.cuStreamCreateWithPriority(0, priority)
    if int(error) != 0:
        return cuda.stream()

    return cuda.external_stream(int(handle))


class WorkQueue:
    """Memory on the GPU for the work of a tile, and pinned host memory for its results."""

    def __init__(self) -> None:
        self.stream = _new_stream(_FIRST)
        self._long = _new_stream(_USUAL)
        self._travelling = _new_stream(_FIRST)
        self._ready, self._over, self._computed, self._done = (cuda.event() for _ in range(4))
        self._buffers: dict[str, Any] = {}
        self._views: dict[str, Any] = {}
        self._pinned = cuda.pinned_array(1, np.float64)
        self._results: FloatArray = self._pinned

    def buffer(self, name: str, shape: tuple[int, ...], dtype: npt.DTypeLike) -> Any:
        """Return an array on the GPU; the one with this name is reused if it is large enough."""
        view = self._views.get(name)
        if view is not None and view.shape == shape and view.dtype == dtype:
            return view  # slicing an array again can take longer than a launch

        size = int(np.prod(shape))
        kept = self._buffers.get(name)
        if kept is None or kept.shape[0] < size or kept.dtype != dtype:
            self._buffers[name] = kept = cuda.device_array(size, dtype)

        self._views[name] = view = kept[:size].reshape(shape)
        return view

    def put(self, name: str, values: npt.NDArray[Any]) -> Any:
        """Return an array on the GPU that will have these values, in the buffer with this name."""
        if values.size == 0:
            return cuda.to_device(values)

        buffer = self.buffer(name, values.shape, values.dtype)
        flat = self._buffers[name][: values.size]
        flat.copy_to_device(np.ravel(values), stream=self.stream)
        return buffer

    @contextmanager
    def long(self) -> Iterator[Any]:
        """Yield the stream of the long kernel, ordered after queued work and before later work."""
        self._ready.record(self.stream)
        self._ready.wait(self._long)
        yield self._long
        self._over.record(self._long)
        self._over.wait(self.stream)

    def follow(self, other: WorkQueue) -> None:
        """Make the GPU wait for the current work of the other queue."""
        self._ready.record(other.stream)
        self._ready.wait(self.stream)

    def fetch(self, results: Any) -> None:
        """Copy an array back as soon as the queued work is done."""
        size = int(np.prod(results.shape))
        if self._pinned.size < size:
            self._pinned = cuda.pinned_array(size, np.float64)

        self._results = self._pinned[:size].reshape(results.shape)
        self._computed.record(self.stream)
        self._computed.wait(self._travelling)
        results.copy_to_host(self._results, stream=self._travelling)
        self._done.record(self._travelling)

    def fetched(self) -> FloatArray:
        """Wait for the array of ``fetch``; it is valid until ``fetch`` is called again."""
        self._done.synchronize()
        return self._results

    def settle(self) -> None:
        """Wait until all work is done."""
        self.stream.synchronize()
        self._long.synchronize()
        self._travelling.synchronize()


@contextmanager
def work_queues(count: int) -> Iterator[list[WorkQueue]]:
    """Yield queues that are not in use."""
    lent = [_idle.pop() if _idle else WorkQueue() for _ in range(count)]
    try:
        yield lent
    finally:
        for queue in lent:
            queue.settle()
        _idle.extend(lent)
