"""Where the roots of polynomials with rational coefficients are, decided without rounding."""

from fractions import Fraction

import numpy as np

from ravine.theory.ladder.transfer import exact, positive_on_interval, roots_inside_unit_circle


def test_schur_cohn_agrees_with_the_roots():
    rng = np.random.default_rng(1)
    for _ in range(200):
        p = rng.normal(size=rng.integers(2, 7))
        largest = np.abs(np.roots(p[::-1])).max()
        if abs(largest - 1.0) > 1e-6:
            assert roots_inside_unit_circle(exact(p)) == (largest < 1.0)


def test_a_root_on_the_circle_is_not_inside():
    """z - 1, z + 1, z² + 1, and a root at zero beside 1/2."""
    assert not roots_inside_unit_circle(exact([-1, 1]))
    assert not roots_inside_unit_circle(exact([1, 1]))
    assert not roots_inside_unit_circle(exact([1, 0, 1]))
    assert roots_inside_unit_circle(exact([0, -0.5, 1]))


def test_sturm_sees_every_root_in_the_interval():
    rng = np.random.default_rng(2)
    seen = set()
    for _ in range(300):
        p = rng.normal(size=rng.integers(2, 7))
        p[0] += 1.0
        grid = np.polynomial.polynomial.polyval(np.linspace(-1, 1, 4001), p)
        if abs(grid.min()) > 1e-4:
            assert positive_on_interval(exact(p)) == bool(grid.min() > 0.0)
            seen.add(bool(grid.min() > 0.0))
    assert seen == {True, False}


def test_a_double_root_inside_is_not_positive():
    """(x - 1/3)² with 1/3 exact touches zero; a thousandth above it does not."""
    touching = np.array([Fraction(1, 9), Fraction(-2, 3), Fraction(1)])
    assert not positive_on_interval(touching)
    assert positive_on_interval(np.add(touching, [Fraction(1, 1000), 0, 0]))
    assert not positive_on_interval(exact([0]))
    assert not positive_on_interval(exact([1, 1]))
