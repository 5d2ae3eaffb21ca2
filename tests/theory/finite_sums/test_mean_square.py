"""Mean-square growth against Kronecker products of the blocks, written out in full."""

import numpy as np
import pytest

from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.blocks import system
from ravine.theory.finite_sums.mean_square import (
    cyclic_growth,
    direction_growth,
    mean_square_growth,
)
from ravine.theory.finite_sums.terms import finite_sum

METHOD = Method(0.21, 0.6, 0.4)


def turned_terms(n=3, d=2, seed=5):
    """Positive matrices that share no eigenvectors."""
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((n, d, d))
    return roots @ np.swapaxes(roots, 1, 2) + 0.2 * np.eye(d)


def radius(matrix):
    return np.abs(np.linalg.eigvals(matrix)).max()


def test_independent_draws_grow_as_the_mean_of_squared_blocks():
    H = turned_terms()
    lifted = np.mean([np.kron(A, A) for A in system(H, METHOD)], axis=0)
    root = mean_square_growth(finite_sum(H), METHOD, Sampling.IID)
    assert root.value == pytest.approx(radius(lifted), rel=1e-9)
    assert root.exact
    assert root.low <= root.value <= root.high


def test_a_fixed_order_grows_as_the_product_of_its_blocks():
    H = turned_terms()
    first, second, third = system(H, METHOD)
    expected = radius(third @ second @ first) ** (1.0 / 3.0)
    assert cyclic_growth(finite_sum(H), METHOD) == pytest.approx(expected, rel=1e-12)
    root = mean_square_growth(finite_sum(H), METHOD, Sampling.CYCLIC)
    assert root.value == pytest.approx(expected**2, rel=1e-12)


def test_a_product_that_is_zero_does_not_grow():
    # alpha h = 1 with neither momentum nor extrapolation reaches the minimiser in one step.
    assert cyclic_growth(finite_sum([[1.0], [4.0]]), Method(1.0, 0.0, 0.0)) == 0.0


@pytest.mark.parametrize("sampling", [Sampling.IID, Sampling.RESHUFFLE, Sampling.CYCLIC])
def test_shared_eigenvectors_grow_as_their_fastest_direction(sampling):
    h = np.array([[0.5, 2.0], [1.5, 8.0], [0.1, 5.0]])
    together = mean_square_growth(finite_sum(h), METHOD, sampling).value
    alone = [mean_square_growth(finite_sum(h[:, [i]]), METHOD, sampling).value for i in (0, 1)]
    assert together == pytest.approx(max(alone), rel=1e-12)
    assert abs(alone[0] - alone[1]) > 1e-3


def test_a_direction_s_lift_is_the_mean_of_its_squared_blocks():
    h = np.array([0.5, 2.0, 7.0])
    lifted = np.mean([np.kron(A, A) for A in system(h[:, None, None], METHOD)], axis=0)
    one = mean_square_growth(finite_sum(h[:, None]), METHOD, Sampling.IID)
    assert one.value == pytest.approx(radius(lifted))
    first = np.array([h.mean(), 1.0])
    variance = np.array([h.var(), 0.0])
    many = direction_growth(first, variance, METHOD)
    assert many[0] == pytest.approx(radius(lifted))
    assert many.shape == (2,)


def test_a_long_epoch_has_no_exact_average():
    H = np.linspace(1.0, 2.0, 40)[:, None, None] * turned_terms(n=1)
    assert mean_square_growth(finite_sum(H), METHOD, Sampling.RESHUFFLE) is None
