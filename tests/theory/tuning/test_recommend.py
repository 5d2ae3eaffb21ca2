"""Each recommendation beats its neighbours and keeps its guarantee."""

import numpy as np
import pytest

from ravine import (
    Curvature,
    Method,
    certificate,
    growth,
    iid_rate,
    recommend,
    safe_step,
    second_moment,
    sgd,
    worst_case_rate,
)
from ravine.theory.ladder.batch_noise import batch_noise
from ravine.theory.tuning.budget import moment_after

EXAMPLE = np.array([[32.0, 1.0, 1.0]] * 4 + [[32.0, 1.0, 32.0]])


def test_any_sampling_gets_sgd():
    curvature = Curvature(1, 32)
    advice = recommend(curvature)
    assert advice.method.alpha == sgd(curvature).alpha
    assert advice.value == pytest.approx(31 / 33, rel=1e-12)
    assert advice.ladder.worst_case_rate == advice.value


@pytest.mark.parametrize("Q", [1.5, 2.0, 32.0, 2000.0])
@pytest.mark.parametrize("beta", [0.9, 0.3, 0.001, 0.0, -0.3])
def test_a_momentum_gets_the_step_with_the_least_worst_case(Q, beta):
    curvature = Curvature(1, Q)
    advice = recommend(curvature, beta=beta)
    assert advice.value == worst_case_rate(curvature, advice.method) < 1.0
    steps = np.geomspace(1e-4, 4.0, 5001) / Q
    assert advice.value <= worst_case_rate(curvature, Method(steps, beta)).min()
    assert certificate(curvature, advice.method).verify()


def test_published_cases_of_a_momentum():
    # alpha L = 1.9 has 0.9406 at beta = 0.001, and (1.143/2, 0.9) has 0.75726 at Q = 2.
    assert recommend(Curvature(1, 32), beta=0.001).value < 0.9406
    assert recommend(Curvature(1, 32), beta=0.0).value == pytest.approx(31 / 33, rel=1e-12)
    assert recommend(Curvature(1, 2), beta=0.9).value == pytest.approx(0.757263, abs=1e-6)


@pytest.mark.parametrize("beta", [0.9, 0.0, -0.3])
def test_a_step_for_every_mu_keeps_below_the_safe_one(beta):
    advice = recommend(Curvature(1, 2), beta=beta, for_every_mu=True)
    assert advice.method.alpha < safe_step(2, beta)
    assert "safe for every mu" in advice.reason
    assert worst_case_rate(Curvature(1e-6, 2), advice.method) < 1.0


@pytest.mark.parametrize("Q", [2.1e9, 1e13])
def test_a_rate_close_to_one_is_certified(Q):
    advice = recommend(Curvature(1, Q))
    assert 1.0 - advice.value == pytest.approx(2.0 / Q, rel=0.02)
    assert f"1 - {1.0 - advice.value:.3g} per step" in advice.guarantee


def test_batches_get_the_least_guaranteed_mean_square_rate():
    curvature = Curvature(1, 1000)
    known = {"batch_size": 100, "L_max": 1e4}
    advice = recommend(curvature, **known)
    assert advice.setting == "mini-batches"
    assert advice.value == pytest.approx(float(iid_rate(curvature, advice.method, **known)))
    # How much momentum can gain at Q = 1000, L_max/L = 10: three times at b = 100.
    assert advice.gain == pytest.approx(2.913, abs=2e-3)
    alpha, beta = float(advice.method.alpha), float(advice.method.beta)
    around = Method(
        alpha * np.geomspace(0.5, 2.0, 101)[:, None], beta + np.linspace(-0.2, 0.12, 101)
    )
    assert iid_rate(curvature, around, **known).min() >= advice.value * (1.0 - 1e-9)


