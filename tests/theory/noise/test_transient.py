import numpy as np
import pytest

from ravine.curvature import Curvature
from ravine.methods import Method, heavy_ball, nesterov, sgd, triple_momentum
from ravine.theory.blocks import block, spectral_norms, system
from ravine.theory.noise.powers import transient_peak


def _margin(h, beta, gamma):
    """Distance to the edge of stability; negative outside it (Jury)."""
    d = beta - h * gamma
    return min(h, 2 * (1 + d) - h, 1 - d, 1 + d)


def _brute_force(low, high, method, powers, samples):
    """Largest norm over a uniform grid of eigenvalues."""
    B = block(np.linspace(low, high, samples), method)
    power, best = B, 1.0
    for _ in range(powers):
        best = max(best, float(spectral_norms(power).max()))
        power = power @ B
    return best


def test_heavy_ball_near_resonance_peaks_inside():
    """4.2139 at λ = 0.99 where the ends have 3.860: an eigenvalue that turns by about 2π/3."""
    curvature = Curvature(1 / 11.7, 1.0)
    method = Method(2.997, 0.9985, 0.0)
    peak = transient_peak(curvature, method)
    assert peak.norm == pytest.approx(4.21387906, abs=1e-8)
    attained = np.linalg.matrix_power(block(peak.eigenvalue, method), int(peak.step))
    assert np.linalg.norm(attained, 2) == pytest.approx(float(peak.norm), rel=1e-12)
    assert peak.norm >= _brute_force(1 / 11.7, 1.0, method, 400, 4001)


def test_weakly_damped_heavy_balls_against_a_fine_grid():
    """Never below what 2001 eigenvalues and 300 powers show, up to the 0.1 % of a missed peak."""
    rng = np.random.default_rng(17)
    inside = 0
    for _ in range(12):
        beta = 1.0 - 10.0 ** rng.uniform(-3.5, -2.0)
        # h = 3(1+beta)/2 turns by 2π/3 a step
        high = rng.uniform(1.48, 1.53) * (1.0 + beta)
        low = high / rng.uniform(2.0, 30.0)
        method = Method(1.0, beta, 0.0)
        peak = transient_peak(Curvature(low, high), method)
        assert peak.norm >= _brute_force(low, high, method, 300, 2001) * (1 - 1e-3)
        inside += low < peak.eigenvalue < high
    assert inside > 0


@pytest.mark.parametrize(("Q", "value"), [(512, 7.170202913077047), (10_000, 35.53073042270472)])
def test_reference_transient_peak(Q, value):
    curvature = Curvature(1.0, Q)
    peak = transient_peak(curvature, nesterov(curvature))
    assert peak.norm == pytest.approx(value, rel=1e-10)
    assert peak.eigenvalue == 1.0
    assert abs(peak.step - np.sqrt(Q)) <= 1.5


@pytest.mark.parametrize("standard", [nesterov, sgd, heavy_ball, triple_momentum])
def test_the_peak_is_the_largest_norm_of_a_power_of_the_system(standard):
    curvature = Curvature(0.5, 30.0)
    method = standard(curvature)
    lam = np.geomspace(0.5, 30.0, 40)
    A, power, norms = system(np.diag(lam), method), np.eye(80), []
    for _ in range(200):
        norms.append(np.linalg.norm(power, 2))
        power = A @ power
    peak = transient_peak(curvature, method)
    assert peak.norm == pytest.approx(max(norms), rel=1e-10)
    assert norms[peak.step] == pytest.approx(peak.norm, rel=1e-10)


def test_the_search_finds_the_peak_of_random_methods():
    """Against the norms of 1000 powers one by one, at both ends of the spectrum."""
    rng = np.random.default_rng(9)
    checked = 0
    while checked < 60:
        beta, gamma = rng.uniform(-1, 1, 2)
        low, high = np.sort(rng.uniform(0.01, 3.0, 2))
        if min(_margin(low, beta, gamma), _margin(high, beta, gamma)) < 0.02:
            continue
        checked += 1
        method = Method(1.0, beta, gamma)
        B, power = block([low, high], method), np.stack([np.eye(2)] * 2)
        norms = []
        for _ in range(1000):
            norms.append(np.linalg.norm(power, 2, axis=(1, 2)).max())
            power = B @ power
        peak = transient_peak(Curvature(low, high), method)
        assert peak.norm == pytest.approx(max(norms), rel=1e-10)
        assert norms[peak.step] == pytest.approx(max(norms), rel=1e-10)


def test_transient_growth_is_a_root_over_e():
    """sup_k ‖A^k‖ ~ √Q/e, with a relative error of order 1/√Q."""
    for Q in (1e4, 1e6):
        curvature = Curvature(1.0, Q)
        peak = transient_peak(curvature, nesterov(curvature)).norm
        assert abs(peak / (np.sqrt(Q) / np.e) - 1) < 4 / np.sqrt(Q)


def test_for_nesterov_no_eigenvalue_between_beats_both_ends():
    rng = np.random.default_rng(5)
    checked = 0
    while checked < 60:
        beta = gamma = rng.uniform(-1, 1)
        low, high = np.sort(np.exp(rng.uniform(np.log(1e-3), np.log(4), 2)))
        if min(_margin(low, beta, gamma), _margin(high, beta, gamma)) < 1e-3:
            continue
        checked += 1
        peak = transient_peak(Curvature(low, high), Method(1.0, beta, gamma))
        assert peak.eigenvalue in (low, high) or peak.norm == 1.0


def test_transient_peak_broadcasts_and_marks_the_unstable():
    curvature = Curvature(1.0, np.array([4.0, 100.0]))
    peak = transient_peak(curvature, Method(np.array([[0.01], [0.3]]), 0.5))
    assert peak.norm.shape == peak.step.shape == (2, 2)
    assert peak.norm[1, 1] == np.inf
    assert peak.step[1, 1] == -1
    assert np.isfinite(peak.norm[[0, 0, 1], [0, 1, 0]]).all()
    one = transient_peak(Curvature(1.0, 4.0), Method(0.3, 0.5))
    assert peak.norm[1, 0] == one.norm


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="broadcast together"):
        transient_peak(Curvature(1, [2, 3]), Method([1, 1, 1]))
