import numpy as np
import pytest

from ravine.theory.joint_spectral_radius.quadratic_norm import (
    ball_radii,
    best_quadratic_norm,
    lyapunov_norm,
    norm_of_products,
    power_bound,
)


def test_rotations_in_a_skew_basis_get_their_ellipse() -> None:
    c, s = np.cos([1.0, 2.0]), np.sin([1.0, 2.0])
    skew = np.array([[3.0, 1.0], [0.0, 0.5]])
    matrices = np.linalg.solve(skew, np.array([[c, -s], [s, c]]).transpose(2, 0, 1) @ skew)
    P = best_quadratic_norm(matrices)
    assert norm_of_products(matrices, P, 1) == pytest.approx(1.0, abs=1e-12)
    expected = skew.T @ skew
    np.testing.assert_allclose(P / np.trace(P), expected / np.trace(expected), atol=1e-12)


def test_longer_products_bound_better() -> None:
    matrices = np.random.default_rng(0).normal(size=(2, 4, 4))
    P = best_quadratic_norm(matrices)
    bounds = [norm_of_products(matrices, P, length) for length in (1, 2, 4, 8)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] < np.linalg.norm(matrices, ord=2, axis=(1, 2)).max()


def test_power_bound_is_the_spectral_radius_from_above() -> None:
    """In the Lyapunov norm squaring is benign; in the plain one its rounding is paid for."""
    matrix = np.random.default_rng(1).normal(size=(6, 6))
    radius = np.abs(np.linalg.eigvals(matrix)).max()
    for P, accuracy in ((np.eye(6), 1e-5), (lyapunov_norm(matrix), 1e-11)):
        _, bound = power_bound(matrix, P)
        assert radius * (1.0 - 1e-13) <= bound <= radius * (1.0 + accuracy)


def test_lyapunov_norm_shows_the_radius() -> None:
    matrix = np.array([[0.5, 100.0], [0.0, 0.5]])
    assert norm_of_products(matrix[None], lyapunov_norm(matrix), 1) < 0.5 * 1.011


def test_ball_radii() -> None:
    assert ball_radii(np.diag([4.0, 0.25])) == (0.5, 2.0)
