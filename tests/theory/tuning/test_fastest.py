"""Tuned parameters: known optima, and that nothing nearby or simpler is better."""

import numpy as np
import pytest

from ravine.methods import Method
from ravine.theory.finite_sums.growth import growth
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.tuning.fastest import (
    fastest_mean_square,
    fastest_on,
    fastest_step_on,
)


def example(n, Q):
    """Eigenvalues of the paper's example."""
    return np.array([[Q, 1.0, 1.0]] * (n - 1) + [[Q, 1.0, Q]])


def test_momentum_beats_sgd_on_the_papers_example():
    # Q = 32, n = 5, iid: rms rate .9272811 at alpha L = .5739, beta = .7114; SGD has 31/33.
    found = fastest_mean_square(example(5, 32.0))
    assert found.rate == pytest.approx(0.9272811, abs=5e-8)
    assert float(found.method.alpha) * 32 == pytest.approx(0.5739, abs=5e-5)
    assert float(found.method.beta) == pytest.approx(0.7114, abs=5e-5)
    assert found.method.is_nesterov
    assert found.rate < 31 / 33


def test_the_rate_is_the_mean_square_growth_of_the_method():
    H = example(7, 50.0)
    found = fastest_mean_square(H)
    assert growth(H, found.method).rate == pytest.approx(found.rate, rel=1e-12)


def test_near_a_double_eigenvalue_the_rate_is_that_of_the_matrix():
    """The two largest eigenvalues of the map of second moments are 0.4 % apart."""
    H = np.array(
        [
            [[2.936673, -1.642529], [-1.642529, 1.114257]],
            [[0.678196, -0.369398], [-0.369398, 0.524696]],
            [[0.148248, 0.063338], [0.063338, 0.157124]],
            [[0.182787, 0.064158], [0.064158, 0.260703]],
        ]
    )
    found = fastest_mean_square(H)
    alpha, beta = float(found.method.alpha), float(found.method.beta)
    eye = np.eye(2)
    lift = 0.0
    for one in H:
        A = np.block([[eye - alpha * (1 + beta) * one, beta**2 * eye], [-alpha * one, beta * eye]])
        lift = lift + np.kron(A, A) / 4
    radius = np.abs(np.linalg.eigvals(lift)).max()
    assert found.rate == pytest.approx(np.sqrt(radius), rel=1e-12)


def test_rotated_terms_reach_the_same_rate_as_diagonal_ones():
    lam = example(3, 20.0)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((3, 3)))[0]
    one, two = fastest_mean_square(lam), fastest_mean_square(Q @ (lam[:, :, None] * Q.T))
    # The simplex for matrices stops at 1e-6.
    assert two.rate == pytest.approx(one.rate, rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_no_point_of_a_random_cloud_is_better(seed):
    rng = np.random.default_rng(seed)
    lam = np.exp(rng.uniform(0, 4, (6, 4)))
    found = fastest_mean_square(lam)
    alpha = float(found.method.alpha) * np.exp(rng.normal(0, [[0.01]] * 40 + [[1.0]] * 40)[:, 0])
    beta = float(found.method.beta) + rng.normal(0, [[0.01]] * 40 + [[0.3]] * 40)[:, 0]
    rates = [growth(lam, Method(a, b)).rate for a, b in zip(alpha, beta, strict=True)]
    assert min(rates) >= found.rate * (1 - 1e-9)


def test_a_valley_beside_the_obvious_one_is_found():
    H = np.array([[[10.0, 3.0], [3.0, 9.0]], [[6.0, 4.0], [4.0, 19.0]]])
    best = fastest_mean_square(H)
    assert best.rate == pytest.approx(0.452593, abs=1e-5)
    assert float(best.method.alpha) == pytest.approx(0.0615, abs=1e-4)
    assert float(best.method.beta) == pytest.approx(0.265, abs=1e-3)


def test_of_two_valleys_as_close_as_the_rate_the_lower_is_found():
    """Terms that nearly agree: valleys of 0.131 and 0.137, less than 0.2 apart in log alpha."""
    rng = np.random.default_rng([12, 1])
    for _ in range(4):
        base, apart = 1.0 + 0.5 * rng.random(2), 0.1 * rng.standard_normal((2, 2, 2))
        H = np.diag(base) + 0.5 * (apart + np.swapaxes(apart, 1, 2))
        best = fastest_mean_square(H)
        alphas = float(best.method.alpha) * np.exp(2.0 * best.rate * np.linspace(-1, 1, 41))
        betas = float(best.method.beta) + 2.0 * best.rate * np.linspace(-1, 1, 41)
        assert np.log(best.rate) <= np.log(lifted_rates(H, alphas, betas).min()) * (1 - 1e-6)


def lifted_rates(H, alphas, betas):
    """Rates over a grid from matrices of (2d)² rows that are written out."""
    n, d, _ = H.shape
    out = np.empty((alphas.size, betas.size))
    b = betas[:, None, None]
    for i, a in enumerate(alphas):
        lift = np.zeros((betas.size, 4 * d * d, 4 * d * d))
        for h in H:
            A = np.empty((betas.size, 2 * d, 2 * d))
            A[:, :d, :d] = np.eye(d) - a * (1 + b) * h
            A[:, :d, d:] = b * b * np.eye(d)
            A[:, d:, :d] = -a * h
            A[:, d:, d:] = b * np.eye(d)
            lift += np.einsum("pij,pkl->pikjl", A, A).reshape(lift.shape) / n
        out[i] = np.sqrt(np.abs(np.linalg.eigvals(lift)).max(axis=-1))
    return out


@pytest.mark.parametrize("seed", range(6))
def test_no_point_of_a_grid_is_better_on_random_sums(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 6))
    half = rng.standard_normal((n, 2, 3)) * np.exp(rng.uniform(-0.5, 0.5, (n, 1, 1)))
    H = half @ np.swapaxes(half, 1, 2) + 0.05 * np.eye(2)
    best = fastest_mean_square(H)
    top = 1.0 / np.linalg.eigvalsh(H).max()
    grid = lifted_rates(H, top * np.geomspace(0.1, 8.0, 24), np.linspace(-0.9, 0.95, 24))
    assert np.log(best.rate) <= np.log(grid.min()) * (1 - 1e-6)


