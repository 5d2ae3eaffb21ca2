import pickle

import numpy as np
import pytest

from ravine import LinearMethod, Method, run
from ravine import spectral_radius as theory_radius
from ravine.engine import sweep as module
from ravine.engine.sweep import sweep
from ravine.engine.tiles import run_tile
from ravine.problems import Quadratic, worst_case_quadratic


def block(eigenvalue, alpha, beta, gamma):
    """Companion block on (x, x₋)."""
    h = alpha * eigenvalue
    return np.array([[1 + beta - h * (1 + gamma), -(beta - h * gamma)], [1.0, 0.0]])


def spectral_radius(problem, alpha, beta, gamma):
    return max(
        np.abs(np.linalg.eigvals(block(e, alpha, beta, gamma))).max() for e in problem.eigenvalues
    )


def variance_of_y(eigenvalues, alpha, beta, gamma, sigma2):
    """Var y = α²σ²[1+β+hγ(1+2γ)] / (h(1-β+hγ)(2+2β-h(1+2γ))), of each eigen-direction."""
    h = alpha * eigenvalues
    bottom = h * (1 - beta + h * gamma) * (2 + 2 * beta - h * (1 + 2 * gamma))
    return alpha**2 * sigma2 * (1 + beta + h * gamma * (1 + 2 * gamma)) / bottom


def test_floor_matches_the_exact_variance():
    rng = np.random.default_rng(4)
    problem = Quadratic(np.diag([0.2, 0.5, 1.0]))
    pixels = []
    while len(pixels) < 60:
        alpha, beta, gamma = rng.uniform(0.05, 2.5), rng.uniform(-0.95, 0.95), rng.uniform(-1.5, 1)
        gamma = beta if len(pixels) % 2 else gamma
        if spectral_radius(problem, alpha, beta, gamma) < 0.97:
            pixels.append((alpha, beta, gamma))
    alphas, betas, gammas = np.array(pixels).T
    assert np.sum((betas < 0) & (gammas < 0)) >= 5
    # 0.97^400 = 5e-6 of the start is left when the window of the floor opens.
    found = sweep(
        problem, alphas, betas, gammas=gammas, pairs=True, steps=1600, repeats=400, sigma2=0.7,
        start=0.0, seed=8, measure=["floor", "outcome"],
    )  # fmt: skip
    exact = np.array([np.sqrt(variance_of_y(problem.eigenvalues, *p, 0.7).sum()) for p in pixels])
    off = (found.floor.values - exact) / found.floor_se.values
    assert np.all(np.abs(off) < 4), off
    # The standard errors are the right size: standardised errors have a variance near 1.
    assert 0.5 < np.mean(off**2) < 1.7
    assert np.all(found.floor_se.values < 0.01 * exact)


def test_rate_matches_the_spectral_radius_over_a_map():
    problem = worst_case_quadratic(Q=50, d=30)
    L = float(problem.curvature.L)
    alphas, betas = np.linspace(0.02, 2.0, 100) / L, np.linspace(-0.9, 0.99, 100)
    found = sweep(problem, alphas, betas, steps=2000, measure=["rate"])
    exact = np.array([[spectral_radius(problem, a, b, b) for b in betas] for a in alphas[::4]])
    stable = exact < 1
    close = np.abs(found.rate.values[::4] - exact) < 0.01
    assert stable.sum() > 1000
    assert close[stable].mean() >= 0.99
    # Diverging pixels have a rate as well; it is fitted on ten decades, other modes still bend it.
    wild = exact > 1.02
    np.testing.assert_allclose(found.rate.values[::4][wild], exact[wild], rtol=0.05)


def test_rate_above_the_noise_floor():
    problem = Quadratic(np.diag([0.1, 0.4, 1.0]))
    alphas, betas = [0.3, 0.6, 1.0], [0.0, 0.3, 0.6]
    found = sweep(
        problem, alphas, betas, steps=3000, sigma2=1.0, start=1e9, repeats=4, seed=2,
        measure=["rate", "outcome"],
    )  # fmt: skip
    exact = [[spectral_radius(problem, a, b, b) for b in betas] for a in alphas]
    np.testing.assert_allclose(found.rate.values, exact, atol=0.01)
    assert np.all(found.rate_stop < 1500)
    assert np.all(found.rate_start < found.rate_stop)


def test_outcomes():
    problem = Quadratic(np.diag([0.01, 1.0]))
    quiet = sweep(problem, [1.0, 0.01, 2.05, 5.0], [0.0], steps=3000)
    assert quiet.outcome.values.ravel().tolist() == [0, 2, 3, 3]
    assert quiet.diverged_at.values.ravel()[0] == -1
    # |1 - 5|^k = 1e10 at k = 16.6; the start is one away in each of two coordinates.
    assert quiet.diverged_at.values.ravel()[3] in (17, 18)
    assert np.isinf(quiet.final_error.values.ravel()[3])
    assert np.isnan(quiet.floor.values.ravel()[3])
    noisy = sweep(problem, [1.0], [0.0, 0.5], steps=3000, sigma2=1.0, seed=1)
    assert noisy.outcome.values.ravel().tolist() == [1, 1]


def test_slow_divergence_is_seen():
    # |1 - 2.01| = 1.01: e grows by 1.01^500 = 145 over the second half, far below the limit.
    problem = Quadratic(np.diag([0.5, 1.0]))
    found = sweep(problem, [2.01], [0.0], steps=1000)
    assert found.outcome.item() == 3
    assert 500 < found.diverged_at.item() < 1000
    assert found.rate.item() == pytest.approx(1.01, abs=1e-6)


