"""Paths on products alone, against paths on Hessians and against closed forms."""

import numpy as np
import pytest

from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.deadline import Deadline
from ravine.theory.finite_sums.path_growth import almost_sure_by_products, almost_sure_growth
from ravine.theory.finite_sums.terms import finite_sum, one_method

METHOD = one_method(Method(0.05, 0.5))


def hessians(n, d, seed):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    return np.einsum("bij,bj,bkj->bik", Q, rng.uniform(1, 20, (n, d)), Q)


@pytest.mark.parametrize("sampling", list(Sampling))
def test_products_show_the_growth_that_hessians_do(sampling):
    H = hessians(5, 3, seed=1)
    one = almost_sure_growth(finite_sum(H), METHOD, sampling, steps=600, replicas=16, seed=0)
    two = almost_sure_by_products(
        lambda b, v: v @ H[b], METHOD, sampling, terms=5, dimension=3, steps=600, replicas=16,
        seed=1,
    )  # fmt: skip
    # Two independent 95 % intervals that do not meet would be 2.8 standard errors apart.
    assert one.low <= two.high * 1.002
    assert two.low <= one.high * 1.002


def test_a_fixed_order_is_its_product_along_every_path():
    H = hessians(4, 2, seed=3)
    found = almost_sure_by_products(
        lambda b, v: v @ H[b], METHOD, Sampling.CYCLIC, terms=4, dimension=2, steps=4000,
        replicas=4, seed=0,
    )  # fmt: skip
    assert found.high - found.low < 1e-3


def test_a_deadline_shortens_the_paths():
    H = hessians(4, 2, seed=3)
    found = almost_sure_growth(
        finite_sum(H), METHOD, Sampling.IID, steps=500, replicas=4, seed=0, deadline=Deadline(0.0)
    )
    assert found.steps == 1
