"""Deviations of matrices and of rows: every sum written out term by term."""

import numpy as np
import pytest

from ravine.theory.finite_sums.positive_map import Deviations, RowDeviations, Sandwiches


def matrices(k, d, seed):
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((k, d, d))
    weights = rng.uniform(0.5, 1.5, k)
    return half + np.swapaxes(half, 1, 2), weights / weights.sum()


def rows(n, q, d, seed, factor):
    rng = np.random.default_rng(seed)
    return RowDeviations(rng.standard_normal((n, q, d)), np.full(n, 1.0 / n), factor)


def stack(deviations):
    """All Δ_b written out."""
    if not isinstance(deviations, RowDeviations):
        return deviations.factors
    hessians = np.swapaxes(deviations.roots, 1, 2) @ deviations.roots
    mean = np.tensordot(deviations.weights, hessians, axes=1)
    return np.sqrt(deviations.factor) * (hessians - mean)


def both_kinds():
    given, weights = matrices(7, 4, seed=0)
    return [Deviations(given, weights, 1.0), rows(9, 1, 4, 1, 0.3), rows(5, 3, 4, 2, 0.7)]


@pytest.mark.parametrize("kind", range(3))
def test_every_sum_is_what_the_stack_gives(kind):
    deviations = both_kinds()[kind]
    rng = np.random.default_rng(5)
    X, V = rng.standard_normal((2, 4, 4))
    X, V = X + X.T, V + V.T
    z = rng.standard_normal((len(deviations.weights), 4))
    axis = rng.standard_normal(4)
    D, w = stack(deviations), deviations.weights
    expected = sum(c * delta @ X @ delta for c, delta in zip(w, D, strict=True))
    np.testing.assert_allclose(deviations.sandwich(X), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(
        deviations.third(z), np.einsum("k,kij,kl->ijl", w, D, z), rtol=1e-11, atol=1e-12
    )
    np.testing.assert_allclose(
        deviations.traces(X, V), [np.trace(V @ delta @ X @ delta) for delta in D], rtol=1e-11
    )
    np.testing.assert_allclose(
        deviations.along(axis), [axis @ delta @ axis for delta in D], rtol=1e-11
    )
    np.testing.assert_allclose(deviations.squares(), (D**2).sum(axis=(1, 2)), rtol=1e-11)
    kept = np.array([0, 2])
    np.testing.assert_allclose(
        stack(deviations.restricted(kept)), D[:, [0, 2]][:, :, [0, 2]], rtol=1e-11
    )


@pytest.mark.parametrize("kind", range(3))
def test_many_matrices_at_once_are_each_by_itself(kind):
    deviations = both_kinds()[kind]
    X = np.random.default_rng(6).standard_normal((2, 3, 4, 4))
    X = X + np.swapaxes(X, -1, -2)
    found = deviations.sandwich(X)
    np.testing.assert_allclose(found[1, 2], deviations.sandwich(X[1, 2]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", range(3))
def test_the_table_agrees_with_the_terms(kind, monkeypatch):
    X = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5
    tabled = both_kinds()[kind].sandwich(X)
    monkeypatch.setattr("ravine.theory.finite_sums.positive_map._SMALL", 0)
    monkeypatch.setattr("ravine.theory.finite_sums.positive_map._TABLE_ROWS", 0)
    np.testing.assert_allclose(both_kinds()[kind].sandwich(X), tabled, rtol=1e-11)


@pytest.mark.parametrize("kind", [1, 2])
def test_rows_are_worked_on_in_parts(kind, monkeypatch):
    whole = both_kinds()[kind]
    monkeypatch.setattr("ravine.theory.finite_sums.positive_map._CHUNK", 40)
    parts = both_kinds()[kind]
    assert len(list(parts.parts())) > 1
    np.testing.assert_allclose(parts.table, whole.table, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(parts.squares(), whole.squares(), rtol=1e-12)


def test_rounding_of_equal_terms_is_no_deviation():
    given = 1e-16 * matrices(3, 2, seed=8)[0]
    deviations = Deviations(given, np.full(3, 1 / 3), scale=1.0)
    assert deviations.largest == 0.0


@pytest.mark.parametrize("rows", [0, 64])
def test_factors_of_any_kind_and_their_adjoint(rows, monkeypatch):
    """⟨V, Σ w F X Fᵀ⟩ is ⟨Σ w Fᵀ V F, X⟩, by the table and term by term."""
    monkeypatch.setattr("ravine.theory.finite_sums.positive_map._SMALL", rows)
    monkeypatch.setattr("ravine.theory.finite_sums.positive_map._TABLE_ROWS", rows)
    rng = np.random.default_rng(3)
    F, w = rng.standard_normal((6, 3, 3)), rng.uniform(0.1, 1.0, 6)
    X, V = (root @ root.T for root in rng.standard_normal((2, 3, 3)))
    mean = Sandwiches(F, w)
    expected = np.einsum("b,bij,jk,blk->il", w, F, X, F)
    np.testing.assert_allclose(mean.sandwich(X), expected, rtol=1e-12)
    turned = np.einsum("b,bji,jk,bkl->il", w, F, V, F)
    np.testing.assert_allclose(mean.adjoint().sandwich(V), turned, rtol=1e-12)
