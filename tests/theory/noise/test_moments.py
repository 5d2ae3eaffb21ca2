from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.linalg import solve_discrete_lyapunov
from scipy.optimize import brentq, minimize_scalar

from ravine.curvature import Curvature
from ravine.methods import Method, gradient_descent, nesterov, sgd
from ravine.theory.blocks import block, noise_gain_vector
from ravine.theory.error_quantity import ErrorQuantity
from ravine.theory.ladder.rates import contraction
from ravine.theory.noise.moments import (
    exact_noise_coefficient,
    noise_floor,
    paper_noise_coefficient,
    second_moment,
    stationary_variance,
)

families = st.tuples(st.floats(1e-3, 4.0), st.floats(-1.3, 1.3), st.floats(-2.0, 2.0))


def _usual(Q):
    """Usual parameters with L = 1, so that alpha = 1 and variances are those times L²."""
    curvature = Curvature(1.0 / Q, 1.0)
    return curvature, nesterov(curvature)


def _margin(h, beta, gamma):
    """Distance to the edge of stability; negative outside it (Jury)."""
    d = beta - h * gamma
    return min(h, 2 * (1 + d) - h, 1 - d, 1 + d)


@pytest.mark.parametrize(
    ("alpha", "beta", "gamma", "lam", "value"),
    [
        (0.7, -0.4, -0.4, 0.9, 0.3467017910402568),
        (0.7, 0.5, 0.0, 0.9, 0.9845288326300985),
        (1.0, -0.5, -0.5, 1.0, 0.5),
    ],
)
def test_reference_variances_of_y(alpha, beta, gamma, lam, value):
    found = stationary_variance(lam, Method(alpha, beta, gamma), sigma2=1.0).y
    assert found == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(("Q", "value"), [(8, 8.082879813002387), (128, 384.5737628599842)])
def test_reference_variance_in_the_flat_direction(Q, value):
    """L² Var y / sigma2 at lambda = mu, standard parameters."""
    curvature, method = _usual(Q)
    assert stationary_variance(curvature.mu, method).y == pytest.approx(value, rel=1e-10)
    assert exact_noise_coefficient(curvature, method) == pytest.approx(value, rel=1e-10)
    wide = Curvature(1.0, Q)
    assert Q**2 * stationary_variance(1.0, nesterov(wide)).y == pytest.approx(value, rel=1e-10)


@given(families, st.floats(0.0, 3.0))
def test_variances_solve_the_lyapunov_equation(p, sigma2):
    """Both states: X = C X Cᵀ + alpha² sigma2 e1 e1ᵀ for x, X = B X Bᵀ + alpha² sigma2 g gᵀ."""
    h, beta, gamma = p
    # Near the edge the Lyapunov solver itself loses digits like 1/margin².
    assume(_margin(h, beta, gamma) > 1e-3)
    lam = 0.5
    method = Method(h / lam, beta, gamma)
    found = stationary_variance(lam, method, sigma2=sigma2)
    power = float(method.alpha) ** 2 * sigma2
    companion = np.array([[1 + beta - h * (1 + gamma), h * gamma - beta], [1.0, 0.0]])
    X = solve_discrete_lyapunov(companion, power * np.diag([1.0, 0.0]))
    g = noise_gain_vector(method)
    Y = solve_discrete_lyapunov(block(lam, method), power * np.outer(g, g))
    expected = [X[0, 0], X[0, 1], Y[0, 0], Y[1, 1]]
    values = [found.x, found.covariance, found.y, found.velocity]
    tolerance = 1e-8 * max(1e-300, X[0, 0], Y[0, 0], Y[1, 1])
    np.testing.assert_allclose(values, expected, rtol=0, atol=tolerance)


