import numba
import numpy as np
import pytest

from ravine import Curvature
from ravine.problems import from_functions

BOUNDS = Curvature(1, 3)


def test_a_list_and_an_indexed_function_are_the_same():
    listed = from_functions(
        gradients=[lambda x: x, lambda x: 3 * (x - 1)], dimension=2, curvature=BOUNDS
    )
    indexed = from_functions(
        gradients=lambda i, x: x if i == 0 else 3 * (x - 1),
        terms=2,
        dimension=2,
        curvature=BOUNDS,
    )
    np.testing.assert_allclose(listed.minimiser, [0.75, 0.75], atol=1e-12)
    np.testing.assert_array_equal(listed.minimiser, indexed.minimiser)
    assert listed.terms == 2


def test_compiled_gradients_are_taken_as_they_are():
    @numba.njit
    def slope(x):
        return 2.0 * x

    problem = from_functions(slope, dimension=3, curvature=BOUNDS, minimiser=np.zeros(3))
    np.testing.assert_array_equal(problem.gradient([1.0, 2.0, 3.0]), [2.0, 4.0, 6.0])


def test_values_are_integrated_where_none_are_given():
    # f = log cosh x + x²/2 has slope tanh x + x; 16 nodes of Gauss leave 1e-12 at x = 2.
    slope = from_functions(
        lambda x: np.tanh(x) + x, dimension=1, curvature=Curvature(1, 2), minimiser=[0.0]
    )
    assert slope.objective([2.0]) == pytest.approx(np.log(np.cosh(2.0)) + 2.0, abs=1e-11)
    given = from_functions(
        lambda x: x, objective=lambda x: 7 + x @ x / 2, dimension=1, curvature=BOUNDS
    )
    assert given.objective([2.0]) == 9.0
    assert given.minimum == pytest.approx(7.0)


def test_one_value_may_come_alone_or_in_a_list():
    slope, value = (lambda x: x), (lambda x: x @ x / 2)
    for options in ({"objective": value}, {"objectives": [value]}):
        problem = from_functions(gradients=[slope], dimension=1, curvature=BOUNDS, **options)
        assert problem.objective([2.0]) == 2.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "gradient or gradients must be given, one of them, got neither"),
        ({"gradient": np.sin, "gradients": [np.sin]}, "one of them, got both"),
        ({"gradient": 3}, "gradients must be a function of x, or a list of them, got list"),
        ({"gradients": []}, "gradients must be a function of x, or a list"),
        ({"gradients": lambda i, x: x}, "terms must be given with one function"),
        (
            {"gradients": [np.sin], "terms": 2},
            "gradients must be 2 functions of x, one for each term, got 1",
        ),
        (
            {"gradient": np.sin, "terms": 2},
            "gradients must be 2 functions of x, one for each term, got 1",
        ),
        ({"gradient": lambda x: 1.0}, "gradient must be a function that returns 2 numbers"),
        ({"gradient": np.sin, "start": [1.0]}, "start must be a vector of 2 coordinates, got"),
        ({"gradients": [np.sin] * 2, "objective": np.sin}, "objectives must be 2 functions of x"),
        (
            {"gradients": [np.sin], "objectives": [np.sin] * 2},
            "objectives must be 1 functions of x, one for each term, got 2",
        ),
    ],
)
def test_bad_input_is_one_line(options, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        from_functions(**{"dimension": 2, "curvature": BOUNDS} | options)
    assert "\n" not in str(caught.value)


def test_a_minimiser_that_is_not_found_is_said():
    lost = from_functions(lambda x: 1.0 + x**2, start=[1.0], dimension=1, curvature=Curvature(1, 3))
    with pytest.raises(ValueError, match="minimiser must be found from the start, got a gradient"):
        _ = lost.minimiser
