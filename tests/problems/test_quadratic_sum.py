import numpy as np
import pytest

from ravine import Curvature
from ravine.problems import QuadraticSum, counterexample, divergent_sum, turning_quadratics

H = np.array([[[2.0, 0.5], [0.5, 1.0]], [[1.0, 0.0], [0.0, 3.0]]])


def test_minimisers_fix_the_optimum_and_what_is_left_there():
    places = np.array([[1.0, 0.0], [0.0, 2.0]])
    problem = QuadraticSum(H, minimisers=places)
    for i in range(2):
        np.testing.assert_allclose(problem.batch_gradient(i, places[i]), 0.0, atol=1e-15)
        assert problem.batch_objective(i, places[i]) == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(problem.batch_gradients().sum(axis=0), 0.0, atol=1e-15)
    assert problem.mean_gradient_norm == pytest.approx(np.linalg.norm(problem.batch_gradients()[0]))
    assert not problem.interpolates


def test_gradients_at_the_optimum_are_kept():
    z = np.array([[1.0, -2.0], [-1.0, 2.0]])
    problem = QuadraticSum(H, minimiser=[3.0, 4.0], gradients=z, values=[1.0, 5.0])
    np.testing.assert_array_equal(problem.batch_gradients(), z)
    np.testing.assert_array_equal(problem.minimiser, [3.0, 4.0])
    assert problem.minimum == 3.0


def test_terms_are_zero_where_they_are_least_unless_told():
    z = np.array([[1.0, -2.0], [-1.0, 2.0]])
    problem = QuadraticSum(H, gradients=z)
    least = -np.linalg.solve(H[0], z[0])
    assert problem.batch_objective(0, least) == pytest.approx(0.0, abs=1e-15)


def test_shared_eigenvectors_are_found_when_there_are_some():
    U, values = counterexample(0.05, 100, 4).shared_eigenvectors
    np.testing.assert_array_equal(U, np.eye(3))
    np.testing.assert_array_equal(values[-1], [100, 0.05, 100])
    rotated = divergent_sum([1.0, 2.0, 3.0, 4.0, 5.0], 0.1, 50, 6)
    U, values = rotated.shared_eigenvectors
    rebuilt = np.einsum("ik,nk,jk->nij", U, values, U)
    np.testing.assert_allclose(rebuilt, rotated.batch_hessians(), atol=1e-12 * 50)
    assert turning_quadratics(1, 12).shared_eigenvectors is None
    assert QuadraticSum(H).shared_eigenvectors is None
    U, values = QuadraticSum([[[1.0]], [[2.0]]]).shared_eigenvectors
    assert values.tolist() == [[1.0], [2.0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: QuadraticSum(H[0]), "hessians must be square"),
        (lambda: QuadraticSum(-H), "hessians must be positive definite"),
        (lambda: QuadraticSum(H, minimisers=[[1.0, 2.0]]), r"minimisers must be of shape \(2, 2\)"),
        (lambda: QuadraticSum(H, gradients=np.ones((2, 2))), "gradients must be zero in the mean"),
        (lambda: QuadraticSum(H, values=[1.0]), "values must be a vector of 2 coord"),
        (
            lambda: QuadraticSum(H, minimisers=H[0], minimiser=[0, 0]),
            "minimisers must be given alo",
        ),
        (lambda: QuadraticSum(H, curvature=Curvature(1, 2)), "curvature must be bounds on the spe"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