@given(families)
def test_variance_is_finite_exactly_where_the_block_is_stable(p):
    h, beta, gamma = p
    margin = _margin(h, beta, gamma)
    assume(abs(margin) > 1e-9)
    found = stationary_variance(1.0, Method(h, beta, gamma))
    for value in (found.x, found.y, found.velocity, found.covariance):
        assert np.isfinite(value) == (margin > 0)
        assert not np.isnan(value)
    radius = np.abs(np.linalg.eigvals(block(1.0, Method(h, beta, gamma)))).max()
    if abs(radius - 1) > 1e-6:
        assert np.isfinite(found.y) == (radius < 1)


def test_unstable_directions_are_infinite_without_a_warning():
    method = Method([0.0, 0.5, 2.0, 0.1, 1e50, 1e-50], [0.5, 2.0, 0.0, -1.5, 1e50, 0.0])
    np.testing.assert_array_equal(stationary_variance(1.0, method).y[:5], np.inf)
    assert np.isfinite(stationary_variance(1.0, method).y[5])
    for lam in (0.0, -1.0):
        assert stationary_variance(lam, Method(0.5, 0.5)).covariance == np.inf


@given(st.floats(1.0, 1e6))
def test_closed_forms_at_the_usual_parameters(Q):
    curvature, method = _usual(Q)
    s = np.sqrt(curvature.Q)
    flat = s**4 * (2 * s**4 + 2 * s**3 + 3 * s**2 - 4 * s + 1) / ((s + 1) ** 2 * (2 * s - 1) ** 3)
    steep = (5 * s**2 - 2 * s + 1) / (s + 1) ** 2
    assert stationary_variance(curvature.mu, method).y == pytest.approx(flat, rel=1e-9)
    assert stationary_variance(curvature.L, method).y == pytest.approx(steep, rel=1e-9)
    best, plain = sgd(curvature), gradient_descent(curvature)
    Q = float(curvature.Q)
    assert stationary_variance(curvature.mu, best).y == pytest.approx(Q, rel=1e-9)
    variance = stationary_variance(curvature.mu, plain).y
    assert variance == pytest.approx(Q**2 / (2 * Q - 1), rel=1e-9)


def test_flat_direction_grows_like_three_halves_power():
    """L² Var y(mu) ~ Q^{3/2}/4; the next term is relative 2.5/√Q."""
    for Q in (1e6, 1e8, 1e10):
        curvature, method = _usual(Q)
        ratio = stationary_variance(curvature.mu, method).y / (Q**1.5 / 4)
        assert abs(ratio - 1) < 2.5 / np.sqrt(Q)


def test_momentum_amplifies_noise_beyond_a_condition_number():
    """Worse than SGD at 2/(mu+L) once Q > 7.697007361; above the paper's number at 9.107470."""

    def against_sgd(Q):
        curvature, method = _usual(Q)
        return exact_noise_coefficient(curvature, method) - exact_noise_coefficient(
            curvature, sgd(curvature)
        )

    def against_paper(Q):
        curvature, method = _usual(Q)
        return exact_noise_coefficient(curvature, method) - paper_noise_coefficient(
            curvature, method, c_epsilon=True
        )

    assert brentq(against_sgd, 2, 50) == pytest.approx(7.697007361, abs=2e-9)
    # The spectral radius has a double root here, so the paper's number carries 1e-8 of noise.
    assert brentq(against_paper, 2, 50) == pytest.approx(9.107470, abs=2e-6)


@pytest.mark.parametrize(("Q", "value"), [(8, 5.468547971534831), (128, 25.90310935715519)])
def test_reference_paper_coefficient(Q, value):
    """L² alpha² ((1+beta)²+1)/(1-rho²) at standard parameters."""
    curvature, method = _usual(Q)
    assert paper_noise_coefficient(curvature, method) == pytest.approx(value, rel=1e-10)
    estimate = paper_noise_coefficient(curvature, method, c_epsilon=True)
    rho2 = (1 - 1 / np.sqrt(Q)) ** 2
    c_epsilon = 1 + (1 - rho2) * (contraction(curvature, method) ** 2 - rho2)
    assert estimate == pytest.approx(value * c_epsilon, rel=1e-7)


