"""The inner loops of the quadratic kernel, lane by lane, against plain NumPy."""

import numpy as np
import pytest
from numba import njit

from ravine.engine.kernels.quadratic_lanes import (
    BETA,
    CHUNK,
    GAMMA,
    LANES,
    SECOND,
    aligned,
    chunk_shared,
    chunk_shared_by_two,
    modal_row,
    paged,
    put_to_rest,
)

RNG = np.random.default_rng(4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint32])
@pytest.mark.parametrize(("room_of", "start"), [(aligned, 64), (paged, 4096)])
def test_rooms_begin_on_a_cache_line_or_a_page(dtype, room_of, start):
    for size in (1, 100):
        room = room_of(size, dtype)
        assert room.shape == (size,)
        assert room.dtype == dtype
        assert room.ctypes.data % start == 0


def lanes_of_their_own():
    own = np.zeros(5 * LANES)
    own[:LANES] = RNG.uniform(0.0, 1.0, LANES)
    own[BETA : BETA + LANES] = RNG.uniform(-0.5, 0.9, LANES)
    own[GAMMA : GAMMA + LANES] = own[BETA : BETA + LANES]
    look = np.full(LANES, 0.25)
    return own, np.zeros(4 * LANES), look


def test_a_chunk_takes_the_steps_of_the_recurrence():
    own, row, look = lanes_of_their_own()
    x = RNG.standard_normal(2 * LANES)
    shared = RNG.standard_normal(CHUNK).astype(np.float32)
    squares = np.zeros(CHUNK * LANES)
    before = x[LANES:].copy()
    here = x[:LANES].copy()

    def chunk(eigenvalue, own, row, look, x, shared, squares):
        modal_row(eigenvalue, own, row)
        chunk_shared(x, row, look, shared, squares)

    njit(chunk)(0.7, own, row, look, x, shared, squares)

    h = 0.7 * own[:LANES]
    beta = own[BETA : BETA + LANES]
    for k in range(CHUNK):
        noise = float(shared[k])
        ahead = (1 + beta - h * (1 + beta)) * here - (beta - h * beta) * before + noise
        before, here = here, ahead
        seen = squares[k * LANES : (k + 1) * LANES]
        np.testing.assert_allclose(seen, (here - 0.25 * before) ** 2, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(x, [*here, *before], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_two_coordinates_at_once_have_the_bits_of_one_after_the_other(dtype):
    own, row, look = lanes_of_their_own()
    row, look = row.astype(dtype), look.astype(dtype)
    x = RNG.standard_normal(4 * LANES).astype(dtype)
    shared = RNG.standard_normal(2 * CHUNK).astype(np.float32)
    squares = RNG.uniform(0.0, 1.0, CHUNK * LANES).astype(dtype)
    same = x.copy(), squares.copy()

    @njit(fastmath={"contract"})
    def in_turn(own, row, look, x, shared, squares):
        for i in range(2):
            modal_row(0.7 - 0.3 * i, own, row)
            chunk_shared(x[2 * i * LANES :], row, look, shared[i * CHUNK :], squares)

    @njit(fastmath={"contract"})
    def at_once(own, row, look, x, shared, squares):
        modal_row(0.7, own, row)
        modal_row(0.7 - 0.3, own, row[SECOND:])
        chunk_shared_by_two(x, row, look, shared, squares)

    in_turn(own, row, look, x, shared, squares)
    at_once(own, row, look, same[0], shared, same[1])
    assert x.tobytes() == same[0].tobytes()
    assert squares.tobytes() == same[1].tobytes()


def test_only_what_is_tiny_and_can_not_grow_is_put_to_rest():
    x = np.full(2 * LANES, 1e-301)
    row = np.zeros(3 * LANES)
    row[:LANES] = 0.5  # c1; with c2 = 0 stable
    row[1] = 1.2  # a root outside
    row[2], row[LANES + 2] = 0.0, -1.1  # two of them
    row[3], row[LANES + 3] = 1.9, -0.95  # complex, inside
    x[4] = 1e-299
    x[LANES + 5] = -1e-299
    before = x.copy()
    njit(lambda x, row: put_to_rest(x, row, 1e-300))(x, row)
    moving = [1, 2, 4, 5]
    assert np.flatnonzero(x[:LANES]).tolist() == moving
    assert np.flatnonzero(x[LANES:]).tolist() == moving
    assert (x[x != 0.0] == before[x != 0.0]).all()
