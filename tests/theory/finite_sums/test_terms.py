"""Hessians of a sum: checked, gathered, and split into directions where they share them."""

import numpy as np
import pytest

from ravine.arguments import Refusal
from ravine.methods import Method
from ravine.theory.finite_sums.terms import Scalars, finite_sum, hessian_stack, one_method

TURNED = np.array([[2.0, 1.0], [1.0, 3.0]])
SKEW = np.array([[0.0, 1.0], [0.0, 0.0]])


def test_equal_terms_are_gathered_and_the_order_is_kept():
    H = np.stack([TURNED, 2 * TURNED, TURNED, TURNED])
    terms = finite_sum(H)
    assert terms.n == 4
    assert not terms.shared
    np.testing.assert_array_equal(terms.hessians[terms.order], H)
    np.testing.assert_allclose(np.sort(terms.weights), [1 / 4, 3 / 4])


def test_diagonal_matrices_share_their_eigenvectors():
    h = np.array([[1.0, 4.0], [2.0, 5.0]])
    np.testing.assert_array_equal(hessian_stack([np.diag(row) for row in h]), h)
    terms = finite_sum(h)
    assert terms.shared
    directions = [alone.hessians[alone.order].ravel() for alone in terms.directions()]
    np.testing.assert_array_equal(np.sort(directions, axis=0), h.T)


def test_equal_directions_are_one():
    assert len(list(finite_sum([[1.0, 1.0, 2.0], [3.0, 3.0, 4.0]]).directions())) == 2


def test_rounding_is_made_symmetric_and_more_is_refused():
    stack = hessian_stack((TURNED + 1e-13 * SKEW)[None])
    np.testing.assert_array_equal(stack, np.swapaxes(stack, 1, 2))
    with pytest.raises(Refusal, match=r"hessians must be symmetric, got a difference of 0\.1"):
        hessian_stack((TURNED + 0.1 * SKEW)[None])


@pytest.mark.parametrize("shape", [(3,), (2, 3, 4), (1, 1, 1, 1)])
def test_other_shapes_are_refused(shape):
    with pytest.raises(Refusal, match=r"hessians must be of shape \(n, d, d\)"):
        finite_sum(np.ones(shape))


def test_one_method_has_one_number_for_each_parameter():
    scalars = one_method(Method(0.1, 0.9, 0.5))
    assert scalars == Scalars(0.1, 0.9, 0.5)
    assert scalars.c == pytest.approx(0.9 * 1.5 - 0.5)
    with pytest.raises(Refusal, match="beta must be a single number"):
        one_method(Method(0.1, np.array([0.5, 0.9])))
