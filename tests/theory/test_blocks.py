import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ravine.curvature import Curvature
from ravine.methods import Method, heavy_ball, nesterov, triple_momentum
from ravine.theory.blocks import (
    block,
    lemma1_product,
    lemma1_radius,
    noise_gain_vector,
    permutation,
    system,
)

parameters = st.tuples(
    st.floats(0.0, 3.0), st.floats(-1.5, 1.5), st.floats(-1.5, 1.5), st.floats(-1.0, 3.0)
)
curvatures = st.floats(1.01, 1e4).map(lambda Q: Curvature(1.0, Q))
gap_lists = st.lists(st.integers(1, 12), min_size=1, max_size=4)


def _symmetric(rng, d):
    M = rng.standard_normal((d, d))
    return M @ M.T + np.eye(d)


def _recursion(H, x, method, noises):
    """The method as it is written, y first: returns every y - x* and x_k - x_{k-1}, x* = 0."""
    a, b, c = float(method.alpha), float(method.beta), float(method.gamma)
    before = x
    y, r, v = x, [x], [np.zeros_like(x)]
    for noise in noises:
        before, x = x, x + b * (x - before) - a * (H @ y + noise)
        y = x + c * (x - before)
        r.append(y)
        v.append(x - before)
    return np.array(r), np.array(v)


@pytest.mark.parametrize(
    "method", [Method(0.1, 0.6), Method(0.1, 0.6, 0.0), Method(0.1, -0.4, 0.7), Method(0.1)]
)
def test_the_matrix_steps_the_state_as_the_recursion_does(method):
    rng = np.random.default_rng(1)
    H, x0, noises = _symmetric(rng, 3), rng.standard_normal(3), rng.standard_normal((12, 3))
    r, v = _recursion(H, x0, method, noises)
    A, gain = system(H, method), np.kron(noise_gain_vector(method)[:, None], np.eye(3))
    state = np.concatenate([x0, np.zeros(3)])
    for k, noise in enumerate(noises):
        state = A @ state - method.alpha * gain @ noise
        np.testing.assert_allclose(state, [*r[k + 1], *v[k + 1]], rtol=1e-10, atol=1e-10)


def test_nesterovs_block_is_the_papers():
    """B(lambda) = [[1 - alpha (1+beta) lambda, beta²], [-alpha lambda, beta]]."""
    alpha, beta, lam = 0.3, 0.7, 1.9
    paper = [[1 - alpha * (1 + beta) * lam, beta**2], [-alpha * lam, beta]]
    np.testing.assert_allclose(block(lam, Method(alpha, beta)), paper, atol=1e-15)


@given(parameters)
def test_the_characteristic_polynomial_is_that_of_two_consecutive_x(p):
    # x⁺ - x* = (1 + beta - h (1 + gamma)) (x - x*) - (beta - h gamma) (x₋ - x*).
    alpha, beta, gamma, lam = p
    h = alpha * lam
    matrix = block(lam, Method(alpha, beta, gamma))
    assert np.trace(matrix) == pytest.approx(1 + beta - h * (1 + gamma), abs=1e-12)
    assert np.linalg.det(matrix) == pytest.approx(beta - h * gamma, abs=1e-12)


