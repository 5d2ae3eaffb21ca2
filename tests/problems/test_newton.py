import numpy as np
import pytest

from ravine.problems.spectrum import newton


def test_a_quadratic_takes_one_step():
    H = np.array([[3.0, 1.0], [1.0, 2.0]])
    best = np.array([1.0, -2.0])
    asked = []

    def gradient(x):
        asked.append(x)
        return H @ (x - best)

    found = newton(np.zeros(2), gradient, lambda x, g: np.linalg.solve(H, g))
    np.testing.assert_allclose(found, best, atol=1e-15)
    # The start, the step, and at most a few tries to fall below rounding.
    assert len(asked) <= 30


def test_steps_that_overshoot_are_halved():
    # Newton's full step for arctan leads away from beyond 1.39: it diverges from 3 undamped.
    def solve(x, g):
        return g * (1 + x**2)

    found = newton(np.array([3.0]), np.arctan, solve)
    assert abs(found[0]) < 1e-12


def test_a_minimiser_stays_where_it_is():
    start = np.array([2.0])
    assert newton(start, lambda x: x - 2.0, lambda x, g: g) is start


@pytest.mark.parametrize(("objective", "last"), [(None, 4), (lambda x: 1.0, 2)])
def test_only_with_an_objective_the_search_ends_before_the_last_digit(objective, last):
    # The norm of the gradient after 0, 1, ... whole steps: it still falls by a little at rounding.
    norms = np.array([1.0, 9e-14, 8e-14, 7e-14, 6e-14, 6e-14])

    found = newton(
        np.zeros(1),
        lambda x: norms[x.astype(int)],
        lambda x, g: np.array([-1.0]),
        objective=objective,
    )
    assert found == last
