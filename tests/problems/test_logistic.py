import sys

import numpy as np
import pytest

from ravine.problems import multinomial_logistic


def test_the_data_are_what_the_paper_describes():
    problem = multinomial_logistic()
    assert problem.X.shape == (100, 10)
    assert problem.loss.outputs == 5
    assert problem.dimension == 50
    assert problem.terms == 1
    assert multinomial_logistic(batch_size=20).terms == 5


def test_the_global_bound_is_half_the_largest_eigenvalue():
    problem = multinomial_logistic(l2=0.03)
    top = np.linalg.eigvalsh(problem.X.T @ problem.X / 100)[-1]
    assert float(problem.curvature.L) == pytest.approx(0.03 + top / 2, rel=1e-13)
    assert float(problem.curvature.mu) == 0.03


def test_l2_is_met_and_the_bound_is_not_on_a_path():
    # The softmax does not change when one vector is added to every class: mu = l2 exactly.
    problem = multinomial_logistic(l2=0.03)
    path = np.linspace(0, 1, 5)[:, None] * problem.minimiser
    met = problem.curvature_along(path)
    assert float(met.mu) == pytest.approx(0.03, rel=1e-10)
    assert float(met.L) < float(problem.curvature.L)
    assert float(met.Q) < float(problem.curvature.Q)


def test_newton_ends_at_rounding():
    for separation, l2 in ((0.5, 1e-4), (5.0, 1e-3)):
        problem = multinomial_logistic(separation=separation, l2=l2)
        assert np.linalg.norm(problem.gradient(problem.minimiser)) < 1e-13


def test_a_missing_library_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match=r"pip install 'ravine\[data\]'"):
        multinomial_logistic()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"l2": 0}, "l2 must be positive"),
        ({"separation": -1}, "separation must be positive"),
        ({"informative": 11}, "informative must be at most 10"),
        ({"informative": 2}, "informative must be at most 10 and at least log2 of the 5 classes"),
        ({"classes": 1}, "classes must be at least 2"),
        ({"batch_size": 101}, "batch_size must be at most 100"),
        ({"samples": 1.5}, "samples must be a whole number"),
    ],
)
def test_bad_input_is_one_line(options, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        multinomial_logistic(**options)
    assert "\n" not in str(caught.value)
