"""The inner loops of the quadratic kernel, lane by lane, against plain NumPy."""

import numpy as np
import pytest
from numba import njit

from ravine.engine.draws.random import LANES
from ravine.engine.kernels.quadratic_driver import (
    BETA,
    CHUNK,
    GAMMA,
    SECOND,
    G,
    chunk_last,
    chunk_pair,
    modal_row,
    put_to_rest,
)
from ravine.engine.kernels.quadratic_kernel import NO_NOISE, new_block, new_plan
from ravine.problems import worst_case_quadratic

RNG = np.random.default_rng(4)


def lanes_of_their_own():
    own = np.zeros(5 * LANES)
    own[:LANES] = RNG.uniform(0.0, 1.0, LANES)
    own[BETA : BETA + LANES] = RNG.uniform(-0.5, 0.9, LANES)
    own[GAMMA : GAMMA + LANES] = own[BETA : BETA + LANES]
    return own, np.zeros(4 * LANES)


@pytest.mark.parametrize("alone", [False, True])
def test_a_chunk_takes_the_steps_of_the_recurrence_in_two_coordinates(spec, alone):
    state = new_block(new_plan(spec(worst_case_quadratic(Q=9, d=2)), NO_NOISE), NO_NOISE)
    own, row = lanes_of_their_own()
    state.row[G:] = 0.25
    state.squares[:] = 0.0
    squares = state.squares
    x = RNG.standard_normal(4 * LANES)
    shared = RNG.standard_normal(2 * CHUNK).astype(np.float32)
    here, before = x.reshape(2, 2, LANES).transpose(1, 0, 2).copy()
    eigenvalues = np.array([[0.7], [0.4]])

    def chunk(own, row, x, shared, state):
        for i, eigenvalue in enumerate((0.7, 0.4)):
            modal_row(eigenvalue, own, row[i * SECOND :])
            if alone:
                modal_row(eigenvalue, own, state.row)
                its, noise = x[i * SECOND :], shared[i * CHUNK :]
                chunk_last(its, state.row, state.states, state.words, noise, state.squares)
        if not alone:
            chunk_pair(x, row, shared, state)

    njit(chunk)(own, row, x, shared, state)

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
