"""Recording eight steps at once gives the bits of recording them one by one."""

from dataclasses import replace

import numpy as np
import pytest

from ravine.engine.draws.random import LANES
from ravine.engine.kernels import quadratic_kernel
from ravine.engine.kernels.quadratic_driver import takes_sup_norm
from ravine.engine.measures import EIGHT, ONE, Records, record
from ravine.problems import worst_case_quadratic


def test_eight_steps_are_recorded_as_one_by_one():
    rng = np.random.default_rng(5)
    squares = rng.uniform(0.5, 2.0, 8 * LANES)
    bounds = np.append(rng.uniform(0.5, 2.0, LANES), np.full(LANES, 10.0))
    squares[3 * LANES + 2] = squares[5 * LANES + 2] = 100.0
    squares[7 * LANES + 4] = np.nan
    one_by_one, together = (
        Records(np.ones((1, LANES)), np.zeros(LANES), np.zeros(LANES, np.int64), np.zeros(LANES))
        for _ in range(2)
    )
    for j in range(8):
        record.py_func(squares[j * LANES :], bounds, 41 + j, 0, one_by_one, ONE)

    record.py_func(squares, bounds, 41, 0, together, EIGHT)
    for found, expected in zip(together, one_by_one, strict=True):
        assert found.tobytes() == expected.tobytes()
    found = together.diverged_at
    assert (found[2], found[4], np.count_nonzero(found)) == (44, 48, 2)


def test_noise_drawn_at_once_is_that_of_each_block(spec, monkeypatch):
    plane = spec(worst_case_quadratic(Q=9, d=5), sigma2=0.1, noise="shared", steps=70)
    at_once = quadratic_kernel.run_tile(plane, 0, 30)
    monkeypatch.setattr(quadratic_kernel, "_MOST_NOISE", 0)
    block_by_block = quadratic_kernel.run_tile(plane, 0, 30)
    for name, values in at_once.items():
        assert values.tobytes() == block_by_block[name].tobytes(), name
    other = quadratic_kernel.run_tile(replace(plane, seed=9), 0, 30)
    assert other["final_error"].tobytes() != at_once["final_error"].tobytes()


@pytest.mark.parametrize("steps", [63, 1000, 100_000])
def test_sup_norms_are_few_and_late(steps):
    takes = takes_sup_norm.py_func
    taken = [k for k in range(32, steps + 1, 32) if takes(k, steps)]
    assert len(taken) <= 65
    assert all(2 * k > steps for k in taken)
