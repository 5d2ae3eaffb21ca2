"""Running the tiles of a sweep on the workers of a Dask cluster.

A worker runs one tile at a time, on as many threads as it was started with. The specification of
the sweep travels as the result of a task, so the scheduler can make it again wherever it is
needed. A tile whose worker dies is given to another worker; tiles that were finished are with the
driver already. Every tile comes back with the ``numerics`` of its worker: a worker that would not
compute the same bits is refused by name.
"""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numba

from ravine.arguments import Refusal, WrongType
from ravine.engine.kernels.blas import one_blas_thread
from ravine.engine.spec import Spec
from ravine.engine.storage.fingerprint import numerics
from ravine.engine.tiles import Part, Tile, run_tile

if TYPE_CHECKING:
    from distributed import Client

_WAITING = 2  # tiles that wait at each thread of a worker, so that none idles between two
_TIMEOUT = 10.0  # seconds to find the scheduler

_one_tile = threading.Lock()


def run_on_cluster(
    cluster: str | Client, spec: Spec, tiles: Sequence[Tile], threads: int | None
) -> Iterator[tuple[Tile, Part]]:
    """Run tiles on the workers of ``cluster``; yield each as it arrives, in any order."""
    if not tiles:
        return

    with _connected(cluster) as client:
        yield from _run(client, spec, list(reversed(tiles)), threads)


def _distributed() -> Any:
    """Dask's part for clusters, which carries few annotations."""
    try:
        return import_module("distributed")
    except ImportError:
        line = "a cluster needs Dask: python -m pip install 'ravine[cluster]'"
        raise ImportError(line) from None


@contextmanager
def _connected(cluster: Any) -> Iterator[Any]:
    """Give a client of the cluster; one that is made here is closed again."""
    make = _distributed().Client
    if isinstance(cluster, make):
        yield cluster
        return

    if not isinstance(cluster, str):
        shown = type(cluster).__name__
        remedy = "e.g. cluster='tcp://localhost:8786'"
        raise WrongType("cluster", "an address or a distributed.Client", shown, remedy)

    try:
        client = make(cluster, timeout=_TIMEOUT, set_as_default=False)
    except (OSError, ValueError):
        rule = "the address of a Dask scheduler that answers"
        remedy = "start one with 'dask scheduler' and give the address it prints"
        raise Refusal("cluster", rule, cluster, remedy) from None

    with client:
        yield client


def _run(
    client: Any, spec: Spec, waiting: list[Tile], threads: int | None
) -> Iterator[tuple[Tile, Part]]:
    """Keep every worker busy until ``waiting``, a stack, is empty and all tiles have arrived."""
    if not client.nthreads():
        print("ravine: the cluster has no workers yet, waiting for one", file=sys.stderr)
        client.wait_for_workers(1)

    # Dask's own pickle also takes functions that were written at a prompt.
    packed = import_module("cloudpickle").dumps(spec)
    held = client.submit(pickle.loads, packed, pure=False)
    where: dict[Any, Tile] = {}
    arrivals = _distributed().as_completed(loop=client.loop)

    try:
        while waiting or where:
            # Asked anew each time: workers come and go.
            room = _WAITING * sum(client.nthreads().values()) - len(where)
            while waiting and (room > 0 or not where):
                tile = waiting.pop()
                future = client.submit(_run_remotely, held, *tile, threads, pure=False)
                where[future] = tile
                arrivals.add(future)
                room -= 1

            future = next(arrivals)
            tile = where.pop(future)
            part = _result(future, tile)
            future.release()
            yield tile, part
    finally:
        client.cancel([*where, held])


def _result(future: Any, tile: Tile) -> Part:
    """The tile that a worker computed, if the worker computes as the driver does."""
    try:
        theirs, part = future.result()
    except _distributed().KilledWorker as error:
        line = (
            f"every worker that ran pixels {tile[0]} to {tile[1] - 1} died, the last at "
            f"{error.last_worker.address}: perhaps for want of memory, give smaller tiles"
        )
        raise ChildProcessError(line) from None

    address = theirs.pop("worker")
    for name, here in numerics().items():
        if theirs[name] != here:
            rule = f"workers with the driver's {name}, {here}"
            remedy = "install the same versions on every machine"
            raise Refusal("cluster", f"of {rule}", f"{theirs[name]} at {address}", remedy)

    return part  # type: ignore[no-any-return]


def _run_remotely(
    spec: Spec, first: int, last: int, threads: int | None
) -> tuple[dict[str, str], Part]:
    """Run a tile on a worker; give what it computes with, and the tile."""
    worker = _distributed().get_worker()
    wished = threads or worker.state.nthreads

    with _one_tile, one_blas_thread():
        numba.set_num_threads(min(wished, numba.config.NUMBA_NUM_THREADS))
        part = run_tile(spec, first, last)

    return numerics() | {"worker": worker.address}, part
