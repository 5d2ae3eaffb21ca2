import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ravine.diagnosis.batches import ShuffledRows, survey
from ravine.methods import Method
from ravine.problems import from_data
from ravine.sampling import Sampling
from ravine.theory.finite_sums.growth import growth
from ravine.theory.finite_sums.known_sum import mean_square_of


def names(d: int) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(d))


def data(rows: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((rows, d)) * np.geomspace(0.5, 2.0, d)
    return X, X @ rng.standard_normal(d) + rng.standard_normal(rows)


def test_survey_of_least_squares_is_that_of_the_matrices():
    X, y = data(24, 3)
    found = survey(from_data(X, y, l2=0.1, batch_size=6), names(3))
    batches = [X[i : i + 6].T @ X[i : i + 6] / 6 + 0.1 * np.eye(3) for i in range(0, 24, 6)]
    whole = np.linalg.eigvalsh(np.mean(batches, axis=0))
    np.testing.assert_allclose(found.spectrum, whole, rtol=1e-12)
    np.testing.assert_allclose(
        found.local, [np.linalg.eigvalsh(H)[[0, -1]] for H in batches], rtol=1e-10
    )
    best = np.linalg.solve(np.mean(batches, axis=0), X.T @ y / 24)
    np.testing.assert_allclose(found.problem.minimiser, best, rtol=1e-10)
    assert found.exact
    assert not found.interpolates
    back = found.basis @ found.hessians[2] @ found.basis.T
    np.testing.assert_allclose(back, batches[2], atol=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "multinomial"])
def test_moments_of_a_logistic_loss_are_those_of_its_hessians_at_the_minimiser(loss):
    X, _ = data(30, 3, seed=1)
    problem = from_data(X, np.arange(30) % (2 if loss == "logistic" else 3), loss=loss, l2=0.05,
                        batch_size=10)  # fmt: skip
    found = survey(problem, names(3))
    method = Method(0.4, 0.7)
    expected = growth(problem.batch_hessians(), method).value
    assert found.moments.growth(method) == pytest.approx(expected, rel=1e-5)
    assert (found.bounds[:, 1] > found.local[:, 1]).all()
    assert found.certified_curvature.mu == pytest.approx(0.05, rel=1e-8)


def test_shuffled_rows_are_read_without_a_copy():
    X, _ = data(20, 2)
    order = np.random.default_rng(0).permutation(20)
    view = ShuffledRows(X, order)
    np.testing.assert_array_equal(view[slice(3, 9)], X[order[3:9]])
    assert view.rows is X


def test_a_direction_without_curvature_is_refused_with_its_columns():
    X, y = data(20, 3)
    X[:, 2] = X[:, 0] + X[:, 1]
    with pytest.raises(ValueError, match=r"'x\d', 'x\d', 'x\d' depend on each other.*add some"):
        survey(from_data(X, y, batch_size=5), names(3))
    with pytest.raises(ValueError, match="2 rows for 3 columns"):
        survey(from_data(X[:2], y[:2], batch_size=1), names(3))


def test_flat_batches_leave_no_certificate():
    X, y = data(24, 3)
    found = survey(from_data(X, y, batch_size=2), names(3))
    assert found.certified_curvature is None
    assert found.local[:, 0].max() == 0.0


def test_a_sample_of_many_batches_estimates_all_of_them(monkeypatch):
    X, y = data(3000, 4, seed=2)
    X[17] *= 8.0
    problem = from_data(X, y, l2=0.01, batch_size=4)
    method = Method(0.08, 0.6)
    whole = survey(problem, names(4))
    assert whole.every_batch
    exact = mean_square_of(whole.known_sum, method, Sampling.IID)
    monkeypatch.setattr("ravine.diagnosis.batches._EVERY_WORK", 1e4)
    monkeypatch.setattr("ravine.diagnosis.batches._SAMPLE_WORK", 1e4)
    part = survey(problem, names(4))
    assert 96 <= len(part.sample) < 750
    assert 17 // 4 in part.sample[: part.sure]
    found = mean_square_of(part.known_sum, method, Sampling.IID)
    assert not found.exact
    # Twice the half width of the 95 % limits: four standard errors.
    assert abs(found.value - exact.value) <= 2.0 * (found.high - found.value) + 1e-4


def test_many_directions_are_followed_in_part(monkeypatch):
    X, y = data(300, 30, seed=3)
    X[40] *= 6.0
    problem = from_data(X, y, l2=0.05, batch_size=10)
    method = Method(0.03, 0.5)
    exact = mean_square_of(survey(problem, names(30)).known_sum, method, Sampling.IID)
    monkeypatch.setattr("ravine.diagnosis.batches.MOMENT_DIRECTIONS", 10)
    monkeypatch.setattr("ravine.diagnosis.batches._PROJECTED_TOP", 8)
    monkeypatch.setattr("ravine.diagnosis.batches._PROJECTED_BATCHES", 6)
    part = survey(problem, names(30))
    assert not part.every_direction
    assert part.moments.dimension <= 8 + 8 + 6
    found = mean_square_of(part.known_sum, method, Sampling.IID)
    assert found.diverges == exact.diverges
    assert found.value == pytest.approx(exact.value, rel=0.05)


def test_sparse_data_give_the_same_survey():
    X, y = data(40, 5, seed=4)
    X[np.abs(X) < 0.7] = 0.0
    dense = survey(from_data(X, y, l2=0.1, batch_size=8), names(5))
    sparse = survey(from_data(csr_matrix(X), y, l2=0.1, batch_size=8), names(5))
    np.testing.assert_allclose(sparse.spectrum, dense.spectrum, rtol=1e-10)
    assert sparse.moments.growth(Method(0.1, 0.8)) == pytest.approx(
        dense.moments.growth(Method(0.1, 0.8)), rel=1e-6
    )