@pytest.mark.parametrize(("Q", "factor"), [(32, 2.9), (128, 11), (2000, 185)])
def test_the_papers_coefficient_is_below_the_truth(Q, factor):
    curvature, method = _usual(Q)
    exact = exact_noise_coefficient(curvature, method)
    estimate = paper_noise_coefficient(curvature, method, c_epsilon=True)
    assert exact / estimate == pytest.approx(factor, rel=0.02)


@given(st.floats(1e-3, 1.99))
def test_best_momentum_at_a_fixed_step_is_negative(h):
    """Var y over beta is smallest at -1/(1+√h), where it is SGD's times the stated ratio."""
    best = -1 / (1 + np.sqrt(h))
    found = minimize_scalar(
        lambda b: stationary_variance(1.0, Method(h, b)).y,
        bounds=(max(-0.999999, best - 0.3), min(0.0, best + 0.3)),
        method="bounded",
        options={"xatol": 1e-9},
    )
    assert found.x == pytest.approx(best, abs=1e-5)
    root = np.sqrt(h)
    ratio = (1 + 2 * root - h) * (2 - h) / ((1 + root) ** 2 * (2 - root) ** 2)
    at_best = stationary_variance(1.0, Method(h, best)).y
    assert at_best / stationary_variance(1.0, Method(h)).y == pytest.approx(ratio, rel=1e-9)


@given(families, st.floats(0.0, 1.0))
def test_variance_is_convex_between_stable_eigenvalues(p, share):
    """So that mu or L is the worst direction."""
    high, beta, gamma = p
    low = high * max(share, 1e-3)
    assume(min(_margin(low, beta, gamma), _margin(high, beta, gamma)) > 1e-6)
    lam = np.linspace(low, high, 41)
    y = stationary_variance(lam, Method(1.0, beta, gamma)).y
    assert np.all(np.diff(y, 2) >= -1e-9 * y.max())
    worst = exact_noise_coefficient(Curvature(low, high), Method(1.0, beta, gamma))
    assert worst >= y.max() * (1 - 1e-12)


def test_noise_floor_is_half_the_weighted_sum():
    lam = np.array([0.1, 0.7, 2.0])
    noise = np.array([1.0, 0.0, 3.0])
    alpha, beta = np.array([0.2, 0.4, 3.0])[:, None], np.array([-0.3, 0.0, 0.5, 0.9])
    found = noise_floor(lam, Method(alpha, beta), sigma2=noise, quantity="objective")
    assert found.shape == (3, 4)
    for i, j in np.ndindex(3, 4):
        y = stationary_variance(lam, Method(alpha[i, 0], beta[j]), sigma2=noise).y
        expected = np.inf if np.isinf(y).any() else 0.5 * np.sum(lam * y)
        assert found[i, j] == pytest.approx(expected, rel=1e-13)
    assert np.isinf(found).any()
    assert np.isfinite(found).any()


def test_noise_floor_broadcasts_leading_axes_of_the_spectrum():
    spectra = np.array([[0.1, 0.5], [0.2, 1.0], [0.3, 0.3]])
    alpha = np.array([0.5, 1.0, 1.5])
    found = noise_floor(spectra, Method(alpha, 0.2))
    for i in range(3):
        assert found[i] == pytest.approx(noise_floor(spectra[i], Method(alpha[i], 0.2)), rel=1e-14)
    assert noise_floor(1.0, Method(1.0), quantity="objective") == pytest.approx(0.5)


def test_reference_second_moment():
    """E r_{k+1}² at k = 10 for mu = 1/32, L = 1, standard parameters."""
    _, method = _usual(32)
    found = second_moment(0.03125, method, sigma2=1.0, start=1.0, steps=10)
    assert found.shape == (11,)
    assert found[0] == 1.0
    assert found[10] == pytest.approx(43.05258521593685, rel=1e-12)


