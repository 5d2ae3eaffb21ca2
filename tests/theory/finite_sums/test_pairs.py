"""Pairs of directions: the triangular solution against the 4x4 system written out."""

import numpy as np
import pytest

from ravine.curvature import Curvature
from ravine.methods import Method, heavy_ball, nesterov
from ravine.theory.blocks import block
from ravine.theory.finite_sums.pairs import MeanBlocks, mean_resolvent, response
from ravine.theory.finite_sums.terms import one_method

LAM = np.array([1.0, 2.5, 4.0, 9.0])
METHODS = [
    Method(0.1, 0.5),
    Method(0.1, -0.4, 0.2),
    Method(0.05),
    nesterov(Curvature(1, 9)),
    heavy_ball(Curvature(1, 9)),
]


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_response_solves_the_system_of_each_pair(method):
    B = block(LAM, method)
    value = 1.2 * max(np.abs(np.linalg.eigvals(b)).max() for b in B) ** 2
    kappa = response(LAM, method, value)
    g = np.array([1 + float(method.gamma), 1.0])
    for i, j in np.ndindex(4, 4):
        system = value * np.eye(4) - np.kron(B[i], B[j])
        expected = np.linalg.solve(system, float(method.alpha) ** 2 * np.kron(g, g))
        np.testing.assert_allclose(kappa[:, i, j], expected, rtol=1e-9, atol=1e-14)


def test_critical_damping_keeps_its_digits_next_to_the_pole():
    # One direction, double eigenvalue rho: the sum over steps of u_k² λ^-(k+1), u_k = (B^k g)_1, is
    # known from the recursion in closed form; here it is added up.
    method = nesterov(Curvature(1, 9))
    rho2 = (1 - 1 / 3) ** 2
    value = rho2 * (1 + 1e-2)
    state = np.array([1 + float(method.beta), 1.0])
    B = block(1.0, method)
    total, weight = 0.0, float(method.alpha) ** 2 / value
    for _ in range(20000):
        total += weight * state[0] ** 2
        state = B @ state / np.sqrt(value)
    assert response(np.array([1.0]), method, value)[0, 0, 0] == pytest.approx(total, rel=1e-9)
    near = response(np.array([1.0]), method, rho2 * (1 + 1e-9))[0, 0, 0]
    # The pole is of third order: (λ - ρ²)^-3 between 1e-2 and 1e-9, to the next order.
    assert near == pytest.approx(total * 1e7**3, rel=0.2)


def test_arrays_of_methods_are_each_by_itself():
    method = Method(np.array([0.05, 0.1]), np.array([0.3, 0.8]))
    both = response(LAM, method, np.array([1.1, 1.2]))
    one = response(LAM, Method(0.1, 0.8), 1.2)
    np.testing.assert_allclose(both[1], one, rtol=1e-13)


@pytest.mark.parametrize("steps", [1, 3])
def test_the_resolvent_inverts_the_moments_of_the_mean(steps):
    method = Method(0.1, 0.6)
    resolvent = mean_resolvent(LAM, one_method(method), steps=steps)
    rng = np.random.default_rng(0)
    G = rng.standard_normal((8, 8))
    G = G @ G.T
    X = np.stack([G[:4, :4], G[:4, 4:], G[4:, 4:]])
    A = np.zeros((8, 8))
    B = block(LAM, method)
    for i in range(4):
        A[np.ix_([i, 4 + i], [i, 4 + i])] = B[i]
    P = np.linalg.matrix_power(A, steps)
    right = 1.3 * G - P @ G @ P.T
    found = resolvent.apply(1.3, np.stack([right[:4, :4], right[:4, 4:], right[4:, 4:]]))
    np.testing.assert_allclose(found, X, rtol=1e-9, atol=1e-9)
    radius = max(np.abs(np.linalg.eigvals(b)).max() for b in B)
    assert resolvent.radius == pytest.approx(radius ** (2 * steps), rel=1e-9)


def test_a_block_that_is_a_multiple_of_the_identity_is_fine():
    # alpha = 0: B = [[1, beta²], [0, beta]], and beta = 1 makes it triangular with a double 1.
    blocks = MeanBlocks(np.array([1.0]), Method(0.0, 1.0, 0.0))
    assert np.isfinite(blocks.Q).all()
