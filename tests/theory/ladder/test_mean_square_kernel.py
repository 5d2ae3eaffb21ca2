"""The scalar arithmetic of the iid rung against the 3x3 matrix and its own definition."""

import numpy as np
import pytest

from ravine.theory.ladder.mean_square_kernel import (
    growth_of_direction,
    largest_growth,
    least_on_interval,
    polynomial_in_step,
)


def _operator(h, w, beta, gamma):
    a, b, c, d = 1.0 - h * (1.0 + gamma), beta * (1.0 + gamma) - gamma, -h, beta
    matrix = np.array(
        [[a * a, 2 * a * b, b * b], [a * c, a * d + b * c, b * d], [c * c, 2 * c * d, d * d]]
    )
    matrix[:, 0] += w * np.array([(1.0 + gamma) ** 2, 1.0 + gamma, 1.0])
    return matrix


@pytest.mark.parametrize("unit", [1.0, 0.125])
def test_the_polynomial_is_the_characteristic_one(unit):
    """Also in other units, where F is divided by the sixth power of S = 1/unit."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        z, h, beta, gamma = rng.uniform(-1.5, 1.5, 4)
        w0, w1, w2 = rng.uniform(0.0, 1.0, 3)
        scaled = (z * unit**2, unit, beta, gamma, w0 * unit**2, w1 * unit, w2)
        cubic = polynomial_in_step(*scaled)
        value = sum(c * (h * unit) ** k for k, c in enumerate(cubic))
        matrix = _operator(h, w0 + w1 * h + w2 * h * h, beta, gamma)
        assert value / unit**6 == pytest.approx(np.linalg.det(z * np.eye(3) - matrix), abs=1e-9)


def test_the_growth_of_a_direction_is_the_radius_of_its_matrix():
    rng = np.random.default_rng(1)
    for _ in range(300):
        h, w = rng.uniform(0.0, 3.0), 10.0 ** rng.uniform(-3, 1)
        beta = rng.uniform(-1.2, 1.2)
        gamma = beta if rng.random() < 0.5 else rng.uniform(-1.5, 1.5)
        found = growth_of_direction(h, w, 1.0, beta, gamma)
        radius = np.abs(np.linalg.eigvals(_operator(h, w, beta, gamma))).max()
        assert found == pytest.approx(radius, rel=1e-7)


def test_tiny_noise_at_critical_damping_keeps_its_digits():
    """There ρ² is threefold, and z = ρ² + δ with δ³ = w N: the cube root of w, not of rounding."""
    beta = 0.5
    h = ((1.0 - beta) / (1.0 + beta)) ** 2
    rho2 = ((1.0 + beta) * (1.0 - h) / 2.0) ** 2
    d = beta * (1.0 - h)
    trace = (1.0 + beta) * (1.0 - h)
    N = (2.25 * rho2 + 0.25) * (rho2 + d) - 2.0 * 1.5 * 0.5 * trace * rho2
    for w in (1e-12, 1e-24):
        found = growth_of_direction(h, w, 1.0, beta, beta)
        assert found - rho2 == pytest.approx((w * N) ** (1.0 / 3.0), rel=1e-3)


def test_the_least_value_of_a_cubic():
    rng = np.random.default_rng(2)
    for _ in range(300):
        cubic = rng.standard_normal(4)
        low, high = np.sort(rng.uniform(-2.0, 2.0, 2))
        x = least_on_interval(*cubic, low, high)
        assert low <= x <= high
        value = np.polynomial.Polynomial(cubic)
        assert value(x) <= value(np.linspace(low, high, 500)).min() + 1e-12


def test_no_point_of_the_interval_grows_faster():
    rng = np.random.default_rng(3)
    for i in range(60):
        low, high = np.sort(rng.uniform(0.0, 2.0, 2))
        most = high * 10.0 ** rng.uniform(0.0, 2.0)
        share = 10.0 ** -rng.uniform(0.0, 3.0)
        beta = rng.uniform(-1.1, 1.1)
        gamma = beta if i % 2 else rng.uniform(-1.0, 1.5)
        best = largest_growth(low, high, 0.0, share, 0.5 * low, most, beta, gamma)
        seen = max(
            growth_of_direction(h, share * (h - 0.5 * low) * (most - h), 1.0, beta, gamma)
            for h in np.linspace(low, high, 400)
        )
        assert np.sqrt(seen) <= best * (1.0 + 1e-12)
        assert np.sqrt(seen) >= best * (1.0 - 1e-3)