def test_moments_at_hand_are_tuned_like_the_sum():
    rng = np.random.default_rng(9)
    half = rng.standard_normal((8, 9, 12))
    H = half @ np.swapaxes(half, 1, 2) / 12 + 0.05 * np.eye(9)
    moments = SecondMoments.of(H)
    best = fastest_on(moments)
    alone = fastest_step_on(moments)
    assert best.rate <= alone.rate * (1 + 1e-6)
    assert growth(H, best.method).rate == pytest.approx(best.rate, rel=1e-4)
    for factor, shift in ((0.9, 0.0), (1.1, 0.0), (1.0, -0.05), (1.0, 0.03)):
        a, b = factor * float(best.method.alpha), float(best.method.beta) + shift
        assert growth(H, Method(a, b)).rate >= best.rate - 1e-3 * (1 - best.rate)


def test_equal_terms_have_the_fastest_deterministic_rate():
    # One eigenvalue: alpha = 1/lambda, beta = 0 solves it in a step.
    assert fastest_mean_square([[4.0]] * 3).rate < 1e-5
    # Two eigenvalues: Nesterov's optimum is alpha = 4/(3L+mu), rate 1 - 2/√(3Q+1).
    found = fastest_mean_square([[1.0, 30.0]] * 2)
    # Near a double eigenvalue the rate is known to the root of the rounding.
    assert found.rate == pytest.approx(1 - 2 / np.sqrt(91), rel=1e-5)


def test_never_worse_than_sgd():
    # Opposite curvatures, each direction half mu and half L: T6's κ is within reach only of SGD.
    lam = np.array([[1.0, 25.0], [25.0, 1.0]])
    found = fastest_mean_square(lam)
    assert found.rate <= growth(lam, Method(2 / 26)).rate * (1 + 1e-12)


def test_refuses_a_flat_direction():
    with pytest.raises(ValueError, match="hessians must be positive definite in the mean"):
        fastest_mean_square([[1.0, 0.0], [2.0, 0.0]])
    flat = np.array([[[1.0, 1.0], [1.0, 1.0]], [[2.0, 2.0], [2.0, 2.0]]])
    with pytest.raises(ValueError, match="hessians must be positive definite in the mean"):
        fastest_mean_square(flat - 1e-9 * np.eye(2))


def test_a_growth_judged_coarsely_on_the_way_is_not_taken_for_a_limit():
    rng = np.random.default_rng(9)
    half = rng.standard_normal((8, 9, 12))
    H = half @ np.swapaxes(half, 1, 2) / 12 + 0.05 * np.eye(9)
    method = Method(0.37932809192770106, 0.3194370508685885)
    value = SecondMoments.of(H).growth(method, tolerance=1e-6)
    assert value == pytest.approx(growth(H, method).value, rel=1e-6)
