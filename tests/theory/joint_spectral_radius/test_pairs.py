import numpy as np
import pytest

from ravine.theory.joint_spectral_radius.pairs import bracket_by_polygon

GOLDEN = (1.0 + np.sqrt(5.0)) / 2.0


def test_bracket_word_and_proof() -> None:
    matrices = np.array([[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]])
    lower, word, proof = bracket_by_polygon(matrices, 3.0, 1e-6)
    assert word == (0, 1)
    assert lower == pytest.approx(GOLDEN, rel=1e-13)
    assert proof is not None
    assert proof.bound == pytest.approx(GOLDEN, rel=1e-13)
    assert lower <= GOLDEN <= proof.bound
    assert proof.verify()


def test_the_word_has_the_radius_that_is_claimed() -> None:
    matrices = np.random.default_rng(5).normal(size=(2, 2, 2))
    lower, word, _ = bracket_by_polygon(matrices, 10.0, 1e-6)
    product = np.eye(2)
    for letter in word:
        product = product @ matrices[letter]
    radius = np.abs(np.linalg.eigvals(product)).max() ** (1.0 / len(word))
    assert lower == pytest.approx(radius, rel=1e-9)


def test_without_a_closed_polygon_there_is_no_proof() -> None:
    """A ceiling below the radius: nothing can close under it."""
    matrices = np.array([[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]])
    _, _, proof = bracket_by_polygon(matrices, 1.2, 1e-3)
    assert proof is None
