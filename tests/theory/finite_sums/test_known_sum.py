import numpy as np
import pytest

from ravine.diagnosis.batches import survey
from ravine.methods import Method, nesterov
from ravine.problems import from_data
from ravine.sampling import Sampling
from ravine.theory.finite_sums.growth import growth
from ravine.theory.finite_sums.known_sum import both_growths, mean_square_of


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((48, 3)) * [0.5, 1.0, 2.0]
    problem = from_data(X, rng.standard_normal(48), l2=0.1, batch_size=8)
    return survey(problem, ("a", "b", "c"))


@pytest.mark.parametrize("alpha", [0.002, 0.01, 0.03])
def test_where_batches_hardly_disagree_the_limits_hold_the_exact_growth(found, alpha, monkeypatch):
    """Six batches: the mean over all orders of an epoch is exact in theory."""
    monkeypatch.setattr("ravine.theory.finite_sums.known_sum.epoch_is_small", lambda terms: False)
    method = Method(alpha, 0.5)
    exact = growth(found.problem.batch_hessians(), method, sampling="reshuffle").value
    limits = mean_square_of(found.known_sum, method, Sampling.RESHUFFLE)
    assert limits.low <= exact * (1 + 1e-9)
    assert exact <= limits.high * (1 + 1e-9)


def test_a_short_epoch_is_averaged_exactly(found):
    method = Method(0.03, 0.5)
    exact = growth(found.problem.batch_hessians(), method, sampling="reshuffle")
    limits = mean_square_of(found.known_sum, method, Sampling.RESHUFFLE)
    assert limits.exact
    assert limits.value == pytest.approx(exact.value, rel=1e-9)


@pytest.mark.parametrize("sampling", list(Sampling))
def test_paths_never_grow_faster_than_their_mean_square(found, sampling):
    for method in (nesterov(found.curvature), Method(0.05, 0.5), Method(0.01, 0.9)):
        square, sure = both_growths(found.known_sum, method, sampling)
        assert sure.value <= square.rate * (1 + 1e-12)
        assert sure.high <= square.high**0.5 * (1 + 1e-12)
        assert square.sampling is sampling


def test_divergence_is_divergence_in_every_order(found):
    for sampling in Sampling:
        square, sure = both_growths(found.known_sum, Method(3.0, 0.5), sampling)
        assert square.diverges is True
        assert sure.diverges is True
