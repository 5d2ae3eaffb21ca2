"""Spectral radii of positive maps: by the matrix, by iteration, and cut short with limits."""

import numpy as np
import pytest

from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.blocks import system
from ravine.theory.finite_sums import positive_map
from ravine.theory.finite_sums.mean_square import epoch_map, last_term_map
from ravine.theory.finite_sums.positive_map import collatz_wielandt, fixed_point, perron
from ravine.theory.finite_sums.second_moments import SecondMoments
from ravine.theory.finite_sums.terms import finite_sum


def a_map(sampling, n=4, d=3, method=None, seed=0):
    """The map of second moments under a sampling rule, and the identity to start from."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    H = np.einsum("bij,bj,bkj->bik", Q, rng.uniform(0.2, 8, (n, d)), Q)
    terms, one = finite_sum(H), method or Method(0.05, 0.7)
    A, start = system(terms.hessians, one), np.eye(2 * d)
    traits = sampling.traits
    if traits.independent:
        return SecondMoments.of(H).operator(one), start
    if not traits.may_repeat:
        start = np.stack([start] * n)
    if traits.by_epoch:
        return epoch_map(A, terms, lifted=not traits.may_repeat), start
    return last_term_map(A, terms), start


RANDOM = [s for s in Sampling if s.traits.random]


@pytest.mark.parametrize("sampling", RANDOM)
@pytest.mark.parametrize("method", [Method(0.05, 0.7), Method(1e-4, 0.9), Method(0.5, 0.9)])
def test_the_iteration_finds_the_radius_of_the_matrix(sampling, method, monkeypatch):
    apply, start = a_map(sampling, method=method)
    by_matrix, _ = perron(apply, start.shape)
    monkeypatch.setattr(positive_map, "LAST_DENSE", 0)
    by_iteration, X = perron(apply, start.shape, dense=0)
    assert by_iteration.exact
    assert by_iteration.value == pytest.approx(by_matrix.value, rel=1e-10)
    np.testing.assert_allclose(apply(X), by_matrix.value * X, atol=1e-8 * np.abs(X).max())


@pytest.mark.parametrize("sampling", RANDOM)
@pytest.mark.parametrize("powers", [0, 3, 30])
def test_limits_hold_where_the_iteration_does_not_settle(sampling, powers, monkeypatch):
    apply, start = a_map(sampling)
    exact = perron(apply, start.shape)[0].value
    monkeypatch.setattr(positive_map, "LAST_DENSE", 0)
    monkeypatch.setattr(positive_map, "_arnoldi", lambda *_: None)
    monkeypatch.setattr(positive_map, "_POWERS", powers)
    root, _ = perron(apply, start.shape, dense=0)
    assert not root.exact
    assert root.low * (1 - 1e-12) <= exact <= root.high * (1 + 1e-12)
    assert root.low <= root.value <= root.high


def test_many_steps_of_the_power_method_give_close_limits(monkeypatch):
    apply, start = a_map(Sampling.IID)
    exact = perron(apply, start.shape)[0].value
    monkeypatch.setattr(positive_map, "LAST_DENSE", 0)
    monkeypatch.setattr(positive_map, "_arnoldi", lambda *_: None)
    root, _ = perron(apply, start.shape, dense=0)
    assert not root.exact
    assert root.low <= exact <= root.high
    assert root.high - root.low < 1e-2


def test_the_limits_are_tight_at_the_eigenvector():
    apply, X = a_map(Sampling.IID)
    exact = perron(apply, X.shape)[0].value
    for _ in range(3000):
        X = apply(X)
        X = X / np.abs(X).max()
    low, high = collatz_wielandt(apply, X)
    assert low == pytest.approx(exact, rel=1e-6)
    assert high == pytest.approx(exact, rel=1e-6)


def test_limits_of_a_map_on_plain_matrices():
    # M ↦ Σ F M F with F diagonal: the radius is the largest Σ f².
    F = [np.diag([1.0, 2.0]), np.diag([0.5, 1.0])]
    low, high = collatz_wielandt(lambda M: sum(f @ M @ f for f in F), np.diag([1e-3, 1.0]))
    assert low <= 5.0 <= high * (1 + 1e-12)
    assert high == pytest.approx(5.0, rel=1e-6)


def test_a_map_to_zero_has_radius_zero():
    assert perron(np.zeros_like, (24, 24))[0].value == 0.0
    assert perron(np.zeros_like, (4, 4))[0].value == 0.0


@pytest.mark.parametrize("dense", [0, 400])
@pytest.mark.parametrize("sampling", [Sampling.IID, Sampling.IID_NO_REPEAT])
def test_a_fixed_point_is_the_sum_of_all_powers(sampling, dense, monkeypatch):
    monkeypatch.setattr(positive_map, "_DENSE_SOLVE", dense)
    apply, start = a_map(sampling)
    rng = np.random.default_rng(2)
    right = rng.standard_normal(start.shape)
    right = right @ np.swapaxes(right, -1, -2)
    total = power = right
    for _ in range(3000):
        power = apply(power)
        total = total + power
    solved = fixed_point(apply, right)
    np.testing.assert_allclose(solved, total, rtol=1e-9, atol=1e-9 * np.abs(total).max())
