"""Linear models: what they compute without ever forming a Hessian, and bounds for every loss."""

import numpy as np
import pytest

from ravine.problems import from_data
from ravine.problems import linear_model as module
from ravine.problems.losses import LOSSES

RNG = np.random.default_rng(5)
X = RNG.standard_normal((23, 3))
Y = np.arange(23) % 2


@pytest.fixture(params=LOSSES)
def problem(request):
    return from_data(X, Y, loss=request.param, l2=0.2, batch_size=7)


def test_batches_count_the_same_and_the_last_is_shorter(problem):
    assert problem.batch_sizes.tolist() == [7, 7, 7, 2]
    x = RNG.standard_normal(problem.dimension)
    mean = np.mean([problem.batch_gradient(b, x) for b in range(4)], axis=0)
    np.testing.assert_allclose(problem.gradient(x), mean, atol=1e-14)
    values = [problem.batch_objective(b, x) for b in range(4)]
    assert problem.objective(x) == pytest.approx(np.mean(values), rel=1e-14)


def test_products_with_a_hessian_need_none(problem):
    x, v = RNG.standard_normal((2, problem.dimension))
    np.testing.assert_allclose(
        problem.hessian_product(None, v, x), problem.hessian(x) @ v, atol=1e-13
    )
    np.testing.assert_allclose(
        problem.hessian_product(3, v, x), problem.batch_hessian(3, x) @ v, atol=1e-13
    )


def test_bounds_of_batches_hold_everywhere(problem):
    for b, (mu, L) in enumerate(problem.batch_curvatures):
        for scale in (0.0, 1.0, 10.0):
            x = scale * RNG.standard_normal(problem.dimension)
            values = np.linalg.eigvalsh(problem.batch_hessian(b, x))
            # The rounding of the least eigenvalue goes with the largest.
            assert mu - 1e-12 * max(1.0, values[-1]) <= values[0]
            assert values[-1] <= L + 1e-12
    if problem.loss.quadratic:
        np.testing.assert_allclose([mu, L], values[[0, -1]], atol=1e-12)


def test_large_models_are_minimised_by_conjugate_gradients(problem, monkeypatch):
    expected = problem.minimiser
    del problem.minimiser
    monkeypatch.setattr(module, "DENSE_LIMIT", 0)
    # Newton's method goes on until the gradient stops falling, to a few rounding errors.
    np.testing.assert_allclose(problem.minimiser, expected, atol=1e-8)
