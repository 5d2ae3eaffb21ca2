"""Paths of a sum, against the closed form of a fixed order; cut short by a deadline."""

import numpy as np
import pytest

from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.deadline import Deadline
from ravine.theory.finite_sums.growth import growth
from ravine.theory.finite_sums.path_growth import almost_sure_growth
from ravine.theory.finite_sums.terms import finite_sum, one_method

METHOD = one_method(Method(0.05, 0.5))


def hessians(n, d, seed):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    return np.einsum("bij,bj,bkj->bik", Q, rng.uniform(1, 20, (n, d)), Q)


def test_a_fixed_order_is_its_product_along_every_path():
    H = hessians(4, 2, seed=3)
    paths = almost_sure_growth(
        finite_sum(H), METHOD, Sampling.CYCLIC, steps=4000, replicas=4, seed=0
    )
    exact = growth(H, Method(*METHOD), sampling="cyclic", sense="almost-sure").value
    # What is left of the start's direction is of order 1/steps.
    assert paths.value == pytest.approx(exact, rel=1e-3)


def test_a_deadline_shortens_the_paths():
    H = hessians(4, 2, seed=3)
    found = almost_sure_growth(
        finite_sum(H), METHOD, Sampling.IID, steps=500, replicas=4, seed=0, deadline=Deadline(0.0)
    )
    assert found.steps == 1
