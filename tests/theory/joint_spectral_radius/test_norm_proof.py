import numpy as np
import pytest

from ravine.theory.joint_spectral_radius.norm_proof import (
    BlockTriangular,
    Nilpotent,
    ProductNorms,
    coupled_bound,
)

PAIR = np.array([[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]])
GOLDEN = (1.0 + np.sqrt(5.0)) / 2.0


def test_quadratic_norm_holds_or_not() -> None:
    assert ProductNorms(PAIR, np.eye(2), 1, GOLDEN * (1.0 + 1e-12)).verify()
    assert not ProductNorms(PAIR, np.eye(2), 1, GOLDEN * (1.0 - 1e-6)).verify()
    assert not ProductNorms(PAIR, np.diag([1.0, -1.0]), 1, 10.0).verify()
    assert not ProductNorms(PAIR, np.diag([1.0, 9.0]), 1, GOLDEN).verify()
    assert ProductNorms(PAIR, np.diag([1.0, 9.0]), 8, 1.8).verify()


def test_powers_of_one_matrix() -> None:
    assert ProductNorms(PAIR[:1], np.eye(2), 64, 1.1).verify()
    assert not ProductNorms(PAIR[:1], np.eye(2), 64, 0.9).verify()


def test_nilpotent() -> None:
    assert Nilpotent(np.triu(np.ones((2, 3, 3)), 1)).verify()
    assert not Nilpotent(PAIR).verify()


def one(value: float) -> ProductNorms:
    return ProductNorms(np.array([[[value]]]), np.eye(1), 1, abs(value))


def test_coupling_is_free_above_the_blocks_and_paid_below() -> None:
    """[[1, u], [e, 1]] has radius 1 + √(u e), and the Perron root of the norms is just that."""
    upper = np.array([[[1.0, 5.0], [0.0, 1.0]]])
    assert coupled_bound(upper, np.eye(2), (one(1.0), one(1.0))) == 1.0
    leaking = np.array([[[1.0, 4.0], [1e-6, 1.0]]])
    bound = coupled_bound(leaking, np.eye(2), (one(1.0), one(1.0)))
    assert bound == pytest.approx(1.0 + 2e-3, rel=1e-12)


def test_block_triangular_checks_its_blocks() -> None:
    matrices = np.array([[[2.0, 5.0], [0.0, 1.0]]])
    assert BlockTriangular(matrices, np.eye(2), (one(2.0), one(1.0)), 2.0).verify()
    assert not BlockTriangular(matrices, np.eye(2), (one(1.0), one(1.0)), 2.0).verify()
    assert not BlockTriangular(matrices, np.eye(2), (one(2.0), one(1.0)), 1.9).verify()
