import base64

import numpy as np
import pytest

import ravine
from ravine.sampling import Sampling
from ravine.web.run_picture import DIMENSION, RUNS, run_figure, run_key, run_legend, visits
from ravine.web.theme import LIGHT
from ravine.web.view import Example, View


def lines(view, **options):
    picture = run_figure(view, LIGHT, **options)
    return {
        trace["name"]: np.frombuffer(base64.b64decode(trace["y"]["bdata"]), np.float32)
        for trace in picture["data"]
    }


def test_short_runs_keep_every_step_and_long_ones_their_ends():
    assert visits(3).tolist() == [0, 1, 2, 3]
    assert visits(5000)[[0, -1]].tolist() == [0, 5000]
    assert len(visits(5000)) <= 160


@pytest.mark.parametrize("gamma", [None, 0.2])
def test_noise_has_its_exact_mean_its_floor_and_a_bound_above(gamma):
    view = View(Q=8.0, step=0.7, beta=0.4, gamma=gamma, K=120, sigma2=0.3)
    drawn = lines(view)
    problem = ravine.problems.worst_case_quadratic(Q=8.0, d=DIMENSION)
    floor = ravine.noise_floor(problem.eigenvalues, view.method, sigma2=0.3, quantity="distance")
    assert drawn["floor"] == pytest.approx(float(floor), rel=1e-6)
    # The transient is over, so that the exact mean has come down to the floor.
    assert drawn["exact mean"][-1] == pytest.approx(float(floor), rel=1e-5)
    assert (drawn["bound"] >= drawn["exact mean"] * (1 - 1e-6)).all()
    # The mean of 40 runs of 8 directions: its standard error is below sqrt(2/(40·8)) = 8 %, and
    # that of 60 steps after another smaller still; 5 of these.
    late = drawn["mean"][60:].mean()
    assert late == pytest.approx(float(floor), rel=0.4)


@pytest.mark.parametrize("sampling", Sampling)
def test_the_odd_function_has_its_exact_mean(sampling):
    view = View(Q=4.0, step=0.5, beta=0.2, n=4, K=8, example=Example.ODD, sampling=sampling)
    drawn = lines(view)
    assert drawn["exact mean"][0] == 1.0
    assert (drawn["bound"] >= drawn["exact mean"] * (1 - 1e-6)).all()
    if sampling is Sampling.CYCLIC:
        np.testing.assert_allclose(drawn["mean"], drawn["exact mean"], rtol=1e-5)
    else:
        # After two steps no history is rare: later ones without the odd function decide the mean.
        runs = drawn[f"{RUNS} runs"].reshape(RUNS, -1)[:, 2]
        error = runs.std() / np.sqrt(RUNS)
        assert abs(runs.mean() - drawn["exact mean"][2]) < 5 * error


HIGH = View(Q=4.82, step=1.48, beta=0.53, sigma2=1.0, K=50)  # the bound is above all the rest


@pytest.mark.parametrize("view", [View(K=50), HIGH])
def test_the_bound_for_noise_comes_when_it_rests_and_moves_no_axis(view):
    coarse = run_figure(view, LIGHT, bound=False)
    fine = run_figure(view, LIGHT, bound=True)
    assert [trace["name"] for trace in fine["data"][len(coarse["data"]) :]] == ["bound"]
    assert fine["data"][: len(coarse["data"])] == coarse["data"]
    assert fine["layout"] == coarse["layout"]


def test_the_legend_has_every_line():
    figure = run_figure(View(K=5), LIGHT)
    names = [entry["words"] for entry in run_legend(figure)]
    assert names == [f"{RUNS} runs", "mean", "exact mean", "floor", "bound"]
    assert {entry["dash"] for entry in run_legend(figure)} == {"solid", "dotted", "dashed"}


@pytest.mark.parametrize("example", [Example.NOISE, Example.ODD])
def test_two_runs_have_one_key_exactly_when_they_are_the_same(example):
    usual = View(example=example, K=20)
    changes = {
        "K": 30, "sigma2": 0.5, "n": 7, "Q": 9.0, "ratio": 3.0, "seed": 5, "step": 0.5,
        "beta": 0.1, "gamma": 0.2, "colour": "rate", "sampling": Sampling.CYCLIC,
    }  # fmt: skip
    for name, value in changes.items():
        other = View(**({"example": example, "K": 20} | {name: value}))
        same = run_key(usual, LIGHT, bound=True) == run_key(other, LIGHT, bound=True)
        assert same == (run_figure(usual, LIGHT) == run_figure(other, LIGHT)), name


def test_a_scale_has_two_powers_of_ten_at_least():
    view = View(Q=1.001, step=1e-6, beta=0.0, K=3, sigma2=0.0)
    assert len(run_figure(view, LIGHT)["layout"]["yaxis"]["tickvals"]) >= 2


@pytest.mark.parametrize("example", [Example.NOISE, Example.ODD])
def test_a_run_that_overflows_is_drawn_up_to_the_ceiling(example):
    view = View(Q=1.001, step=4.0, beta=1.0, K=3000, example=example)
    picture = run_figure(view, LIGHT)
    low, high = picture["layout"]["yaxis"]["range"]
    assert np.isfinite([low, high]).all()
    assert high > 12
