"""A store ends with the bits of an uninterrupted run, whatever happened on the way."""

import errno
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import ravine.engine.tiles as running
from ravine import LinearMethod
from ravine.arguments import Refusal
from ravine.engine.storage.header import Header, tile_shape
from ravine.engine.storage.store import open_store, store_status, tile_store
from ravine.engine.sweep import sweep
from ravine.problems import Quadratic, worst_case_quadratic

TILES = 24


def run(store=None, **others):
    given = {"steps": 200, "repeats": 2, "sigma2": 0.1, "seed": 7, "tile": 100} | others
    plane = np.linspace(0.0, 0.15, 47), np.linspace(-0.5, 1.0, 50)
    return sweep(worst_case_quadratic(16, 10), *plane, store=store, threads=1, **given)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nothing interrupted: its store, and its dataset without a store."""
    store = tmp_path_factory.mktemp("whole") / "sweep.zarr"
    run(store)
    return store, run()


@pytest.fixture
def counted(monkeypatch):
    """Tiles that were computed, as they are."""
    computed = []
    original = running.run_tile

    def counting(spec, first, last):
        computed.append((first, last))
        return original(spec, first, last)

    monkeypatch.setattr(running, "run_tile", counting)
    return computed


def files(store: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(store)): path.read_bytes()
        for path in store.rglob("*")
        if path.is_file() and path.name != "lock"
    }


def same_bits(a: xr.Dataset, b: xr.Dataset) -> None:
    xr.testing.assert_identical(a, b)
    assert a.attrs == b.attrs
    assert list(a.data_vars) == list(b.data_vars)
    for name in a.variables:
        assert a[name].dtype == b[name].dtype
        assert a[name].attrs == b[name].attrs
        assert a[name].values.tobytes() == b[name].values.tobytes(), name


def records(store: Path) -> int:
    return len(list((store / "tiles").glob("[0-9]*.json")))


def test_a_store_holds_the_dataset_of_a_sweep_without_one(whole):
    store, expected = whole
    same_bits(xr.open_zarr(store).load(), expected)
    same_bits(open_store(store)[0].load(), expected)
    assert store_status(store).is_complete


@pytest.mark.parametrize(
    "others",
    [
        {"pairs": True},
        {"gammas": 0.25, "measure": ("floor_sup", "rate"), "sigma2": 0.0},
        {"tile": 3, "repeats": 1},
        {"dtype": "float32", "noise": "shared"},
    ],
)
def test_every_kind_of_sweep_is_kept_bit_for_bit(tmp_path, others):
    problem, axis = worst_case_quadratic(4, 3), np.linspace(0.0, 0.6, 7)
    given = {"steps": 40, "sigma2": 0.01, "repeats": 2, "tile": 16} | others
    expected = sweep(problem, axis, axis - 0.2, **given)
    same_bits(sweep(problem, axis, axis - 0.2, **given, store=tmp_path / "s").load(), expected)


def test_killed_at_three_random_tiles_it_ends_with_the_same_bytes(whole, tmp_path):
    store = tmp_path / "sweep.zarr"
    rng = random.Random(4)
    for target in sorted(rng.sample(range(1, TILES - 3), 3)):
        # What a process writes after its last record is cut off anywhere by the kill. It never
        # ends by itself, see below: the kill comes in time however busy the machine is.
        child = subprocess.Popen([sys.executable, __file__, str(store)])
        try:
            while child.poll() is None and records(store) < target:
                time.sleep(0.0005)
            time.sleep(rng.uniform(0.0, 0.01))
        finally:
            child.send_signal(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL
        assert target <= records(store) < TILES
    before = records(store)
    resumed = run(store)
    same_bits(resumed.load(), whole[1])
    assert files(store) == files(whole[0])
    assert before < TILES == records(store)


def test_a_finished_store_is_read_not_computed(whole, counted):
    same_bits(run(whole[0]).load(), whole[1])
    assert counted == []


def test_damaged_tiles_are_noticed_and_computed_again(whole, tmp_path, counted):
    store = tmp_path / "sweep.zarr"
    run(store)
    counted.clear()
    cut = store / "rate" / "c" / "3" / "0"
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    flipped = store / "outcome" / "c" / "5" / "0"
    flipped.write_bytes(flipped.read_bytes()[:-1] + bytes([flipped.read_bytes()[-1] ^ 1]))
    (store / "floor" / "c" / "7" / "0").unlink()
    (store / "tiles" / "00000009.json").write_text('{"tile": [')
    (store / "tiles" / "00000011.json").unlink()
    status = store_status(store)
    assert (status.total, status.done, len(status.damages)) == (TILES, TILES - 5, 4)
    with pytest.raises(Refusal, match=r"where tile 3 was changed \(and 3 more\): ravine sweep"):
        open_store(store)
    same_bits(run(store).load(), whole[1])
    assert counted == [(100 * n, 100 * n + 100) for n in (3, 5, 7, 9, 11)]
    assert files(store) == files(whole[0])


@pytest.mark.parametrize(
    ("others", "named"),
    [
        ({"steps": 201}, "steps 200, not 201"),
        ({"seed": 8}, "seed 7, not 8"),
        ({"dtype": "float32"}, "dtype 'float64', not 'float32'"),
        ({"repeats": 3, "sigma2": 0.2}, "repeats 2, not 3; sigma2 0.1, not 0.2"),
        ({"start": 2.0}, "start 10 numbers, 0 to 0 ["),
    ],
)
def test_a_store_of_another_sweep_is_refused(whole, others, named):
    before = files(whole[0])
    with pytest.raises(ValueError, match="store must be of this very sweep") as refusal:
        run(whole[0], **others)
    assert named in str(refusal.value)
    assert files(whole[0]) == before


def test_a_problem_that_differs_in_one_bit_is_refused(tmp_path):
    hessian = np.diag([1.0, 2.0])
    sweep(Quadratic(hessian), [0.1], [0.0], steps=5, store=tmp_path / "s")
    hessian[1, 1] = np.nextafter(2.0, 3.0)
    with pytest.raises(ValueError, match=r"made with problem quadratic\(dimension=2\) \["):
        sweep(Quadratic(hessian), [0.1], [0.0], steps=5, store=tmp_path / "s")


def test_a_store_of_another_method_is_refused(tmp_path):
    def kept(nu):
        def method(alpha, beta):
            return LinearMethod.quasi_hyperbolic(alpha, beta, nu)

        problem = worst_case_quadratic(Q=9, d=4)
        return sweep(problem, [0.1], [0.5], method=method, steps=9, store=tmp_path / "s.zarr")

    first = kept(0.7).load()
    assert kept(0.7).identical(first)
    with pytest.raises(ValueError, match="made with methods 1x2x3 numbers"):
        kept(0.6)


def test_another_version_of_the_engine_is_refused(whole, monkeypatch):
    import ravine.engine.storage.fingerprint as prints

    older = prints.numerics() | {"numba": "0.1"}
    monkeypatch.setattr(prints, "numerics", lambda: older)
    with pytest.raises(ValueError, match=r"made with numba .*, not 0\.1: give the arguments"):
        run(whole[0])


def test_what_is_no_store_is_refused_and_left_alone(tmp_path):
    (tmp_path / "letter.txt").write_text("dear")
    for path in (tmp_path, tmp_path / "letter.txt"):
        with pytest.raises(ValueError, match=r"it (holds something|is not a folder)"):
            run(path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]
    with pytest.raises(ValueError, match="there is no such store"):
        store_status(tmp_path / "nothing")


def test_two_runs_do_not_write_to_one_store(whole, tmp_path, monkeypatch):
    original = running.run_tile

    def second(spec, first, last):
        with (
            pytest.raises(ValueError, match="which a run writes to now"),
            tile_store(tmp_path / "s", spec, 100),
        ):
            pass
        return original(spec, first, last)

    monkeypatch.setattr(running, "run_tile", second)
    same_bits(run(tmp_path / "s").load(), whole[1])


@pytest.mark.parametrize("call", [0, 1, 4, 61])
def test_a_full_disk_loses_nothing(whole, tmp_path, monkeypatch, call):
    """File systems say that they are full when data are flushed, or before."""
    store = tmp_path / "sweep.zarr"
    flush, calls = os.fsync, iter(range(10_000))

    def full(handle):
        if next(calls) >= call:
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(handle)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device"):
        run(store)
    monkeypatch.undo()
    if call > 0:  # at first the header of the store is flushed
        status = store_status(store)
        assert status.damages == ()
        assert status.done == records(store) == (call - 1) // 12  # eleven variables and a record
    assert not [*store.rglob(".*.part*"), *store.rglob("*.partial")]
    same_bits(run(store).load(), whole[1])
    assert files(store) == files(whole[0])


def test_interrupted_it_says_how_far_it_came_and_can_go_on(whole, tmp_path, monkeypatch, capsys):
    original = running.run_tile

    def interrupted(spec, first, last):
        if first == 700:
            raise KeyboardInterrupt
        return original(spec, first, last)

    monkeypatch.setattr(running, "run_tile", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "sweep.zarr")
    monkeypatch.undo()
    line = f"stopped after 7 of {TILES} tiles: run it again with the same store to continue\n"
    assert capsys.readouterr().err.endswith(line)
    same_bits(run(tmp_path / "sweep.zarr").load(), whole[1])


def test_a_store_keeps_its_own_tiles(tmp_path, counted):
    store = tmp_path / "sweep.zarr"
    run(store)
    first = list(counted)
    (store / "tiles" / "00000002.json").unlink()
    run(store, tile=1000)
    assert counted[len(first) :] == [(200, 300)]


@pytest.mark.parametrize(
    ("shape", "pixels"), [((7, 5), 5), ((7, 5), 12), ((7, 5), 3), ((7, 5), 999), ((11,), 4)]
)
def test_boxes_and_tiles_cover_every_pixel_once_and_agree(shape, pixels):
    grid = Header(shape, tile_shape(shape, pixels), (), {})
    numbers = np.arange(np.prod(shape)).reshape(shape)
    seen = []
    for number, box in enumerate(grid.boxes):
        first, last = grid.tile(number)
        assert numbers[box].ravel().tolist() == list(range(first, last))
        seen += range(first, last)
    assert seen == list(range(numbers.size))


def test_a_tile_is_whole_rows_or_a_part_of_one():
    assert tile_shape((7, 5), 12) == (2, 5)
    assert tile_shape((7, 5), 3) == (1, 3)
    assert Header((7, 5), (1, 3), (), {}).chunk_name("rate", 3) == "rate/c/1/1"


def run_all_but_the_last_tile(store):
    """What is to be killed: it waits for that in the last tile, as long as it takes."""
    original = running.run_tile

    def waiting(spec, first, last):
        if first == 100 * (TILES - 1):
            signal.pause()
        return original(spec, first, last)

    running.run_tile = waiting
    run(store)


if __name__ == "__main__":
    run_all_but_the_last_tile(sys.argv[1])
