import numpy as np
import pytest
from numba import njit

from ravine import Sampling
from ravine.engine.draws.random import LANES
from ravine.engine.kernels.finite_sum import is_quadratic_sum, new_sum
from ravine.engine.kernels.finite_sum_lanes import ROWS, G
from ravine.engine.kernels.linear_model_gradient import (
    drawn_gradient,
    exponential,
    objective_of,
    whole_gradient,
)
from ravine.problems import from_data, multinomial_logistic


def test_the_exponential_is_exact_to_rounding():
    @njit
    def over(values, out):
        for i in range(values.size):
            out[i] = exponential(values[i])

    x = np.concatenate([np.linspace(-700, 0, 20_001), np.linspace(-1e-3, 1e-3, 1001), [5.5, 700.0]])
    out = np.empty_like(x)
    over(x, out)
    np.testing.assert_allclose(out, np.exp(x), rtol=1e-15 * 4)
    over(np.array([-1e6]), out[:1])
    assert 0 < out[0] < 1e-300


RNG = np.random.default_rng(2)
ROWS_OF_DATA = RNG.standard_normal((21, 3))
WIDE_ROWS = RNG.standard_normal((21, 35))
PROBLEMS = {
    "softmax": multinomial_logistic(21, 3, 3, 2, l2=0.1, seed=1, batch_size=6),
    "logistic": from_data(
        ROWS_OF_DATA, RNG.random(21) > 0.4, loss="logistic", l2=0.1, batch_size=6
    ),
    "squared": from_data(WIDE_ROWS, RNG.standard_normal(21), l2=0.1, batch_size=6),
}


def laid_out(spec, problem, sampling):
    """The data of a problem, random points (lanes, d), and a block where all lanes are at them."""
    given = new_sum(spec(problem, sampling=sampling, batch=2 if sampling else 1))
    assert not is_quadratic_sum(spec(problem, sampling=sampling))
    points = 3 * RNG.standard_normal((LANES, problem.dimension))
    state = given.new_block()
    state.workspace.reshape(-1, ROWS, LANES)[:, :3] = points.T[:, None]
    return given.terms, points, state


def gradients(state):
    return state.workspace.reshape(-1, ROWS, LANES)[:, G].T


@njit
def of_batches(data, state, values):
    drawn_gradient(data, state, 2)
    for p in range(LANES):
        values[0, p] = objective_of(data, state, 0, 2, p)
        values[1, p] = objective_of(data, state, 1, 0, p)


@pytest.mark.parametrize("name", PROBLEMS)
def test_gradients_and_objectives_of_batches_are_those_of_the_problem(spec, name):
    problem = PROBLEMS[name]
    data, points, state = laid_out(spec, problem, Sampling.IID)
    picks = RNG.integers(0, problem.terms, (2, LANES)).astype(np.uint32)
    state.picks[:] = picks.ravel()
    values = np.empty((2, LANES))
    of_batches(data, state, values)
    for p in (0, 17, LANES - 1):
        both = [int(b) for b in picks[:, p]]
        slope = np.mean([problem.batch_gradient(b, points[p]) for b in both], axis=0)
        np.testing.assert_allclose(gradients(state)[p], slope, atol=1e-13)
        sampled = np.mean([problem.batch_objective(b, points[p]) for b in both])
        assert values[0, p] == pytest.approx(sampled, rel=1e-13)
        assert values[1, p] == pytest.approx(problem.objective(points[p]), rel=1e-13)


@pytest.mark.parametrize("name", ["softmax", "logistic"])
def test_whole_gradients_are_those_of_the_problem(spec, name):
    problem = PROBLEMS[name]
    data, points, state = laid_out(spec, problem, None)
    njit(lambda *given: whole_gradient(*given))(data, state, 1)
    for p in (0, 17, LANES - 1):
        # Slopes of up to ten, from a few rows and features, summed in another order.
        np.testing.assert_allclose(gradients(state)[p], problem.gradient(points[p]), atol=1e-13)
