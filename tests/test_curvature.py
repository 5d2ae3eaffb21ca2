import numpy as np
import pytest

from ravine import Curvature


def test_condition_number_broadcasts():
    curvature = Curvature([[1.0], [2.0]], [4.0, 8.0])
    np.testing.assert_array_equal(curvature.Q, [[4.0, 8.0], [2.0, 4.0]])


def test_equal_curvatures_are_fine():
    assert Curvature(2, 2).Q == 1.0


@pytest.mark.parametrize(
    ("mu", "L", "message"),
    [
        (0.0, 1.0, "mu must be positive and finite, got 0"),
        (1.0, np.inf, "L must be positive and finite, got inf"),
        (2.0, 1.0, "mu must be at most L, got mu=2 with L=1: swap the two"),
        ([1.0, 3.0], [2.0, 2.5], "mu must be at most L, got mu=3 with L=2.5"),
        ([], 1.0, "mu must be non-empty"),
        ([1.0, 2.0], [3.0, 4.0, 5.0], "mu and L must be of shapes that broadcast together"),
    ],
)
def test_bad_bounds_are_refused(mu, L, message):
    with pytest.raises(ValueError, match=message):
        Curvature(mu, L)


def test_it_cannot_be_changed():
    with pytest.raises(AttributeError):
        Curvature(1.0, 2.0).mu = 0.5
