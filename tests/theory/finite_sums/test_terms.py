"""What is asked of a sum, and the limits of what is answered: Student's intervals."""

import numpy as np
import pytest

from ravine.arguments import Refusal
from ravine.methods import Method
from ravine.theory.finite_sums.terms import (
    Sense,
    finite_sum,
    hessian_stack,
    interval,
    means_and_half_widths,
    one_method,
)

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
    assert one_method(Method(0.1, 0.9, 0.5)) == Method(0.1, 0.9, 0.5)
    with pytest.raises(Refusal, match="beta must be a single number"):
        one_method(Method(0.1, np.array([0.5, 0.9])))


@pytest.mark.parametrize(
    ("word", "power", "norm"),
    [
        ("almost-sure", 1, "‖y - x*‖ changes"),
        ("mean", 1, "E‖y - x*‖ "),
        ("mean-square", 2, "E‖y - x*‖² "),
    ],
)
def test_every_sense_has_its_power_and_names_its_norm(word, power, norm):
    sense = Sense.parse(word)
    assert sense.power == power
    assert norm in sense.sentence


def test_an_unknown_sense_is_refused_with_the_words_that_are_known():
    with pytest.raises(Refusal, match="sense must be one of almost-sure, mean, mean-square"):
        Sense.parse("median")


def test_the_half_width_is_students():
    # Four numbers: the 97.5 % point of Student's law with 3 degrees of freedom is 3.182446.
    estimate = interval(np.array([1.0, 2.0, 3.0, 6.0]))
    error = np.std([1, 2, 3, 6], ddof=1) / 2
    assert estimate.value == 3.0
    assert estimate.high - estimate.value == pytest.approx(3.182446 * error, rel=1e-6)
    assert estimate.value - estimate.low == pytest.approx(estimate.high - estimate.value)


def test_nineteen_of_twenty_intervals_hold_the_mean():
    replicas = np.random.default_rng(0).standard_normal((6, 4000)) + 2.0
    mean, half = means_and_half_widths(replicas)
    share = np.mean(np.abs(mean - 2.0) <= half)
    # A share of 4000: its standard error is 0.0034.
    assert share == pytest.approx(0.95, abs=4 * 0.0034)
