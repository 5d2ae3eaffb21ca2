"""One inconsistent term: exact moments over all orders, and the rate at which they grow."""

from itertools import pairwise, permutations, product

import numpy as np
import pytest

import ravine
from ravine import Method
from ravine.sampling import Sampling
from ravine.theory.blocks import block
from ravine.theory.finite_sums.inconsistent_term import (
    inconsistent_term_moment,
    inconsistent_term_rate,
)

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
    computed = inconsistent_term_moment(1.0, 5.0, METHOD, n=N, sampling=rule, steps=K, start=0.7)
    np.testing.assert_allclose(computed, expected, rtol=1e-12)


def test_an_overflow_is_infinite():
    values = inconsistent_term_moment(1.0, 9.0, Method(2.0, 0.9), n=2, sampling="iid", steps=2000)
    assert np.isinf(values[-1])
    assert not np.isnan(values).any()


METHODS = [
    ravine.Method(0.1, 0.3),
    ravine.Method(0.05, 0.8),
    ravine.Method(0.12, 0.6, 0.0),
    ravine.Method(0.3, 0.9),
    ravine.Method(0.02, -0.4),
]


@pytest.mark.parametrize("sampling", Sampling)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_it_is_the_growth_of_the_sum(sampling, n):
    hessians = [[1.0]] * (n - 1) + [[8.0]]
    for method in METHODS:
        exact = ravine.growth(hessians, method, sampling=sampling, sense="mean-square")
        rate = inconsistent_term_rate(1.0, 8.0, method, n=n, sampling=sampling)
        assert exact.exact
        assert float(rate) == pytest.approx(exact.rate, rel=1e-6)


@pytest.mark.parametrize("sampling", Sampling)
@pytest.mark.parametrize("n", [7, 50])
def test_the_exact_moments_grow_at_this_rate(sampling, n):
    """Over 40 epochs the moments' own factor, at most 1e4 here, is worth 1e4^(1/(40 n))."""
    for method in METHODS[:2]:
        moments = inconsistent_term_moment(1.0, 8.0, method, n=n, sampling=sampling, steps=60 * n)
        early, late = moments[20 * n], moments[60 * n]
        if not (np.isfinite(late) and late > 1e-280):
            continue
        measured = (late / early) ** (1.0 / (80.0 * n))
        rate = float(inconsistent_term_rate(1.0, 8.0, method, n=n, sampling=sampling))
        assert rate == pytest.approx(measured, rel=np.log(1e4) / (80.0 * n))


@pytest.mark.parametrize("sampling", Sampling)
def test_planes_of_methods_and_long_epochs(sampling):
    plane = ravine.Method(np.linspace(1e-4, 2e-3, 6)[None, :], np.linspace(-0.9, 1.0, 5)[:, None])
    rates = inconsistent_term_rate(1.0, 2000.0, plane, n=1000, sampling=sampling)
    assert rates.shape == (5, 6)
    assert np.isfinite(rates).all()
    one = ravine.Method(float(plane.alpha[0, 2]), float(plane.beta[3, 0]))
    alone = inconsistent_term_rate(1.0, 2000.0, one, n=1000, sampling=sampling)
    assert rates[3, 2] == pytest.approx(float(alone), rel=1e-12)


def test_the_standard_parameters_of_the_paper():
    """The paper's example in every order, in closed form."""
    curvature = ravine.Curvature(1.0, 2000.0)
    for sampling in Sampling:
        for n in (50, 250):
            known = ravine.finite_sums.counterexample_growth(
                curvature, n, sampling=sampling, sense="mean-square"
            )
            rate = inconsistent_term_rate(
                1.0, 2000.0, ravine.nesterov(curvature), n=n, sampling=sampling
            )
            assert float(rate) ** 2 == pytest.approx(float(known), rel=1e-4)


def test_a_step_that_forgets_everything():
    method = ravine.Method(1.0, 0.0)
    assert float(inconsistent_term_rate(1.0, 2.0, method, n=3, sampling=Sampling.CYCLIC)) < 1e-5
