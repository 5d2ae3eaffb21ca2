import numpy as np
import pytest
from scipy.optimize import linprog

from ravine.theory.joint_spectral_radius.norm_proof import PositivePolytope
from ravine.theory.joint_spectral_radius.positive_polytope import (
    GrowingPositivePolytope,
    positive_norms,
    positive_operator_norm,
    represent_below,
)
from ravine.theory.joint_spectral_radius.radius import joint_spectral_radius


@pytest.mark.parametrize(("n", "m"), [(2, 5), (5, 12), (12, 30)])
def test_norms_against_a_linear_programme(n: int, m: int) -> None:
    generator = np.random.default_rng(n)
    vertices = generator.uniform(size=(n, m)) ** 3
    points = generator.uniform(size=(n, 15))
    expected = [linprog(np.ones(m), A_ub=-vertices, b_ub=-point).fun for point in points.T]
    np.testing.assert_allclose(positive_norms(vertices, points), expected, rtol=1e-9)


def test_stopping_early_decides_the_same_side() -> None:
    generator = np.random.default_rng(0)
    vertices = generator.uniform(size=(4, 15))
    points = 1.3 * generator.uniform(size=(4, 200))
    full = positive_norms(vertices, points)
    early = positive_norms(vertices, points, 1.0)
    np.testing.assert_array_equal(full > 1.0, early > 1.0)
    assert 0 < np.sum(full > 1.0) < 200


def test_whatever_is_below_a_vertex_is_inside() -> None:
    vertices = np.array([[2.0], [4.0]])
    points = np.array([[2.0, 0.0, 1.0], [4.0, 4.0, 3.0]])
    np.testing.assert_allclose(positive_norms(vertices, points), [1.0, 1.0, 0.75], rtol=1e-13)


def test_proof_and_forgeries() -> None:
    matrices = np.array([[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]])
    golden = (1.0 + np.sqrt(5.0)) / 2.0
    growing = GrowingPositivePolytope(matrices / golden, np.array([[golden], [1.0]]))
    growing.grow(100)
    assert growing.closed
    basis, weights = represent_below(matrices, growing.vertices)
    bound = positive_operator_norm(matrices, growing.vertices, basis, weights)
    assert golden <= bound <= golden * (1.0 + 1e-12)
    proof = PositivePolytope(matrices, growing.vertices, basis, weights, bound)
    assert proof.verify()
    moved = proof.rescaled(4.0, np.array([2.0**20, 2.0**-9]))
    assert moved.verify()
    assert moved.bound == 4.0 * bound
    for change in (
        {"bound": 0.99 * bound},
        {"matrices": 1.01 * matrices},
        {"matrices": -matrices},
        {"vertices": growing.vertices * np.array([[1.0], [1.1]])},
    ):
        assert not PositivePolytope(**{**vars(proof), **change}).verify()


def test_a_large_set_without_negative_entries() -> None:
    """Fourteen coordinates: a polytope of the whole space would need far too many vertices."""
    generator = np.random.default_rng(6)
    matrices = generator.integers(0, 2, (2, 14, 14)) * (generator.uniform(size=(2, 14, 14)) < 0.3)
    result = joint_spectral_radius(matrices)
    assert result.relative_width <= 1e-6
    assert result.proof.kind.endswith("in the positive orthant")
    assert result.proof.verify()
