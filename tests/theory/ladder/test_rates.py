"""Spectral radius, stability and contraction against values, matrices and each other."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ravine import Curvature, Method, heavy_ball, nesterov, sgd
from ravine.theory.blocks import block
from ravine.theory.ladder.rates import contraction, spectral_radius, stable

# (mu, L, alpha, beta, spectral radius, contraction), independent values to 1e-12.
VALUES = [
    (1.0, 8.0, 0.1875, 0.2, 0.7616464024932664, 1.711194002774109),
    (1.0, 32.0, 0.015625, 0.5, 0.9682197289493975, 1.015671049921776),
    (1.0, 32.0, 0.05625, -0.3, 0.9565962596938388, 1.840842834961767),
    (1.0, 2.0, 1.25, -0.6, 0.9486832980505138, 2.572390245430769),
]
# At usual parameters the block at mu is critically damped: a double root, conditioned like a square
# root, for which 1e-7 is all that can be asked. A discriminant below its rounding is taken as zero,
# which gives these to the last digits.
CRITICAL = [
    (1.0, 32.0, 0.8232233047033631, 1.489381102046832),
    (1.0, 8.0, 0.6464466094067262, 1.22809435732933),
]
momenta = st.floats(-1.5, 1.5)
steps = st.floats(0.001, 3.0)


@pytest.mark.parametrize(("mu", "L", "alpha", "beta", "rho", "R"), VALUES)
def test_values(mu, L, alpha, beta, rho, R):
    curvature, method = Curvature(mu, L), Method(alpha, beta)
    assert spectral_radius(curvature, method) == pytest.approx(rho, rel=1e-12)
    assert contraction(curvature, method) == pytest.approx(R, rel=1e-12)


@pytest.mark.parametrize(("mu", "L", "rho", "R"), CRITICAL)
def test_values_at_critical_damping(mu, L, rho, R):
    curvature = Curvature(mu, L)
    method = nesterov(curvature)
    assert spectral_radius(curvature, method) == pytest.approx(rho, rel=1e-12)
    assert contraction(curvature, method) == pytest.approx(R, rel=1e-12)


@given(steps, momenta, momenta, st.floats(1.0, 1e4))
def test_against_the_matrices(step, beta, gamma, Q):
    curvature, method = Curvature(1.0 / Q, 1.0), Method(step, beta, gamma)
    eigenvalues = np.linspace(1.0 / Q, 1.0, 17)
    blocks = np.array([block(v, method) for v in eigenvalues])
    radii = np.abs(np.linalg.eigvals(blocks)).max(axis=-1)
    # numpy's eigenvalues of a nearly defective block are good to the square root of rounding.
    assert spectral_radius(curvature, method) == pytest.approx(radii.max(), abs=2e-7)
    norms = np.linalg.norm(blocks, 2, axis=(-2, -1))
    assert contraction(curvature, method) == pytest.approx(norms.max(), rel=1e-9)


@given(steps, momenta, momenta, st.floats(1.0, 1e4))
def test_stable_means_radius_below_one(step, beta, gamma, Q):
    curvature, method = Curvature(1.0 / Q, 1.0), Method(step, beta, gamma)
    rho = spectral_radius(curvature, method)
    if abs(rho - 1.0) > 1e-9:
        assert bool(stable(curvature, method)) == (rho < 1.0)


@given(steps, momenta, momenta, st.floats(1.0, 1e4), st.floats(1e-3, 1e3))
def test_only_the_product_of_step_and_curvature_matters(step, beta, gamma, Q, scale):
    one = spectral_radius(Curvature(1.0 / Q, 1.0), Method(step, beta, gamma))
    other = spectral_radius(Curvature(scale / Q, scale), Method(step / scale, beta, gamma))
    # A double root moves by the square root of the rounding of its coefficients.
    rounding = np.sqrt(8.0 * np.finfo(float).eps)
    assert other == pytest.approx(one, rel=1e-6, abs=rounding)


def test_without_momentum_it_is_gradient_descent():
    curvature = Curvature(1.0, [2.0, 8.0, 32.0])
    kappa = (curvature.Q - 1.0) / (curvature.Q + 1.0)
    assert spectral_radius(curvature, sgd(curvature)) == pytest.approx(kappa, rel=1e-12)


def test_heavy_ball_has_the_rate_of_polyak():
    curvature = Curvature(1.0, [4.0, 25.0])
    s = np.sqrt(curvature.Q)
    rate = spectral_radius(curvature, heavy_ball(curvature))
    # Both ends are critically damped here.
    assert rate == pytest.approx((s - 1.0) / (s + 1.0), rel=1e-7)


def test_large_grids_agree_with_single_pixels():
    alphas, betas = np.linspace(0.01, 2.5, 300), np.linspace(-1.0, 1.0, 301)
    curvature, plane = Curvature(1 / 32, 1.0), Method(alphas[:, None], betas)
    for rung in (spectral_radius, contraction):
        grid = rung(curvature, plane)
        assert grid.shape == (300, 301)
        for i, j in ((0, 0), (123, 45), (299, 300)):
            assert grid[i, j] == rung(curvature, Method(alphas[i], betas[j]))


def test_shapes_that_do_not_broadcast_are_refused():
    with pytest.raises(ValueError, match=r"broadcast together, got L \(2,\), alpha \(3,\)"):
        spectral_radius(Curvature(1.0, [2.0, 3.0]), Method([0.1, 0.2, 0.3]))


@pytest.mark.parametrize("gamma", [None, 0.0, 0.3])
def test_huge_steps_do_not_overflow(gamma):
    """For h -> infinity the block is h times [[-(1+gamma), 0], [-1, 0]]."""
    ahead = 1.9 if gamma is None else 1.0 + gamma
    curvature, method = Curvature(1e-3, 1.0), Method(1e50, 0.9, gamma)
    assert spectral_radius(curvature, method) == pytest.approx(ahead * 1e50, rel=1e-12)
    assert contraction(curvature, method) == pytest.approx(np.hypot(ahead, 1.0) * 1e50, rel=1e-12)
    mixed = spectral_radius(curvature, Method([0.1, 1e50], 0.9, gamma))
    short = spectral_radius(curvature, Method(0.1, 0.9, gamma))
    assert mixed[0] == pytest.approx(short, rel=1e-14)
    assert mixed[1] == pytest.approx(ahead * 1e50, rel=1e-12)


@pytest.mark.parametrize("excess", [1e-12, 1e-9, 1e-3, 0.2, 3.0, 1e5])
def test_heavy_ball_keeps_its_digits_where_mu_is_nearly_L(excess):
    """ρ = (√Q - 1)/(√Q + 1), with √Q - 1 = excess/(√Q + 1)."""
    Q = 1.0 + excess
    curvature = Curvature(1.0, Q)
    exact = (Q - 1.0) / (np.sqrt(Q) + 1.0) ** 2
    assert spectral_radius(curvature, heavy_ball(curvature)) == pytest.approx(exact, rel=1e-9)
