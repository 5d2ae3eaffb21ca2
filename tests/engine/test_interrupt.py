import os
import signal
import subprocess
import sys
import time

from ravine.engine.storage.store import store_status

LONG = 600
"""Seconds to wait for what must come: a busy machine may need some, a quiet one needs few."""

# A minute of tiles, far more than it finishes, and a file that only a finished sweep would write.
# It says when its first tile begins: how long that takes from the start depends on the machine.
SWEEP = """
import signal
import sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background has not
import ravine.engine.tiles as tiles
from ravine.engine.sweep import sweep
from ravine.problems import worst_case_quadratic

run_tile = tiles.run_tile

def announced(*given):
    print("tile", flush=True)
    return run_tile(*given)

tiles.run_tile = announced
problem = worst_case_quadratic(Q=16, d=20)
found = sweep(problem, [0.01] * 2560, [0.5] * 64, steps=20_000, sigma2=1.0, tile=256, **OPTIONS)
found.to_netcdf(sys.argv[1])
"""


def interrupted(tmp_path, options, ready):
    """Start a sweep, interrupt it in a tile once ``ready()``; return exit code and errors."""
    script = SWEEP.replace("OPTIONS", repr(options))
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "found.nc")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline() == "tile\n"
        until = time.monotonic() + LONG
        while not ready() and time.monotonic() < until:
            time.sleep(0.1)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=LONG)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    return process.returncode, errors


def test_an_interrupt_says_what_was_done_and_leaves_no_file(tmp_path):
    code, errors = interrupted(tmp_path, {}, lambda: True)
    assert code in (-signal.SIGINT, 128 + signal.SIGINT, 1)
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert "of 640 tiles" in errors
    assert os.listdir(tmp_path) == []


def test_an_interrupted_store_holds_whole_tiles_only(tmp_path):
    store = tmp_path / "sweep.zarr"

    def first_tile_is_there():
        return (store / "tiles" / "00000000.json").exists()

    code, errors = interrupted(tmp_path, {"store": str(store)}, first_tile_is_there)
    assert code != 0
    status = store_status(store)
    assert 0 < status.done < status.total == 640
    assert status.damages == ()
    assert f"stopped after {status.done} of 640 tiles: run it again" in errors
    assert os.listdir(tmp_path) == ["sweep.zarr"]
