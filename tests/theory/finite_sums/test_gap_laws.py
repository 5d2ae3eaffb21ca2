"""Distributions of gaps against sums over the gaps themselves."""

import math
from itertools import product

import numpy as np
import pytest

from ravine.theory.finite_sums.rules import (
    mean_log_gap_no_repeat,
    mean_log_geometric,
    renewal,
    reshuffle_radius,
)
from ravine.theory.finite_sums.terms import Sense

AVERAGED = [Sense.MEAN, Sense.MEAN_SQUARE]


@pytest.mark.parametrize("sense", AVERAGED)
@pytest.mark.parametrize(("w", "a"), [(0.0, 1.0), (0.5, 0.25), (0.98, 0.02 * 0.98)])
def test_a_renewal_growth_makes_the_mean_over_the_gaps_one(w, a, sense):
    g = float(renewal(np.float64(w), np.float64(a), sense))
    k = np.arange(1.0, 4000.0)
    # P(k) = a w^(k-1) of a gap; the mean of k^p g^-(k+1) over all gaps.
    log_terms = sense.power * np.log(k) - (k + 1.0) * math.log(g)
    weights = a * (w ** (k - 1.0))
    assert np.sum(weights * np.exp(log_terms)) == pytest.approx(1.0, rel=1e-10)


def test_the_mean_logarithm_of_a_geometric_number_is_its_sum():
    p = np.array([0.9, 0.3, 0.02])
    k = np.arange(1.0, 3000.0)
    expected = (p[:, None] * (1.0 - p[:, None]) ** (k - 1.0) * np.log(k)).sum(axis=1)
    np.testing.assert_allclose(mean_log_geometric(p), expected, rtol=1e-13)


@pytest.mark.parametrize("n", [2, 3, 7, 40])
def test_the_mean_logarithm_of_a_gap_is_that_of_all_pairs_of_epochs(n):
    """f_n at position i of one epoch, at j of the next, which does not begin with the last one."""
    total = 0.0
    for i, j in product(range(n), repeat=2):
        if i == n - 1:
            chance = 0.0 if j == 0 else 1.0 / (n - 1)
        else:
            chance = 1.0 / (n - 1) if j == 0 else (n - 2) / (n - 1) ** 2
        if chance:
            total += chance / n * math.log(n - 1 - i + j)

    assert float(mean_log_gap_no_repeat(np.float64(n))) == pytest.approx(total, rel=1e-13)


@pytest.mark.parametrize("sense", AVERAGED)
@pytest.mark.parametrize("n", [3, 4, 9])
def test_reshuffled_epochs_grow_as_the_kernel_on_positions(n, sense):
    i = np.arange(n)
    kernel = np.abs(n - 1.0 - i[:, None] + i) ** sense.power / n
    expected = np.abs(np.linalg.eigvals(kernel)).max()
    assert float(reshuffle_radius(np.float64(n), sense, may_repeat=True)) == pytest.approx(
        expected, rel=1e-10
    )


@pytest.mark.parametrize("sense", AVERAGED)
@pytest.mark.parametrize("n", [3, 4, 9])
def test_epochs_without_repeat_grow_as_their_kernel_on_positions(n, sense):
    N = n - 1
    chance = np.full((n, n), (n - 2) / N**2)
    chance[:, 0] = 1.0 / N
    chance[N] = 1.0 / N
    chance[N, 0] = 0.0
    i = np.arange(n)
    kernel = chance * (N - i[:, None] + i) ** sense.power
    expected = np.abs(np.linalg.eigvals(kernel)).max()
    assert float(reshuffle_radius(np.float64(n), sense, may_repeat=False)) == pytest.approx(
        expected, rel=1e-10
    )


def test_two_terms_have_the_values_of_their_limits():
    two = np.float64(2.0)
    assert float(reshuffle_radius(two, Sense.MEAN_SQUARE, may_repeat=True)) == 0.5
    assert float(reshuffle_radius(two, Sense.MEAN, may_repeat=False)) == 1.0
