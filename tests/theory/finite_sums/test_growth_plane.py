"""Growth over a plane: point by point against the exact one."""

import numpy as np
import pytest

from ravine.methods import Method
from ravine.theory.finite_sums.growth import growth
from ravine.theory.finite_sums.growth_plane import growth_plane
from ravine.theory.finite_sums.second_moments import SecondMoments


def a_sum(n, d, seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d, d + 1))
    return np.einsum("nij,nkj->nik", A, A) + 0.05 * np.eye(d)


@pytest.mark.parametrize(("n", "d"), [(3, 2), (5, 3), (6, 6)])
def test_the_plane_is_the_growth_of_each_method(n, d):
    H = a_sum(n, d, seed=n)
    moments = SecondMoments.of(H)
    rng = np.random.default_rng(1)
    alpha = moments.natural_step * np.exp(rng.uniform(np.log(0.02), np.log(2.0), (8, 5)))
    beta = rng.uniform(-0.8, 0.98, (8, 5))
    found = growth_plane(moments, Method(alpha, beta))
    exact = np.array(
        [growth(H, Method(a, b)).value for a, b in zip(alpha.flat, beta.flat, strict=True)]
    ).reshape(8, 5)
    off = np.abs(found / exact - 1.0)
    assert np.quantile(off, 0.9) < 2e-3
    clear = np.abs(exact - 1.0) > 0.02
    np.testing.assert_array_equal((found < 1.0)[clear], (exact < 1.0)[clear])