@given(families, st.floats(-2.0, 2.0), st.floats(0.0, 2.0))
def test_second_moment_follows_the_covariance_recursion(p, start, sigma2):
    h, beta, gamma = p
    method = Method(h, beta, gamma)
    B, g = block(1.0, method), noise_gain_vector(method)
    X = np.diag([start**2, 0.0])
    found = second_moment(1.0, method, sigma2=sigma2, start=start, steps=25)
    largest = 0.0
    for k in range(26):
        largest = max(largest, np.abs(X).max())
        assert found[k] == pytest.approx(X[0, 0], rel=1e-10, abs=1e-12 * largest + 1e-300)
        X = B @ X @ B.T + h**2 * sigma2 * np.outer(g, g)


@given(st.floats(0.01, 1.5), st.floats(-0.9, 0.9))
def test_second_moment_is_the_nesterov_formula(h, beta):
    """U_{j+1} = (1+beta) q U_j - beta q U_{j-1}, U_0 = 0, U_1 = 1."""
    q, U = 1 - h, [0.0, 1.0]
    for _ in range(12):
        U.append((1 + beta) * q * U[-1] - beta * q * U[-2])
    found = second_moment(1.0, Method(h, beta), sigma2=2.0, start=3.0, steps=10)
    for k in range(11):
        noise = sum(((1 + beta) * U[j + 1] - beta * U[j]) ** 2 for j in range(k))
        expected = (U[k + 1] - beta * U[k]) ** 2 * 9 + h**2 * 2 * noise
        assert found[k] == pytest.approx(expected, rel=1e-10)


def test_second_moment_settles_at_the_stationary_variance():
    lam = np.array([0.1, 0.5, 1.0])
    method = Method(0.7, np.array([-0.4, 0.0, 0.6])[:, None], 0.3)
    found = second_moment(lam, method, sigma2=0.7, start=5.0, steps=600)
    assert found.shape == (601, 3, 3)
    expected = stationary_variance(lam, method, sigma2=0.7).y
    np.testing.assert_allclose(found[-1], expected, rtol=1e-12)


def test_second_moment_of_a_simulation():
    """Mean of r² over 40 000 runs, within five standard errors at every step."""
    rng = np.random.default_rng(11)
    method, lam, sigma, start = Method(0.8, 0.7, 0.2), 0.6, 0.5, 2.0
    runs = 40_000
    x = before = np.full(runs, start)
    expected = second_moment(lam, method, sigma2=sigma**2, start=start, steps=20)
    for k in range(21):
        y = x + method.gamma * (x - before)
        squares = y**2
        error = squares.std() / np.sqrt(runs)
        assert abs(squares.mean() - expected[k]) <= 5 * error + 1e-12
        gradient = lam * y + sigma * rng.standard_normal(runs)
        x, before = x + method.beta * (x - before) - method.alpha * gradient, x


def test_divergence_ends_at_infinity():
    found = second_moment([1.0, 4.0], Method(1.0, 0.5), steps=2000)
    assert np.isfinite(found[:, 0]).all()
    assert found[-1, 1] == np.inf
    assert not np.isnan(found).any()


@given(families, st.floats(0.0, 1.0))
def test_the_objective_is_worst_at_an_end_too(p, share):
    """λ Var y is log-convex or increasing on the stable interval, so mu or L attains it."""
    high, beta, gamma = p
    low = high * max(share, 1e-3)
    assume(min(_margin(low, beta, gamma), _margin(high, beta, gamma)) > 1e-9)
    lam = np.linspace(low, high, 201)
    method = Method(1.0, beta, gamma)
    inside = stationary_variance(lam, method).objective
    worst = exact_noise_coefficient(Curvature(low, high), method, quantity="objective")
    assert worst >= inside.max() * (1 - 1e-12)


@given(families, st.floats(0.0, 1.0))
def test_variance_is_log_convex_between_stable_eigenvalues(p, share):
    high, beta, gamma = p
    low = high * max(share, 1e-3)
    assume(min(_margin(low, beta, gamma), _margin(high, beta, gamma)) > 1e-6)
    logarithms = np.log(stationary_variance(np.linspace(low, high, 41), Method(1.0, beta, gamma)).y)
    assert np.all(np.diff(logarithms, 2) >= -1e-9)


