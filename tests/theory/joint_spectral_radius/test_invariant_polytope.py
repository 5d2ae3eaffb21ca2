import numpy as np
import pytest
from scipy.optimize import linprog

from ravine.theory.joint_spectral_radius.invariant_polytope import (
    Polytope,
    inner_radius,
    norms,
    operator_norm,
    represent,
)


@pytest.mark.parametrize(("n", "m"), [(2, 7), (4, 30), (8, 60)])
def test_norms_against_a_linear_programme(n: int, m: int) -> None:
    generator = np.random.default_rng(n)
    vertices, points = generator.normal(size=(n, m)), generator.normal(size=(n, 12))
    both = np.hstack([vertices, -vertices])
    expected = [linprog(np.ones(2 * m), A_eq=both, b_eq=point).fun for point in points.T]
    np.testing.assert_allclose(norms(vertices, points), expected, rtol=1e-9)


def test_stopping_early_decides_the_same_side() -> None:
    generator = np.random.default_rng(0)
    vertices, points = generator.normal(size=(3, 20)), 2.0 * generator.normal(size=(3, 200))
    full, early = norms(vertices, points), norms(vertices, points, 1.0)
    np.testing.assert_array_equal(full > 1.0, early > 1.0)
    assert np.all(early >= full * (1.0 - 1e-12))
    assert 0 < np.sum(full > 1.0) < 200


def test_octahedron() -> None:
    """Unit vectors: the norm is the sum of absolute values, the ball inside has radius 1/√n."""
    points = np.array([[1.0, -0.5], [2.0, 0.0], [-3.0, 0.25]])
    np.testing.assert_allclose(norms(np.eye(3), points), [6.0, 0.75], rtol=1e-14)
    assert inner_radius(np.eye(3)) == pytest.approx(3.0**-0.5)
    matrices = np.array([[[0.0, 1.0], [2.0, 0.5]]])
    vertices = np.eye(2)
    # the largest column sum
    assert operator_norm(matrices, vertices, *represent(matrices, vertices)) == pytest.approx(2.0)


def test_a_contraction_closes_and_an_expansion_does_not() -> None:
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    start = np.array([[1.0], [0.0]])
    closing = Polytope(0.99 * turn[None], start)
    closing.grow(500)
    assert closing.closed
    images = 0.99 * turn @ closing.vertices
    assert norms(closing.vertices, images).max() <= 1.0 + 1e-11
    growing = Polytope(1.01 * turn[None], start)
    growing.grow(500)
    assert not growing.closed
    assert (0, 0) in growing.words()


def test_vertices_that_never_span_do_not_close() -> None:
    flat = Polytope(np.array([[[0.5, 0.0], [0.0, 0.5]]]), np.array([[1.0], [0.0]]))
    flat.grow(100)
    assert not flat.closed
