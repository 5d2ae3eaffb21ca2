"""Stationary moments of sums without a common minimiser, against simulation and closed forms."""

import numpy as np
import pytest

from ravine.methods import Method
from ravine.theory.finite_sums.mean_square import stationary_covariance


def rotated(n, d, seed):
    """Hessians with eigenvalues in [1, 20], and gradients of mean zero."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    H = np.einsum("bij,bj,bkj->bik", Q, rng.uniform(1, 20, (n, d)), Q)
    z = rng.standard_normal((n, d))
    return H, z - z.mean(axis=0)


def simulated(H, z, method, *, steps=700, paths=3000, seed=0):
    """Time averages over the later steps of independent paths: rows of E s sᵀ."""
    rng = np.random.default_rng(seed)
    n, d = z.shape
    a, b, g = float(method.alpha), float(method.beta), float(method.gamma)
    x, before = np.zeros((2, paths, d))
    second, kept = np.zeros((paths, 2 * d, 2 * d)), 0
    for k in range(steps):
        term = rng.integers(n, size=paths)
        y = x + g * (x - before)
        slope = np.einsum("pij,pj->pi", H[term], y) + z[term]
        x, before = x + b * (x - before) - a * slope, x
        if k > steps // 5 and k % 4 == 0:
            s = np.concatenate([x + g * (x - before), x - before], axis=1)
            second += s[:, :, None] * s[:, None, :]
            kept += 1
    return second / kept


@pytest.mark.parametrize(
    "method", [Method(0.06, 0.6), Method(0.05, 0.4, 0.9), Method(0.05, -0.3, 0)]
)
def test_simulated_paths(method):
    H, z = rotated(4, 2, seed=1)
    found = stationary_covariance(H, z, method)
    paths = simulated(H, z, method)
    error = paths.std(axis=0, ddof=1) / np.sqrt(len(paths))
    # 16 numbers a case: 4.5 standard errors.
    assert np.all(np.abs(paths.mean(axis=0) - found.full) < 4.5 * error)
    assert found.error == pytest.approx(np.trace(found.full[:2, :2]))
    np.testing.assert_array_equal(found.velocity, found.full[2:, 2:])


@pytest.mark.parametrize("h", [0.1, 0.7, 1.3])
@pytest.mark.parametrize(("beta", "gamma"), [(0.5, 0.5), (0.5, 0.0), (-0.4, -0.2)])
def test_equal_hessians_are_additive_noise(h, beta, gamma):
    # Var y = alpha² sigma² [1+beta+h gamma(1+2 gamma)]/D and Var(x-x₋) = 2 alpha² sigma² h/D,
    # D = h(1-beta+h gamma)(2+2 beta-h(1+2 gamma)).
    alpha, lam = 0.2, h / 0.2
    z = np.array([[1.0], [2.0], [-3.0]])
    found = stationary_covariance([[lam]] * 3, z, Method(alpha, beta, gamma))
    D = h * (1 - beta + h * gamma) * (2 + 2 * beta - h * (1 + 2 * gamma))
    noise = alpha**2 * np.mean(z**2)
    expected = noise * (1 + beta + h * gamma * (1 + 2 * gamma)) / D
    assert found.y[0, 0] == pytest.approx(expected, rel=1e-12)
    assert found.velocity[0, 0] == pytest.approx(2 * noise * h / D, rel=1e-12)


def test_diagonal_terms_in_any_basis():
    rng = np.random.default_rng(3)
    lam, z = rng.uniform(1, 20, (4, 3)), rng.standard_normal((4, 3))
    z -= z.mean(axis=0)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    method = Method(0.05, 0.6, 0.4)
    one = stationary_covariance(lam, z, method)
    two = stationary_covariance(Q @ (lam[:, :, None] * Q.T), z @ Q.T, method)
    turn = np.kron(np.eye(2), Q)
    np.testing.assert_allclose(turn @ one.full @ turn.T, two.full, rtol=0, atol=1e-12)


def test_nothing_is_stationary_when_the_mean_square_grows():
    # The third direction of the paper's example: Q = 32, n = 5, standard parameters.
    beta = (np.sqrt(32) - 1) / (np.sqrt(32) + 1)
    z = np.array([[1.0], [1.0], [1.0], [1.0], [-4.0]])
    found = stationary_covariance([[1.0]] * 4 + [[32.0]], z, Method(1 / 32, beta))
    assert found.growth > 1
    assert found.error == np.inf
    assert np.isinf(found.velocity).all()


@pytest.mark.parametrize(
    ("gradients", "message"),
    [
        ([[1.0], [2.0]], "gradients must be zero in the mean"),
        ([[1.0, -1.0]], r"gradients must be of shape \(2, 1\)"),
    ],
)
def test_refusals_take_one_line(gradients, message):
    with pytest.raises(ValueError, match=message) as caught:
        stationary_covariance([[1.0], [2.0]], gradients, Method(0.1))
    assert "\n" not in str(caught.value)
