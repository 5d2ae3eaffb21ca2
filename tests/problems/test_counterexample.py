import numpy as np
import pytest

from ravine.problems import counterexample, divergent_sum, turning_quadratics


def test_the_example_is_the_papers():
    # Lambda_i = diag(L, mu, lambda_i), lambda_i = mu except for i = n, where it is L.
    problem = counterexample(0.05, 100, 50)
    H = problem.batch_hessians()
    for i in range(49):
        np.testing.assert_array_equal(H[i], np.diag([100, 0.05, 0.05]))
    np.testing.assert_array_equal(H[49], np.diag([100, 0.05, 100]))
    assert problem.interpolates
    assert float(problem.curvature.Q) == 2000.0
    np.testing.assert_allclose(problem.hessian(), np.diag([100, 0.05, 0.05 + 99.95 / 50]))


@pytest.mark.parametrize("d", [1, 2, 3, 10])
def test_divergent_sum_leaves_no_direction_out(d):
    x0 = np.random.default_rng(d).standard_normal(d)
    problem = divergent_sum(x0, 0.1, 50, 7)
    np.testing.assert_array_equal(problem.start, x0)
    U, values = problem.shared_eigenvectors
    assert (np.abs(U.T @ (x0 - problem.minimiser)) > 0.1).all()
    # One direction is mu for all terms but the last, and L for that one.
    changing = np.ptp(values, axis=0) > 1
    assert changing.sum() == 1
    np.testing.assert_allclose(values[:, changing].ravel(), [0.1] * 6 + [50], rtol=1e-12)
    assert problem.interpolates


def test_divergent_sum_takes_any_start():
    problem = divergent_sum([1e20, 2.0], 0.1, 50, 3)
    assert np.all(problem.minimiser != problem.start)


def test_divergent_sum_without_interpolation_has_the_noise_asked_for():
    problem = divergent_sum(np.ones(4), 0.1, 50, 500, interpolate=False, noise=3.0, seed=5)
    z = problem.batch_gradients()
    np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=1e-13)
    # 2000 draws: the standard deviation is known to 1/sqrt(4000), 4 of them.
    assert abs(z.std() / 3.0 - 1) < 4 / np.sqrt(4000)


def test_the_axes_turn_by_45_degrees():
    problem = turning_quadratics(2.0, 30.0)
    H = problem.batch_hessians()
    turn = np.array([[1, -1], [1, 1]]) / np.sqrt(2)
    for i in range(4):
        np.testing.assert_allclose(turn @ H[i] @ turn.T, H[(i + 1) % 4], atol=1e-13)
    np.testing.assert_allclose(H[0], np.diag([2.0, 30.0]))
    np.testing.assert_allclose(problem.hessian(), 16 * np.eye(2), atol=1e-13)
    assert turning_quadratics(1, 2, terms=7).terms == 7


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: counterexample(0.05, 100, 1), "n must be at least 2, got 1"),
        (lambda: counterexample(100, 0.05, 5), "mu must be at most L"),
        (lambda: counterexample([1, 2], 100, 5), "mu must be a single number"),
        (lambda: turning_quadratics(1, -12), "L must be positive"),
        (lambda: turning_quadratics(1, 12, terms=1), "terms must be at least 2"),
        (lambda: divergent_sum(3.0, 1, 10, 5), "x0 must be a vector"),
        (lambda: divergent_sum([], 1, 10, 5), "x0 must be non-empty"),
        (lambda: divergent_sum([1.0], 1, 10, 5, noise=0), "noise must be positive"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
