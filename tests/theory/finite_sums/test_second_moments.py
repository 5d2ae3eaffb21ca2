"""Second moments in the eigenvectors of the mean: against theory, enumeration and perturbation."""

from itertools import combinations

import numpy as np
import pytest

from ravine.methods import Method
from ravine.theory.blocks import system
from ravine.theory.finite_sums import mean_problem
from ravine.theory.finite_sums.growth import growth
from ravine.theory.finite_sums.mean_square import stationary_covariance
from ravine.theory.finite_sums.positive_map import RowDeviations
from ravine.theory.finite_sums.second_moments import SecondMoments, growth_plane, moment_curve

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
    return H, z, SecondMoments(values, H - np.diag(values), gradients=z)


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


def test_curve_settles_at_the_floor():
    _, _, moments = a_sum(5, 4, seed=7)
    method = Method(0.1, 0.5)
    floor = np.trace(moments.stationary(method))
    curve = moment_curve(moments, Method([0.1], [0.5]), np.full((1, 1500), 0.1), np.ones(4))
    assert curve.distance[0, -1] == pytest.approx(floor, rel=1e-9)


def test_shares_add_up_and_name_the_inconsistent_term():
    H, z, _ = a_sum(6, 3, seed=11)
    H[4] += 20.0 * np.outer([1.0, 1.0, 0.0], [1.0, 1.0, 0.0])
    moments = SecondMoments.of(H, z)
    found = moments.perron(Method(0.15, 0.5))
    shares = moments.weights * moments.shares(found)
    assert shares.sum() == pytest.approx(1.0, rel=1e-12)
    assert np.argmax(shares) == 4


def test_restricting_to_directions_keeps_their_blocks():
    H, _, moments = a_sum(4, 5, seed=17)
    part = moments.restricted(np.array([0, 3]))
    np.testing.assert_allclose(part.deviations.factors[2][0, 1], H[2][0, 3])
    assert part.dimension == 2


@pytest.mark.parametrize("m", [1, 2, 4, 5])
@pytest.mark.parametrize("q", [1, 2])
def test_batches_of_rows_are_all_subsets_of_them(m, q):
    """A batch of m of 5 rows: the mean over all subsets is that of rows, times a factor."""
    rng = np.random.default_rng(q)
    roots, z = rng.standard_normal((5, q, 3)), rng.standard_normal((5, 3))
    z -= z.mean(axis=0)
    H = np.swapaxes(roots, 1, 2) @ roots + 0.3 * np.eye(3)
    subsets = [list(s) for s in combinations(range(5), m)]
    batches = np.array([H[s].mean(axis=0) for s in subsets])
    expected = SecondMoments.of(batches, np.array([z[s].mean(axis=0) for s in subsets]))

    factor = (5 - m) / (m * 4)
    values, turn = np.linalg.eigh(H.mean(axis=0))
    rows = RowDeviations(roots @ turn, np.full(5, 0.2), factor)
    found = SecondMoments(values, rows, gradients=np.sqrt(factor) * z @ turn, basis=turn)

    method, start = Method(0.1, 0.6), np.array([1.0, 2.0, -1.0])
    exact = expected.growth(method, tolerance=1e-9)
    assert found.growth(method, tolerance=1e-9) == pytest.approx(exact, rel=1e-8)
    single, lr = Method([0.1], [0.6]), np.full((1, 8), 0.1)
    curves = [moment_curve(one, single, lr, one.basis.T @ start) for one in (found, expected)]
    np.testing.assert_allclose(curves[0].distance, curves[1].distance, rtol=1e-10)
    X = found.basis @ found.stationary(method) @ found.basis.T
    Y = expected.basis @ expected.stationary(method) @ expected.basis.T
    np.testing.assert_allclose(X, Y, rtol=1e-7, atol=1e-12)


def test_deviations_that_leave_the_slowest_direction_alone_do_not_change_the_growth():
    H = np.array([np.diag([0.1, 1.0, 2.0]), np.diag([0.1, 1.4, 1.6])])
    H[:, 1, 2] = H[:, 2, 1] = [0.2, -0.1]
    method = Method(0.5, 0.2)
    moments = SecondMoments.of(H)
    found = moments.perron(method, tolerance=1e-5)
    assert found.settled
    assert found.value == pytest.approx(moments.mean_rate(method) ** 2, rel=1e-9)


@pytest.mark.parametrize("d", [3, 12])
def test_a_search_that_ends_at_once_is_replaced_by_the_operator(d, monkeypatch):
    """By its matrix where that is small, by products otherwise."""
    H, _, _ = a_sum(6, d, seed=2)
    expected = growth(H, Method(0.1, 0.6)).value
    monkeypatch.setattr(mean_problem, "_GUESSES", 1)
    _, _, again = a_sum(6, d, seed=2)
    assert not again.perron(Method(0.1, 0.6), tolerance=1e-9).settled
    found = growth(H, Method(0.1, 0.6))
    assert found.exact
    assert found.value == pytest.approx(expected, rel=1e-10)


def test_the_natural_step_halves_where_sgd_stops_converging():
    # One direction: E[(1 - alpha h)²] = 1 at alpha = 2 E h/E h².
    moments = SecondMoments.of(np.array([[[1.0]], [[3.0]]]))
    assert moments.natural_step == pytest.approx(2 / 5)
    assert moments.is_stable(Method(0.799))
    assert not moments.is_stable(Method(0.801))


