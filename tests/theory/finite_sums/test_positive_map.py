"""Spectral radii of positive maps: by the matrix, by iteration, and cut short with limits."""

import numpy as np
import pytest

from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums import positive_map
from ravine.theory.finite_sums.limits import Deadline
from ravine.theory.finite_sums.positive_map import collatz_wielandt, fixed_point, perron_root
from ravine.theory.finite_sums.rules import moment_map
from ravine.theory.finite_sums.terms import finite_sum, one_method


def a_map(sampling, n=4, d=3, method=None, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((n, d, d)))[0]
    H = np.einsum("bij,bj,bkj->bik", Q, rng.uniform(0.2, 8, (n, d)), Q)
    return moment_map(finite_sum(H), one_method(method or Method(0.05, 0.7)), sampling)


RANDOM = [s for s in Sampling if s.traits.random]


@pytest.mark.parametrize("sampling", RANDOM)
@pytest.mark.parametrize("method", [Method(0.05, 0.7), Method(1e-4, 0.9), Method(0.5, 0.9)])
def test_the_iteration_finds_the_radius_of_the_matrix(sampling, method, monkeypatch):
    moved = a_map(sampling, method=method)
    by_matrix = perron_root(moved.apply, moved.shape)
    monkeypatch.setattr(positive_map, "DENSE", 0)
    monkeypatch.setattr(positive_map, "_LAST_DENSE", 0)
    by_iteration = perron_root(moved.apply, moved.shape, resolvent=moved.resolvent)
    assert by_iteration.settled
    assert by_iteration.value == pytest.approx(by_matrix.value, rel=1e-10)


@pytest.mark.parametrize("sampling", RANDOM)
@pytest.mark.parametrize("products", [3, 9, 30])
def test_limits_hold_when_the_iteration_is_cut_short(sampling, products, monkeypatch):
    moved = a_map(sampling)
    exact = perron_root(moved.apply, moved.shape).value
    monkeypatch.setattr(positive_map, "DENSE", 0)
    monkeypatch.setattr(positive_map, "_LAST_DENSE", 0)
    root = perron_root(
        moved.apply, moved.shape, resolvent=moved.resolvent, products=products, tolerance=1e-15
    )
    assert root.low * (1 - 1e-12) <= exact <= root.high * (1 + 1e-12)
    assert root.low <= root.value <= root.high


def test_a_deadline_ends_the_iteration_with_a_bracket(monkeypatch):
    moved = a_map(Sampling.RESHUFFLE)
    exact = perron_root(moved.apply, moved.shape).value
    monkeypatch.setattr(positive_map, "DENSE", 0)
    root = perron_root(moved.apply, moved.shape, resolvent=moved.resolvent, deadline=Deadline(0.0))
    assert not root.settled
    assert root.low <= exact <= root.high


def test_the_limits_are_tight_at_the_eigenvector():
    moved = a_map(Sampling.IID)
    X = np.eye(moved.shape[-1])
    for _ in range(3000):
        X = moved.apply(X)
        X = X / np.abs(X).max()
    low, high = collatz_wielandt(moved.apply, X)
    exact = perron_root(moved.apply, moved.shape).value
    assert low == pytest.approx(exact, rel=1e-6)
    assert high == pytest.approx(exact, rel=1e-6)


def test_limits_of_a_map_on_plain_matrices():
    # M ↦ Σ F M F with F diagonal: the radius is the largest Σ f².
    F = [np.diag([1.0, 2.0]), np.diag([0.5, 1.0])]
    low, high = collatz_wielandt(lambda M: sum(f @ M @ f for f in F), np.diag([1e-3, 1.0]))
    assert low <= 5.0 <= high * (1 + 1e-12)
    assert high == pytest.approx(5.0, rel=1e-6)


def test_a_map_to_zero_has_radius_zero():
    assert perron_root(np.zeros_like, (24, 24)).value == 0.0
    assert perron_root(np.zeros_like, (4, 4)).value == 0.0


@pytest.mark.parametrize("dense", [0, 400])
@pytest.mark.parametrize("sampling", [Sampling.IID, Sampling.IID_NO_REPEAT])
def test_a_fixed_point_is_the_sum_of_all_powers(sampling, dense, monkeypatch):
    monkeypatch.setattr(positive_map, "_DENSE_SOLVE", dense)
    moved = a_map(sampling)
    rng = np.random.default_rng(2)
    right = rng.standard_normal(moved.shape)
    right = right @ np.swapaxes(right, -1, -2)
    total = power = right
    for _ in range(3000):
        power = moved.apply(power)
        total = total + power
    solved = fixed_point(moved.apply, right, lambda B: moved.resolvent.apply(1.0, B))
    np.testing.assert_allclose(solved, total, rtol=1e-9, atol=1e-9 * np.abs(total).max())
