"""Norms of polytopes by linear programs, polytopes that grow, and what they prove."""

import numpy as np
import pytest
from scipy.optimize import linprog

from ravine.theory.joint_spectral_radius.hulls import Hull, Polytope, PositiveHull, images
from ravine.theory.joint_spectral_radius.norms import PolytopeNorm
from ravine.theory.joint_spectral_radius.radius import joint_spectral_radius


def norm_of(hull, matrices):
    return hull.operator_norm(matrices, hull.bases(images(matrices, hull.vertices)))


@pytest.mark.parametrize(("n", "m"), [(2, 7), (4, 30), (8, 60)])
def test_norms_against_a_linear_programme(n, m):
    generator = np.random.default_rng(n)
    vertices, points = generator.normal(size=(n, m)), generator.normal(size=(n, 12))
    both = np.hstack([vertices, -vertices])
    expected = [linprog(np.ones(2 * m), A_eq=both, b_eq=point).fun for point in points.T]
    np.testing.assert_allclose(Hull(vertices).norms(points), expected, rtol=1e-9)


@pytest.mark.parametrize(("n", "m"), [(2, 5), (5, 12), (12, 30)])
def test_norms_in_the_orthant_against_a_linear_programme(n, m):
    generator = np.random.default_rng(n)
    vertices = generator.uniform(size=(n, m)) ** 3
    points = generator.uniform(size=(n, 15))
    expected = [linprog(np.ones(m), A_ub=-vertices, b_ub=-point).fun for point in points.T]
    np.testing.assert_allclose(PositiveHull(vertices).norms(points), expected, rtol=1e-9)


@pytest.mark.parametrize("positive", [False, True])
def test_stopping_early_decides_the_same_side(positive):
    generator = np.random.default_rng(0)
    if positive:
        hull = PositiveHull(generator.uniform(size=(4, 15)))
        points = 1.3 * generator.uniform(size=(4, 200))
    else:
        hull = Hull(generator.normal(size=(3, 20)))
        points = 2.0 * generator.normal(size=(3, 200))
    full = hull.norms(points)
    early = hull.norms(points, 1.0)
    np.testing.assert_array_equal(full > 1.0, early > 1.0)
    assert np.all(early >= full * (1.0 - 1e-12))
    assert 0 < np.sum(full > 1.0) < 200


def test_octahedron():
    """Unit vectors: the norm is the sum of absolute values, the ball inside has radius 1/√n."""
    points = np.array([[1.0, -0.5], [2.0, 0.0], [-3.0, 0.25]])
    hull = Hull(np.eye(3))
    np.testing.assert_allclose(hull.norms(points), [6.0, 0.75], rtol=1e-14)
    assert hull.inner_radius() == pytest.approx(3.0**-0.5)
    assert PositiveHull(np.diag([1.0, 2.0])).inner_radius() == 0.5
    matrices = np.array([[[0.0, 1.0], [2.0, 0.5]]])
    assert norm_of(Hull(np.eye(2)), matrices) == pytest.approx(2.0)  # the column sum


def test_whatever_is_below_a_vertex_is_inside():
    hull = PositiveHull(np.array([[2.0], [4.0]]))
    points = np.array([[2.0, 0.0, 1.0], [4.0, 4.0, 3.0]])
    np.testing.assert_allclose(hull.norms(points), [1.0, 1.0, 0.75], rtol=1e-13)


def test_a_contraction_closes_and_an_expansion_does_not():
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    start = np.array([[1.0], [0.0]])
    closing = Polytope(0.99 * turn[None], start, Hull)
    closing.grow(500)
    assert closing.closed
    assert Hull(closing.vertices).norms(0.99 * turn @ closing.vertices).max() <= 1.0 + 1e-11
    growing = Polytope(1.01 * turn[None], start, Hull)
    growing.grow(500)
    assert not growing.closed
    assert (0, 0) in growing.words()


def test_vertices_in_a_common_subspace_get_a_short_companion_across_it():
    """Both axes are invariant: images of the first never leave it."""
    matrices = np.array([[[0.9, 0.0], [0.0, 0.5]]])
    flat = Polytope(matrices, np.array([[1.0], [0.0]]), Hull)
    flat.grow(100)
    assert flat.closed
    assert norm_of(Hull(flat.vertices), matrices) == pytest.approx(0.9, rel=1e-12)


def test_costs_of_what_is_left_over_do_not_depend_on_units():
    """‖x‖ <= sum_i c_i |x_i|: c is divided by the units of the coordinates, and is a bound."""
    generator = np.random.default_rng(4)
    vertices, points = generator.normal(size=(3, 9)), generator.normal(size=(3, 50))
    hull = Hull(vertices)
    costs = hull.leftover_costs()
    assert np.all(hull.norms(points) <= costs @ np.abs(points) * (1.0 + 1e-12))
    units = np.array([1.0, 2.0**30, 2.0**-40])
    scaled = Hull(units[:, None] * vertices).leftover_costs()
    np.testing.assert_array_equal(scaled, costs / units)
    assert np.all(Hull(np.ones((3, 5))).leftover_costs() == np.inf)


@pytest.mark.parametrize("kind", [Hull, PositiveHull])
def test_a_closed_polytope_proves_the_golden_ratio(kind):
    matrices = np.array([[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]])
    golden = (1.0 + np.sqrt(5.0)) / 2.0
    growing = Polytope(matrices / golden, np.array([[golden], [1.0]]), kind)
    growing.grow(100)
    assert growing.closed
    basis = kind(growing.vertices).bases(images(matrices, growing.vertices))
    norm = PolytopeNorm(growing.vertices, basis, kind is PositiveHull)
    assert golden <= norm.bound(matrices) <= golden * (1.0 + 1e-12)
    assert norm.bound(1.01 * matrices) > 1.009 * golden
    if norm.positive:
        assert norm.bound(-matrices) == np.inf


def test_a_large_set_without_negative_entries():
    """Fourteen coordinates: a polytope of the whole space would need far too many vertices."""
    generator = np.random.default_rng(6)
    matrices = generator.integers(0, 2, (2, 14, 14)) * (generator.uniform(size=(2, 14, 14)) < 0.3)
    result = joint_spectral_radius(matrices)
    assert result.relative_width <= 1e-6
    assert result.proof.kind.endswith("in the positive orthant")
    assert result.proof.verify()
