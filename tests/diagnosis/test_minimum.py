import numpy as np
import pytest

from ravine.diagnosis.minimum import minimum_of
from ravine.problems import from_data


def found(X, y, **options):
    problem = from_data(X, y, **options)
    return minimum_of(problem), problem


def test_a_singular_design_has_the_minimiser_of_least_norm(data):
    X, y = data(rows=40, d=3)
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    least, _ = found(X, y)
    np.testing.assert_allclose(least.point, np.linalg.lstsq(X, y)[0], rtol=1e-9)
    assert least.flat == 1
    values = np.linalg.eigvalsh(X.T @ X / 40)
    assert least.spectrum[0] == pytest.approx(values[1])


@pytest.mark.parametrize("labels", [2, 3])
def test_a_logistic_loss_is_least_where_its_gradient_vanishes(data, labels):
    X, _ = data(rows=40, d=3)
    loss = "logistic" if labels == 2 else "multinomial"
    least, problem = found(X, np.arange(40) % labels, loss=loss, l2=0.05)
    assert np.linalg.norm(problem.gradient(least.point)) < 1e-12
    assert least.spectrum[0] >= 0.05 * (1 - 1e-9)


def test_products_find_what_the_whole_spectrum_finds(data, monkeypatch):
    X, y = data(rows=60, d=20)
    whole, _ = found(X, y, l2=0.1)
    monkeypatch.setattr("ravine.diagnosis.minimum.FULL_LIMIT", 10)
    part, _ = found(X, y, l2=0.1)
    assert not part.full
    np.testing.assert_allclose(part.point, whole.point, rtol=1e-6, atol=1e-9)
    # Asked for to a hundredth, and widened by the residual.
    assert part.spectrum[-1] == pytest.approx(whole.spectrum[-1], rel=0.02)
    assert part.spectrum[0] <= whole.spectrum[0] * (1 + 1e-9)
