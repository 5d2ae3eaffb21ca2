"""The plane is cut into tiles that cover it once, and threads are set for the run alone."""

from dataclasses import replace

import numba
import numpy as np
import pytest

from ravine.engine.spec import Spec
from ravine.engine.tiles import cut_plane, run_tile, run_tiles
from ravine.problems import worst_case_quadratic

PROBLEM = worst_case_quadratic(Q=9, d=4)


@pytest.fixture
def spec():
    return Spec(
        problem=PROBLEM,
        alphas=np.linspace(0.01, 0.2, 40),
        betas=np.linspace(0.0, 0.9, 30),
        steps=20,
        start=PROBLEM.start,
    )


@pytest.mark.parametrize("size", [1, 7, 400, 1200, 5000])
def test_tiles_cover_the_plane_once(spec, size):
    tiles = cut_plane(spec, size)
    assert [pixel for first, last in tiles for pixel in range(first, last)] == list(range(1200))
    assert max(last - first for first, last in tiles) <= size


def test_long_runs_get_smaller_tiles(spec):
    def first_tile(**changes):
        return cut_plane(replace(spec, alphas=np.linspace(0.01, 0.2, 900), **changes), None)[0][1]

    # 2e9 updates of 4 coordinates are 4096 pixels of 122,000 steps and 256 of 2 million.
    assert first_tile(steps=10) == 4096
    assert first_tile(steps=1_000_000) == 500
    assert first_tile(steps=100_000_000) == 256
    assert first_tile(steps=1_000_000, repeats=100_000, device="cuda") == 256
    assert first_tile(steps=1_000_000, repeats=64, device="cuda") == 2048


def test_tiles_are_the_parts_of_the_whole(spec):
    whole = run_tile(spec, 0, spec.pixels)
    parts = dict(run_tiles(spec, cut_plane(spec, 500), threads=1))
    assert list(parts) == [(0, 500), (500, 1000), (1000, 1200)]
    for name, values in whole.items():
        assert values.tobytes() == np.concatenate([p[name] for p in parts.values()]).tobytes()


def test_threads_are_given_back(spec):
    before = numba.config.NUMBA_NUM_THREADS
    numba.set_num_threads(before)
    running = run_tiles(spec, cut_plane(spec, 500), threads=1)
    next(running)
    assert numba.get_num_threads() == 1
    running.close()
    assert numba.get_num_threads() == before
    with pytest.raises(ValueError, match="threads must be at most"):
        next(run_tiles(spec, [], threads=10**6))
