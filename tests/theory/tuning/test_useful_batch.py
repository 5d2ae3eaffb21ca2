"""Three batch sizes, against the laws for large Q and against the rates themselves."""

import numpy as np
import pytest

from ravine import Curvature, batch_sizes, useful_batch_size
from ravine.theory.tuning.batch_gain import fastest_pair, fastest_sgd


@pytest.mark.parametrize("efficiency", [0.25, 0.5, 0.9])
def test_the_efficiency_of_sgd_is_the_one_asked_for(efficiency):
    curvature, known = Curvature(1, 1e5), {"L_max": 3e6, "mu_min": None}
    best = useful_batch_size(curvature, L_max=3e6, method="sgd", efficiency=efficiency)
    samples = [
        size * fastest_sgd(curvature, {"batch_size": size, **known}).steps_per_digit
        for size in (1.0, best.size)
    ]
    assert samples[0] / samples[1] == pytest.approx(efficiency, rel=5e-3)
    assert best.size == pytest.approx(best.law, rel=5e-3)


def test_tuned_nesterov_follows_its_law_at_large_Q():
    curvature = Curvature(1, 1e5)
    best = useful_batch_size(curvature, L_max=1e6)
    assert best.law == pytest.approx(2.4997 * 10 * np.sqrt(1e5), rel=1e-4)
    assert float(best) == pytest.approx(best.law, rel=0.02)
    options = {"batch_size": best.size, "L_max": 1e6, "mu_min": None}
    exact = {**options, "batch_size": 1e12}
    steps = [fastest_pair(curvature, one)[1].steps_per_digit for one in (options, exact)]
    assert steps[0] / steps[1] == pytest.approx(1.848, rel=0.02)


def test_the_three_sizes_scale_differently():
    sizes = batch_sizes(Curvature(1, 1000), L_max=10_000)
    assert sizes.stable == pytest.approx(80.4906, rel=1e-5)
    assert 10 < sizes.momentum_pays < 25
    assert sizes.useful.size == pytest.approx(sizes.useful.law, rel=0.05)
    assert sizes.useful_sgd.size == pytest.approx(1 + (3 + 2 * np.sqrt(2)) * 10, rel=0.01)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="efficiency must be below 1"):
        useful_batch_size(Curvature(1, 8), efficiency=1.0)
    with pytest.raises(ValueError, match="method must be sgd or nesterov"):
        useful_batch_size(Curvature(1, 8), method="adam")