@given(parameters)
def test_nesterovs_polynomial_is_the_papers(p):
    """Lemma 2: xi² - (1+beta)(1-alpha lambda) xi + beta (1-alpha lambda)."""
    alpha, beta, _, lam = p
    q = 1 - alpha * lam
    polynomial = np.poly(block(lam, Method(alpha, beta)))
    np.testing.assert_allclose(polynomial, [1, -(1 + beta) * q, beta * q], rtol=0, atol=1e-10)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_permutation_block_diagonalises(d):
    """Appendix C, for a matrix of four diagonal blocks and for A in its eigenbasis."""
    rng = np.random.default_rng(d)
    P = permutation(d)
    np.testing.assert_array_equal(P @ P.T, np.eye(2 * d))
    for i in range(1, 2 * d + 1):
        j = (i - 1) // 2 + 1 if i % 2 else d + (i - 1) // 2 + 1
        assert P[i - 1, j - 1] == 1
    H, method = _symmetric(rng, d), Method(0.2, 0.5, 0.1)
    lam, U = np.linalg.eigh(H)
    turned = np.kron(np.eye(2), U.T) @ system(H, method) @ np.kron(np.eye(2), U)
    blocks = block(lam, method)
    expected = np.zeros((2 * d, 2 * d))
    for j in range(d):
        expected[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = blocks[j]
    np.testing.assert_allclose(P @ turned @ P.T, expected, atol=1e-12)


@pytest.mark.parametrize("usual", [nesterov, heavy_ball, triple_momentum])
def test_a_system_has_the_spectrum_of_its_blocks(usual):
    curvature = Curvature(1.0, 20.0)
    rng = np.random.default_rng(7)
    U, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    lam = np.array([1.0, 3.0, 11.0, 20.0])
    method = usual(curvature)
    whole = np.linalg.eigvals(system(U @ np.diag(lam) @ U.T, method))
    parts = np.linalg.eigvals(block(lam, method)).ravel()
    # A double root moves by the square root of the rounding error.
    for root in parts:
        assert np.min(np.abs(whole - root)) < 1e-6


@given(st.floats(1.01, 1e4), st.integers(0, 60))
def test_power_of_the_flat_block(Q, k):
    """Appendix D: B(mu)^k at the usual parameters, from its Jordan form."""
    s = np.sqrt(Q)
    rho = 1 - 1 / s
    closed = [
        [(1 + k / (s + 1)) * rho**k, k * ((s - 1) / (s + 1)) ** 2 * rho ** (k - 1)],
        [-k / Q * rho ** (k - 1), (1 - k / (s + 1)) * rho**k],
    ]
    power = np.linalg.matrix_power(block(1.0, nesterov(Curvature(1.0, Q))), k)
    np.testing.assert_allclose(power, closed, rtol=1e-9, atol=1e-11)


@given(curvatures, gap_lists)
def test_lemma_1(curvature, gaps):
    """rho(T) = (1 - 1/√Q)^k k_1 ... k_s; T is singular, so its trace is the other eigenvalue."""
    T = lemma1_product(curvature, gaps)
    scale = np.max(np.abs(T)) + 1e-300
    assert abs(np.trace(T)) == pytest.approx(lemma1_radius(curvature, gaps), abs=1e-9 * scale)
    assert abs(np.linalg.det(T / scale)) < 1e-9
    rho = 1 - 1 / np.sqrt(curvature.Q)
    stated = rho ** (sum(gaps) + len(gaps)) * np.prod(gaps)
    assert lemma1_radius(curvature, gaps) == pytest.approx(stated, rel=1e-11)


@given(curvatures, gap_lists)
def test_a_trailing_steep_block_makes_lemma_1s_product_nilpotent(curvature, gaps):
    steep = block(curvature.L, nesterov(curvature))
    T = lemma1_product(curvature, gaps) @ steep
    scale = np.max(np.abs(T)) + 1e-300
    np.testing.assert_allclose((T / scale) @ (T / scale), 0, atol=1e-8)
    assert abs(np.trace(T)) < 1e-8 * scale


def test_everything_broadcasts():
    method = Method(np.array([0.1, 0.2])[:, None], np.array([0.0, 0.5, 0.9]))
    lam = np.array([1.0, 2.0])[:, None, None]
    stacked = block(lam, method)
    assert stacked.shape == (2, 2, 3, 2, 2)
    np.testing.assert_array_equal(stacked[1, 0, 2], block(2.0, Method(0.1, 0.9)))
    assert noise_gain_vector(method).shape == (3, 2)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: block(np.nan, Method(0.1)), "eigenvalue must be finite"),
        (lambda: block([1, 2, 3], Method([0.1, 0.2])), "broadcast together"),
    ],
)
def test_bad_input_is_refused_in_one_line(call, said):
    with pytest.raises(ValueError, match=said) as error:
        call()
    assert "\n" not in str(error.value)
