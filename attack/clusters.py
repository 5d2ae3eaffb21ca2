"""Clusters that are not what they should be: each ends in one line, and what is finished stays.

Real schedulers and workers of Dask, processes on loopback: no worker, a worker without ravine or
with another one, an address where something else answers, a scheduler that is killed in the middle.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from attack.tiny_sweep import SPEC

_LONGER = {"steps = 30": "steps = 200000", "count = 6": "count = 40", "count = 5": "count = 24"}
"""Changes to the tiny sweep that give time to kill a scheduler."""

_SECONDS = 180  # to start and to end; the machine may be busy with other things

_WORKER = """
import sys
{before}
sys.argv = ["dask", "worker", "{address}", "--nworkers", "1", "--nthreads", "1", "--no-dashboard",
            "--no-nanny"]
from dask.__main__ import main
main()
"""
_WITHOUT = 'sys.modules["ravine"] = None'
_OTHER = """
import ravine.engine.storage.fingerprint as prints
prints.numerics = lambda: {"ravine": "0.0.1"}
"""


def main() -> int:
    """Try every cluster; print counts by outcome, return the number of failures."""
    cases: dict[str, Callable[[Path], str | None]] = {
        "no worker": _no_worker,
        "a worker without ravine": lambda folder: _strange_worker(
            folder, _WITHOUT, "with the drive"
        ),
        "a worker with another ravine": lambda folder: _strange_worker(folder, _OTHER, "0.0.1 at"),
        "something else answers": _something_else,
        "the scheduler is killed": _killed_scheduler,
    }
    outcomes: Counter[str] = Counter()
    failures = 0
    for name, case in cases.items():
        with tempfile.TemporaryDirectory() as folder:
            try:
                complaint = case(Path(folder))
            except subprocess.TimeoutExpired:
                complaint = "hang"
        outcomes["one line" if complaint is None else "FAILED"] += 1
        if complaint is not None:
            failures += 1
            print(f"FAILED  {name}: {complaint}")

    print(f"clusters: {len(cases)} that are not what they should be")
    for name, count in outcomes.most_common():
        print(f"{count:8d}  {name}")

    return failures


def _no_worker(folder: Path) -> str | None:
    with _scheduler() as (address, _):
        return _complaint(_sweep(folder, address), "cluster must be with a worker", address)


def _strange_worker(folder: Path, before: str, word: str) -> str | None:
    with _scheduler() as (address, _), _worker(address, before):
        return _complaint(_sweep(folder, address), word, "tcp://127.0.0.1:")


def _something_else(folder: Path) -> str | None:
    """A server that takes connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    kept.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        return _complaint(_sweep(folder, address), "a Dask scheduler that answers", address)


def _killed_scheduler(folder: Path) -> str | None:
    spec = _spec(folder, _LONGER)
    store = folder / "sweep.zarr"
    with _scheduler() as (address, scheduler), _worker(address, ""):
        run = _start(spec, store, address)
        until = time.monotonic() + _SECONDS
        while len(list(store.glob("tiles/0*.json"))) < 3 and time.monotonic() < until:
            time.sleep(0.05)
        scheduler.kill()
        _, errors = run.communicate(timeout=_SECONDS)

    finished = len(list(store.glob("tiles/0*.json")))
    if finished < 3:
        return f"{finished} tiles stay"

    return _complaint(
        (run.returncode, errors), "scheduler has stopped, and finished tiles are in", "--resume"
    )


def _complaint(ended: tuple[int, str], *words: str) -> str | None:
    """What is wrong with how a run ended; None if it is one line with these words."""
    code, errors = ended
    lines = [line for line in errors.splitlines() if "waiting" not in line and "compil" not in line]
    if code != 2 or len(lines) != 1 or not all(word in lines[0] for word in words):
        return f"exit code {code}, {errors[-400:]!r}"

    return None


def _spec(folder: Path, changes: dict[str, str]) -> Path:
    text = SPEC
    for before, after in changes.items():
        text = text.replace(before, after)
    spec = folder / "spec.toml"
    spec.write_text(text, encoding="utf-8")
    return spec


def _sweep(folder: Path, address: str) -> tuple[int, str]:
    run = _start(_spec(folder, {}), folder / "sweep.zarr", address)
    try:
        _, errors = run.communicate(timeout=_SECONDS)
    finally:
        run.kill()

    return run.returncode, errors


def _start(spec: Path, store: Path, address: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", "from ravine.cli import main; main()"]
    command += ["sweep", str(spec), "--out", str(store), "--cluster", address]
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, encoding="utf-8")


@contextmanager
def _scheduler() -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """A scheduler of its own, on a free port; give its address and process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code = (
        "import sys; sys.argv = ['dask', 'scheduler', '--host', '127.0.0.1', '--port', "
        f"'{port}', '--no-dashboard']; from dask.__main__ import main; main()"
    )
    with _process(code) as process:
        _wait_for(port)
        yield f"tcp://127.0.0.1:{port}", process


@contextmanager
def _worker(address: str, before: str) -> Iterator[None]:
    """A worker, once the scheduler knows it."""
    from distributed import Client

    with _process(_WORKER.format(before=before, address=address)):
        with Client(address, set_as_default=False) as client:
            client.wait_for_workers(1, timeout=_SECONDS)
        yield


@contextmanager
def _process(code: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=dict(os.environ),
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int) -> None:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)


if __name__ == "__main__":
    raise SystemExit(main() > 0)
