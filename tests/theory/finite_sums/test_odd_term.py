from itertools import pairwise, permutations, product

import numpy as np
import pytest

from ravine import Method
from ravine.sampling import Sampling
from ravine.theory.blocks import block
from ravine.theory.finite_sums.odd_term import odd_term_moment

N = 3
K = 2 * N  # two epochs
METHOD = Method(0.3, 0.6, 0.2)


def orders(rule):
    """Every order of two epochs, all equally likely."""
    epochs = [one + two for one, two in product(permutations(range(N)), repeat=2)]
    return {
        Sampling.IID: list(product(range(N), repeat=K)),
        Sampling.IID_NO_REPEAT: [
            order
            for order in product(range(N), repeat=K)
            if all(a != b for a, b in pairwise(order))
        ],
        Sampling.CYCLIC: [tuple(range(N)) * 2],
        Sampling.RESHUFFLE: epochs,
        Sampling.RESHUFFLE_NO_REPEAT: [order for order in epochs if order[N - 1] != order[N]],
    }[rule]


@pytest.mark.parametrize("rule", Sampling)
def test_the_mean_over_all_orders(rule):
    squares = []
    for order in orders(rule):
        state = np.array([0.7, 0.0])
        squares.append([state[0] ** 2])
        for term in order:
            state = block(5.0 if term == N - 1 else 1.0, METHOD) @ state
            squares[-1].append(state[0] ** 2)

    expected = np.mean(squares, axis=0)
    computed = odd_term_moment(1.0, 5.0, METHOD, n=N, sampling=rule, steps=K, start=0.7)
    np.testing.assert_allclose(computed, expected, rtol=1e-12)


def test_an_overflow_is_infinite():
    values = odd_term_moment(1.0, 9.0, Method(2.0, 0.9), n=2, sampling="iid", steps=2000)
    assert np.isinf(values[-1])
    assert not np.isnan(values).any()
