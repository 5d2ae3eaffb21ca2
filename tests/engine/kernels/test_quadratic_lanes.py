"""The inner loops of the quadratic kernel, lane by lane, against plain NumPy."""

import numpy as np
import pytest
from numba import njit

from ravine.engine.kernels.quadratic_lanes import (
    BETA,
    CHUNK,
    GAMMA,
    LANES,
    G,
    aligned,
    chunk_shared,
    modal_row,
)

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint32])
def test_rooms_begin_on_a_cache_line(dtype):
    for size in (1, 100):
        room = aligned(size, dtype)
        assert room.shape == (size,)
        assert room.dtype == dtype
        assert room.ctypes.data % 64 == 0


def test_a_chunk_takes_the_steps_of_the_recurrence():
    own = np.zeros(5 * LANES)
    own[:LANES] = RNG.uniform(0.0, 1.0, LANES)
    own[BETA : BETA + LANES] = RNG.uniform(-0.5, 0.9, LANES)
    own[GAMMA : GAMMA + LANES] = own[BETA : BETA + LANES]
    row = np.zeros(3 * LANES)
    row[G:] = 0.25
    x = RNG.standard_normal(2 * LANES)
    shared = RNG.standard_normal(CHUNK * LANES).astype(np.float32)
    squares = np.zeros(CHUNK * LANES)
    before = x[LANES:].copy()
    here = x[:LANES].copy()

    def chunk(eigenvalue, own, row, x, shared, squares):
        modal_row(eigenvalue, own, row)
        chunk_shared(x, row, shared, squares)

    njit(chunk)(0.7, own, row, x, shared, squares)

    h = 0.7 * own[:LANES]
    beta = own[BETA : BETA + LANES]
    for k in range(CHUNK):
        noise = float(shared[k * LANES])
        ahead = (1 + beta - h * (1 + beta)) * here - (beta - h * beta) * before + noise
        before, here = here, ahead
        seen = squares[k * LANES : (k + 1) * LANES]
        np.testing.assert_allclose(seen, (here - 0.25 * before) ** 2, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(x, [*here, *before], rtol=1e-10, atol=1e-12)