def test_a_budget_of_batches_cannot_be_spent_better_nearby():
    curvature = Curvature(1, 100)
    advice = recommend(curvature, batch_size=20, L_max=1000, sigma2=0.1, steps=60, distance=3.0)
    alpha, beta = float(advice.method.alpha), float(advice.method.beta)
    noise = batch_noise(curvature, batch_size=20, L_max=1000)
    spectrum = np.geomspace(1, 100, 200)[:, None]
    budget = {"sigma2": 0.1, "steps": 60, "distance": 3.0}
    for more in (0.9, 0.99, 1.0, 1.01, 1.1):
        for shift in (-0.05, -0.005, 0.0, 0.005, 0.05):
            worst = moment_after(spectrum, Method(alpha * more, beta + shift), noise, **budget)
            # The 200 curvatures here are a sample of the adversary's choices.
            assert worst.max() >= advice.value * (1 - 1e-3)


def test_no_curvature_exceeds_the_promise_of_a_budget():
    """The worst curvature, 0.00389, lies between the 33 that used to be tried."""
    curvature = Curvature(0.00012534376870692066, 1)
    known = {"batch_size": 2113, "L_max": 3.8966153426125456}
    advice = recommend(curvature, sigma2=0, steps=223, quantity="objective", **known)
    noise = batch_noise(curvature, **known)
    lam = np.geomspace(curvature.mu, 1.0, 50_001)
    errors = 0.5 * lam * moment_after(lam, advice.method, noise, sigma2=0.0, steps=223)
    assert errors.max() <= advice.value
    assert errors.max() == pytest.approx(advice.value, rel=1e-6)
    assert advice.value < 3.17e-6
    assert "at most 3.16e-06" in advice.guarantee  # rounded up


def test_an_error_below_the_smallest_float_has_a_promise_too():
    advice = recommend(Curvature(1, 1.001), setting="additive-noise", sigma2=0, steps=200)
    assert advice.value == 5e-324
    assert "at most 4.94e-324 after 200 steps" in advice.guarantee


def test_the_least_rate_is_that_of_the_lower_valley():
    curvature = Curvature(0.5053777700096005, 1)
    known = {"batch_size": 33883, "L_max": 8.150707103659618}
    advice = recommend(curvature, **known)
    assert advice.value <= float(iid_rate(curvature, Method(1.14327, 0.13928), **known))
    assert advice.value == pytest.approx(0.2457, abs=5e-5)


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
    assert "SGD at 2/(mu + L) has 0.939" in advice.reason


def test_a_budget_of_batches_for_the_objective():
    """In the objective a flat direction weighs little: its error may stay, and f is lower."""
    curvature = Curvature(1, 100)
    budget = {"batch_size": 20, "L_max": 1000, "sigma2": 0.1, "steps": 60, "distance": 3.0}
    distance = recommend(curvature, **budget)
    objective = recommend(curvature, quantity="objective", **budget)
    assert objective.quantity == "E f(y) - f* after 60 steps"
    noise = batch_noise(curvature, batch_size=20, L_max=1000)
    spectrum = np.geomspace(1, 100, 200)[:, None]
    spent = {"sigma2": 0.1, "steps": 60, "distance": 3.0}
    excess = [
        (0.5 * spectrum * moment_after(spectrum, advice.method, noise, **spent)).max()
        for advice in (distance, objective)
    ]
    assert excess[1] == pytest.approx(objective.value, rel=1e-3)
    assert excess[1] < excess[0]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"setting": "noisy"}, "setting must be one of any-sampling, .* got 'noisy'"),
        ({"L_max": 64.0}, "L_max must be omitted for setting any-sampling"),
        ({"batch_size": 4, "beta": 0.5}, "beta must be omitted for setting mini-batches"),
        ({"batch_size": 4, "sigma2": 0.5}, "steps must be given with sigma2"),
        ({"batch_size": 4, "L_max": 3.0}, "L_max must be at least L"),
        ({"for_every_mu": True}, "beta must be given with for_every_mu"),
        ({"setting": "mini-batches"}, "batch_size must be given for setting mini-batches"),
        ({"setting": "finite-sum"}, "hessians must be given for setting finite-sum"),
        ({"hessians": EXAMPLE}, "hessians must be omitted for setting any-sampling"),
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


def test_a_notebook_shows_parameters_reason_and_guarantee():
    advice = recommend(Curvature(1, 32), beta=0.9)
    html = advice._repr_html_()
    assert f"{float(advice.method.alpha):.6g}" in html
    assert advice.guarantee[1:60] in html
    assert html.count("<tr>") == 3