@pytest.mark.parametrize(("n", "d"), [(3, 2), (5, 3), (6, 6)])
def test_the_plane_is_the_growth_of_each_method(n, d):
    H, _, moments = a_sum(n, d, seed=n)
    rng = np.random.default_rng(1)
    alpha = moments.natural_step * np.exp(rng.uniform(np.log(0.02), np.log(2.0), (8, 5)))
    beta = rng.uniform(-0.8, 0.98, (8, 5))
    found = growth_plane(moments, Method(alpha, beta))
    exact = np.array(
        [growth(H, Method(a, b)).value for a, b in zip(alpha.flat, beta.flat, strict=True)]
    ).reshape(8, 5)
    off = np.abs(found / exact - 1.0)
    assert np.quantile(off, 0.9) < 2e-3
    clear = np.abs(exact - 1.0) > 0.02
    np.testing.assert_array_equal((found < 1.0)[clear], (exact < 1.0)[clear])


def kronecker_growth(moments, method):
    """The spectral radius of E[A ⊗ A], written out."""
    H = np.diag(moments.eigenvalues) + moments.deviations.factors
    A = system(H, method)
    return np.abs(np.linalg.eigvals(np.mean([np.kron(one, one) for one in A], axis=0))).max()


@pytest.mark.parametrize("dense", [0, 8])
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_the_search_finds_the_radius_written_out(dense, method, monkeypatch):
    """By the matrix of the loop, and by products and ARPACK."""
    monkeypatch.setattr(mean_problem, "_DENSE", dense)
    _, _, moments = a_sum(4, 5, seed=23)
    found = moments.perron(method, tolerance=1e-9)
    assert found.settled
    assert found.value == pytest.approx(kronecker_growth(moments, method), rel=1e-8)


@pytest.mark.parametrize("dense", [0, 8])
def test_the_loop_has_the_radius_of_its_matrix_and_its_adjoint_s_eigenvector(dense, monkeypatch):
    monkeypatch.setattr(mean_problem, "_DENSE", dense)
    _, _, moments = a_sum(5, 5, seed=0)
    kappa = mean_problem.MeanProblem(moments.eigenvalues, Method(0.1, 0.6)).noise_response(1.0)
    loop = mean_problem.noise_loop(moments.deviations, kappa)
    radius, M = mean_problem.loop_radius(moments.deviations, kappa, np.eye(5), 1e-9)
    units = 0.5 * (np.eye(25).reshape(25, 5, 5) + np.eye(25).reshape(25, 5, 5).swapaxes(1, 2))
    written_out = loop(units).reshape(25, 25)
    assert radius == pytest.approx(np.linalg.eigvals(written_out).real.max(), rel=1e-7)
    np.testing.assert_allclose(loop(M), radius * M, atol=1e-4 * np.abs(M).max() * radius)
    X = kappa * M
    adjoint = kappa * moments.sandwich(X)
    np.testing.assert_allclose(adjoint, radius * X, atol=1e-4 * np.abs(X).max() * radius)


@pytest.mark.parametrize("step", [0.01, 0.3, 1.5])
def test_the_strain_is_as_sharp_far_from_one(step, monkeypatch):
    _, _, moments = a_sum(30, 12, seed=4)
    method = Method(step * moments.natural_step)
    found = moments.strain(method)
    monkeypatch.setattr(mean_problem, "_DENSE", 12)
    assert found == pytest.approx(moments.strain(method), rel=2e-4)


def test_terms_that_agree_grow_as_their_mean():
    moments = SecondMoments.of(np.array([np.diag([0.4, 1.0, 3.0])] * 2))
    method = Method(0.1, 0.3)
    found = moments.growth(method, tolerance=1e-9)
    assert found == pytest.approx(moments.mean_rate(method) ** 2, rel=1e-9)
    assert moments.strain(method) == 0.0
    assert not moments.sandwich(np.eye(3)).any()


@pytest.mark.parametrize("tolerance", [1e-4, 1e-6, 1e-9])
@pytest.mark.parametrize(
    ("seed", "alpha", "beta"),
    [(2, 0.2147939134072802, 0.4), (6, 0.3491719053406751, 0.2), (9, 0.3491719053406751, 0.4)],
)
def test_growth_is_that_of_the_matrix_at_every_tolerance(seed, alpha, beta, tolerance):
    """Close to its root a secant must not fall back to the middle of a one-sided bracket."""
    roots = np.random.default_rng(seed).normal(size=(40, 6, 3))
    hessians = roots @ np.swapaxes(roots, 1, 2) / 3.0
    I = np.eye(6)  # noqa: E741
    squares = 0.0
    for H in hessians:
        A = np.block([[I - alpha * (1 + beta) * H, beta**2 * I], [-alpha * H, beta * I]])
        squares = squares + np.kron(A, A) / len(hessians)

    radius = np.abs(np.linalg.eigvals(squares)).max()
    growth = SecondMoments.of(hessians).growth(Method(alpha, beta), tolerance=tolerance)
    assert growth == pytest.approx(radius, abs=2.0 * tolerance * abs(1.0 - radius) + 1e-12)
