from itertools import product

import numpy as np
import pytest

from ravine.methods import Method
from ravine.theory.finite_sums.growth import growth
from ravine.theory.finite_sums.moment_curve import constant, moment_curve
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.finite_sums.stationary_covariance import stationary_covariance

METHODS = [Method(0.05), Method(0.1, 0.8), Method(0.3, 0.9), Method(0.1, 0.5, gamma=0.0)]


def a_sum(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray, SecondMoments]:
    """Hessians and gradients in the eigenvectors of the mean, and their second moments."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, d + 1, d)) * np.geomspace(0.5, 2.0, d)
    H = np.einsum("nri,nrj->nij", rows, rows) / (d + 1) + 0.1 * np.eye(d)
    z = rng.standard_normal((n, d))
    z -= z.mean(axis=0)
    values, turn = np.linalg.eigh(H.mean(axis=0))
    H, z = turn.T @ H @ turn, z @ turn
    return H, z, SecondMoments(values, H - np.diag(values), np.full(n, 1.0 / n), z)


@pytest.mark.parametrize("method", METHODS, ids=str)
@pytest.mark.parametrize(("n", "d"), [(4, 3), (30, 3), (5, 6)])
def test_growth_is_the_spectral_radius_of_the_theory(n, d, method):
    """30 terms of 3 directions are compressed to principal components first."""
    H, _, moments = a_sum(n, d, seed=n)
    expected = growth(H, method).value
    found = moments.growth(method)
    # The tolerance is 1e-5 of the distance from 1.
    assert found == pytest.approx(expected, abs=3e-5 * abs(1.0 - expected))
    assert moments.is_stable(method) == (expected < 1.0)


@pytest.mark.parametrize("method", METHODS[:2], ids=str)
def test_stationary_moments_are_those_of_the_theory(method):
    H, z, moments = a_sum(5, 4, seed=3)
    expected = stationary_covariance(H, z, method).y
    np.testing.assert_allclose(moments.stationary(method), expected, rtol=1e-7, atol=1e-12)


def test_there_are_none_where_the_mean_square_grows():
    _, _, moments = a_sum(5, 4, seed=3)
    method = Method(1.5)
    assert moments.growth(method) > 1.0
    assert not moments.is_stable(method)


def test_curve_is_the_mean_over_all_sequences():
    """Two terms, six steps: 64 equally likely sequences."""
    H, z, moments = a_sum(2, 3, seed=5)
    method = Method(0.2, 0.6, gamma=0.3)
    start, steps = np.array([1.0, -2.0, 0.5]), 6
    found = moment_curve(moments, constant(method, steps), start).distance
    total = np.zeros(steps + 1)
    for sequence in product(range(2), repeat=steps):
        x = before = start
        for k in range(steps + 1):
            y = x + 0.3 * (x - before)
            total[k] += y @ y
            if k < steps:
                b = sequence[k]
                x, before = x + 0.6 * (x - before) - 0.2 * (H[b] @ y + z[b]), x
    np.testing.assert_allclose(found, total / 2**steps, rtol=1e-12)


def test_curve_settles_at_the_floor_and_stops_where_told():
    _, _, moments = a_sum(5, 4, seed=7)
    method = Method(0.1, 0.5)
    floor = np.trace(moments.stationary(method))
    curve = moment_curve(moments, constant(method, 2000), np.ones(4), products=1500).distance
    assert curve[1500] == pytest.approx(floor, rel=1e-9)
    assert np.isnan(curve[1501:]).all()


def test_shares_add_up_and_name_the_odd_term():
    H, z, _ = a_sum(6, 3, seed=11)
    H[4] += 20.0 * np.outer([1.0, 1.0, 0.0], [1.0, 1.0, 0.0])
    values, turn = np.linalg.eigh(H.mean(axis=0))
    H = turn.T @ H @ turn
    moments = SecondMoments(values, H - np.diag(values), np.full(6, 1 / 6), z @ turn)
    found = moments.perron(Method(0.15, 0.5))
    shares = moments.weights * moments.shares(found)
    assert shares.sum() == pytest.approx(1.0, rel=1e-3)
    assert np.argmax(shares) == 4


def test_slope_tells_what_more_disagreement_adds():
    _, _, moments = a_sum(6, 3, seed=13)
    method = Method(0.3, 0.6)
    found = moments.perron(method)
    more = SecondMoments(
        moments.eigenvalues, np.sqrt(1.02) * moments.deviations, moments.weights, moments.gradients
    )
    change = np.log(more.growth(method) / found.value) / np.log(1.02)
    # A one-sided difference over a tenth of the distance: a few per cent.
    assert found.slope == pytest.approx(change, rel=0.1)


def test_restricting_to_directions_keeps_their_blocks():
    H, _, moments = a_sum(4, 5, seed=17)
    part = moments.restricted(np.array([0, 3]))
    np.testing.assert_allclose(part.deviations[2][0, 1], H[2][0, 3])
    assert part.dimension == 2
