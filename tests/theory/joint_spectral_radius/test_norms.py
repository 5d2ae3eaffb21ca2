"""What a norm proves of a set of matrices, and what it does not."""

from dataclasses import replace

import numpy as np
import pytest

from ravine.theory.joint_spectral_radius.norms import (
    BlockNorms,
    Nilpotent,
    NormProof,
    QuadraticNorm,
    best_quadratic_norm,
)

PAIR = np.array([[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]])
GOLDEN = (1.0 + np.sqrt(5.0)) / 2.0


def test_quadratic_norms_of_single_matrices_and_of_products() -> None:
    assert QuadraticNorm(np.eye(2)).bound(PAIR) == pytest.approx(GOLDEN, rel=1e-13)
    assert QuadraticNorm(np.diag([1.0, 9.0])).bound(PAIR) > GOLDEN
    assert GOLDEN < QuadraticNorm(np.diag([1.0, 9.0]), 8).bound(PAIR) < 1.8
    assert QuadraticNorm(np.diag([1.0, -1.0])).bound(PAIR) == np.inf


def test_longer_products_bound_better() -> None:
    matrices = np.random.default_rng(0).normal(size=(2, 4, 4))
    P = best_quadratic_norm(matrices)
    bounds = [QuadraticNorm(P, length).bound(matrices) for length in (1, 2, 4, 8)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] < np.linalg.norm(matrices, ord=2, axis=(1, 2)).max()


def test_rotations_in_a_skew_basis_get_their_ellipse() -> None:
    c, s = np.cos([1.0, 2.0]), np.sin([1.0, 2.0])
    skew = np.array([[3.0, 1.0], [0.0, 0.5]])
    matrices = np.linalg.solve(skew, np.array([[c, -s], [s, c]]).transpose(2, 0, 1) @ skew)
    P = best_quadratic_norm(matrices)
    assert QuadraticNorm(P).bound(matrices) == pytest.approx(1.0, abs=1e-12)
    expected = skew.T @ skew
    np.testing.assert_allclose(P / np.trace(P), expected / np.trace(expected), atol=1e-12)


@pytest.mark.parametrize("n", [2, 3, 6, 8])
def test_one_matrix_has_its_spectral_radius_where_its_eigenvectors_are_orthogonal(n: int) -> None:
    matrix = np.random.default_rng(n).normal(size=(1, n, n))
    radius = np.abs(np.linalg.eigvals(matrix)).max()
    bound = QuadraticNorm(best_quadratic_norm(matrix)).bound(matrix)
    assert radius * (1.0 - 1e-13) <= bound <= radius * (1.0 + 1e-11)


def test_ball_radii_of_quadratic_norms() -> None:
    """For products, the unit ball shrinks by what shorter words can grow."""
    assert QuadraticNorm(np.diag([4.0, 0.25])).ball_radii(PAIR) == (0.5, 2.0)
    norm = QuadraticNorm(np.diag([1.0, 9.0]), 3)
    inside, around = norm.ball_radii(PAIR)
    single = QuadraticNorm(norm.P).bound(PAIR)
    assert around == 1.0
    assert inside == pytest.approx((norm.bound(PAIR) / single) ** 2 / 3.0)


def test_nilpotent() -> None:
    assert Nilpotent().bound(np.triu(np.ones((2, 3, 3)), 1)) == 0.0
    assert Nilpotent().bound(PAIR) == np.inf


def halves() -> BlockNorms:
    return BlockNorms(np.eye(2), (1, 1), (QuadraticNorm(np.eye(1)),) * 2)


def test_coupling_is_free_above_the_blocks_and_paid_below() -> None:
    """[[1, u], [e, 1]] has radius 1 + √(u e), and the Perron root of the norms is just that."""
    assert halves().bound(np.array([[[1.0, 5.0], [0.0, 1.0]]])) == 1.0
    leaking = np.array([[[1.0, 4.0], [1e-6, 1.0]]])
    assert halves().bound(leaking) == pytest.approx(1.0 + 2e-3, rel=1e-12)


def test_the_norms_of_the_blocks_are_charged_for_what_they_stretch() -> None:
    """A leak of 1e-6 that the first block, thin in its norm, makes a hundred times larger."""
    matrix = np.array([[[0.9, 100.0, 0.0], [0.0, 0.9, 1e-6], [1e-6, 0.0, 0.9]]])
    P = np.diag([1.0, 1e8])
    norm = BlockNorms(np.eye(3), (2, 1), (QuadraticNorm(P), QuadraticNorm(np.eye(1))))
    assert QuadraticNorm(P).bound(matrix[:, :2, :2]) < 0.906
    radius = np.abs(np.linalg.eigvals(matrix[0])).max()
    assert norm.bound(matrix) >= radius


def test_proofs_check_their_bound() -> None:
    proof = NormProof(
        8.0 * PAIR, 8.0 * GOLDEN * (1.0 + 1e-12), QuadraticNorm(np.eye(2)), np.ones(2)
    )
    assert proof.verify()
    assert proof.kind == "quadratic norm"
    assert not replace(proof, bound=8.0 * GOLDEN * (1.0 - 1e-6)).verify()
    assert not replace(proof, matrices=8.1 * PAIR).verify()
    assert not replace(proof, units=np.array([1.0, 4.0])).verify()
    assert not replace(proof, norm=Nilpotent()).verify()
