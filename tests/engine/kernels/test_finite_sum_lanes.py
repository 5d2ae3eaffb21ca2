"""Restarts of the finite-sum kernel, lane by lane, against the objectives of the problem.

The gradients of drawn terms, and of all, enter them. Whole steps are tested in ``test_finite_sum``.
"""

import numpy as np
import pytest
from numba import njit

from ravine.engine.draws.random import LANES
from ravine.engine.kernels.finite_sum import new_sum
from ravine.engine.kernels.finite_sum_lanes import (
    MID,
    ROWS,
    G,
    quadratic_rise,
    restart,
    slope_along_step,
)
from ravine.engine.restart import ON_FULL, ON_GRADIENT, ON_SAMPLED
from ravine.problems import counterexample, partitioned_least_squares
from ravine.sampling import Sampling

RNG = np.random.default_rng(7)


@njit
def run_restart(terms, state, kind, size):
    """Inner functions are for compiled code alone: this is a way in."""
    if kind == ON_GRADIENT:
        slope_along_step(state, G)
    else:
        quadratic_rise(terms, state, kind, size)
    restart(state)


PROBLEMS = {
    "shared": counterexample(1, 10, 5),
    "dense": partitioned_least_squares(60, 3, 6, Q=9, seed=2),
}


@pytest.fixture(params=PROBLEMS)
def problem(request):
    return PROBLEMS[request.param]


def block_of(spec, problem):
    """Terms, and a block at random places with random mini-batches of two."""
    given = new_sum(spec(problem, sampling=Sampling.IID, batch=2))
    np.testing.assert_array_equal(given.plan.basis, np.eye(problem.dimension))
    state = given.new_block()
    state.workspace[:] = RNG.standard_normal(state.workspace.size)
    state.picks[:] = RNG.integers(0, problem.terms, state.picks.size)
    return given.terms, state


def rows(state, row):
    """One row of all coordinates, shape (lanes, d)."""
    return state.workspace.reshape(-1, ROWS, LANES)[:, row].T.copy()


def batches(state):
    return state.picks.reshape(2, LANES).T


@pytest.mark.parametrize("kind", [ON_GRADIENT, ON_SAMPLED, ON_FULL])
def test_lanes_that_went_uphill_lose_their_momentum(spec, problem, kind):
    terms, state = block_of(spec, problem)
    here, before = rows(state, 0), rows(state, 1)
    state.workspace.reshape(-1, ROWS, LANES)[:, MID] = ((here + before) / 2).T
    rise = np.empty(LANES)
    for lane, batch in enumerate(batches(state)):
        new, old = problem.minimiser + here[lane], problem.minimiser + before[lane]
        if kind == ON_GRADIENT:
            rise[lane] = rows(state, G)[lane] @ (new - old)
        elif kind == ON_SAMPLED:
            rise[lane] = np.mean(
                [problem.batch_objective(i, new) - problem.batch_objective(i, old) for i in batch]
            )
        else:
            rise[lane] = problem.objective(new) - problem.objective(old)
    run_restart(terms, state, kind, 2)
    assert 0 < (rise > 0).sum() < LANES
    np.testing.assert_array_equal(rows(state, 1), np.where(rise[:, None] > 0, here, before))
