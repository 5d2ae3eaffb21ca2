"""Moments of a step against the state itself, and of the mean problem against 4x4 systems."""

import numpy as np
import pytest

from ravine.curvature import Curvature
from ravine.methods import Method, heavy_ball, nesterov
from ravine.theory.blocks import block, moment_block, moment_step, system
from ravine.theory.finite_sums.mean_problem import (
    MeanProblem,
    Step,
    advance,
    advance_moments,
)
from ravine.theory.noise.moments import stationary_variance

LAM = np.array([1.0, 2.5, 4.0, 9.0])
METHODS = [
    Method(0.1, 0.5),
    Method(0.1, -0.4, 0.2),
    Method(0.05),
    nesterov(Curvature(1, 9)),
    heavy_ball(Curvature(1, 9)),
]


def positive(d, seed):
    root = np.random.default_rng(seed).standard_normal((d, d))
    return root @ root.T


def test_a_step_is_its_block_on_both_sides():
    lam, X, S = np.array([0.4, 2.0]), positive(4, seed=5), positive(2, seed=6)
    A = system(np.diag(lam), Method(0.1, 0.8, 0.5))
    step = Step(0.8 * 1.5 - 0.5, 0.8, 1.5, 0.1)
    np.testing.assert_allclose(advance(X, lam, step), A @ X, rtol=1e-12, atol=1e-12)
    entering = 0.01 * np.kron([[1.5**2, 1.5], [1.5, 1.0]], S)
    np.testing.assert_allclose(
        advance_moments(X, lam, step, S), A @ X @ A.T + entering, rtol=1e-12, atol=1e-12
    )


def test_schedules_broadcast():
    X, S = positive(4, seed=7), positive(2, seed=6)
    many = Step(*(np.array([first, 0.0])[:, None, None] for first in (1.0, 0.5, 0.1, 0.1)))
    both = advance_moments(np.stack([X, X]), LAM[:2], many, np.stack([S, S]))
    one = advance_moments(X, LAM[:2], Step(1.0, 0.5, 0.1, 0.1), S)
    np.testing.assert_allclose(both[0], one, rtol=1e-13)
    np.testing.assert_array_equal(both[1][:2, :2], X[:2, :2])
    assert not both[1][2:].any()


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_one_direction_s_map_is_that_of_its_squared_block(method):
    r, v = 0.3, -0.7
    B = block(2.0, method)
    a, b = B @ [r, v]
    np.testing.assert_allclose(moment_block(B) @ [r * r, r * v, v * v], [a * a, a * b, b * b])
    two = [moment_block(block(h, method)) for h in (1.0, 3.0)]
    np.testing.assert_allclose(moment_step(2.0, 1.0, method), np.mean(two, axis=0), atol=1e-14)


def test_maps_of_a_direction_broadcast():
    plane = Method(np.array([[0.1], [0.2]]), 0.5)
    T = moment_step(LAM, np.ones(4), plane)
    assert T.shape == (2, 4, 3, 3)
    np.testing.assert_allclose(T[1, 2], moment_step(LAM[2], 1.0, Method(0.2, 0.5)), rtol=1e-13)


def response_written_out(B, i, j, value, method):
    """The 4x4 system of a pair of directions."""
    g = np.array([1 + float(method.gamma), 1.0])
    system = value * np.eye(4) - np.kron(B[i], B[j])
    return np.linalg.solve(system, float(method.alpha) ** 2 * np.kron(g, g))


@pytest.mark.parametrize("method", METHODS, ids=str)
def test_responses_solve_the_system_of_each_pair(method):
    B = block(LAM, method)
    value = 1.2 * max(np.abs(np.linalg.eigvals(b)).max() for b in B) ** 2
    mean = MeanProblem(LAM, method)
    kappa = mean.noise_response(value)
    full = mean.stationary_response().reshape(2, 4, 2, 4).transpose(0, 2, 1, 3).reshape(4, 4, 4)
    for i, j in np.ndindex(4, 4):
        expected = response_written_out(B, i, j, value, method)
        assert kappa[i, j] == pytest.approx(expected[0], rel=1e-9)
        expected = response_written_out(B, i, j, 1.0, method)
        np.testing.assert_allclose(full[:, i, j], expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize(
    "method", [Method(1e-8, 0.9), Method(1e-8), Method(1e-4, 0.9999, 0.0), Method(1.0, 0.9998)]
)
def test_slow_methods_keep_their_digits(method):
    lam = 1e-8 if method.alpha == 1.0 else 1.0
    full = MeanProblem(np.array([lam]), method).stationary_response()
    law = stationary_variance(lam, method)
    assert full[0, 0] == pytest.approx(float(law.y), rel=1e-13)
    assert full[1, 1] == pytest.approx(float(law.velocity), rel=1e-13)


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
    one = MeanProblem(np.array([1.0]), method)
    assert one.noise_response(value)[0, 0] == pytest.approx(total, rel=1e-9)
    near = one.noise_response(rho2 * (1 + 1e-9))[0, 0]
    # The pole is of third order: (λ - ρ²)^-3 between 1e-2 and 1e-9, to the next order.
    assert near == pytest.approx(total * 1e7**3, rel=0.2)


def test_arrays_of_methods_are_each_by_itself():
    method = Method(np.array([0.05, 0.1]), np.array([0.3, 0.8]))
    both = MeanProblem(LAM, method).noise_response(np.array([1.1, 1.2]))
    one = MeanProblem(LAM, Method(0.1, 0.8)).noise_response(1.2)
    np.testing.assert_allclose(both[1], one, rtol=1e-13)


def test_no_step_and_full_momentum_is_fine():
    # alpha = 0 and beta = 1: the block is triangular with a double 1.
    mean = MeanProblem(np.array([1.0]), Method(0.0, 1.0, 0.0))
    assert mean.rate == 1.0
    assert not mean.noise_response(1.5).any()
