import math

import numpy as np
import pytest
from scipy.linalg import block_diag

from ravine.sampling import Sampling
from ravine.theory.finite_sums.epochs import EpochGrowth, Products, drawn_mean_square, root_work

STEPS = 3


def products(epochs, size, *, deviation=0.3, seed=0):
    rng = np.random.default_rng(seed)
    return 0.5 * np.eye(size) + deviation * rng.standard_normal((epochs, size, size))


def growth_by_kronecker(P):
    mean = np.mean([np.kron(one, one) for one in P], axis=0)
    return np.abs(np.linalg.eigvals(mean)).max() ** (1.0 / STEPS)


@pytest.mark.parametrize("epochs", [400, 8])  # by a table, and product by product
def test_the_growth_is_that_of_the_mean_kronecker_square(epochs):
    P = products(epochs, 6)
    P = np.concatenate([P, P])[np.arange(2 * epochs) // 2]  # both halves are the same: no excess
    P[1::2] = P[::2]
    value, low, high = drawn_mean_square(Products(P, np.zeros(len(P))), STEPS)
    assert value == pytest.approx(growth_by_kronecker(P[::2]), rel=1e-8)
    assert low < value < high


def test_a_double_eigenvalue_is_found():
    P = np.tile([[0.9, 1.0], [0.0, 0.9]], (50, 1, 1))
    value, low, high = drawn_mean_square(Products(P, np.zeros(50)), 1)
    assert value == pytest.approx(0.81, rel=2e-4)
    assert (low, high) == pytest.approx((value, value), rel=1e-3)


def turning(pairs):
    """One product whose eigenvalues are nearly as long as each other, in a skew basis."""
    turns = np.exp(1j * np.linspace(0.3, 2.8, pairs))
    blocks = [np.array([[t.real, t.imag], [-t.imag, t.real]]) for t in turns]
    shrunk = block_diag(*(0.9 * (1 - 1e-4 * i) * block for i, block in enumerate(blocks)))
    skew = np.random.default_rng(0).standard_normal(shrunk.shape)
    return skew @ shrunk @ np.linalg.inv(skew)


@pytest.mark.parametrize("pairs", [7, 16])  # by all eigenvalues, and by limits that hold
def test_what_the_search_cannot_settle_is_never_said_wrong(pairs):
    P = np.tile(turning(pairs), (80, 1, 1))
    value, low, high = drawn_mean_square(Products(P, np.zeros(80)), 1)
    assert low <= 0.81 <= high * (1 + 1e-9)
    if pairs == 7:
        assert value == pytest.approx(0.81, rel=1e-6)


def test_scales_are_factors():
    P = products(64, 4)
    at_once = drawn_mean_square(Products(P, np.zeros(64)), STEPS)
    apart = drawn_mean_square(Products(P / math.e**7, np.full(64, 7.0)), STEPS)
    assert apart == pytest.approx(at_once, rel=1e-9)


def test_the_limits_hold_the_growth_of_all_epochs():
    # E[P ⊗ P] of these is known: the mean's Kronecker square plus the variance of every entry.
    size, deviation = 4, 0.3
    known = 0.25 * np.eye(size**2)
    unit = np.eye(size).ravel()
    known += deviation**2 * np.outer(unit, unit)
    truth = np.abs(np.linalg.eigvals(known)).max() ** (1.0 / STEPS)
    held = 0
    for seed in range(40):
        drawn = Products(products(200, size, seed=seed), np.zeros(200))
        _, low, high = drawn_mean_square(drawn, STEPS)
        held += low <= truth <= high

    # Two standard errors hold 95 %: of 40 at least 34 but for one time in a hundred.
    assert held >= 34


def test_it_is_never_below_the_mean_product():
    P = np.stack([np.diag([1.4, 0.1]), np.diag([0.6, 0.1])])  # the mean is 1 where one lasts
    value, low, _ = drawn_mean_square(Products(P, np.zeros(2)), 1)
    assert low >= 1.0 - 1e-7  # what is left for rounding, of the logarithm
    assert value >= low


def test_a_table_makes_many_epochs_cheap():
    assert root_work(12288, 10) < 20 * root_work(768, 10)
    assert root_work(768, 40) < root_work(768, 60) / 5


def test_a_difference_below_rounding_draws_no_epochs():
    def draw():
        raise AssertionError("nothing to learn from drawn epochs")

    known = EpochGrowth(
        exact_gradients=1.0 - 1e-12,
        independent=lambda: 1.0 + 2e-11,
        exact=True,
        sampling=Sampling.RESHUFFLE,
        steps=10,
        directions=21,
    )
    assert known.growths(draw, 0).mean_square.diverges is False
