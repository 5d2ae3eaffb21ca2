"""The finite-sum kernel against the plain reference, against theory, and against itself."""

import numba
import numpy as np
import pytest

from ravine import Method, Restart, Sampling, nesterov, sgd
from ravine.engine.kernels.finite_sum import ensemble, run_tile, sum_terms
from ravine.engine.measures import Outcome
from ravine.engine.run import run
from ravine.engine.schedule import Tail
from ravine.engine.spec import Spec
from ravine.problems import (
    Quadratic,
    counterexample,
    divergent_sum,
    multinomial_logistic,
    partitioned_least_squares,
    turning_quadratics,
)
from ravine.theory.finite_sums.inconsistent_term import counterexample_growth

RULES = [rule.value for rule in Sampling]
NOISY_ROTATED = divergent_sum([1.0, -2.0, 0.5, 3.0], 0.5, 20, 6, interpolate=False)
PROBLEMS = {
    "odd one out": counterexample(0.05, 100, 7),
    "shared, with slopes": NOISY_ROTATED,
    "dense": turning_quadratics(1, 5, terms=6),
    "dense, with slopes": partitioned_least_squares(60, 3, 6, Q=9, seed=2),
}
CASES = {
    "plain": {},
    "mini-batches": {"batch": 3},
    "noise": {"sigma2": 0.04},
    "gradient restart": {"restart": "gradient"},
    "sampled restart": {"restart": "sampled", "batch": 2},
    "full restart": {"restart": "full"},
    "every 5": {"restart": 5},
    "tail": {"schedule": Tail(10, -0.4)},
    "everything": {
        "restart": "full",
        "batch": 2,
        "sigma2": 0.01,
        "schedule": lambda k: k / (k + 3),
    },
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("case", CASES)
def test_the_kernel_takes_the_steps_of_the_reference(name, case):
    problem, options = PROBLEMS[name], CASES[case]
    method = Method(0.6 / float(problem.curvature.L), 0.55, gamma=0.55 if case == "tail" else 0.3)
    rule = RULES[list(CASES).index(case) % len(RULES)]
    visits = [0, 1, 2, 3, 4, 5, 18, 37]
    found = ensemble(
        problem, method, visits, trajectories=131, sampling=rule, seed=9, **options
    ).errors
    for t in (0, 130):
        trace = run(problem, method, 37, sampling=rule, seed=9, trajectory=t, **options)
        # Both round a few times a step; 40 steps of a stable method leave 1e-12 of the start.
        scale = np.abs(trace.y_errors).max()
        np.testing.assert_allclose(found[:, t], trace.y_errors[visits], atol=1e-12 * scale)


@pytest.mark.parametrize("rule", RULES)
def test_single_terms_follow_the_reference_under_every_rule(rule):
    problem = PROBLEMS["odd one out"]
    method = nesterov(problem.curvature)
    found = ensemble(problem, method, range(30), trajectories=3, sampling=rule, seed=3).errors
    for t in range(3):
        trace = run(problem, method, 30, sampling=rule, seed=3, trajectory=t)
        scale = np.abs(trace.y_errors).max()
        np.testing.assert_allclose(found[:, t], trace.y_errors[:30], atol=1e-12 * scale)


def test_full_gradients_need_no_sampling():
    problem = PROBLEMS["dense, with slopes"]
    method = sgd(problem.curvature)
    found = ensemble(problem, method, [25], trajectories=1, sampling=None).errors[0, 0]
    trace = run(problem, method, 25, sampling=None)
    np.testing.assert_allclose(found, trace.y_errors[-1], atol=1e-13)
    single = Quadratic(problem.hessian(), problem.minimiser, start=problem.start)
    same = ensemble(single, method, [25], trajectories=1, sampling=None).errors[0, 0]
    np.testing.assert_allclose(same, found, atol=1e-13)


def test_rows_are_told_apart():
    terms, basis = sum_terms(counterexample(1, 10, 5), Sampling.IID)
    assert terms.shared
    assert terms.same.tolist() == [True, True, False]
    assert terms.lone.tolist() == [-1, -1, 4]
    np.testing.assert_array_equal(basis, np.eye(3))
    assert not sum_terms(turning_quadratics(1, 5), Sampling.IID)[0].shared
    assert len(sum_terms(NOISY_ROTATED, Sampling.IID)[0].slopes) == 4


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("sense", ["mean", "mean-square"])
def test_growth_of_moments_is_the_closed_form(rule, sense):
    # n = 4, Q = 2000. Between steps 24 and 48 the transient is gone (below 1e-4 of a step's factor)
    # and 200,000 trajectories still see the moment. Tolerance: 4 standard errors of the ratio.
    n, count, first, last = 4, 200_000, 24, 48
    problem = counterexample(0.05, 100, n)
    method = nesterov(problem.curvature)
    found = ensemble(
        problem, method, [first, last], trajectories=count, sampling=rule, seed=11
    ).errors[:, :, 2]
    power = np.abs(found) ** (1 if sense == "mean" else 2)
    mean = power.mean(axis=1)
    measured = np.log(mean[1] / mean[0]) / (last - first)
    error = np.std(power[1] / mean[1] - power[0] / mean[0]) / np.sqrt(count) / (last - first)
    exact = np.log(counterexample_growth(problem.curvature, n, sampling=rule, sense=sense))
    assert abs(measured - exact) < 4 * error + 1e-4


@pytest.mark.parametrize("rule", ["cyclic", "iid-no-repeat", "reshuffle-no-repeat"])
@pytest.mark.parametrize("n", [5, 50])
def test_almost_sure_growth_is_the_closed_form(rule, n):
    problem = counterexample(0.05, 100, n)
    found = ensemble(
        problem, nesterov(problem.curvature), [200, 1400], trajectories=2048, sampling=rule, seed=2
    ).errors[:, :, 2]
    each = np.log(np.abs(found[1] / found[0])) / 1200
    exact = np.log(counterexample_growth(problem.curvature, n, sampling=rule, sense="almost-sure"))
    # Over whole epochs the expectation is exact; cyclic order has no spread, only rounding.
    assert abs(each.mean() - exact) < 4 * each.std() / np.sqrt(2048) + 1e-12


@pytest.mark.parametrize("rule", ["iid", "reshuffle"])
def test_with_repeats_the_example_lands_on_its_optimum(rule):
    # B(L)² = 0: after the same term twice in a row the third coordinate is zero for good.
    problem = counterexample(0.05, 100, 4)
    found = ensemble(
        problem, nesterov(problem.curvature), [2000], trajectories=256, sampling=rule
    ).errors[0, :, 2]
    assert (np.abs(found) < 1e-12).all()


@pytest.mark.parametrize("Q", [8, 12, 32, 200])
def test_turning_quadratics_grow_as_fast_as_anything_can(Q):
    problem = turning_quadratics(1, Q)
    found = ensemble(
        problem, nesterov(problem.curvature), [400, 800], trajectories=1, sampling="cyclic"
    ).norms[:, 0]
    rate = (found[1] / found[0]) ** (1 / 400)
    assert rate == pytest.approx(np.sqrt(2) * (1 - 1 / np.sqrt(Q)), abs=1e-6)


def spec(problem, **changes):
    plain = {
        "problem": problem,
        "alphas": np.linspace(0.02, 1.6, 9) / float(problem.curvature.L),
        "betas": np.linspace(-0.3, 0.9, 8),
        "steps": 300,
        "repeats": 3,
        "sampling": Sampling.RESHUFFLE,
        "measures": ("rate", "floor", "floor_sup", "outcome"),
        "seed": 4,
        "start": problem.start,
    }
    return Spec(**plain | changes)


def test_threads_and_tiles_change_no_bit():
    whole = spec(PROBLEMS["dense, with slopes"], restart=Restart.GRADIENT, batch=2)
    once = run_tile(whole, 0, 72)
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        alone = run_tile(whole, 0, 72)
        parts = [run_tile(whole, a, min(a + 7, 72)) for a in range(0, 72, 7)]
    finally:
        numba.set_num_threads(threads)
    for name, values in once.items():
        assert values.shape == (72, 3)
        assert values.tobytes() == alone[name].tobytes()
        assert values.tobytes() == np.concatenate([part[name] for part in parts]).tobytes()


def test_a_tile_measures_rate_floor_and_outcome():
    problem = counterexample(1, 20, 10)
    found = run_tile(spec(problem, sampling=Sampling.CYCLIC, steps=2000), 0, 72)
    assert np.isfinite(found["rate"]).all()
    assert set(np.unique(found["outcome"])) <= {float(o) for o in Outcome}
    noisy = run_tile(spec(PROBLEMS["dense, with slopes"], steps=4000), 0, 72)
    settled = noisy["outcome"] == Outcome.NOISE_FLOOR
    assert settled.sum() > 100
    floors = np.sqrt(noisy["floor_square"][settled])
    assert (noisy["floor_sup"][settled] <= floors * 1.01).all()
    assert (noisy["floor_sup"][settled] >= floors / np.sqrt(3) * 0.7).all()


def test_shared_noise_is_that_of_the_first_pixel():
    problem = NOISY_ROTATED
    plane = spec(problem, sigma2=0.3, noise="shared", steps=37)
    found = run_tile(plane, 0, 72)["final_error"]
    for pixel, repeat in ((0, 0), (17, 1), (40, 2)):
        alpha, beta, _ = plane.parameters(pixel)
        trace = run(
            problem,
            Method(alpha, beta),
            37,
            sampling=Sampling.RESHUFFLE,
            sigma2=0.3,
            seed=4,
            trajectory=repeat << 32,
        )
        assert found[pixel, repeat] == pytest.approx(trace.errors[-1], rel=1e-10)


def test_measured_rates_are_those_of_the_theory_without_sampling():
    problem = counterexample(1, 20, 10)
    found = run_tile(spec(problem, sampling=None, steps=2000), 0, 72)
    alphas, betas = np.linspace(0.02, 1.6, 9) / 20, np.linspace(-0.3, 0.9, 8)
    values = np.linalg.eigvalsh(problem.hessian())
    for p in range(72):
        a, b = alphas[p // 8], betas[p % 8]
        blocks = [np.array([[(1 + b) * (1 - a * v), -b * (1 - a * v)], [1.0, 0.0]]) for v in values]
        rho = max(np.abs(np.linalg.eigvals(block)).max() for block in blocks)
        assert found["rate"][p, 0] == pytest.approx(rho, abs=0.01)
        assert (found["outcome"][p, 0] == Outcome.DIVERGED) == (rho > 1)


def test_single_precision_agrees_to_its_rounding():
    problem = PROBLEMS["odd one out"]
    double = run_tile(spec(problem, steps=100), 0, 72)
    single = run_tile(spec(problem, steps=100, dtype="float32"), 0, 72)
    both = (double["outcome"] != Outcome.DIVERGED) & np.isfinite(double["rate"])
    close = np.isclose(single["rate"][both], double["rate"][both], rtol=1e-3)
    assert close.mean() > 0.95


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ensemble(
                multinomial_logistic(), Method(0.1), [1], trajectories=1, sampling="iid"
            ),
            "problem must be made of quadratics, got LinearModel",
        ),
        (
            lambda: ensemble(
                NOISY_ROTATED, Method([0.1, 0.2]), [3], trajectories=1, sampling="iid"
            ),
            "alpha must be a single number",
        ),
    ],
)
def test_bad_input_is_one_line(call, message):
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
