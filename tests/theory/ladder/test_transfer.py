import numpy as np
import pytest

from ravine.curvature import Curvature
from ravine.methods import (
    LinearMethod,
    Method,
    gradient_descent,
    heavy_ball,
    nesterov,
    sgd,
    triple_momentum,
)
from ravine.theory.ladder.transfer import circle_rate
from ravine.theory.ladder.worst_case import turning_angle, worst_case_rate


def _roots_over_the_circle(curvature: Curvature, method: LinearMethod) -> float:
    """The largest root of sum_j (a + m b + δ e^{iφ} b) over φ: where |T| = 1/δ is crossed.

    |T(z)| = 1/δ iff a + (m + δ e^{iφ}) b vanishes for some φ, so r* is the largest modulus of
    such a root: an independent scan, exact to the square of its spacing.
    """
    middle = 0.5 * float(curvature.L + curvature.mu)
    half = 0.5 * float(curvature.L - curvature.mu)
    above = np.concatenate(
        [np.zeros(method.denominator.size - method.numerator.size), method.numerator]
    )

    def radius(phase: float) -> float:
        value = middle + half * np.exp(1j * phase)
        return float(np.abs(np.roots(method.denominator + value * above)).max())

    phases = np.linspace(0.0, np.pi, 721)
    values = [radius(phase) for phase in phases]
    best = int(np.argmax(values))
    low, high = phases[max(best - 1, 0)], phases[min(best + 1, 720)]
    for _ in range(60):  # thirds: the maximum is between two neighbours of the best sample
        third = (high - low) / 3.0
        if radius(low + third) < radius(high - third):
            low += third
        else:
            high -= third
    return max(max(values), radius(0.5 * (low + high)))


def _points(method: LinearMethod, hessians: np.ndarray, start: np.ndarray) -> np.ndarray:
    """y_0, y_1, ...: a(z) y = -b(z) g, from the first points ``start``."""
    memory = method.memory
    above = np.concatenate([np.zeros(memory + 1 - method.numerator.size), method.numerator])
    points = list(start)
    gradients = [hessian @ point for hessian, point in zip(hessians, points, strict=False)]
    for k in range(memory, len(hessians)):
        new = np.zeros(2)
        for j in range(1, memory + 1):
            new -= method.denominator[j] * points[k - j] + above[j] * gradients[k - j]
        points.append(new)
        gradients.append(hessians[k] @ new)
    return np.array(points)


@pytest.mark.parametrize("usual", [nesterov, heavy_ball, triple_momentum, sgd, gradient_descent])
@pytest.mark.parametrize("Q", [1.5, 32.0, 5000.0])
def test_usual_parameters_have_the_rate_of_the_closed_form(usual, Q):
    curvature = Curvature(1.0, Q)
    rate = circle_rate(curvature, usual(curvature))
    expected = float(worst_case_rate(curvature, usual(curvature)))
    assert rate.lower <= rate.upper <= rate.lower * (1.0 + 2e-15)
    assert rate.upper == pytest.approx(expected, rel=1e-10)


def test_the_family_has_the_rate_and_the_angle_of_the_closed_form():
    """The circle knows nothing of blocks and norms: two derivations, one number."""
    rng = np.random.default_rng(20)
    turning = 0
    for i in range(150):
        curvature = Curvature(10.0 ** -rng.uniform(0.0, 4.0), 1.0)
        gamma = rng.uniform(-1.5, 1.5) if i % 2 else None
        method = Method(10.0 ** rng.uniform(-3.0, 0.6), rng.uniform(-1.2, 1.2), gamma)
        rate = circle_rate(curvature, method)
        assert rate.upper == pytest.approx(float(worst_case_rate(curvature, method)), rel=1e-10)
        angle = float(turning_angle(curvature, method))
        if angle > 0.0:
            turning += 1
            # the condition is flat in ω, so its place is known to the root of rounding
            assert rate.angle == pytest.approx(angle, abs=1e-5)
    assert turning > 25


def test_both_ends_are_where_the_condition_changes():
    """Just below, T leaves the disc of radius 1/δ on the circle; just above it stays inside."""
    curvature = Curvature(1.0, 20.0)
    method = LinearMethod.multi_step([1.3, -0.2, -0.1], [0.04, -0.02, 0.01])
    rate = circle_rate(curvature, method)
    circle = np.exp(1j * np.linspace(0.0, 2.0 * np.pi, 20001))
    for radius, inside in ((rate.lower * (1 - 1e-6), False), (rate.upper * (1 + 1e-6), True)):
        above = np.polyval(method.numerator, radius * circle)
        below = np.polyval(method.denominator, radius * circle) + 10.5 * above
        assert bool(np.abs(above / below).max() <= 1.0 / 9.5) == inside


def test_methods_of_longer_memory_against_a_scan_of_roots():
    rng = np.random.default_rng(21)
    for memory in (3, 4, 6):
        for _ in range(4):
            weights = rng.normal(size=memory) / memory
            weights[0] += 1.0 - weights.sum()
            method = LinearMethod.multi_step(weights.tolist(), (0.05 * rng.normal(size=3)).tolist())
            curvature = Curvature(0.2, 3.0)
            rate = circle_rate(curvature, method)
            assert rate.upper == pytest.approx(_roots_over_the_circle(curvature, method), rel=1e-9)


