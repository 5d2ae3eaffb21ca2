import numpy as np
import pytest
from scipy.optimize import linprog

from ravine.theory.joint_spectral_radius.invariant_polytope import (
    Polytope,
    inner_radius,
    leftover_costs,
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


def test_vertices_in_a_common_subspace_get_a_short_companion_across_it() -> None:
    """Both axes are invariant: images of the first never leave it."""
    matrices = np.array([[[0.9, 0.0], [0.0, 0.5]]])
    flat = Polytope(matrices, np.array([[1.0], [0.0]]))
    flat.grow(100)
    assert flat.spans
    assert flat.closed
    bound = operator_norm(matrices, flat.vertices, *represent(matrices, flat.vertices))
    assert bound == pytest.approx(0.9, rel=1e-12)


def test_costs_of_what_is_left_over_do_not_depend_on_units() -> None:
    """‖x‖ <= sum_i c_i |x_i|: c is divided by the units of the coordinates, and is a bound."""
    generator = np.random.default_rng(4)
    vertices, points = generator.normal(size=(3, 9)), generator.normal(size=(3, 50))
    costs = leftover_costs(vertices)
    assert np.all(norms(vertices, points) <= costs @ np.abs(points) * (1.0 + 1e-12))
    units = np.array([1.0, 2.0**30, 2.0**-40])
    np.testing.assert_array_equal(leftover_costs(units[:, None] * vertices), costs / units)
    assert np.all(leftover_costs(np.ones((3, 5))) == np.inf)


def test_a_guide_in_other_coordinates_never_makes_it_worse() -> None:
    generator = np.random.default_rng(5)
    matrices, vertices = generator.normal(size=(2, 4, 4)), generator.normal(size=(4, 12))
    basis = generator.normal(size=(4, 4))
    turned = np.linalg.solve(basis, matrices @ basis)
    guides = [(matrices, vertices), (turned, np.linalg.solve(basis, vertices))]
    plain = operator_norm(matrices, vertices, *represent(matrices, vertices))
    guided = operator_norm(matrices, vertices, *represent(matrices, vertices, guides))
    assert guided == pytest.approx(plain, rel=1e-9)
    assert guided <= plain * (1.0 + 1e-14)
