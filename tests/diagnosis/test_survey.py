import numpy as np
import pytest
from scipy.sparse import csr_matrix

from ravine.methods import Method
from ravine.theory.finite_sums.growth import growth


def test_fixed_batches_have_their_own_moments(data, survey_of):
    X, y = data(rows=24, d=3)
    seen = survey_of(X, y, l2=0.1, batch_size=6, batches="fixed", shuffle=None)
    H = np.stack([X[i : i + 6].T @ X[i : i + 6] / 6 + 0.1 * np.eye(3) for i in range(0, 24, 6)])
    np.testing.assert_allclose(seen.minimum.spectrum, np.linalg.eigvalsh(H.mean(axis=0)))
    np.testing.assert_allclose(
        seen.local, [np.linalg.eigvalsh(one)[[0, -1]] for one in H], rtol=1e-10
    )
    method = Method(0.2, 0.6)
    assert seen.moments.growth(method) == pytest.approx(growth(H, method).value, rel=1e-5)
    assert seen.exact


def test_new_batches_of_one_row_are_the_rows(data, survey_of):
    X, y = data(rows=24, d=3)
    seen = survey_of(X, y, l2=0.1, batch_size=1)
    H = np.einsum("ri,rj->rij", X, X) + 0.1 * np.eye(3)
    method = Method(0.05, 0.5)
    assert seen.moments.growth(method) == pytest.approx(growth(H, method).value, rel=1e-5)


def test_every_batch_that_can_be_drawn_keeps_to_the_bounds(data, survey_of):
    X, y = data(rows=30, d=3)
    seen = survey_of(X, y, l2=0.1, batch_size=4)
    proven = seen.certified_curvature
    rng = np.random.default_rng(0)
    for _ in range(50):
        rows = rng.permutation(30)[: rng.choice([2, 4])]
        values = np.linalg.eigvalsh(X[rows].T @ X[rows] / len(rows) + 0.1 * np.eye(3))
        assert proven.mu <= values[0]
        assert values[-1] <= proven.L


@pytest.mark.parametrize("loss", ["logistic", "multinomial"])
def test_moments_of_other_losses_are_those_at_the_minimiser(data, survey_of, loss):
    X, _ = data(rows=30, d=3, seed=1)
    y = np.arange(30) % (2 if loss == "logistic" else 3)
    seen = survey_of(X, y, loss=loss, l2=0.05, batch_size=10, batches="fixed")
    expected = growth(seen.model.batch_hessians(seen.minimiser), Method(0.4, 0.7)).value
    assert seen.moments.growth(Method(0.4, 0.7)) == pytest.approx(expected, rel=1e-5)
    assert not seen.quadratic


def test_interpolation_and_flat_batches_are_noticed(data, survey_of):
    X, _ = data(rows=24, d=3)
    seen = survey_of(X, X @ np.ones(3), batch_size=2)
    assert seen.interpolates
    assert seen.certified_curvature is None


def test_a_sample_of_many_rows_estimates_all_of_them(data, survey_of, monkeypatch):
    X, y = data(rows=3000, d=4, seed=2)
    X[17] *= 8.0
    method = Method(0.05, 0.6)
    whole = survey_of(X, y, l2=0.01, batch_size=4)
    assert whole.complete
    monkeypatch.setattr("ravine.diagnosis.survey._ROW_NUMBERS", 400 * 16.0)
    part = survey_of(X, y, l2=0.01, batch_size=4)
    assert not part.complete
    assert 17 in part.sample[: part.sure]
    # 300 random rows beside the 100 heaviest, which make most of the second moment.
    gap = 1.0 - whole.moments.growth(method)
    assert abs(part.moments.growth(method) - whole.moments.growth(method)) < 0.1 * gap


def test_many_directions_are_followed_in_part(data, survey_of, monkeypatch):
    X, y = data(rows=300, d=30, seed=3)
    monkeypatch.setattr("ravine.diagnosis.survey.MOMENT_DIRECTIONS", 10)
    monkeypatch.setattr("ravine.diagnosis.survey._TOP", 8)
    seen = survey_of(X, y, l2=0.05, batch_size=10)
    assert not seen.every_direction
    assert seen.moments.dimension <= 8 + 8 + 12


def test_sparse_data_give_the_same_survey(data, survey_of):
    X, y = data(rows=40, d=5, seed=4)
    X[np.abs(X) < 0.7] = 0.0
    dense = survey_of(X, y, l2=0.1)
    sparse = survey_of(csr_matrix(X), y, l2=0.1)
    np.testing.assert_allclose(sparse.minimum.spectrum, dense.minimum.spectrum, rtol=1e-10)
    method = Method(0.1, 0.8)
    assert sparse.moments.growth(method) == pytest.approx(dense.moments.growth(method), rel=1e-6)
    assert sparse.start_excess == pytest.approx(dense.start_excess)