def _exact_variance(lam, alpha, beta, gamma):
    """Var y of unit noise in rational arithmetic."""
    lam, alpha, beta, gamma = (Fraction(float(v)) for v in (lam, alpha, beta, gamma))
    h = alpha * lam
    D = h * (1 - beta + h * gamma) * (2 + 2 * beta - h * (1 + 2 * gamma))
    return float(alpha**2 * (1 + beta + h * gamma * (1 + 2 * gamma)) / D)


@pytest.mark.parametrize("gap", [1e-6, 1e-12, 2.0**-52, 0.0])
@pytest.mark.parametrize("h", [1e-3, 1e-14, 1e-18])
def test_the_variance_keeps_its_digits_as_momentum_tends_to_one(gap, h):
    """1 - d is built from 1 - beta and h gamma: at beta = 1 it is h, however small."""
    method = Method(0.5, 1.0 - gap)
    lam = h / 0.5
    value = float(stationary_variance(lam, method).y)
    assert value == pytest.approx(_exact_variance(lam, 0.5, 1.0 - gap, 1.0 - gap), rel=1e-14)


def test_both_quantities_of_the_floor_and_of_the_path():
    lam = np.array([0.2, 1.5])
    method = Method(0.4, 0.6)
    law = stationary_variance(lam, method, sigma2=2.0)
    np.testing.assert_allclose(law.objective, 0.5 * lam * law.y, rtol=1e-14)
    distance = noise_floor(lam, method, sigma2=2.0)
    assert distance == noise_floor(lam, method, sigma2=2.0, quantity="distance")
    assert distance == pytest.approx(float(law.y.sum()), rel=1e-14)
    objective = noise_floor(lam, method, sigma2=2.0, quantity="objective")
    assert objective == pytest.approx(float(law.objective.sum()), rel=1e-14)

    path = second_moment(lam, method, sigma2=2.0, start=3.0, steps=30)
    weighted = second_moment(
        lam, method, sigma2=2.0, start=3.0, steps=30, quantity=ErrorQuantity.OBJECTIVE
    )
    np.testing.assert_allclose(weighted, 0.5 * lam * path, rtol=1e-14)


def test_the_objective_grows_with_the_root_only():
    """Usual parameters: L² E‖y - x*‖² ~ Q^{3/2}/4, and L (E f - f*) ~ √Q/8, both at λ = mu."""
    for Q in (1e4, 1e6):
        curvature, method = _usual(Q)
        objective = exact_noise_coefficient(curvature, method, quantity="objective")
        assert abs(objective / (np.sqrt(Q) / 8) - 1) < 6 / np.sqrt(Q)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: stationary_variance(np.inf, Method(0.1)), "eigenvalues must be finite"),
        (lambda: stationary_variance(1.0, Method(0.1), sigma2=-1), "sigma2 must be zero or more"),
        (lambda: stationary_variance([1, 2, 3], Method([1, 2])), "broadcast together"),
        (lambda: noise_floor([1.0, 0.0], Method(0.1)), "eigenvalues must be positive"),
        (lambda: noise_floor([], Method(0.1)), "eigenvalues must be non-empty"),
        (lambda: noise_floor([1.0, 2.0], Method(0.1), sigma2=[1, 2, 3]), "broadcast together"),
        (lambda: second_moment(1.0, Method(0.1), steps=-1), "steps must be at least 0"),
        (lambda: second_moment(1.0, Method(0.1), start=np.nan, steps=1), "start must be finite"),
        (
            lambda: noise_floor(1.0, Method(0.1), quantity="loss"),
            "quantity must be one of distance, objective",
        ),
    ],
)
def test_bad_input_is_refused_in_one_line(call, said):
    with pytest.raises(ValueError, match=said) as error:
        call()
    assert "\n" not in str(error.value)
