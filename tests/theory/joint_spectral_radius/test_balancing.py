import numpy as np

from ravine.theory.joint_spectral_radius.balancing import balanced_units, in_units


def test_units_are_powers_of_two_and_undo_a_scaling() -> None:
    generator = np.random.default_rng(3)
    matrices = generator.normal(size=(3, 5, 5))
    stretch = 2.0 ** generator.integers(-30, 30, 5)
    units = balanced_units(in_units(matrices, stretch))
    exponents = np.log2(units)
    np.testing.assert_array_equal(exponents, np.round(exponents))
    balanced = in_units(in_units(matrices, stretch), units)
    sizes = np.abs(balanced)[np.abs(balanced) > 0.0]
    plain = np.abs(matrices)
    # as even as before up to a few factors of two
    assert sizes.max() <= 16.0 * plain.max()
    sums = np.abs(balanced).sum(axis=0)
    np.fill_diagonal(sums, 0.0)
    assert np.all(sums.sum(axis=0) <= 4.0 * sums.sum(axis=1))
    assert np.all(sums.sum(axis=1) <= 4.0 * sums.sum(axis=0))


def test_balanced_matrices_stay_as_they_are() -> None:
    assert np.all(balanced_units(np.ones((2, 4, 4))) == 1.0)
    assert np.all(balanced_units(np.array([[[1.0, 5.0], [0.0, 1.0]]])) == 1.0)


def test_nothing_is_rounded() -> None:
    matrices = np.random.default_rng(1).normal(size=(2, 3, 3))
    units = np.array([2.0**40, 1.0, 2.0**-17])
    np.testing.assert_array_equal(in_units(in_units(matrices, units), 1.0 / units), matrices)
