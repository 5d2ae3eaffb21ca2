"""Both growths of a sum that is known in part: exact where they can be, and never at odds."""

import numpy as np
import pytest

from ravine.curvature import Curvature
from ravine.methods import Method, nesterov
from ravine.sampling import Sampling
from ravine.theory.finite_sums.growth import growth
from ravine.theory.finite_sums.known_sum import KnownSum, both_growths, mean_square_of
from ravine.theory.finite_sums.second_moments import SecondMoments


def known_sum(n, d, seed, *, directions=None, sample=None):
    """A sum of n terms in d directions, of which only some may be followed."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n, 8, d)) * np.geomspace(0.5, 2.0, d)
    H = np.einsum("nri,nrj->nij", rows, rows) / 8 + 0.1 * np.eye(d)
    values, turn = np.linalg.eigh(H.mean(axis=0))
    turned = turn.T @ H @ turn
    certain, kept = n, np.arange(n)
    if sample is not None:
        certain, kept = 2, np.concatenate([[0, 1], rng.integers(2, n, sample)])
    weights = np.full(n, 1.0 / n)
    if sample is not None:
        weights = np.concatenate([[1.0 / n] * 2, np.full(sample, (n - 2) / n / sample)])
    moments = SecondMoments(values, turned[kept] - np.diag(values), weights)
    if directions is not None:
        moments = moments.restricted(directions)
    return KnownSum(
        moments, lambda b, v: v @ turned[b], n, d, Curvature(values[0], values[-1]), certain
    )


@pytest.fixture(scope="module")
def found():
    return known_sum(6, 3, seed=0)


@pytest.mark.parametrize("alpha", [0.002, 0.01, 0.03])
def test_where_batches_hardly_disagree_the_limits_hold_the_exact_growth(found, alpha, monkeypatch):
    """Six batches: the mean over all orders of an epoch is exact in theory."""
    monkeypatch.setattr("ravine.theory.finite_sums.known_sum.epoch_is_small", lambda terms: False)
    method = Method(alpha, 0.5)
    exact = growth(found.hessians, method, sampling="reshuffle").value
    limits = mean_square_of(found, method, Sampling.RESHUFFLE)
    assert limits.low <= exact * (1 + 1e-9)
    assert exact <= limits.high * (1 + 1e-9)


def test_a_short_epoch_is_averaged_exactly(found):
    method = Method(0.03, 0.5)
    exact = growth(found.hessians, method, sampling="reshuffle")
    limits = mean_square_of(found, method, Sampling.RESHUFFLE)
    assert limits.exact
    assert limits.value == pytest.approx(exact.value, rel=1e-9)


@pytest.mark.parametrize("sampling", list(Sampling))
def test_paths_never_grow_faster_than_their_mean_square(found, sampling):
    for method in (nesterov(found.curvature), Method(0.05, 0.5), Method(0.01, 0.9)):
        square, sure = both_growths(found, method, sampling)
        assert sure.value <= square.rate * (1 + 1e-12)
        assert sure.high <= square.high**0.5 * (1 + 1e-12)
        assert square.sampling is sampling


def test_divergence_is_divergence_in_every_order(found):
    for sampling in Sampling:
        square, sure = both_growths(found, Method(3.0, 0.5), sampling)
        assert square.diverges is True
        assert sure.diverges is True


@pytest.mark.parametrize("sampling", list(Sampling))
def test_unfollowed_directions_are_felt_by_paths(sampling):
    part = known_sum(6, 3, seed=0, directions=[0, 1])
    square, sure = both_growths(part, Method(0.3, 0.5), sampling)
    assert not square.exact
    assert not sure.exact
    assert sure.value <= square.rate * (1 + 1e-12)


def test_a_sample_of_the_terms_has_an_error_of_its_own():
    whole = mean_square_of(known_sum(60, 3, seed=4), Method(0.2, 0.5), Sampling.IID)
    part = mean_square_of(known_sum(60, 3, seed=4, sample=40), Method(0.2, 0.5), Sampling.IID)
    assert whole.exact
    assert not part.exact
    assert part.low < part.value < part.high
    # The limits are two standard errors; four hold all but one in 16000 samples.
    assert abs(part.value - whole.value) < 2 * (part.high - part.low)


def test_products_show_the_growth_that_hessians_do():
    known = known_sum(6, 3, seed=0)
    blind = KnownSum(
        known.moments.restricted([0, 1]), known.product, 6, 3, known.curvature, known.certain
    )
    by_products = both_growths(blind, Method(0.4, 0.5), Sampling.IID)[1]
    exact = growth(known.hessians, Method(0.4, 0.5), sense="almost-sure", steps=4000)
    assert by_products.low <= exact.high
    assert exact.low <= by_products.high


def test_a_thousand_batches_do_not_overflow():
    many = known_sum(1100, 1, seed=1)
    square, sure = both_growths(many, Method(0.01), Sampling.RESHUFFLE)
    assert square.diverges is False
    assert sure.diverges is False
