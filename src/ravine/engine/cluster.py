"""Running the tiles of a sweep on the workers of a Dask cluster.

A worker runs one tile at a time, on as many threads as it was started with. The specification of
the sweep travels as the result of a task, so the scheduler can make it again wherever it is
needed. A tile whose worker dies is given to another worker; tiles that were finished are with the
driver already. Workers are asked first whether they have ravine and would compute the same bits;
every tile comes back with the ``numerics`` of its worker, for those that joined later. One that
would not is refused by name.
"""

from __future__ import annotations

import logging
import os
import pickle
import socket
import sys
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numba

from ravine.arguments import Refusal, WrongType
from ravine.engine.kernels.blas import one_blas_thread
from ravine.engine.spec import Spec
from ravine.engine.storage.fingerprint import numerics
from ravine.engine.tiles import Part, Tile, run_tile

if TYPE_CHECKING:
    from distributed import Client

_WAITING = 2  # tiles that wait at each thread of a worker, so that none idles between two
_TIMEOUT = 10.0  # seconds to find the scheduler, and to take leave of it
_PATIENCE = 10.0  # seconds without any worker, unless RAVINE_WAIT_FOR_WORKERS says otherwise
_LONGEST_GREETING = 1 << 20  # bytes; letters of another protocol read as 10**18
_LOOK = 1.0  # seconds between two looks at whether the cluster is still there
_PAUSE = 0.002  # seconds between two looks for a tile; workers have the next one already

_TALKATIVE = ("distributed", "tornado", "asyncio")
"""Libraries that log each lost connection, with its traceback."""

# A builtin evaluates it, so that a worker without ravine can answer too.
_QUESTION = "__import__('importlib').import_module('ravine.engine.storage.fingerprint').numerics()"

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

    with _quiet_dask():
        try:
            _require_answer(cluster)
            client = make(cluster, timeout=_TIMEOUT, set_as_default=False)
        except (OSError, ValueError, ImportError):
            rule = "the address of a Dask scheduler that answers"
            remedy = "start one with 'dask scheduler' and give the address it prints"
            raise Refusal("cluster", rule, cluster, remedy) from None

        try:
            yield client
        finally:
            with suppress(Exception):  # there may be no scheduler any more to take leave of
                client.close(timeout=_TIMEOUT)


def _require_answer(address: str) -> None:
    """Raise ``OSError`` where something else than Dask takes the connection.

    Dask would wait for ever for its first word. A scheduler speaks first: the length of its
    greeting in 8 bytes, least significant first, and the greeting, some hundred bytes.
    """
    place = urlsplit(address if "://" in address else f"tcp://{address}")
    if place.scheme != "tcp" or place.hostname is None or place.port is None:
        return  # whatever else Dask can connect to

    with socket.create_connection((place.hostname, place.port), _TIMEOUT) as connection:
        length = int.from_bytes(connection.recv(8), "little")

    if not 0 < length < _LONGEST_GREETING:
        raise OSError("no scheduler of Dask")


@contextmanager
def _quiet_dask() -> Iterator[None]:
    """Keep to ourselves what Dask says about connections: we say what matters of it."""
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in _TALKATIVE]
    before = {logging.getLogger(name): logging.getLogger(name).level for name in names}
    try:
        for logger in before:
            logger.setLevel(logging.CRITICAL + 1)
        with warnings.catch_warnings():
            # Versions that matter are compared by ``_check_workers``.
            warnings.filterwarnings("ignore", module="distributed")
            yield
    finally:
        for logger, level in before.items():
            logger.setLevel(level)


def _run(
    client: Any, spec: Spec, waiting: list[Tile], threads: int | None
) -> Iterator[tuple[Tile, Part]]:
    """Keep every worker busy until ``waiting``, a stack, is empty and all tiles have arrived."""
    _wait_for_worker(client)
    _check_workers(client)

    # Dask's own pickle also takes functions that were written at a prompt.
    packed = import_module("cloudpickle").dumps(spec)
    held = client.submit(pickle.loads, packed, pure=False)
    where: dict[Any, Tile] = {}
    arrivals = _distributed().as_completed(loop=client.loop)

    try:
        while waiting or where:
            # Asked anew each time: workers come and go.
            room = _WAITING * sum(_threads(client).values()) - len(where)
            while waiting and (room > 0 or not where):
                tile = waiting.pop()
                future = client.submit(_run_remotely, held, *tile, threads, pure=False)
                where[future] = tile
                arrivals.add(future)
                room -= 1

            future = _next_arrival(client, arrivals)
            tile = where.pop(future)
            part = _result(client, future, tile)
            future.release()
            yield tile, part
    finally:
        if client.status == "running":
            with suppress(Exception):  # the scheduler may die at this very moment
                client.cancel([*where, held])


