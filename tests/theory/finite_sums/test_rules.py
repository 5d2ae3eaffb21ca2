"""Draws of every rule, and epochs of any length."""

import numpy as np
import pytest

from ravine.sampling import Sampling
from ravine.theory.finite_sums.rules import Draws, epoch_is_small
from ravine.theory.finite_sums.terms import finite_sum


def drawn(sampling, n=5, walkers=400, steps=40, seed=0):
    draws = Draws(n, sampling, walkers, np.random.default_rng(seed))
    return np.stack([draws.next() for _ in range(steps)])


@pytest.mark.parametrize("sampling", list(Sampling))
def test_draws_have_the_traits_of_their_rule(sampling):
    order = drawn(sampling)
    traits = sampling.traits
    epochs = order.reshape(-1, 5, order.shape[1])
    whole = np.sort(epochs, axis=1) == np.arange(5)[:, None]
    assert whole.all() == traits.by_epoch
    repeats = (order[1:] == order[:-1]).any()
    assert repeats == (traits.may_repeat and traits.random)
    assert (order != order[:, :1]).any() == traits.random


def test_the_fixed_order_is_the_order_of_the_terms():
    np.testing.assert_array_equal(drawn(Sampling.CYCLIC, walkers=2)[:7, 1], [0, 1, 2, 3, 4, 0, 1])


@pytest.mark.parametrize("sampling", [s for s in Sampling if s.traits.random])
def test_terms_are_drawn_evenly(sampling):
    shares = np.bincount(drawn(sampling, steps=50).ravel(), minlength=5) / 20000
    # 20000 draws: a standard error of at most 0.0028.
    np.testing.assert_allclose(shares, 0.2, atol=4 * 0.0028)


@pytest.mark.parametrize("sampling", list(Sampling))
def test_copies_of_walkers_go_on_by_the_rule(sampling):
    draws = Draws(4, sampling, 6, np.random.default_rng(1))
    first = [draws.next() for _ in range(2)]
    draws.keep(np.array([0, 0, 0, 3, 3, 3]))
    rest = [draws.next() for _ in range(2)]
    if sampling.traits.by_epoch:
        parents = np.stack(first)[:, [0, 0, 0, 3, 3, 3]]
        whole = np.concatenate([parents, np.stack(rest)])
        np.testing.assert_array_equal(np.sort(whole, axis=0), np.arange(4)[:, None] + np.zeros(6))


def test_thousands_of_terms_are_a_long_epoch_and_no_overflow():
    assert not epoch_is_small(finite_sum(np.linspace(1, 2, 3000)[:, None]))
    assert epoch_is_small(finite_sum(np.ones((3000, 1))))
