"""Run the tiles of a sweep on the workers of a Dask cluster.

A worker runs one tile at a time, on as many threads as it was started with. If a worker dies, Dask
gives its tile to another worker; the driver already has all finished tiles. Every tile comes back
with the ``numerics`` of its worker; a worker that would compute other bits is refused.
"""

from __future__ import annotations

import os
import pickle
import socket
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numba

from ravine.arguments import Refusal, WrongType, needed
from ravine.engine.kernels.blas import one_blas_thread
from ravine.engine.spec import Spec
from ravine.engine.storage.fingerprint import numerics
from ravine.engine.tiles import Part, Tile, run_tile

if TYPE_CHECKING:
    from distributed import Client

_AHEAD = 2  # waiting tiles per thread of a worker, so that no thread is idle between tiles
_TIMEOUT = 10.0  # seconds to connect to the scheduler, and to disconnect
_PATIENCE = 10.0  # seconds without any worker, unless RAVINE_WAIT_FOR_WORKERS says otherwise
_LONGEST_GREETING = 1 << 20  # bytes; the text of another protocol would read as about 10**18
_LOOK = 1.0  # seconds between two checks that the cluster is still there

# A builtin evaluates it, so that a worker without ravine can answer too.
_QUESTION = "__import__('importlib').import_module('ravine.engine.storage.fingerprint').numerics()"

_one_tile = threading.Lock()


def run_on_cluster(
    cluster: str | Client, spec: Spec, tiles: Sequence[Tile], threads: int | None
) -> Iterator[tuple[Tile, Part]]:
    """Run tiles on the workers of ``cluster``; yield each when it arrives, in any order."""
    if not tiles:
        return

    with _connected(cluster) as client:
        try:
            yield from _run(client, spec, iter(tiles), threads)
        except Exception as error:
            closed = import_module("distributed.comm").CommClosedError
            lost = client.status != "running" or isinstance(error, closed)
            if not lost or isinstance(error, Refusal):
                raise
            line = (
                "the Dask scheduler has stopped, and finished tiles are in the store: start the "
                "scheduler and the workers, then run it again with --resume"
            )
            raise ConnectionError(line) from None


def _distributed() -> Any:
    """Dask's part for clusters, which carries few annotations."""
    return needed("distributed", "a cluster", "cluster")


@contextmanager
def _connected(cluster: Any) -> Iterator[Any]:
    """Yield a client of the cluster; close it if it was created here."""
    make = _distributed().Client
    if isinstance(cluster, make):
        yield cluster
        return

    if not isinstance(cluster, str):
        shown = type(cluster).__name__
        remedy = "e.g. cluster='tcp://localhost:8786'"
        raise WrongType("cluster", "an address or a distributed.Client", shown, remedy)

    # Dask's log about lost connections would hide the one line printed here.
    with import_module("distributed.utils").silence_logging_cmgr("CRITICAL"):
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
            with suppress(Exception):  # the scheduler may be gone already
                client.close(timeout=_TIMEOUT)


def _require_answer(address: str) -> None:
    """Raise ``OSError`` if something other than Dask accepts the connection, e.g. a web server.

    Dask would wait for its greeting forever. A scheduler sends first: the length of its greeting in
    8 bytes, least significant first, then the greeting, a few hundred bytes.
    """
    place = urlsplit(address if "://" in address else f"tcp://{address}")
    if place.scheme != "tcp" or place.hostname is None or place.port is None:
        return  # other addresses that Dask can connect to

    with socket.create_connection((place.hostname, place.port), _TIMEOUT) as connection:
        length = int.from_bytes(connection.recv(8), "little")

    if not 0 < length < _LONGEST_GREETING:
        raise OSError("not a scheduler of Dask")


def _run(
    client: Any, spec: Spec, waiting: Iterator[Tile], threads: int | None
) -> Iterator[tuple[Tile, Part]]:
    """Keep every worker busy until all tiles have arrived."""
    _wait_for_worker(client)
    _check_workers(client)

    # The specification is the result of a task, which Dask repeats if a worker dies. Dask's own
    # pickle also handles functions defined at a prompt.
    packed = import_module("cloudpickle").dumps(spec)
    held = client.submit(pickle.loads, packed, pure=False)
    where: dict[Any, Tile] = {}
    tile = next(waiting, None)

    try:
        while tile is not None or where:
            # Checked each time, because workers come and go.
            most = max(1, _AHEAD * sum(client.nthreads().values()))
            while tile is not None and len(where) < most:
                future = client.submit(_run_remotely, held, *tile, threads, pure=False)
                where[future] = tile
                tile = next(waiting, None)

            for future in _arrived(client, [*where]):
                yield where.pop(future), _result(client, future)
                future.release()
    finally:
        with suppress(Exception):  # the scheduler may be gone
            client.cancel([*where, held])


def _arrived(client: Any, futures: list[Any]) -> Any:
    """Tiles that have arrived; none after a second without any, if there are still workers."""
    try:
        with client.as_current():
            return _distributed().wait(futures, _LOOK, "FIRST_COMPLETED").done
    except TimeoutError:
        _wait_for_worker(client)
        return ()


def _wait_for_worker(client: Any) -> None:
    """Wait for a worker, but not forever."""
    if client.nthreads():
        return

    patience = float(os.environ.get("RAVINE_WAIT_FOR_WORKERS", _PATIENCE))
    line = f"ravine: the cluster has no workers, waiting {patience:g} s for one"
    print(line, file=sys.stderr, flush=True)
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError:
        address = client.scheduler.address
        remedy = f"start one with 'dask worker {address}', then run it again with --resume"
        raise Refusal("cluster", "with a worker", f"{address} with none", remedy) from None


def _check_workers(client: Any) -> None:
    """Refuse a worker without ravine, or with another version, and name its address."""
    for address, answer in client.run(eval, _QUESTION, on_error="return").items():
        if isinstance(answer, ImportError):
            remedy = f"python -m pip install 'ravine[cluster]=={version('ravine')}' there"
            shown = f"a worker at {address} where {answer}"
            raise Refusal("cluster", "of workers with the driver's ravine", shown, remedy)
        if isinstance(answer, dict):  # otherwise it has left, or is leaving
            _compare(answer, address)


def _compare(theirs: dict[str, str], address: str) -> None:
    for name, here in numerics().items():
        there = theirs.get(name, "unknown")
        if there != here:
            rule = f"of workers with the driver's {name}, {here}"
            remedy = "install the same versions on every machine"
            raise Refusal("cluster", rule, f"{there} at {address}", remedy)


def _result(client: Any, future: Any) -> Part:
    """The tile from a worker, if the worker computes the same bits as the driver."""
    try:
        theirs, address, part = future.result()
    except Exception:
        # A worker that joined later may not have ravine.
        if client.status == "running":
            _check_workers(client)
        raise

    _compare(theirs, address)
    return part  # type: ignore[no-any-return]


def _run_remotely(
    spec: Spec, first: int, last: int, threads: int | None
) -> tuple[dict[str, str], str, Part]:
    """Run a tile on a worker; return its numerics, its address and the tile."""
    worker = _distributed().get_worker()
    wanted = threads or worker.state.nthreads

    with _one_tile, one_blas_thread():
        numba.set_num_threads(min(wanted, numba.config.NUMBA_NUM_THREADS))
        return numerics(), worker.address, run_tile(spec, first, last)
