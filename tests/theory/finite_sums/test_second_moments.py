"""Second moments in the eigenvectors of the mean: against theory, enumeration and perturbation."""

from itertools import combinations, product

import numpy as np
import pytest

from ravine.methods import Method
from ravine.theory.finite_sums.deadline import Deadline
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


@pytest.mark.parametrize("m", [1, 2, 4, 5])
@pytest.mark.parametrize("q", [1, 2])
def test_recut_batches_are_all_subsets_of_the_rows(m, q):
    """A batch of m of 5 rows: the mean over all subsets is that of rows, times a factor."""
    rng = np.random.default_rng(q)
    roots, z = rng.standard_normal((5, q, 3)), rng.standard_normal((5, 3))
    z -= z.mean(axis=0)
    H = np.swapaxes(roots, 1, 2) @ roots + 0.3 * np.eye(3)
    subsets = [list(s) for s in combinations(range(5), m)]
    batches = np.array([H[s].mean(axis=0) for s in subsets])
    slopes = np.array([z[s].mean(axis=0) for s in subsets])
    expected = SecondMoments.of(batches, slopes)
    found = SecondMoments.recut(roots, z, m, shift=0.3)
    method, start = Method(0.1, 0.6), np.array([1.0, 2.0, -1.0])
    exact = expected.growth(method, tolerance=1e-9)
    assert found.growth(method, tolerance=1e-9) == pytest.approx(exact, rel=1e-8)
    for one in (found, expected):
        one_curve = moment_curve(one, constant(method, 8), one.basis.T @ start)
        np.testing.assert_allclose(
            one_curve.distance,
            moment_curve(expected, constant(method, 8), expected.basis.T @ start).distance,
            rtol=1e-10,
        )
    X = found.basis @ found.stationary(method) @ found.basis.T
    Y = expected.basis @ expected.stationary(method) @ expected.basis.T
    np.testing.assert_allclose(X, Y, rtol=1e-7, atol=1e-12)


def test_deviations_that_leave_the_slowest_direction_alone_do_not_change_the_growth():
    H = np.array([np.diag([0.1, 1.0, 2.0]), np.diag([0.1, 1.4, 1.6])])
    H[:, 1, 2] = H[:, 2, 1] = [0.2, -0.1]
    method = Method(0.5, 0.2)
    moments = SecondMoments.of(H)
    root = moments.growth_limits(method)
    assert root.settled
    assert root.value == pytest.approx(moments.mean_rate(method) ** 2, rel=1e-9)


def test_limits_hold_when_the_search_is_ended_at_once():
    _, _, moments = a_sum(6, 4, seed=2)
    exact = moments.growth(Method(0.1, 0.6), tolerance=1e-9)
    _, _, again = a_sum(6, 4, seed=2)
    cut = again.growth_limits(Method(0.1, 0.6), tolerance=1e-9, deadline=Deadline(0.0))
    assert not cut.settled
    assert cut.low <= exact <= cut.high
    assert cut.high / cut.low < 2.0


def test_the_natural_step_halves_where_sgd_stops_converging():
    # One direction: E[(1 - alpha h)²] = 1 at alpha = 2 E h/E h².
    moments = SecondMoments.of(np.array([[[1.0]], [[3.0]]]))
    assert moments.natural_step == pytest.approx(2 / 5)
    assert moments.is_stable(Method(0.799))
    assert not moments.is_stable(Method(0.801))


def test_a_search_sees_the_growth_that_is_solved_for():
    rng = np.random.default_rng(3)
    roots = rng.standard_normal((6, 3, 3))
    moments = SecondMoments.of(roots @ np.swapaxes(roots, 1, 2) + 0.1 * np.eye(3))
    method = Method(0.05, 0.4)
    assert moments.sought_growth(method) == pytest.approx(moments.growth(method), rel=1e-9)
