"""A run takes the driver that has only what it needs, and all drivers take the same steps."""

import numpy as np
import pytest

from ravine import Method, Restart
from ravine.engine.draws.index_sampling import TOGETHER
from ravine.engine.kernels.finite_sum import ensemble, new_sum
from ravine.engine.kernels.finite_sum_kernel import APART, kind_of
from ravine.engine.kernels.finite_sum_lanes import CHUNK
from ravine.problems import counterexample, partitioned_least_squares, turning_quadratics
from ravine.sampling import Sampling

SHARED = counterexample(1, 10, 6)


@pytest.mark.parametrize(
    ("problem", "changes", "apart"),
    [
        (SHARED, {}, True),
        (SHARED, {"batch": 2}, False),
        (SHARED, {"schedule": 0.5}, False),
        (SHARED, {"sigma2": 0.1}, False),
        (SHARED, {"restart": Restart.FULL}, False),
        (turning_quadratics(1, 5), {}, False),
        (partitioned_least_squares(60, 3, 6, Q=9), {}, False),
    ],
)
def test_coordinates_are_taken_apart_where_they_do_not_meet(spec, problem, changes, apart):
    given = new_sum(spec(problem, sampling=Sampling.IID, **changes))
    assert (kind_of(given.terms, given.rules)[0] == APART) == apart


@pytest.mark.parametrize("rule", Sampling)
def test_steps_taken_together_are_those_taken_one_by_one(rule):
    # A schedule that changes nothing is not known to: the coordinates are then taken step by step.
    method = Method(0.05, 0.4)
    visits = [1, TOGETHER, CHUNK + 3, 3 * CHUNK]
    given = {"trajectories": 130, "sampling": rule, "seed": 2}
    together = ensemble(SHARED, method, visits, **given).errors
    alone = ensemble(SHARED, method, visits, schedule=0.4, **given).errors
    # 48 stable steps of a few roundings each.
    np.testing.assert_allclose(together, alone, rtol=1e-12, atol=1e-14)
