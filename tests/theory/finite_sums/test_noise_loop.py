"""Radius of M ↦ N(κ∘M): by the matrix, by products, and of the adjoint."""

import numpy as np
import pytest

from ravine.methods import Method
from ravine.theory.finite_sums import noise_loop
from ravine.theory.finite_sums.noise_loop import NoiseLoop
from ravine.theory.finite_sums.pairs import response
from ravine.theory.finite_sums.second_moments import SecondMoments


def a_loop(d, seed=0):
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((5, d, d + 2))
    moments = SecondMoments.of(half @ np.swapaxes(half, 1, 2) / d + 0.1 * np.eye(d))
    kappa = response(moments.eigenvalues, Method(0.1, 0.6), 1.0)[0]
    return NoiseLoop(moments.spread), kappa


def written_out(loop, kappa, adjoint):
    """Largest eigenvalue of the map on all d² entries."""
    d = len(kappa)
    columns = [
        (loop.map(kappa, adjoint)(0.5 * (unit + unit.T))).ravel()
        for unit in np.eye(d * d).reshape(-1, d, d)
    ]
    return np.linalg.eigvals(np.stack(columns, axis=1)).real.max()


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("small", [0, 8])
def test_the_radius_is_that_of_the_map_written_out(adjoint, small, monkeypatch):
    monkeypatch.setattr(noise_loop, "_SMALL", small)
    loop, kappa = a_loop(5)
    radius, M = loop.radius(kappa, np.eye(5), 1e-9, adjoint=adjoint)
    assert radius == pytest.approx(written_out(loop, kappa, adjoint), rel=1e-7)
    moved = loop.map(kappa, adjoint)(M)
    np.testing.assert_allclose(moved, radius * M, atol=1e-4 * np.abs(M).max() * radius)
    assert np.linalg.eigvalsh(M).min() > -1e-6


def test_equal_terms_have_radius_zero():
    moments = SecondMoments.of(np.array([np.diag([1.0, 2.0])] * 3))
    assert NoiseLoop(moments.spread).radius(np.ones((2, 2)), np.eye(2), 1e-6)[0] == 0.0
