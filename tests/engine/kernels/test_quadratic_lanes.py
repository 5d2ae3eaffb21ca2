"""The inner loops of the quadratic kernel, lane by lane, against plain NumPy."""

import numpy as np
from numba import njit

from ravine.engine.kernels.quadratic_driver import (
    BETA,
    CHUNK,
    GAMMA,
    LANES,
    SECOND,
    chunk_shared,
    modal_row,
    put_to_rest,
)

RNG = np.random.default_rng(4)


def lanes_of_their_own():
    own = np.zeros(5 * LANES)
    own[:LANES] = RNG.uniform(0.0, 1.0, LANES)
    own[BETA : BETA + LANES] = RNG.uniform(-0.5, 0.9, LANES)
    own[GAMMA : GAMMA + LANES] = own[BETA : BETA + LANES]
    look = np.full(LANES, 0.25)
    return own, np.zeros(4 * LANES), look


def test_a_chunk_takes_the_steps_of_the_recurrence_in_two_coordinates():
    own, row, look = lanes_of_their_own()
    x = RNG.standard_normal(4 * LANES)
    shared = RNG.standard_normal(2 * CHUNK).astype(np.float32)
    squares = np.zeros(CHUNK * LANES)
    here, before = x.reshape(2, 2, LANES).transpose(1, 0, 2).copy()
    eigenvalues = np.array([[0.7], [0.4]])

    def chunk(own, row, look, x, shared, squares):
        modal_row(0.7, own, row)
        modal_row(0.4, own, row[SECOND:])
        chunk_shared(x, row, look, shared, squares)

    njit(chunk)(own, row, look, x, shared, squares)

    h = eigenvalues * own[:LANES]
    beta = own[BETA : BETA + LANES]
    for k in range(CHUNK):
        noise = shared.reshape(2, CHUNK)[:, k, None].astype(float)
        ahead = (1 + beta - h * (1 + beta)) * here - (beta - h * beta) * before + noise
        before, here = here, ahead
        seen = squares[k * LANES : (k + 1) * LANES]
        expected = ((here - 0.25 * before) ** 2).sum(axis=0)
        np.testing.assert_allclose(seen, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(x, np.stack([here, before], 1).ravel(), rtol=1e-10, atol=1e-12)


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
