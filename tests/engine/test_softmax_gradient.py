import numpy as np
from numba import njit

from ravine.engine.softmax_gradient import (
    LANES,
    ROWS,
    drawn_gradient,
    exponential,
    gradient,
)
from ravine.engine.softmax_kernel import new_data
from ravine.problems import multinomial_logistic


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


def test_gradients_are_those_of_the_problem():
    problem = multinomial_logistic(21, 3, 3, 2, l2=0.1, seed=1, batch_size=6)
    data = new_data(problem, problem.start)
    rng = np.random.default_rng(2)
    points = 3 * rng.standard_normal((LANES, 9))
    drawn = rng.integers(0, problem.terms, LANES).astype(np.uint32)
    y, g, own = points.T.ravel().copy(), np.empty(9 * LANES), np.empty(9 * LANES)
    scores = np.empty(ROWS * 3 * LANES)

    @njit
    def both(data, y, g, own, drawn, scores):
        gradient(data, y, g, scores)
        drawn_gradient(data, drawn, y, own, scores)

    both(data, y, g, own, drawn, scores)
    for p in (0, 17, LANES - 1):
        whole = problem.gradient(points[p])
        np.testing.assert_allclose(g.reshape(9, LANES)[:, p], whole, atol=1e-14)
        part = problem.batch_gradient(int(drawn[p]), points[p])
        np.testing.assert_allclose(own.reshape(9, LANES)[:, p], part, atol=1e-14)
