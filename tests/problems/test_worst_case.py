import numpy as np
import pytest

from ravine.problems import worst_case_quadratic


def test_the_spectrum_is_a_cosine():
    # The tridiagonal (-1, 2, -1) of size d has eigenvalues 2 - 2 cos(j pi / (d + 1)).
    mu, Q, d = 0.5, 32, 100
    angles = np.arange(1, d + 1) * np.pi / (d + 1)
    expected = mu + (Q * mu - mu) / 2 * (1 - np.cos(angles))
    problem = worst_case_quadratic(Q, d, mu=mu)
    np.testing.assert_allclose(problem.eigenvalues, expected, rtol=1e-12)
    assert float(problem.curvature.mu) == mu
    assert float(problem.curvature.L) == Q * mu


def test_one_more_coordinate_a_step():
    problem = worst_case_quadratic(8, 10)
    reached = np.abs(problem.gradient(problem.start)) > 1e-14
    assert np.flatnonzero(reached).tolist() == [0]
    x = np.zeros(10)
    x[:4] = 1.0
    assert np.flatnonzero(np.abs(problem.gradient(x)) > 1e-14).max() == 4


def test_the_minimiser_falls_geometrically():
    # Away from the far end x*_j = q^j with q = (s - 1)/(s + 1), s = sqrt Q.
    q = (np.sqrt(8) - 1) / (np.sqrt(8) + 1)
    np.testing.assert_allclose(worst_case_quadratic(8).minimiser[:20], q ** np.arange(1, 21))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: worst_case_quadratic(1), "Q must be more than 1, got 1"),
        (lambda: worst_case_quadratic(0), "Q must be positive"),
        (lambda: worst_case_quadratic([2, 8]), "Q must be a single number"),
        (lambda: worst_case_quadratic(8, 0), "d must be at least 1, got 0"),
        (lambda: worst_case_quadratic(8, 2.5), "d must be a whole number"),
        (lambda: worst_case_quadratic(8, mu=-1), "mu must be positive"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
