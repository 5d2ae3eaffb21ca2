import itertools

import numpy as np
import pytest

from ravine.theory.joint_spectral_radius.products import (
    best_words,
    certain_radius,
    distinct,
    product,
    smallest_rotation,
)


def test_distinct_up_to_sign() -> None:
    a = np.array([[1.0, 0.0], [2.0, 3.0]])
    stack = np.stack([0 * a, a, -a, a.T, a, -0.0 * a])
    assert distinct(stack).tolist() == [1, 3]


def test_smallest_rotation() -> None:
    assert smallest_rotation((1, 0, 1, 0)) == (0, 1)
    assert smallest_rotation((1, 1, 0)) == (0, 1, 1)
    assert smallest_rotation((2,)) == (2,)


def test_branch_and_bound_against_all_words() -> None:
    matrices = np.random.default_rng(5).normal(size=(2, 3, 3))
    brute = max(
        np.abs(np.linalg.eigvals(product(matrices, word))).max() ** (1.0 / length)
        for length in range(1, 9)
        for word in itertools.product(range(2), repeat=length)
    )
    best, words = best_words(matrices, depth=8, beam=10**6, work=10**6)
    assert best == pytest.approx(brute, rel=1e-12)
    assert np.abs(np.linalg.eigvals(product(matrices, words[0]))).max() ** (
        1.0 / len(words[0])
    ) == pytest.approx(brute, rel=1e-12)


def test_certain_radius_is_below_the_truth_and_close() -> None:
    """Simple eigenvalue: rounding. Double eigenvalue: its root. Whole numbers, so both are known.

    The plain eigenvalue solver overshoots the double one by 3e-7 in some of these bases.
    """
    simple = np.array([[[2.0, 5.0], [0.0, 1.0]]])
    double = np.array([[[2.0, 5.0], [0.0, 2.0]]])
    for k in range(1, 12):
        shear = np.array([[1.0, 0.0], [k, 1.0]])
        back = np.array([[1.0, 0.0], [-k, 1.0]])
        for matrices, accuracy in ((simple, 1e-8), (double, 1e-4)):
            value = certain_radius(back @ matrices @ shear, (0,))
            assert 2.0 * (1.0 - accuracy) <= value <= 2.0


def test_certain_radius_of_a_vanishing_product() -> None:
    assert certain_radius(np.array([[[0.0, 1.0], [0.0, 0.0]]]), (0, 0)) == 0.0