def _next_arrival(client: Any, arrivals: Any) -> Any:
    """Wait for a tile, as long as there are a scheduler and workers to bring one."""
    looked = time.monotonic()
    while not arrivals.has_ready():
        time.sleep(_PAUSE)
        if time.monotonic() - looked > _LOOK:
            _wait_for_worker(client)
            looked = time.monotonic()

    return next(arrivals)


def _wait_for_worker(client: Any) -> None:
    """Return once there is a worker; do not wait for ever."""
    if _threads(client):
        return

    patience = float(os.environ.get("RAVINE_WAIT_FOR_WORKERS", _PATIENCE))
    print(
        f"ravine: the cluster has no workers, waiting {patience:g} s for one",
        file=sys.stderr,
        flush=True,
    )
    until = time.monotonic() + patience
    while not _threads(client):
        if time.monotonic() > until:
            address = client.scheduler.address
            remedy = f"start one with 'dask worker {address}', then run it again with --resume"
            raise Refusal("cluster", "with a worker", f"{address} with none", remedy)
        time.sleep(_LOOK / 10)


def _threads(client: Any) -> dict[str, int]:
    """Threads of each worker; an error of one line if there is no scheduler to ask."""
    _require_scheduler(client)
    try:
        return dict(client.nthreads())
    except Exception:
        _require_scheduler(client, gone=True)
        raise


def _require_scheduler(client: Any, *, gone: bool = False) -> None:
    if client.status == "running" and not gone:
        return

    # A client that gave up has forgotten where its scheduler was.
    place = f" at {client.scheduler.address}" if client.scheduler else ""
    raise ConnectionError(
        f"the Dask scheduler{place} is gone: tiles that were finished stay "
        "in the store; start scheduler and workers, then run it again with --resume to go on"
    ) from None


def _check_workers(client: Any) -> None:
    """Refuse, by its address, a worker without ravine or with another one."""
    answers = client.run(eval, _QUESTION, on_error="return")
    for address, answer in answers.items():
        if isinstance(answer, OSError):
            continue  # it left, or is leaving
        if isinstance(answer, ImportError):
            remedy = f"python -m pip install 'ravine[cluster]=={version('ravine')}' there"
            shown = f"a worker at {address} where {answer}"
            raise Refusal("cluster", "of workers with the driver's ravine", shown, remedy)
        if isinstance(answer, BaseException):
            remedy = "install the same versions on every machine"
            shown = f"{type(answer).__name__} ({answer!s:.200}) from {address}"
            raise Refusal("cluster", "of workers that can run ravine", shown, remedy)

        _compare(answer, address)


def _compare(theirs: dict[str, str], address: str) -> None:
    for name, here in numerics().items():
        there = theirs.get(name, "unknown")
        if there != here:
            rule = f"of workers with the driver's {name}, {here}"
            remedy = "install the same versions on every machine"
            raise Refusal("cluster", rule, f"{there} at {address}", remedy)


def _result(client: Any, future: Any, tile: Tile) -> Part:
    """The tile that a worker computed, if the worker computes as the driver does."""
    try:
        theirs, part = future.result()
    except _distributed().KilledWorker as error:
        line = (
            f"every worker that ran pixels {tile[0]} to {tile[1] - 1} died, the last at "
            f"{error.last_worker.address}: perhaps for want of memory, give smaller tiles"
        )
        raise ChildProcessError(line) from None
    except CancelledError:
        _require_scheduler(client, gone=True)
        raise
    except Exception:
        # A worker that joined since may have no ravine to run a tile with.
        _require_scheduler(client)
        _check_workers(client)
        raise

    _compare(theirs, theirs.pop("worker"))
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
