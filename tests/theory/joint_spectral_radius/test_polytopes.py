"""Norms of polytopes by linear programmes, polytopes that grow, and what they prove."""

import numpy as np
import pytest
from scipy.optimize import linprog

from ravine.theory.joint_spectral_radius.invariant_polytope import Polytope
from ravine.theory.joint_spectral_radius.norm_proof import InvariantPolytope
from ravine.theory.joint_spectral_radius.polytope_norm import (
    PositiveHull,
    SymmetricHull,
    operator_norm,
    represent,
)
from ravine.theory.joint_spectral_radius.radius import joint_spectral_radius


def norm_of(hull, matrices, guides=()):
    return operator_norm(hull, matrices, *represent(hull, matrices, guides))


@pytest.mark.parametrize(("n", "m"), [(2, 7), (4, 30), (8, 60)])
def test_norms_against_a_linear_programme(n, m):
    generator = np.random.default_rng(n)
    vertices, points = generator.normal(size=(n, m)), generator.normal(size=(n, 12))
    both = np.hstack([vertices, -vertices])
    expected = [linprog(np.ones(2 * m), A_eq=both, b_eq=point).fun for point in points.T]
    np.testing.assert_allclose(SymmetricHull(vertices).norms(points), expected, rtol=1e-9)


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
        hull = SymmetricHull(generator.normal(size=(3, 20)))
        points = 2.0 * generator.normal(size=(3, 200))
    full = hull.norms(points)
    early = hull.norms(points, 1.0)
    np.testing.assert_array_equal(full > 1.0, early > 1.0)
    assert np.all(early >= full * (1.0 - 1e-12))
    assert 0 < np.sum(full > 1.0) < 200


def test_octahedron():
    """Unit vectors: the norm is the sum of absolute values, the ball inside has radius 1/√n."""
    points = np.array([[1.0, -0.5], [2.0, 0.0], [-3.0, 0.25]])
    hull = SymmetricHull(np.eye(3))
    np.testing.assert_allclose(hull.norms(points), [6.0, 0.75], rtol=1e-14)
    assert hull.inner_radius() == pytest.approx(3.0**-0.5)
    matrices = np.array([[[0.0, 1.0], [2.0, 0.5]]])
    assert norm_of(SymmetricHull(np.eye(2)), matrices) == pytest.approx(2.0)  # the column sum


def test_whatever_is_below_a_vertex_is_inside():
    hull = PositiveHull(np.array([[2.0], [4.0]]))
    points = np.array([[2.0, 0.0, 1.0], [4.0, 4.0, 3.0]])
    np.testing.assert_allclose(hull.norms(points), [1.0, 1.0, 0.75], rtol=1e-13)


def test_a_contraction_closes_and_an_expansion_does_not():
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    start = np.array([[1.0], [0.0]])
    closing = Polytope(0.99 * turn[None], start)
    closing.grow(500)
    assert closing.closed
    assert closing.hull.norms(0.99 * turn @ closing.vertices).max() <= 1.0 + 1e-11
    growing = Polytope(1.01 * turn[None], start)
    growing.grow(500)
    assert not growing.closed
    assert (0, 0) in growing.words()


def test_vertices_in_a_common_subspace_get_a_short_companion_across_it():
    """Both axes are invariant: images of the first never leave it."""
    matrices = np.array([[[0.9, 0.0], [0.0, 0.5]]])
    flat = Polytope(matrices, np.array([[1.0], [0.0]]))
    flat.grow(100)
    assert flat.spans
    assert flat.closed
    assert norm_of(flat.hull, matrices) == pytest.approx(0.9, rel=1e-12)


def test_costs_of_what_is_left_over_do_not_depend_on_units():
    """‖x‖ <= sum_i c_i |x_i|: c is divided by the units of the coordinates, and is a bound."""
    generator = np.random.default_rng(4)
    vertices, points = generator.normal(size=(3, 9)), generator.normal(size=(3, 50))
    hull = SymmetricHull(vertices)
    costs = hull.leftover_costs()
    assert np.all(hull.norms(points) <= costs @ np.abs(points) * (1.0 + 1e-12))
    units = np.array([1.0, 2.0**30, 2.0**-40])
    scaled = SymmetricHull(units[:, None] * vertices).leftover_costs()
    np.testing.assert_array_equal(scaled, costs / units)
    assert np.all(SymmetricHull(np.ones((3, 5))).leftover_costs() == np.inf)


def test_a_guide_in_other_coordinates_never_makes_it_worse():
    generator = np.random.default_rng(5)
    matrices, vertices = generator.normal(size=(2, 4, 4)), generator.normal(size=(4, 12))
    basis = generator.normal(size=(4, 4))
    hull = SymmetricHull(vertices)
    guide = SymmetricHull(np.linalg.solve(basis, vertices))
    turned = np.linalg.solve(basis, matrices @ basis)
    plain = norm_of(hull, matrices)
    guided = norm_of(hull, matrices, [(guide, turned)])
    assert guided == pytest.approx(plain, rel=1e-9)
    assert guided <= plain * (1.0 + 1e-14)


@pytest.mark.parametrize("positive", [False, True])
def test_proof_and_forgeries(positive):
    matrices = np.array([[[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0], [1.0, 1.0]]])
    golden = (1.0 + np.sqrt(5.0)) / 2.0
    start = np.array([[golden], [1.0]])
    growing = Polytope(matrices / golden, start, positive=positive)
    growing.grow(100)
    assert growing.closed
    basis, weights = represent(growing.hull, matrices)
    bound = operator_norm(growing.hull, matrices, basis, weights)
    assert golden <= bound <= golden * (1.0 + 1e-12)
    proof = InvariantPolytope(matrices, growing.vertices, basis, weights, bound, positive)
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
        assert not InvariantPolytope(**{**vars(proof), **change}).verify()


def test_a_large_set_without_negative_entries():
    """Fourteen coordinates: a polytope of the whole space would need far too many vertices."""
    generator = np.random.default_rng(6)
    matrices = generator.integers(0, 2, (2, 14, 14)) * (generator.uniform(size=(2, 14, 14)) < 0.3)
    result = joint_spectral_radius(matrices)
    assert result.relative_width <= 1e-6
    assert result.proof.kind.endswith("in the positive orthant")
    assert result.proof.verify()
