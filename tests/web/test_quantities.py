import numpy as np
import pytest

import ravine
from ravine.sampling import Sampling
from ravine.web.quantities import QUANTITIES
from ravine.web.view import View


@pytest.mark.parametrize("gamma", [None, 0.0, 0.8])
def test_error_and_loss_after_k_steps_are_exact_for_every_look_ahead(gamma):
    view = View(Q=8.0, K=25, sigma2=0.3, gamma=gamma)
    method = ravine.Method(0.7 / 8.0, 0.4, gamma)
    ends = np.array([1.0, 8.0])
    moments = ravine.second_moment(ends, method, sigma2=0.3, start=1.0, steps=25)[-1]
    error = QUANTITIES["error"].values(view, method)
    loss = QUANTITIES["excess"].values(view, method)
    assert float(np.squeeze(error)) == pytest.approx(moments.max(), rel=1e-10)
    assert float(np.squeeze(loss)) == pytest.approx((0.5 * ends * moments).max(), rel=1e-10)


@pytest.mark.parametrize("sampling", Sampling)
def test_the_odd_sum_has_its_growth_in_every_order(sampling):
    view = View(Q=8.0, n=5, sampling=sampling)
    method = ravine.Method(0.7 / 8.0, 0.4)
    sums = [[8.0, 1.0, 1.0]] * 4 + [[8.0, 1.0, 8.0]]
    expected = ravine.growth(sums, method, sampling=sampling).rate
    assert float(np.squeeze(QUANTITIES["sum"].values(view, method))) == pytest.approx(expected)


def test_the_floor_is_that_of_the_worst_direction():
    view = View(Q=8.0, sigma2=0.3)
    method = ravine.Method(0.7 / 8.0, 0.4)
    expected = 0.3 * float(ravine.exact_noise_coefficient(view.curvature, method))
    assert float(QUANTITIES["floor"].values(view, method)) == pytest.approx(expected)
