import numpy as np
import pytest

from ravine.curvature import Curvature
from ravine.methods import Method, heavy_ball, nesterov
from ravine.theory.blocks import block, noise_gain_vector
from ravine.theory.noise.powers import worst_powers


@pytest.mark.parametrize("method", [nesterov(Curvature(0.1, 3.0)), heavy_ball(Curvature(0.1, 3.0))])
@pytest.mark.parametrize("objective", [False, True])
def test_bounds_are_above_every_eigenvalue_and_close(method, objective):
    """Against 997 eigenvalues that are no Chebyshev points: never below, at most 17 % above."""
    curvature = Curvature(0.1, 3.0)
    powers = worst_powers(curvature, method, objective=objective, scaled=False)
    lam = np.linspace(0.1, 3.0, 997)
    weight = 0.5 * lam if objective else np.ones_like(lam)
    B, power, g = block(lam, method), np.stack([np.eye(2)] * 997), noise_gain_vector(method)
    start, norms = powers.start(60), powers.norms(60)
    for k in range(61):
        squares = np.linalg.norm(power, 2, axis=(1, 2)) ** 2
        assert squares.max() <= norms[k] * (1 + 1e-12)
        assert norms[k] <= squares.max() * 1.2
        moved = weight * power[:, 0, 0] ** 2
        assert moved.max() <= start[k] * (1 + 1e-12)
        kicked = weight * (power @ g)[:, 0] ** 2
        assert kicked.max() <= powers.noise2[k] * (1 + 1e-12)
        power = power @ B


def test_the_continuation_stays_above_the_powers():
    """Beyond J the bound is ‖B^J‖^q ‖B^i‖."""
    curvature = Curvature(1.0, 30.0)
    method = nesterov(curvature)
    powers = worst_powers(curvature, method, objective=False)
    count = len(powers.norm2)
    bounds = powers.start(3 * count)
    B = block(np.array([1.0, 7.0, 30.0]), method)
    for k in (count, 2 * count + 1, 3 * count):
        exact = np.linalg.matrix_power(B, k)[:, 0, 0] ** 2
        assert exact.max() <= bounds[k]
    assert np.isfinite(powers.noise_limit())


def test_without_stability_the_sum_is_infinite():
    powers = worst_powers(Curvature(1.0, 30.0), Method(0.1, 0.5), objective=False)
    assert powers.noise_limit() == np.inf
