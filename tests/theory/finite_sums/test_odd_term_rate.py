import numpy as np
import pytest

import ravine
from ravine.sampling import Sampling
from ravine.theory.finite_sums.odd_term import odd_term_moment
from ravine.theory.finite_sums.odd_term_rate import odd_term_rate

METHODS = [
    ravine.Method(0.1, 0.3),
    ravine.Method(0.05, 0.8),
    ravine.Method(0.12, 0.6, 0.0),
    ravine.Method(0.3, 0.9),
    ravine.Method(0.02, -0.4),
]


@pytest.mark.parametrize("sampling", Sampling)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_it_is_the_growth_of_the_sum(sampling, n):
    hessians = [[1.0]] * (n - 1) + [[8.0]]
    for method in METHODS:
        exact = ravine.growth(hessians, method, sampling=sampling, sense="mean-square")
        rate = odd_term_rate(1.0, 8.0, method, n=n, sampling=sampling)
        assert exact.exact
        assert float(rate) == pytest.approx(exact.rate, rel=1e-6)


@pytest.mark.parametrize("sampling", Sampling)
@pytest.mark.parametrize("n", [7, 50])
def test_the_exact_moments_grow_at_this_rate(sampling, n):
    """Over 40 epochs the moments' own factor, at most 1e4 here, is worth 1e4^(1/(40 n))."""
    for method in METHODS[:2]:
        moments = odd_term_moment(1.0, 8.0, method, n=n, sampling=sampling, steps=60 * n)
        early, late = moments[20 * n], moments[60 * n]
        if not (np.isfinite(late) and late > 1e-280):
            continue
        measured = (late / early) ** (1.0 / (80.0 * n))
        rate = float(odd_term_rate(1.0, 8.0, method, n=n, sampling=sampling))
        assert rate == pytest.approx(measured, rel=np.log(1e4) / (80.0 * n))


@pytest.mark.parametrize("sampling", Sampling)
def test_planes_of_methods_and_long_epochs(sampling):
    plane = ravine.Method(np.linspace(1e-4, 2e-3, 6)[None, :], np.linspace(-0.9, 1.0, 5)[:, None])
    rates = odd_term_rate(1.0, 2000.0, plane, n=1000, sampling=sampling)
    assert rates.shape == (5, 6)
    assert np.isfinite(rates).all()
    one = ravine.Method(float(plane.alpha[0, 2]), float(plane.beta[3, 0]))
    alone = odd_term_rate(1.0, 2000.0, one, n=1000, sampling=sampling)
    assert rates[3, 2] == pytest.approx(float(alone), rel=1e-12)


def test_the_usual_parameters_of_the_paper():
    """The paper's example in every order, in closed form."""
    curvature = ravine.Curvature(1.0, 2000.0)
    for sampling in Sampling:
        for n in (50, 250):
            known = ravine.finite_sums.counterexample_growth(
                curvature, n, sampling=sampling, sense="mean-square"
            )
            rate = odd_term_rate(1.0, 2000.0, ravine.nesterov(curvature), n=n, sampling=sampling)
            assert float(rate) ** 2 == pytest.approx(float(known), rel=1e-4)


def test_a_step_that_forgets_everything():
    method = ravine.Method(1.0, 0.0)
    assert float(odd_term_rate(1.0, 2.0, method, n=3, sampling=Sampling.CYCLIC)) < 1e-5
