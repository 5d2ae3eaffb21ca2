"""A run takes the driver that has only what it needs, and all drivers take the same steps."""

import numpy as np
import pytest

from ravine import Method
from ravine.engine.draws.index_sampling import TOGETHER
from ravine.engine.kernels.finite_sum import ensemble, sum_rules, sum_terms
from ravine.engine.kernels.finite_sum_kernel import CHUNK, _drivers, driver_for
from ravine.problems import counterexample, partitioned_least_squares, turning_quadratics
from ravine.sampling import Sampling

PLAIN = {"batch": 1, "restart": None, "schedule": None, "sigma": 0.0}
SHARED = counterexample(1, 10, 6)


@pytest.mark.parametrize(
    ("problem", "changes", "apart", "extras"),
    [
        (SHARED, {}, 1, 0),
        (SHARED, {"batch": 2}, 0, 0),
        (SHARED, {"schedule": 0.5}, 0, 0),
        (SHARED, {"sigma": 0.1}, 0, 1),
        (SHARED, {"restart": "full"}, 0, 1),
        (turning_quadratics(1, 5), {}, 0, 0),
        (partitioned_least_squares(60, 3, 6, Q=9), {}, 0, 0),
    ],
)
def test_coordinates_are_taken_apart_where_they_do_not_meet(problem, changes, apart, extras):
    terms, _ = sum_terms(problem, Sampling.IID)
    rules = sum_rules(problem.terms, 9, sampling=Sampling.IID, nesterov=True, **PLAIN | changes)
    for recording in (False, True):
        expected = _drivers[apart, extras, int(recording)]
        assert driver_for(terms, rules, recording=recording) is expected


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
