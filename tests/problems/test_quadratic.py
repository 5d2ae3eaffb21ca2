import numpy as np
import pytest

from ravine import Curvature
from ravine.problems import Quadratic

H = np.array([[2.0, 0.5], [0.5, 1.0]])


def test_the_eigendecomposition_rebuilds_the_hessian():
    problem = Quadratic(H, [1.0, 2.0], minimum=3.0)
    U, values = problem.eigenvectors, problem.eigenvalues
    np.testing.assert_allclose(U @ np.diag(values) @ U.T, H, atol=1e-15)
    assert problem.eigenvalues is problem.eigenvalues
    assert problem.minimum == 3.0
    assert problem.objective([2.0, 2.0]) == pytest.approx(4.0, abs=1e-15)


def test_curvature_is_the_spectrum_unless_given():
    assert float(Quadratic(H).curvature.mu) == pytest.approx(1.5 - np.sqrt(0.5))
    assert float(Quadratic(H, curvature=Curvature(0.5, 3)).curvature.L) == 3.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Quadratic([[1.0, 2.0], [0.0, 1.0]]), "hessian must be symmetric"),
        (lambda: Quadratic([[1.0, 2.0, 3.0]]), "hessian must be square"),
        (lambda: Quadratic(np.diag([1.0, -1.0])), "hessian must be positive definite, got an eige"),
        (lambda: Quadratic(np.diag([1.0, 0.0])), "hessian must be positive definite"),
        (lambda: Quadratic(H, [1.0]), "minimiser must be a vector of 2 coordinates"),
        (
            lambda: Quadratic(H, start=[[1.0]]),
            "start must be a vector of 2 coordinates, got an array of shape",
        ),
        (lambda: Quadratic(H, minimum=np.inf), "minimum must be finite"),
        (lambda: Quadratic(H, curvature=Curvature(1, 3)), "curvature must be bounds on the spectr"),
        (lambda: Quadratic("flat"), "hessian must be a real number or an array"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
