import math

import numpy as np
import pytest

from ravine.diagnosis.stability import epoch_products, growths
from ravine.methods import Method
from ravine.theory.finite_sums.growth import growth
from ravine.theory.ladder.rates import spectral_radius


def hessians(seen):
    """Hessians of fixed batches."""
    return seen.model.batch_hessians(seen.minimiser)


@pytest.mark.parametrize("alpha", [0.2, 0.9])
def test_reshuffled_batches_grow_as_the_exact_epoch_does(data, survey_of, alpha):
    """Five batches: the mean over all 120 orders is exact in theory."""
    seen = survey_of(*data(rows=40, d=3), l2=0.1, batches="fixed", batch_size=8)
    method = Method(alpha / float(seen.curvature.L), 0.8)
    exact = growth(hessians(seen), method, sampling="reshuffle")
    mine = growths(seen, method, seconds=600.0).mean_square
    assert mine.low * (1 - 1e-9) <= exact.value <= mine.high * (1 + 1e-9)


def test_a_fixed_order_is_exact_in_every_sense(data, survey_of):
    seen = survey_of(*data(rows=40, d=3), l2=0.1, sampling="cyclic")
    both = growths(seen, Method(0.1, 0.7), seconds=600.0)
    exact = growth(hessians(seen), Method(0.1, 0.7), sampling="cyclic")
    assert both.mean_square.value == pytest.approx(exact.value, rel=1e-8)
    assert both.almost_sure.value == pytest.approx(math.sqrt(exact.value), rel=1e-8)


@pytest.mark.parametrize("sampling", ["iid", "reshuffle"])
@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.6, 1.5])
def test_jensen_holds_in_both_directions(data, survey_of, sampling, alpha):
    X, y = data(rows=40, d=3)
    X[3] *= 5.0
    seen = survey_of(X, y, sampling=sampling, batch_size=4)
    method = Method(alpha / float(seen.curvature.L), 0.5)
    square, sure = growths(seen, method, seconds=600.0)
    assert sure.value <= math.sqrt(square.high) * (1 + 1e-12)
    assert square.low <= square.value <= square.high
    if sampling == "iid":
        assert square.value >= float(spectral_radius(seen.curvature, method)) ** 2 * (1 - 1e-9)


def test_batches_of_an_epoch_make_up_for_each_other(data, survey_of):
    """What one batch pulls too much the other pulls too little: faster than exact gradients."""
    X, y = data(rows=4, d=1)
    seen = survey_of(X, y, batch_size=2)
    curvature = float(seen.curvature.L)
    method = Method(0.6 / curvature, 0.0)
    square, _ = growths(seen, method, seconds=600.0)
    factors = []
    for other in (1, 2, 3):  # the row that comes with the first one
        first = float((X[[0, other]] ** 2).mean())
        factors.append((1 - 0.6 * first / curvature) * (1 - 0.6 * (2 - first / curvature)))

    truth = np.sqrt(np.mean(np.square(factors)))
    assert abs(square.value - truth) <= square.high - square.low  # four standard errors
    assert square.value == pytest.approx(truth, rel=0.02)
    assert square.high < float(spectral_radius(seen.curvature, method)) ** 2


def test_one_heavy_row_counts_once_an_epoch(data, survey_of):
    """Drawn with replacement it may come twice: that grows faster in mean square."""
    X, y = data(rows=64, d=3)
    X[5] *= 10.0
    method = Method(0.03, 0.0)
    free = growths(survey_of(X, y, sampling="iid"), method, seconds=600.0).mean_square
    once = growths(survey_of(X, y), method, seconds=600.0).mean_square
    assert free.value > once.high


def test_without_time_the_limits_are_those_of_both_ends(data, survey_of):
    X, y = data(rows=64, d=3)
    X[5] *= 10.0
    seen = survey_of(X, y)
    method = Method(0.03, 0.0)
    square, _ = growths(seen, method, seconds=0.0)
    assert square.high == pytest.approx(seen.moments.growth(method))
    assert not square.exact


def test_products_are_those_of_the_blocks(data, survey_of):
    seen = survey_of(*data(rows=20, d=2), batches="fixed", batch_size=10, sampling="cyclic")
    method = Method(0.1, 0.6, 0.3)
    P = epoch_products(seen, method, seconds=600.0)
    eye = np.eye(2)
    expected = np.eye(4)
    for H in hessians(seen):
        basis = seen.moments.basis
        turned = basis.T @ H @ basis
        c = 0.6 * 1.3 - 0.3
        block = np.block([[eye - 0.13 * turned, c * eye], [-0.1 * turned, 0.6 * eye]])
        expected = block @ expected
    np.testing.assert_allclose(P.matrices[0] * np.exp(P.scales[0]), expected, atol=1e-12)
