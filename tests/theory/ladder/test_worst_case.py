"""The exact worst-case rate: values, thresholds, the examples that attain it, and nesting."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from ravine import Curvature, Method, nesterov, sgd
from ravine.methods import LinearMethod
from ravine.theory.blocks import block, system
from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.rates import contraction, spectral_radius
from ravine.theory.ladder.worst_case import certificate, turning_angle, worst_case_rate

# (mu, L, alpha, beta, worst-case rate), independent values to 1e-12.
VALUES = [
    (1.0, 32.0, 0.03125, 0.6995577903553303, 1.164213562373095),
    (1.0, 8.0, 0.125, 0.47759225007251715, 0.914213562373095),
    (1.0, 32.0, 0.015625, 0.5, 0.9699251378908976),
    (1.0, 8.0, 0.1875, 0.2, 0.8259317595183006),
    (1.0, 32.0, 0.05625, -0.3, 0.9565962596938388),
    (1.0, 2.0, 1.25, -0.6, 0.9664847545479236),
]


@pytest.mark.parametrize(("mu", "L", "alpha", "beta", "rate"), VALUES)
def test_values(mu, L, alpha, beta, rate):
    assert worst_case_rate(Curvature(mu, L), Method(alpha, beta)) == pytest.approx(rate, rel=1e-12)


def test_usual_parameters_have_the_rate_of_theorem_T5():
    curvature = Curvature(1.0, np.geomspace(1.5, 1e6, 60))
    expected = np.sqrt(2.0) * (1.0 - 1.0 / np.sqrt(curvature.Q))
    method = nesterov(curvature)
    np.testing.assert_allclose(worst_case_rate(curvature, method), expected, rtol=1e-12)
    np.testing.assert_allclose(turning_angle(curvature, method), np.pi / 4, rtol=1e-9)


def test_usual_parameters_are_safe_up_to_the_threshold():
    threshold = 6.0 + 4.0 * np.sqrt(2.0)
    below, above = (Curvature(1.0, threshold * (1.0 + shift)) for shift in (-1e-9, 1e-9))
    assert worst_case_rate(below, nesterov(below)) < 1.0 < worst_case_rate(above, nesterov(above))


def turning_growth(curvature: Curvature, method: Method, angle: float) -> float:
    """Growth per step of quadratics in the plane whose axes turn by ``angle`` each step."""
    c, s = np.cos(angle), np.sin(angle)
    turn = np.kron(np.eye(2), np.array([[c, -s], [s, c]]))
    hessian = np.diag([float(curvature.mu), float(curvature.L)])
    return float(np.abs(np.linalg.eigvals(turn @ system(hessian, method))).max())


def random_family(rng, size):
    """Random curvature and parameters, half of them Nesterov's, negative momenta included."""
    Q = 10.0 ** rng.uniform(0.05, 4.0, size)
    beta = rng.uniform(-1.0, 1.0, size)
    gamma = np.where(rng.random(size) < 0.5, beta, rng.uniform(-1.0, 1.0, size))
    return Q, rng.uniform(0.0, 2.5, size), beta, gamma


def test_turning_quadratics_attain_it():
    """T4, for the whole family: the growth at the turning angle is the rate, to 1e-9."""
    rng = np.random.default_rng(7)
    attained = 0
    for Q, step, beta, gamma in zip(*random_family(rng, 400), strict=True):
        curvature, method = Curvature(1.0 / Q, 1.0), Method(step, beta, gamma)
        rate, angle = worst_case_rate(curvature, method), turning_angle(curvature, method)
        if rate > spectral_radius(curvature, method) * (1.0 + 1e-6):
            attained += 1
            # At the best angle two eigenvalues meet: their defect is the root of rounding in the
            # matrix, so the growth is taken as the largest root's mean with its twin.
            assert growth_at_meeting_point(curvature, method, angle) == pytest.approx(
                rate, rel=1e-9
            )
    assert attained > 100


def growth_at_meeting_point(curvature: Curvature, method: Method, angle: float) -> float:
    c, s = np.cos(angle), np.sin(angle)
    turn = np.kron(np.eye(2), np.array([[c, -s], [s, c]]))
    hessian = np.diag([float(curvature.mu), float(curvature.L)])
    roots = np.linalg.eigvals(turn @ system(hessian, method))
    order = np.argsort(-np.abs(roots))
    top, next_ = roots[order[0]], roots[order[1]]
    twins = abs(top - next_) < 1e-5 * abs(top)
    return float(np.abs(0.5 * (top + next_))) if twins else float(np.abs(top))


def test_no_turning_angle_beats_it():
    rng = np.random.default_rng(8)
    for Q, step, beta, gamma in zip(*random_family(rng, 60), strict=True):
        curvature, method = Curvature(1.0 / Q, 1.0), Method(step, beta, gamma)
        rate = worst_case_rate(curvature, method)
        angles = np.linspace(0.0, np.pi, 181)
        growth = [turning_growth(curvature, method, angle) for angle in angles]
        peak = angles[int(np.argmax(growth))]
        best = minimize_scalar(
            lambda angle, c=curvature, m=method: -turning_growth(c, m, angle),
            bounds=(peak - 0.02, peak + 0.02),
            method="bounded",
            options={"xatol": 1e-10},
        )
        # A meeting pair of eigenvalues is only good to the root of rounding.
        assert -best.fun <= rate * (1.0 + 1e-6)
        assert -best.fun >= rate * (1.0 - 1e-6)


