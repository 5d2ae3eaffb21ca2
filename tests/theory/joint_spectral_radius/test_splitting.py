import numpy as np
import pytest

from ravine.theory.joint_spectral_radius.norms import in_units, jointly_nilpotent
from ravine.theory.joint_spectral_radius.radius import (
    balanced_units,
    coordinate_blocks,
    invariant_subspace,
    triangular_basis,
)


def test_nilpotency_is_exact() -> None:
    strict = np.triu(np.arange(32.0).reshape(2, 4, 4), 1)
    assert jointly_nilpotent(strict)
    strict[0, 3, 0] = 1e-300
    assert not jointly_nilpotent(strict)


def test_coordinate_blocks_make_the_set_triangular() -> None:
    matrices = np.triu(np.ones((2, 5, 5)))
    matrices[0, 2, 1] = 1.0
    order = np.array([3, 0, 4, 1, 2])
    shuffled = matrices[:, order][:, :, order]
    groups = coordinate_blocks(shuffled)
    assert sorted(len(group) for group in groups) == [1, 1, 1, 2]
    whole = np.concatenate(groups)
    moved = shuffled[:, whole][:, :, whole]
    ends = np.cumsum([len(group) for group in groups])
    for end in ends:
        assert not moved[:, end:, :end].any()


@pytest.mark.parametrize("sizes", [(2, 3), (1, 1, 1, 1), (3, 3, 2), (2, 2, 2, 2)])
def test_hidden_blocks(sizes: tuple[int, ...]) -> None:
    generator = np.random.default_rng(sum(sizes))
    n = sum(sizes)
    matrices = generator.normal(size=(3, n, n))
    first = 0
    for size in sizes:
        first += size
        matrices[:, first:, :first] = 0.0
    basis = generator.normal(size=(n, n))
    turned = np.linalg.solve(basis, matrices @ basis)
    found, found_sizes = triangular_basis(turned, generator)
    assert sorted(found_sizes) == sorted(sizes)
    moved = found.T @ turned @ found
    first = 0
    for size in found_sizes:
        first += size
        assert np.abs(moved[:, first:, :first]).max(initial=0.0) < 1e-11 * np.abs(turned).max()


def test_copies_of_one_set_are_split() -> None:
    generator = np.random.default_rng(1)
    matrices = np.stack([np.kron(a, np.eye(2)) for a in generator.normal(size=(2, 3, 3))])
    basis = generator.normal(size=(6, 6))
    assert triangular_basis(np.linalg.solve(basis, matrices @ basis), generator)[1] == [3, 3]


def test_irreducible_sets_have_no_invariant_subspace() -> None:
    generator = np.random.default_rng(2)
    for n in (2, 4, 7):
        assert invariant_subspace(generator.normal(size=(2, n, n)), generator) is None
    turn = np.array([[[0.0, -1.0], [1.0, 0.0]]])
    assert invariant_subspace(turn, generator) is None


def test_units_are_powers_of_two_and_undo_a_scaling() -> None:
    generator = np.random.default_rng(3)
    matrices = generator.normal(size=(3, 5, 5))
    stretched = in_units(matrices, 2.0 ** generator.integers(-30, 30, 5))
    units = balanced_units(stretched)
    exponents = np.log2(units)
    np.testing.assert_array_equal(exponents, np.round(exponents))
    balanced = np.abs(in_units(stretched, units))
    # as even as before up to a few factors of two
    assert balanced.max() <= 16.0 * np.abs(matrices).max()
    rows, columns = (np.linalg.norm(balanced.sum(axis=0), axis=axis) for axis in (1, 0))
    assert np.all(rows <= 4.0 * columns)
    assert np.all(columns <= 4.0 * rows)


def test_balanced_matrices_stay_as_they_are() -> None:
    assert np.all(balanced_units(np.ones((2, 4, 4))) == 1.0)


def test_other_units_round_nothing() -> None:
    matrices = np.random.default_rng(1).normal(size=(2, 3, 3))
    units = np.array([2.0**40, 1.0, 2.0**-17])
    np.testing.assert_array_equal(in_units(in_units(matrices, units), 1.0 / units), matrices)
