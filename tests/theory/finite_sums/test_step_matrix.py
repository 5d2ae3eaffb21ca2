"""The matrix of a step against Kronecker products of the blocks."""

import numpy as np
import pytest

from ravine.theory.blocks import systems
from ravine.theory.finite_sums.step_matrix import StepMatrix
from ravine.theory.finite_sums.terms import Scalars


@pytest.mark.parametrize(
    "method", [Scalars(0.1, 0.0, 0.0), Scalars(0.15, 0.7, 0.7), Scalars(0.3, -0.4, 0.2)]
)
def test_the_growth_is_that_of_the_mean_of_squared_blocks(method):
    rng = np.random.default_rng(1)
    roots = rng.standard_normal((4, 3, 3))
    H = roots @ np.swapaxes(roots, 1, 2)
    weights = np.array([0.1, 0.2, 0.3, 0.4])
    A = systems(H, *method)
    lifted = sum(w * np.kron(one, one) for w, one in zip(weights, A, strict=True))
    expected = np.abs(np.linalg.eigvals(lifted)).max()
    assert StepMatrix(H, weights).growth(method) == pytest.approx(expected, rel=1e-12)