@pytest.mark.parametrize(
    "method",
    [
        LinearMethod.of(nesterov(Curvature(1.0, 12.0))),
        LinearMethod.quasi_hyperbolic(1.2, 0.95, 0.6),
        LinearMethod.multi_step([1.0], [0.0, 0.0, 0.07]),
        LinearMethod.multi_step([1.5, -0.7, 0.2], [0.1, 0.02]),
        LinearMethod.of(Method(0.05)),
    ],
)
def test_turning_quadratics_attain_the_rate(method):
    """The run grows by exactly ``lower`` a step, on quadratics of the class in R²."""
    curvature = Curvature(1.0, 12.0)
    rate = circle_rate(curvature, method)
    steps = 60
    hessians = rate.turning_hessians(steps)
    eigenvalues = np.linalg.eigvalsh(hessians)
    assert eigenvalues.min() >= 1.0 - 1e-12
    assert eigenvalues.max() <= 12.0 + 1e-12

    spiral = (rate.lower * np.exp(1j * rate.angle)) ** np.arange(steps)
    expected = np.stack([spiral.real, spiral.imag], axis=1)
    points = _points(method, hessians, expected[: method.memory])
    # Rounding is another start, and no start grows faster: its share stays that of rounding.
    error = np.linalg.norm(points - expected, axis=1) / rate.lower ** np.arange(steps)
    assert error.max() < 1e-7


def test_no_method_beats_gradient_descent_at_the_middle_step():
    """r* >= κ = (Q-1)/(Q+1) for every linear method, whatever its memory."""
    rng = np.random.default_rng(22)
    curvature = Curvature(1.0, 10.0)
    kappa = 9.0 / 11.0
    assert circle_rate(curvature, sgd(curvature)).upper == pytest.approx(kappa, rel=1e-14)
    best = np.inf
    for _ in range(60):
        weights = np.array([1.0, 0.0, 0.0]) + 0.2 * rng.normal(size=3)
        weights[0] += 1.0 - weights.sum()
        steps = np.array([2.0 / 11.0, 0.0, 0.0]) + 0.05 * rng.normal(size=3)
        best = min(best, circle_rate(curvature, LinearMethod.multi_step(weights, steps)).lower)
    assert kappa < best < 1.5


def test_late_gradients_are_safe_up_to_two_thirds():
    """G = alpha/(z(z-1)) has -Re G = alpha(1/2 + cos ω) <= 3 alpha/2 on the unit circle."""
    curvature = Curvature(1e-9, 1.0)
    for step, safe in ((0.66, True), (0.67, False)):
        late = LinearMethod.multi_step([1.0], [0.0, step])
        assert bool(circle_rate(curvature, late).upper < 1.0) == safe


def test_quasi_hyperbolic_momentum_is_a_member_of_the_family():
    """The mean is v/g = (1-beta) z/(z-beta), so G = alpha((1-nu) + nu v/g)/(z-1)."""
    alpha, beta, nu = 0.8, 0.9, 0.7
    linear = LinearMethod.quasi_hyperbolic(alpha, beta, nu)
    numerator = alpha * ((1 - nu) * np.array([1.0, -beta]) + nu * (1 - beta) * np.array([1.0, 0.0]))
    np.testing.assert_allclose(linear.numerator, numerator, rtol=1e-14)
    np.testing.assert_allclose(linear.denominator, np.poly([1.0, beta]), rtol=1e-14)


def test_triple_momentum_in_its_own_form():
    """Two sequences ξ_k, ξ_{k-1}, gradients at (1+γ)ξ_k - γξ_{k-1}: the family's G."""
    curvature = Curvature(1.0, 50.0)
    method = triple_momentum(curvature)
    alpha, beta, gamma = float(method.alpha), float(method.beta), float(method.gamma)
    own = LinearMethod.state_space(
        [[1.0 + beta, -beta], [1.0, 0.0]], [-alpha, 0.0], [1.0 + gamma, -gamma]
    )
    np.testing.assert_allclose(own.numerator, LinearMethod.of(method).numerator, rtol=1e-12)
    expected = float(worst_case_rate(curvature, method))
    assert circle_rate(curvature, own).upper == pytest.approx(expected, rel=1e-10)


def test_a_mode_that_gradients_do_not_see_counts():
    """Gradient descent beside a sequence that grows by 1.25 a step and is never read."""
    hidden = LinearMethod(np.poly([1.25]) * 0.1, np.poly([1.0, 1.25]))
    rate = circle_rate(Curvature(1.0, 2.0), hidden)
    assert rate.lower <= 1.25 <= rate.upper


def test_one_curvature_and_one_step_to_the_minimiser():
    rate = circle_rate(Curvature(4.0, 4.0), LinearMethod.of(Method(0.25)))
    assert rate.lower == 0.0
    assert rate.upper < 1e-12
    fixed = circle_rate(Curvature(4.0, 4.0), LinearMethod.of(Method(0.1, 0.5)))
    assert fixed.upper == pytest.approx(float(worst_case_rate(Curvature(4, 4), Method(0.1, 0.5))))


def test_refusals():
    with pytest.raises(ValueError, match=r"numerator must be of lower degree.*degree 1 over"):
        LinearMethod([1.0, 2.0], [1.0, -1.0])
    with pytest.raises(ValueError, match=r"denominator must be zero at z = 1, got 0\.5"):
        LinearMethod([1.0], [1.0, -0.5])
    with pytest.raises(ValueError, match="denominator must be nonzero"):
        LinearMethod([1.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="alpha must be a single number"):
        LinearMethod.of(Method([0.1, 0.2], 0.5))
    with pytest.raises(ValueError, match="A, B, C must be of shapes"):
        LinearMethod.state_space(np.eye(2), [1.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="mu must be a single number"):
        circle_rate(Curvature([1.0, 2.0], 3.0), LinearMethod.of(Method(0.1)))
