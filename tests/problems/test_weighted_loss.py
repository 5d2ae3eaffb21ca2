import numpy as np
import pytest

from ravine.problems import from_data
from ravine.problems.losses import make_loss

X = np.random.default_rng(0).standard_normal((7, 3))
WEIGHTS = np.array([1.0, 2.0, 1.0, 3.0, 0.0, 1.0, 2.0])
REPEATED = np.repeat(np.arange(7), WEIGHTS.astype(int))


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("squared", np.arange(7.0)),
        ("logistic", np.arange(7) % 2),
        ("multinomial", np.array([0, 1, 2, 0, 1, 2, 1])),
        ("poisson", np.arange(7.0)),
        ("huber", np.arange(7.0)),
    ],
)
def test_a_row_of_weight_two_is_a_row_that_comes_twice(name, target):
    weighted = from_data(X, target, loss=name, l2=0.1)
    weighted.loss = make_loss(name, target, WEIGHTS / WEIGHTS.mean())
    repeated = from_data(X[REPEATED], target[REPEATED], loss=name, l2=0.1)
    point = 0.3 * np.random.default_rng(1).standard_normal(weighted.dimension)
    assert weighted.objective(point) == pytest.approx(repeated.objective(point), rel=1e-12)
    np.testing.assert_allclose(weighted.gradient(point), repeated.gradient(point), atol=1e-12)
    np.testing.assert_allclose(weighted.hessian(point), repeated.hessian(point), atol=1e-12)


def test_its_curvature_bound_holds_for_the_heaviest_row():
    loss = make_loss("logistic", [0, 1], np.array([1.0, 4.0]))
    assert loss.curvature_bound == 1.0
    assert loss.hessian_column(np.zeros((2, 1)), 0).ravel().tolist() == [0.25, 1.0]
    assert loss.kernel_code is None
