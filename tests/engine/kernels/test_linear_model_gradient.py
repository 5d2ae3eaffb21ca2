import numpy as np
import pytest
from numba import njit

from ravine.engine.kernels.linear_model_gradient import (
    LANES,
    ROWS,
    drawn_gradient,
    exponential,
    gradient,
    objective_of,
)
from ravine.engine.kernels.linear_model_kernel import new_data
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
PROBLEMS = {
    "softmax": multinomial_logistic(21, 3, 3, 2, l2=0.1, seed=1, batch_size=6),
    "logistic": from_data(
        ROWS_OF_DATA, RNG.random(21) > 0.4, loss="logistic", l2=0.1, batch_size=6
    ),
    "squared": from_data(ROWS_OF_DATA, RNG.standard_normal(21), l2=0.1, batch_size=6),
}


@njit
def of_batches(data, x, picks, size, g, values, scores, own, slopes):
    drawn_gradient(data, picks, LANES, size, x, g, scores, own, slopes)
    for p in range(LANES):
        values[0, p] = objective_of(data, picks, LANES, size, x, p, scores, own)
        values[1, p] = objective_of(data, picks, LANES, 0, x, p, scores, own)


@pytest.mark.parametrize("name", PROBLEMS)
def test_gradients_and_objectives_of_batches_are_those_of_the_problem(name):
    problem = PROBLEMS[name]
    d, data = problem.dimension, new_data(problem, problem.start, sampled=True)
    points = 3 * RNG.standard_normal((LANES, d))
    picks = RNG.integers(0, problem.terms, (2, LANES)).astype(np.uint32)
    x, g, values = points.T.ravel().copy(), np.empty(d * LANES), np.empty((2, LANES))
    wide = data.outputs * data.wide.shape[1]
    of_batches(data, x, picks.ravel(), 2, g, values, np.empty(8), np.zeros(wide), np.zeros(wide))
    for p in (0, 17, LANES - 1):
        both = [int(b) for b in picks[:, p]]
        slope = np.mean([problem.batch_gradient(b, points[p]) for b in both], axis=0)
        np.testing.assert_allclose(g.reshape(d, LANES)[:, p], slope, atol=1e-13)
        sampled = np.mean([problem.batch_objective(b, points[p]) for b in both])
        assert values[0, p] == pytest.approx(sampled, rel=1e-13)
        assert values[1, p] == pytest.approx(problem.objective(points[p]), rel=1e-13)


@pytest.mark.parametrize("name", PROBLEMS)
def test_whole_gradients_are_those_of_the_problem(name):
    problem = PROBLEMS[name]
    d = problem.dimension
    data = new_data(problem, problem.start, sampled=False)
    points = 3 * RNG.standard_normal((LANES, d))
    g = np.empty(d * LANES)
    scores = np.empty(ROWS * data.outputs * LANES)
    njit(lambda *given: gradient(*given))(data, points.T.ravel(), g, scores)
    for p in (0, 17, LANES - 1):
        whole = problem.gradient(points[p])
        # Slopes of up to ten, from a few rows and features, summed in another order.
        np.testing.assert_allclose(g.reshape(d, LANES)[:, p], whole, atol=1e-13)