def test_nesting_of_the_ladder():
    """spectral radius <= commuting <= worst case <= contraction on 10^5 random parameters."""
    rng = np.random.default_rng(11)
    Q, step, beta, gamma = random_family(rng, 100_000)
    curvature, method = Curvature(1.0 / Q, 1.0), Method(step, beta, gamma)
    rho, shared = spectral_radius(curvature, method), commuting_rate(curvature, method)
    worst, R = worst_case_rate(curvature, method), contraction(curvature, method)
    assert np.all(rho <= shared.lower)
    assert np.all(shared.lower <= shared.upper)
    assert np.all(shared.upper <= worst)
    assert np.all(worst <= R * (1.0 + 1e-12))
    assert (worst > rho).sum() > 10_000  # the chain is not trivially equal


def test_sgd_is_the_fastest_method_that_is_certain():
    """T6: no (alpha, beta, gamma) has a smaller worst case than kappa."""
    rng = np.random.default_rng(3)
    Q, step, beta, gamma = random_family(rng, 20_000)
    curvature = Curvature(1.0 / Q, 1.0)
    kappa = (Q - 1.0) / (Q + 1.0)
    assert np.all(worst_case_rate(curvature, Method(step, beta, gamma)) >= kappa)
    np.testing.assert_allclose(worst_case_rate(curvature, sgd(curvature)), kappa, rtol=1e-9)


@given(st.floats(0.001, 2.5), st.floats(-1.0, 1.0), st.floats(1.01, 1e4))
def test_products_of_random_rotations_stay_below(step, beta, Q):
    """Upper form: no random order of random rotations outgrows the rate in the certified norm."""
    curvature, method = Curvature(1.0 / Q, 1.0), Method(step, beta)
    rng = np.random.default_rng(0)
    state, logs = np.eye(4), 0.0
    for angle in rng.uniform(0.0, np.pi, 200):
        c, s = np.cos(angle), np.sin(angle)
        turn = np.array([[c, -s], [s, c]])
        state = system(turn @ np.diag([1.0 / Q, 1.0]) @ turn.T, method) @ state
        size = np.linalg.norm(state, 2)
        logs, state = logs + np.log(size), state / size
    growth = np.exp(logs / 200)
    # The norms are equivalent up to a factor; over 200 steps it is worth (factor)^(1/200).
    assert growth <= worst_case_rate(curvature, method) * (1e6 ** (1 / 200))


@pytest.mark.parametrize("excess", [1e-4, 1e-8, 1e-12])
@pytest.mark.parametrize("beta", [0.5, 0.9, -0.3])
def test_nearly_equal_curvatures_at_one_over_L(excess, beta):
    """With alpha L = 1 and q = 1 - alpha mu the rate is √(8 beta² q/(8 beta - (1+beta)² q))."""
    L = 1.0 + excess
    curvature, method = Curvature(1.0, L), Method(1.0 / L, beta)
    q = Fraction(1) - Fraction(float(method.alpha))
    assert Fraction(float(method.alpha)) * Fraction(L) - 1 < 2e-16
    b = Fraction(beta)
    square = 8 * b * b * q / (8 * b - (1 + b) ** 2 * q)
    if beta > 0.0:
        # alpha L differs from 1 by rounding, which the small q feels.
        room = max(1e-14, 4e-16 / excess)
        assert worst_case_rate(curvature, method) == pytest.approx(float(square) ** 0.5, rel=room)
    else:
        assert worst_case_rate(curvature, method) == spectral_radius(curvature, method)


def test_any_schedule_of_steps_stays_below():
    """Random and adversarial steps and curvatures in one dimension, in the norm of the proof."""
    beta, steps = 0.3, (0.01, 0.1)  # curvatures from 1 to 8
    assert worst_case_rate(Curvature(0.01, 0.8), Method(1.0, beta)) < 1.0
    proof = certificate(Curvature(0.01, 0.8), Method(1.0, beta))
    rng = np.random.default_rng(0)
    for _ in range(200):
        block_ = block(rng.uniform(1.0, 8.0), Method(rng.uniform(*steps), beta))
        slack = proof.rate**2 * proof.P - block_.T @ proof.P @ block_
        assert np.linalg.eigvalsh(slack).min() > -1e-12


def test_a_method_given_by_its_transfer_function_has_the_same_rate():
    curvature = Curvature(1.0, 32.0)
    method = nesterov(curvature)
    closed = float(worst_case_rate(curvature, method))
    scanned = float(worst_case_rate(curvature, LinearMethod.of(method)))
    assert scanned == pytest.approx(closed, rel=1e-12)
