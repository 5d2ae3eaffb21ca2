"""The largest stable step against the spectral radius of the lifted recursions themselves."""

import numpy as np
import pytest

from ravine import Method, adam_limit, largest_step, quasi_hyperbolic
from ravine.theory.blocks import block, noise_gain_vector


def lifted_radius(matrices, gain, row, variance):
    """Radius of X ↦ A X Aᵀ + variance (row X rowᵀ) gain gainᵀ, as a matrix on vec X."""
    n = matrices.shape[-1]
    lift = np.einsum("...ij,...kl->...ikjl", matrices, matrices).reshape(-1, n * n, n * n)
    kick = np.einsum("...i,...k->...ik", gain, gain).reshape(-1, n * n)
    seen = np.einsum("...i,...k->...ik", row, row).reshape(-1, n * n)
    lift = lift + variance[:, None, None] * kick[:, :, None] * seen[:, None, :]
    return np.abs(np.linalg.eigvals(lift)).max(axis=-1)


def family_radius(step, lam, ratio, beta, gamma):
    method = Method(step, beta, gamma)
    gain = np.broadcast_to(noise_gain_vector(method), (step.size, 2)) * step[:, None]
    row = np.broadcast_to([1.0, 0.0], (step.size, 2))
    return lifted_radius(block(lam, method), gain, row, ratio * lam)


def adam_radius(step, lam, ratio, beta1, decay):
    """x⁺ = (1 - lr ω) x - lr m⁺ and m⁺ = beta1 m + (1 - beta1) h x, in the state (x, m)."""
    keep = 1.0 - step * decay
    rows = [keep - step * (1 - beta1) * lam, -step * beta1, (1 - beta1) * lam, beta1]
    matrices = np.stack(rows, axis=-1).reshape(-1, 2, 2)
    gain = np.stack([-step * (1 - beta1), 1 - beta1], axis=-1)
    return lifted_radius(matrices, gain, np.broadcast_to([1.0, 0.0], gain.shape), ratio * lam)


def test_the_family_is_stable_exactly_below_the_largest_step():
    rng = np.random.default_rng(0)
    n = 4000
    lam = 10.0 ** rng.uniform(-2, 1, n)
    ratio = lam * 10.0 ** rng.uniform(-3, 2, n) * (rng.random(n) < 0.9)
    beta = rng.uniform(-0.98, 0.98, n)
    gamma = np.where(rng.random(n) < 0.3, beta, rng.uniform(-2.0, 2.0, n))
    limit = largest_step(lam, variance_ratio=ratio, beta=beta, gamma=gamma)
    for share in (0.05, 0.4, 0.8, 1.0 - 1e-7):
        assert np.all(family_radius(share * limit, lam, ratio, beta, gamma) < 1.0)
    for share in (1.0 + 1e-7, 1.3, 2.0, 5.0):
        assert np.all(family_radius(share * limit, lam, ratio, beta, gamma) > 1.0)


def test_adam_is_stable_exactly_below_its_limit():
    rng = np.random.default_rng(1)
    n = 4000
    lam = 10.0 ** rng.uniform(-2, 1, n)
    ratio = lam * 10.0 ** rng.uniform(-3, 2, n) * (rng.random(n) < 0.9)
    beta1 = rng.uniform(0.0, 0.98, n)
    decay = lam * 10.0 ** rng.uniform(-3, 1, n) * (rng.random(n) < 0.7)
    limit = adam_limit(lam, variance_ratio=ratio, beta1=beta1, weight_decay=decay)
    for share in (0.05, 0.4, 0.8, 1.0 - 1e-7):
        assert np.all(adam_radius(share * limit, lam, ratio, beta1, decay) < 1.0)
    for share in (1.0 + 1e-7, 1.3, 2.0):
        assert np.all(adam_radius(share * limit, lam, ratio, beta1, decay) > 1.0)


def test_special_cases():
    assert largest_step(2.0) == 1.0
    assert largest_step(1.0, variance_ratio=3.0, beta=0.5, gamma=0) == pytest.approx(
        1.0 / (3.0 + 1.0 / 3.0)
    )
    # The flat direction: the same for every look-ahead.
    flat = largest_step(0.0, variance_ratio=4.0, beta=0.5, gamma=[-1.0, 0.0, 0.3, 2.0])
    np.testing.assert_allclose(flat, 0.25)
    assert largest_step(0.0) == np.inf
    assert largest_step(1.0, beta=-1.0) == 2.0
    # QHM: the same method, with its own step size.
    assert quasi_hyperbolic(1.0, 0.9, 0.7).gamma == pytest.approx(0.9 * 0.3 / 0.1)
    assert adam_limit(1.0, beta1=0.0) == 2.0
    assert adam_limit(1.0, variance_ratio=1.0, beta1=0.0) == 1.0
    assert adam_limit(0.0, variance_ratio=4.0) == 0.5


def test_momenta_without_a_stable_step_are_refused():
    with pytest.raises(ValueError, match="beta must be between -1 and 1"):
        largest_step(1.0, beta=1.0)
    with pytest.raises(ValueError, match="beta1 must be below 1"):
        adam_limit(1.0, beta1=1.0)
