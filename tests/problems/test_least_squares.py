import numpy as np
import pytest

from ravine.problems import least_squares, partitioned_least_squares


@pytest.mark.parametrize("Q", [2, 8, 32, 1e6])
def test_the_condition_number_is_attained(Q):
    problem = least_squares(Q=Q, mu=0.5, seed=4)
    assert problem.dimension == 10
    # A Hessian formed from A carries rounding of a few eps L.
    np.testing.assert_allclose(problem.eigenvalues[[0, -1]], [0.5, 0.5 * Q], atol=1e-14 * Q)
    assert len(np.unique(problem.eigenvalues.round(9))) == 10


def test_the_seed_makes_the_problem():
    same = [least_squares(Q=8, seed=s).hessian() for s in (0, 0, 1)]
    np.testing.assert_array_equal(same[0], same[1])
    assert np.abs(same[0] - same[2]).max() > 0.1


def test_noise_raises_the_minimum_and_nothing_else():
    quiet, loud = (least_squares(Q=8, noise=s, seed=1) for s in (0.0, 2.0))
    np.testing.assert_array_equal(quiet.minimiser, loud.minimiser)
    assert quiet.minimum == 0.0
    # Mean of sigma² chi²(490) / (2 * 500) is 1.96, its deviation 2 sqrt(980)/500 = 0.125.
    assert abs(loud.minimum - 1.96) < 0.5


@pytest.mark.parametrize(("Q", "features"), [(16, 2), (64, 2), (32, 5)])
def test_every_batch_has_the_condition_number(Q, features):
    problem = partitioned_least_squares(1000, features, 20, Q=Q, seed=2)
    spectra = np.linalg.eigvalsh(problem.batch_hessians())
    np.testing.assert_allclose(spectra[:, 0], 1.0, atol=1e-13 * Q)
    np.testing.assert_allclose(spectra[:, -1], Q, rtol=1e-13)
    assert not problem.interpolates


def test_batches_agree_without_noise_and_scatter_with_it():
    assert partitioned_least_squares(Q=16, noise=0).interpolates
    problem = partitioned_least_squares(Q=16, noise=1.0, seed=3)
    assert problem.terms == 50
    # E |z_b|² = sigma² trace(H) / m = 17/500 but for the shift of x*; 50 batches, 4 deviations.
    square = (problem.batch_gradients() ** 2).sum(axis=1).mean()
    assert abs(square - 17 / 500) < 4 * 17 / 500 * np.sqrt(2 / 50)
    # The floor is the variance of the noise, sigma²/2, to 4 of its deviations.
    assert abs(problem.minimum - 0.5) < 4 * 0.5 * np.sqrt(2 / 25000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: least_squares(Q=0.5), "Q must be more than 1"),
        (lambda: least_squares(5, 10, Q=2), "samples must be at least 10, got 5"),
        (lambda: least_squares(5, 1, Q=2), "features must be at least 2"),
        (lambda: least_squares(Q=2, noise=-1), "noise must be zero or more"),
        (lambda: least_squares(Q=2, seed=-1), "seed must be at least 0"),
        (lambda: partitioned_least_squares(100, 2, 7, Q=2), "batches must be a divisor of 100"),
        (lambda: partitioned_least_squares(100, 3, 50, Q=2), "batches must be a divisor of 100"),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
