"""Figure 3, logistic regression and the figures of our own: their data."""

import numpy as np
import pytest

from ravine import Curvature, nesterov, worst_case_rate
from ravine.figures import logistic, negative_momentum, nested_regions, noise_floor_slopes
from ravine.figures import restart as restarts
from ravine.figures import sgd_finite_sum as sgd_figure
from ravine.figures import turning_quadratics as turning_figure
from ravine.figures.catalogue import FIGURES
from ravine.theory.ladder.rungs import RUNGS


def test_sgd_stays_under_its_bound():
    """With two features every batch contracts by exactly (Q-1)/(Q+1), so the rate is attained."""
    data = sgd_figure.sgd_finite_sum(Q=(16.0,), trajectories=300, steps=300, samples=5000)
    assert float((data["mean"] / data["bound"]).max()) <= 1.0
    found = sgd_figure.tightness(data)
    assert found["rate"][0] == pytest.approx(1.0, abs=1e-4)
    assert found["floor"][0] == pytest.approx(4.0, rel=0.1)  # √Q
    # rms >= mean, and for a nearly Gaussian plane mean = rms √(π)/2 = 0.886 rms.
    assert 0.8 < float(data["mean"][0, -75:].mean() / data["rms_floor"][0]) < 1.0


def test_turning_quadratics_attain_the_worst_case():
    data = turning_figure.turning(Q=(8.0, 11.6, 11.7, 32.0), steps=400)
    exact = [
        float(worst_case_rate(c, nesterov(c))) for c in (Curvature(1, Q) for Q in data["Q"].values)
    ]
    assert data["measured"].values == pytest.approx(exact, abs=1e-9)
    assert (data["measured"].values > 1.0).tolist() == [False, False, True, True]
    assert (data["commuting"] < data["worst_case"]).all()
    assert float(data["cyclic"][1, -1]) > 10.0 > 0.1 > float(data["cyclic"][0, -1])


def test_regions_are_nested():
    data = nested_regions.nested_regions(resolution=24, Q=(2.0, 32.0))
    found = nested_regions.areas(data)
    assert found["nested"] == [1.0, 1.0]
    sizes = np.array([found[rung.key] for rung in RUNGS])
    assert (np.diff(sizes, axis=0) <= 0.0).all()
    turned = data.assign(contraction=0.5 * data["spectral_radius"])
    assert nested_regions.areas(turned)["nested"] == [0.0, 0.0]


def test_noise_floors_have_the_slopes_three_halves_and_one():
    data = noise_floor_slopes.noise_floor_slopes(Q=(100.0, 400.0, 1600.0), repeats=8)
    found = noise_floor_slopes.slopes(data)
    # The exact slope over this range is 1.47; the measured variances err by one per cent.
    assert found["nesterov"] == pytest.approx(1.47, abs=0.03)
    assert found["sgd"] == pytest.approx(1.0, abs=0.03)
    off = np.abs(data["measured"] - data["variance_at_mu"]) / data["measured_se"]
    assert float(off.max()) < 6.0  # nine t variables with 7 degrees of freedom


def test_restart_helps_where_it_sees_enough():
    data = restarts.restart(trajectories=64, steps=1200)
    growth = data["growth"].values
    assert (growth[:, 0] > 1.0).all()
    assert (growth[:3, 1:] < 1.0).all()
    rho = np.sqrt(2.0) * (1.0 - 32.0**-0.5)
    assert growth[3, :3] == pytest.approx(rho, abs=1e-6)
    assert growth[3, 3] < 0.95


def test_tails_are_exact():
    data = negative_momentum.negative_momentum(lengths=(0, 1, 8, 64), trajectories=200, steps=300)
    z = np.abs(data["exact"] - data["measured"]) / data["measured_se"]
    assert float(z.max()) < 4.5  # twenty correlated comparisons
    assert float(data["measured_se"].max()) < 0.05
    last = data["exact"].values[:, -1]
    assert last[list(data["tail_beta"].values).index(-0.6)] < last[1] < 0.4
    # At a fixed step the least variance is at beta = -1/(1 + √h).
    for name, h in (("variance_mu", 1 / 32), ("variance_L", 1.0)):
        least = float(data["beta"].values[np.argmin(data[name].values)])
        assert least == pytest.approx(-1.0 / (1.0 + np.sqrt(h)), abs=0.011)


def test_fixed_rate_ends():
    negative, critical = negative_momentum.fixed_rate(np.array([0.9, 0.999]))
    assert negative == pytest.approx([0.98, 1.0], abs=0.002)
    assert critical[1] == pytest.approx(0.5, abs=1e-3)


def test_momentum_is_faster_on_logistic_regression():
    data = logistic.noisy_logistic(resolution=16, steps=400)
    assert data["Q"].values == pytest.approx([30.0, 45.0, 60.0], rel=1e-3)
    found = logistic.advantage(data)
    assert all(m < s < 1.0 for m, s in zip(found["momentum"], found["sgd"], strict=True))
    rate, rho = data["rate"], data["spectral_radius"]
    # The Hessian at the minimiser is flatter than the steepest one met: rates are a little lower.
    inside = (rho < 0.98) & (data["alpha_L"] < 1.2)
    assert float((np.abs(rate - rho) < 0.05).where(inside).mean()) > 0.9
    assert np.isnan(rate.values[:, -1, -1]).all()


def test_advantage_reads_the_map():
    data = logistic.noisy_logistic(resolution=16, steps=100)
    slower = data.assign(rate=data["rate"] * 0.0 + 0.99, sgd_rate=data["sgd_rate"] * 0.0 + 0.9)
    assert all(s < 1.0 for s in logistic.advantage(slower)["speed_up"])


@pytest.mark.parametrize("name", ["nested-regions", "turning-quadratics"])
def test_findings_are_sentences(name):
    entry = FIGURES[name]
    given = entry.arguments(resolution=100, quick=True, seed=0, device="auto")
    for line in entry.findings(entry.compute(**given)):
        assert line.endswith(".")
        assert "nan" not in line
