import itertools

import numpy as np
import pytest

from ravine.theory.joint_spectral_radius.pair_words import (
    DEPTH,
    LONGEST,
    after,
    certain_pair_radius,
    leading_vector,
    radius,
    short_words,
    times,
)


def product(pair: np.ndarray, word: tuple[int, ...]) -> np.ndarray:
    """The matrix of a word whose letters act in their order: the last one is written first."""
    out = np.eye(2)
    for letter in word:
        out = pair[letter] @ out
    return out


def test_products_on_either_side() -> None:
    pair = np.random.default_rng(0).normal(size=(2, 2, 2))
    middle = np.array([[1.0, 2.0], [3.0, 4.0]])
    for letter in (0, 1):
        left = np.reshape(times(pair.ravel(), letter, *middle.ravel()), (2, 2))
        right = np.reshape(after(pair.ravel(), letter, *middle.ravel()), (2, 2))
        np.testing.assert_allclose(left, pair[letter] @ middle, rtol=1e-14)
        np.testing.assert_allclose(right, middle @ pair[letter], rtol=1e-14)


def test_radius_of_real_and_complex_eigenvalues() -> None:
    generator = np.random.default_rng(1)
    for matrix in generator.normal(size=(50, 2, 2)):
        expected = np.abs(np.linalg.eigvals(matrix)).max()
        assert radius(*matrix.ravel()) == pytest.approx(expected, rel=1e-12)


def test_the_best_short_word_is_the_best_of_all() -> None:
    pair = np.random.default_rng(3).normal(size=(2, 2, 2))
    word, prefix, trial = [0] * (DEPTH + 1), [0.0] * 4 * (DEPTH + 1), [0] * (DEPTH + 1)
    length, best = short_words(pair.ravel().tolist(), word, prefix, trial)
    found = np.abs(np.linalg.eigvals(product(pair, tuple(word[:length])))).max() ** (1 / length)
    assert found == pytest.approx(best, rel=1e-12)
    for k in range(1, 8):
        for letters in itertools.product((0, 1), repeat=k):
            value = np.abs(np.linalg.eigvals(product(pair, letters))).max() ** (1 / k)
            assert value <= best * (1 + 1e-10)


def test_the_certain_radius_is_just_below_the_computed_one() -> None:
    """A double eigenvalue costs the root of rounding, a simple one next to nothing."""
    prefix = [0.0] * (4 * LONGEST + 4)
    for pair, word, loss in (
        (np.random.default_rng(4).normal(size=(2, 2, 2)), (0, 1, 1, 0, 1), 1e-12),
        (np.array([[[1.0, 1.0], [0.0, 1.0]], np.eye(2)]), (0, 0, 0), 1e-7),
    ):
        exact = np.abs(np.linalg.eigvals(product(pair, word))).max() ** (1 / len(word))
        lower = certain_pair_radius(pair.ravel().tolist(), list(word), len(word), prefix)
        assert exact * (1 - loss) <= lower <= exact * (1 + 1e-15 + loss)


def test_leading_vectors() -> None:
    generator = np.random.default_rng(6)
    for matrix in generator.normal(size=(40, 2, 2)):
        pair = [*matrix.ravel().tolist(), 0.0, 0.0, 0.0, 0.0]
        real_x, real_y, imag_x, imag_y = leading_vector(pair, [0], 1)
        vector = np.array([real_x + 1j * imag_x, real_y + 1j * imag_y])
        values = np.linalg.eigvals(matrix)
        size = np.abs(values).max()
        image = matrix @ vector
        ratio = image[np.argmax(np.abs(vector))] / vector[np.argmax(np.abs(vector))]
        assert abs(ratio) == pytest.approx(size, rel=1e-9)
        np.testing.assert_allclose(image, ratio * vector, atol=1e-9)
