"""A cluster gives the bits of one machine, also when a worker dies. Everything on loopback."""

import os
import signal
import socket
import threading
from contextlib import suppress

import numpy as np
import pytest
import xarray as xr
from distributed import Client, LocalCluster

import ravine.engine.cluster as clusters
from ravine.engine.storage.fingerprint import numerics
from ravine.engine.sweep import sweep
from ravine.problems import counterexample, worst_case_quadratic

PROBLEM = worst_case_quadratic(16, 120)  # large enough for BLAS to use several threads
PLANE = np.linspace(0.0, 0.15, 40), np.linspace(-0.5, 1.0, 32)
GIVEN = {"steps": 200, "repeats": 2, "sigma2": 0.1, "seed": 7, "tile": 32}


@pytest.fixture(scope="module")
def cluster():
    """Two workers, processes of their own."""
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address=None,
        silence_logs=50,
    ) as found:
        yield found


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster, set_as_default=False) as found:
        yield found


@pytest.fixture(scope="module")
def expected():
    return sweep(PROBLEM, *PLANE, **GIVEN)


def same_bits(a, b):
    xr.testing.assert_identical(a, b)
    for name in a.variables:
        assert a[name].values.tobytes() == b[name].values.tobytes(), name


def test_a_cluster_gives_the_bits_of_one_machine(client, expected):
    same_bits(sweep(PROBLEM, *PLANE, **GIVEN, cluster=client), expected)
    assert client.status == "running", "a client that was given stays open"


def test_a_finite_sum_gives_the_bits_of_one_machine(client):
    problem = counterexample(1.0, 8.0, 4)
    given = {"steps": 60, "sampling": "iid", "repeats": 2, "tile": 20}
    here = sweep(problem, PLANE[0][:8], PLANE[1][:8], **given)
    there = sweep(problem, PLANE[0][:8], PLANE[1][:8], **given, cluster=client)
    same_bits(there, here)


def test_a_worker_that_dies_costs_its_tile_only(cluster, client, expected, tmp_path, monkeypatch):
    store = tmp_path / "sweep.zarr"
    victim = next(iter(client.run(os.getpid).values()))
    original = clusters._result
    arrived = []

    def killing(client, future):
        """Kill when the fifth tile of forty is with the driver, before it gives out more."""
        arrived.append(future)
        if len(arrived) == 5:
            os.kill(victim, signal.SIGKILL)
        return original(client, future)

    monkeypatch.setattr(clusters, "_result", killing)
    monkeypatch.setattr(clusters, "_TIMEOUT", 600.0)  # a busy scheduler may take its time
    data = sweep(PROBLEM, *PLANE, **GIVEN, store=store, cluster=cluster.scheduler_address)
    assert len(arrived) == len({*arrived}) == 40
    same_bits(data.load(), expected)
    assert victim not in client.run(os.getpid).values()


def test_a_worker_that_computes_otherwise_is_refused(client, monkeypatch):
    monkeypatch.setattr(clusters, "numerics", lambda: numerics() | {"numba": "0.1"})
    with pytest.raises(ValueError, match=r"the driver's numba, 0\.1, got .* at tcp://127\.0\.0\.1"):
        sweep(PROBLEM, *PLANE, **GIVEN, cluster=client)


def test_a_worker_without_ravine_is_refused_by_its_address(client, monkeypatch):
    monkeypatch.setattr(clusters, "_QUESTION", "__import__('no_such_ravine')")
    line = (
        r"cluster must be of workers with the driver's ravine, got a worker at tcp://127.* where "
        r"No module named 'no_such_ravine': python -m pip install 'ravine\[cluster\]==\S+' there"
    )
    with pytest.raises(ValueError, match=line):
        sweep(PROBLEM, *PLANE, **GIVEN, cluster=client)


def test_a_worker_that_joins_later_without_ravine_is_refused_too(client, monkeypatch):
    questions = iter([clusters._QUESTION, "__import__('no_such_ravine')"])
    ask = clusters._check_workers

    def asked(client):
        monkeypatch.setattr(clusters, "_QUESTION", next(questions))
        ask(client)

    monkeypatch.setattr(clusters, "_check_workers", asked)
    monkeypatch.setattr(clusters, "_run_remotely", failing)
    with pytest.raises(ValueError, match=r"got a worker at tcp://.* where No module named"):
        sweep(PROBLEM, *PLANE, **GIVEN, cluster=client)


def without_workers():
    return LocalCluster(
        n_workers=0,
        processes=False,
        host="127.0.0.1",
        protocol="tcp://",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,
    )


def test_a_cluster_without_workers_is_not_waited_for_for_ever(monkeypatch, capsys):
    monkeypatch.setenv("RAVINE_WAIT_FOR_WORKERS", "0.1")
    with without_workers() as empty:
        address = empty.scheduler_address
        line = f"cluster must be with a worker, got {address} with none: start one with 'dask wor"
        with pytest.raises(ValueError, match=line):
            sweep(PROBLEM, *PLANE, **GIVEN, cluster=address)
    assert "waiting 0.1 s for one" in capsys.readouterr().err


def test_a_scheduler_that_is_gone_is_one_line():
    with without_workers() as doomed, Client(doomed, set_as_default=False) as client:
        client.close()
        with pytest.raises(ConnectionError, match=r"scheduler has stopped.* again with --resume"):
            sweep(PROBLEM, *PLANE, **GIVEN, cluster=client)


def test_an_error_on_a_worker_reaches_the_driver(client, monkeypatch):
    monkeypatch.setattr(clusters, "_run_remotely", failing)
    with pytest.raises(ArithmeticError, match="no"):
        sweep(PROBLEM, *PLANE, **GIVEN, cluster=client)


def failing(*_):
    raise ArithmeticError("no")


@pytest.mark.parametrize("greeting", [b"", b"SSH-2.0-OpenSSH_9.7"])
def test_what_else_takes_a_connection_is_not_waited_for(monkeypatch, greeting):
    """Dask itself would wait for ever for a first word."""
    monkeypatch.setattr(clusters, "_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def greet():
            connection, _ = server.accept()
            with connection, suppress(OSError):  # the other side hangs up
                connection.sendall(greeting)
                connection.recv(1)

        threading.Thread(target=greet, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(ValueError, match="cluster must be the address of a Dask scheduler"):
            sweep(PROBLEM, *PLANE, **GIVEN, cluster=address)


def test_a_cluster_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setattr(clusters, "_TIMEOUT", 0.2)
    for address in ("tcp://127.0.0.1:9", "nonsense"):
        with pytest.raises(ValueError, match="cluster must be the address of a Dask scheduler"):
            sweep(PROBLEM, *PLANE, **GIVEN, cluster=address)
    with pytest.raises(TypeError, match="cluster must be an address or a distributed"):
        sweep(PROBLEM, *PLANE, **GIVEN, cluster=3)