def test_more_repeats_keep_the_draws_of_the_first():
    problem = Quadratic(np.diag([0.5, 1.0]))
    one = sweep(problem, [0.5], [0.2], steps=99, sigma2=1.0, seed=3, measure=["final_error"])
    two = sweep(
        problem, [0.5], [0.2], steps=99, sigma2=1.0, seed=3, repeats=2, measure=["final_error"]
    )
    other = 2 * two.final_error.item() - one.final_error.item()
    se = abs(other - one.final_error.item()) / 2
    assert other > 0
    assert two.final_error_se.item() == pytest.approx(se)


def test_total_variance_is_the_sum_over_coordinates():
    problem = Quadratic(np.diag([0.5, 0.7, 0.9, 1.0]))
    each = sweep(problem, [0.5], [0.2], steps=64, sigma2=0.25, seed=1)
    total = sweep(problem, [0.5], [0.2], steps=64, total_variance=1.0, seed=1)
    assert each.identical(total)
    assert each.attrs["sigma2"] == 0.25


def test_the_dataset_says_what_made_it():
    problem = worst_case_quadratic(Q=9, d=4)
    found = sweep(
        problem, [0.1, 0.2], [0.0, 0.5, 0.9], gammas=0.0, steps=40, repeats=2, sigma2=1.0,
        noise="shared", seed=2**64 - 1, measure=["rate", "floor", "floor_sup", "outcome"],
    )  # fmt: skip
    assert found.rate.dims == ("alpha", "beta")
    assert found.alpha.values.tolist() == [0.1, 0.2]
    assert found.gamma.shape == (2, 3)
    assert {"rate_se", "floor_se", "floor_sup_se", "diverged_share"} <= set(found)
    for name in found.variables:
        assert found[name].attrs["long_name"]
        assert found[name].attrs["units"]
    assert found.outcome.attrs["flag_meanings"].split()[3] == "diverged"
    made = found.attrs
    assert (made["problem"], made["steps"], made["repeats"]) == ("worst_case_quadratic", 40, 2)
    assert (made["noise"], made["sigma2"], made["device"]) == ("shared", 1.0, "cpu")
    assert made["seed"] == str(2**64 - 1)
    assert "numba" in made["versions"]


def test_a_tile_is_a_pure_function_that_can_be_sent(monkeypatch):
    problem = worst_case_quadratic(Q=9, d=4)
    caught = []
    assembly = module.Assembly

    def keep(spec, tiles):
        caught.append(spec)
        return assembly(spec, tiles)

    monkeypatch.setattr(module, "Assembly", keep)
    found = sweep(problem, [0.1, 0.2], [0.0, 0.5, 0.9], steps=40, sigma2=1.0)
    run, spec = pickle.loads(pickle.dumps((run_tile, caught[0])))
    part = run(spec, 2, 5)
    np.testing.assert_array_equal(part["final_error"], found.final_error.values.ravel()[2:5])


def quasi_hyperbolic(alpha, beta):
    return LinearMethod.quasi_hyperbolic(alpha, beta, nu=0.7)


def test_any_linear_method_is_swept_as_it_is_run():
    problem = Quadratic(np.diag([0.3, 1.0]))
    alphas, betas = [0.4, 0.9], [0.0, 0.5, 0.8]
    found = sweep(problem, alphas, betas, method=quasi_hyperbolic, steps=60, sigma2=0.1, seed=4)
    assert found.attrs["method"] == "linear methods, made from alpha and beta"
    for pixel, (i, j) in enumerate(np.ndindex(2, 3)):
        method = quasi_hyperbolic(alphas[i], betas[j])
        one = run(problem, method, 60, sampling=None, sigma2=0.1, seed=4, trajectory=pixel)
        for name in ("final_error", "diverged_at", "outcome"):
            assert found[name].values[i, j] == one.measures[name]
        assert found.floor.values[i, j] == np.sqrt(one.measures["floor_square"])


def test_the_rate_of_any_linear_method_is_its_spectral_radius():
    problem = Quadratic(np.diag([0.3, 1.0]))
    alphas, betas = [0.4, 0.9], [0.5, 0.8]
    found = sweep(problem, alphas, betas, method=quasi_hyperbolic, steps=400, measure="rate")
    for (i, j), rate in np.ndenumerate(found.rate.values):
        exact = theory_radius(problem.curvature, quasi_hyperbolic(alphas[i], betas[j]))
        assert rate == pytest.approx(float(exact), abs=0.01)
    # As a linear method, the compiled family gives the same errors to rounding.
    options = {"steps": 50, "measure": "final_error"}
    slow = sweep(problem, alphas, betas, method=Method, **options)
    np.testing.assert_allclose(
        slow.final_error, sweep(problem, alphas, betas, **options).final_error, 1e-9
    )


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"method": "nesterov"}, "method must be a function of alpha and beta"),
        ({"method": lambda a, b: a}, "method must be a function that makes methods"),
        ({"method": quasi_hyperbolic, "gammas": 0.5}, "gammas must be omitted with a method"),
        ({"method": quasi_hyperbolic, "dtype": "float32"}, "dtype must be float64"),
    ],
)
def test_methods_that_cannot_be_swept_are_refused(options, line):
    with pytest.raises((TypeError, ValueError), match=line):
        sweep(Quadratic(np.diag([0.3, 1.0])), [0.4], [0.5], steps=5, **options)
