"""Each recommendation beats its neighbours and keeps its guarantee."""

import numpy as np
import pytest

from ravine import (
    Curvature,
    Method,
    certificate,
    growth,
    recommend,
    safe_step,
    second_moment,
    sgd,
    worst_case_rate,
)

EXAMPLE = np.array([[32.0, 1.0, 1.0]] * 4 + [[32.0, 1.0, 32.0]])


def test_any_sampling_gets_sgd():
    curvature = Curvature(1, 32)
    advice = recommend(curvature)
    assert advice.method.alpha == sgd(curvature).alpha
    assert advice.value == pytest.approx(31 / 33, rel=1e-12)
    assert advice.ladder.worst_case_rate == advice.value


@pytest.mark.parametrize("beta", [0.9, 0.3, -0.3])
def test_a_momentum_gets_the_largest_safe_step(beta):
    curvature = Curvature(1, 32)
    advice = recommend(curvature, beta=beta)
    assert advice.method.alpha == safe_step(32, beta)
    assert advice.value == worst_case_rate(curvature, advice.method) < 1.0
    assert certificate(curvature, advice.method).verify()


@pytest.mark.parametrize(("sigma2", "steps"), [(1.0, 100), (0.01, 7), (0.0, 40)])
def test_a_budget_cannot_be_spent_better_nearby(sigma2, steps):
    curvature, distance = Curvature(1, 32), 10.0
    options = {"sigma2": sigma2, "steps": steps}
    advice = recommend(curvature, setting="additive-noise", distance=distance, **options)
    spectrum = np.geomspace(1, 32, 300)

    def worst(method):
        return second_moment(spectrum, method, start=distance, **options)[-1].max()

    alpha, beta = float(advice.method.alpha), float(advice.method.beta)
    assert worst(advice.method) == pytest.approx(advice.value, rel=1e-3)
    for more in (0.9, 0.99, 1.01, 1.1):
        for shift in (-0.05, -0.005, 0.0, 0.005, 0.05):
            neighbour = worst(Method(alpha * more, beta + shift))
            # The spectrum above is a sample of the adversary's choices.
            assert neighbour >= advice.value * (1 - 1e-3)


def test_a_given_sum_gets_its_fastest_mean_square_rate():
    curvature = Curvature(1, 32)
    advice = recommend(curvature, setting="finite-sum", hessians=EXAMPLE)
    assert advice.value == pytest.approx(0.9272811, abs=5e-8)
    seen = growth(EXAMPLE, advice.method, sampling="iid", sense="mean-square").value
    assert np.sqrt(seen) == pytest.approx(advice.value, rel=1e-9)
    assert "SGD at 2/(mu + L) has 0.939394" in advice.reason


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"setting": "noisy"}, "setting must be one of any-sampling, .* got 'noisy'"),
        ({"setting": "finite-sum"}, "hessians must be given for setting finite-sum"),
        ({"hessians": EXAMPLE}, "hessians must be left out for setting any-sampling"),
        ({"beta": 1.0}, "beta must be between -1 and 1, got 1"),
        ({"setting": "additive-noise", "sigma2": 1.0}, "steps must be given"),
        ({"setting": "additive-noise", "sigma2": -1.0, "steps": 3}, "sigma2 must be zero or more"),
        (
            {"setting": "additive-noise", "sigma2": 1.0, "steps": 3, "distance": 0.0},
            "distance must be positive",
        ),
    ],
)
def test_bad_input_is_refused(options, line):
    with pytest.raises(ValueError, match=line):
        recommend(Curvature(1, 32), **options)
