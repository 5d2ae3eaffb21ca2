"""Every entry of the catalogue, as a general linear method, against its own loop."""

import numpy as np
import pytest

from ravine import (
    Curvature,
    LinearMethod,
    Method,
    critical_batch_size,
    growth,
    iid_noise_floor,
    iid_rate,
    named_method,
    noise_floor,
    run,
    safe_step,
    second_moment,
    spectral_radius,
    worst_case_rate,
)
from ravine.catalogue import CATALOGUE
from ravine.problems import QuadraticSum

CURVATURE = Curvature(1.0, 40.0)
BATCHES = {"L_max": 200.0, "batch_size": 4000}
EVERY = pytest.mark.parametrize("name", CATALOGUE)


def both(name):
    """The entry, and the same as a transfer function."""
    method = named_method(name)(CURVATURE, L_max=200.0, batch_size=8)
    return method, method if isinstance(method, LinearMethod) else LinearMethod.of(method)


def lift(general, hessians):
    """Mean of A⊗A over the terms: what a step does to second moments."""
    A, B, C = general.state
    d = hessians.shape[-1]
    loops = [np.kron(A, np.eye(d)) + np.kron(np.outer(B, C), H) for H in hessians]
    return np.mean([np.kron(one, one) for one in loops], axis=0)


@EVERY
def test_rates_and_limits_are_those_of_the_closed_forms(name):
    method, general = both(name)
    for function, options in (
        (spectral_radius, {}),
        (worst_case_rate, {}),
        (iid_rate, BATCHES),
        (iid_noise_floor, BATCHES),
        (critical_batch_size, {"L_max": 200.0}),
    ):
        expected = float(function(CURVATURE, method, **options))
        # Critical damping is a double root, which eigenvalues know to the root of the rounding.
        assert float(function(CURVATURE, general, **options)) == pytest.approx(expected, rel=1e-7)


@EVERY
def test_floor_and_moments_are_those_of_its_loop(name):
    method, general = both(name)
    A, B, C = general.state
    lam = np.array([1.0, 6.0, 40.0])
    floors, moments = [], []
    for one in lam:
        A1 = A + one * np.outer(B, C)
        n = B.size
        X = np.linalg.solve(np.eye(n * n) - np.kron(A1, A1), np.kron(B, B)).reshape(n, n)
        floors.append(0.3 * C @ X @ C)
        X = np.outer(general.at_rest(2.0)[:, 0], general.at_rest(2.0)[:, 0])
        for _ in range(25):
            X = A1 @ X @ A1.T + 0.3 * np.outer(B, B)
        moments.append(C @ X @ C)
    for each in (method, general):
        seen = [float(noise_floor([one], each, sigma2=0.3)) for one in lam]
        np.testing.assert_allclose(seen, floors, rtol=1e-8)
        path = second_moment(lam, each, sigma2=0.3, start=2.0, steps=25)
        # The rounding of a start of 4 that has been almost forgotten.
        np.testing.assert_allclose(path[-1], moments, rtol=1e-8, atol=1e-9)


@EVERY
def test_safe_step_is_where_the_worst_case_starts_to_diverge(name):
    _, general = both(name)
    factor = float(safe_step(40.0, general))
    rates = [
        float(worst_case_rate(Curvature(1e-5, 40.0), general.scaled(share * factor)))
        for share in (0.98, 1.02)
    ]
    assert rates[0] < 1.0 < rates[1]


@pytest.mark.parametrize("distance", [1e-2, 1e-5, 1e-8])
def test_safe_step_sees_a_resonance_however_narrow(distance):
    """Poles at this distance from the circle, next to an angle of 1: -Re G has a peak there."""
    pole = (1.0 - distance) * np.exp(1.0j)
    method = LinearMethod([0.4, -0.2, 0.1], np.real(np.poly([1.0, pole, np.conj(pole)])))
    angles = 1.0 + distance * np.linspace(-20.0, 20.0, 20_001)
    z = np.exp(1j * angles)
    peak = np.max(-np.real(np.polyval(method.numerator, z) / np.polyval(method.denominator, z)))
    assert float(safe_step(2.0, method)) == pytest.approx(0.5 / peak, rel=1e-6)


@pytest.mark.parametrize("beta", [0.5, 0.99, 1.0 - 1e-6])
@pytest.mark.parametrize("gamma", [0.0, 0.7, 2.0])
def test_safe_step_is_that_of_the_closed_form(beta, gamma):
    general = LinearMethod.of(Method(1.0, beta, gamma))
    assert float(safe_step(2.0, general)) == pytest.approx(float(safe_step(2.0, beta, gamma)), 1e-9)
    batches = {"batch_size": 300, "L_max": 6.0}
    expected = float(safe_step(2.0, beta, gamma, **batches))
    assert float(safe_step(2.0, general, **batches)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    "method",
    [
        LinearMethod([-0.1], [1.0, -1.0]),  # uphill
        LinearMethod([0.1, -0.1], [1.0, -1.0, 0.0]),  # at rest wherever it is
        LinearMethod([0.1, 0.0], [1.0, -2.5, 1.5]),  # a mode that grows by itself
    ],
)
@pytest.mark.parametrize("batches", [{}, {"batch_size": 10}])
def test_no_step_of_a_method_that_diverges_by_itself_is_safe(method, batches):
    assert safe_step(1.0, method, **batches) == 0.0


@EVERY
def test_growth_and_runs_of_a_sum_follow_its_loop(name):
    method, general = both(name)
    H = np.array([[[3.0, 1.0], [1.0, 20.0]], [[30.0, -4.0], [-4.0, 2.0]]])
    radius = np.abs(np.linalg.eigvals(lift(general, H))).max()
    problem = QuadraticSum(H, start=[1.0, -0.5], minimiser=[0.0, 0.0])
    A, B, C = general.state
    state = general.at_rest(np.array([1.0, -0.5]))
    for k in range(12):
        state = A @ state + np.outer(B, H[k % 2] @ (C @ state))
    for each in (method, general):
        assert growth(H, each).value == pytest.approx(radius, rel=1e-8)
        trace = run(problem, each, 12, sampling="cyclic")
        assert np.linalg.norm(trace.y[-1]) == pytest.approx(np.linalg.norm(C @ state), rel=1e-8)
