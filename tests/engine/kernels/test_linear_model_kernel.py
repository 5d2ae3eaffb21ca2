import numpy as np
import pytest

from ravine import Method, Restart, Sampling
from ravine.engine.kernels.finite_sum import run_tile
from ravine.engine.measures import Outcome
from ravine.engine.run import run
from ravine.engine.schedule import Tail
from ravine.problems import from_data, multinomial_logistic

rng = np.random.default_rng(3)
X = rng.standard_normal((37, 4))
WIDE = rng.standard_normal((40, 35))
LOGISTIC = from_data(X, X[:, 0] + rng.standard_normal(37) > 0, loss="logistic", l2=0.1)
SOFTMAX = multinomial_logistic(42, 4, 3, 3, l2=0.05, seed=5)


@pytest.mark.parametrize("problem", [LOGISTIC, SOFTMAX], ids=["logistic", "softmax"])
@pytest.mark.parametrize("case", [{}, {"sigma2": 0.04}, {"schedule": Tail(9, -0.3)}])
def test_the_kernel_takes_the_steps_of_the_reference(problem, case, spec):
    plane = spec(problem, **case)
    found = run_tile(plane, 0, 30)
    for pixel, repeat in ((0, 0), (17, 1), (29, 0)):
        a, b, _ = plane.parameters(pixel)
        trace = run(
            problem,
            Method(a, b),
            60,
            sampling=None,
            sigma2=plane.sigma2,
            seed=8,
            trajectory=pixel | (repeat << 32),
            schedule=plane.schedule,
        )
        assert found["final_error"][pixel, repeat] == pytest.approx(trace.errors[-1], rel=1e-11)
        assert found["floor_square"][pixel, repeat] == pytest.approx(
            trace.measures["floor_square"], rel=1e-11
        )


BATCHES = {
    "logistic": from_data(X, X[:, 0] > 0.3, loss="logistic", l2=0.1, batch_size=5),
    "softmax": multinomial_logistic(42, 4, 3, 3, l2=0.05, seed=5, batch_size=5),
    "squared": from_data(WIDE, WIDE[:, 0], l2=0.2, batch_size=6),
}


def agrees(problem, plane, pixels, steps):
    found = run_tile(plane, 0, 30)
    for pixel, repeat in pixels:
        a, b, _ = plane.parameters(pixel)
        trace = run(
            problem,
            Method(a, b),
            steps,
            sampling=plane.sampling,
            sigma2=plane.sigma2,
            seed=8,
            trajectory=(0 if plane.noise == "shared" else pixel) | (repeat << 32),
            batch=plane.batch,
            restart=plane.restart,
        )
        for name in ("final_error", "floor_square", "floor_sup"):
            expected = trace.measures[name]
            assert found[name][pixel, repeat] == pytest.approx(expected, rel=1e-10), name


@pytest.mark.parametrize("rule", list(Sampling))
@pytest.mark.parametrize("batch", [1, 3])
def test_mini_batches_follow_the_reference_under_every_rule(rule, batch, spec):
    for problem in BATCHES.values():
        plane = spec(
            problem,
            sampling=rule,
            sigma2=0.01,
            steps=24,
            batch=batch,
            measures=("floor_sup",),
        )
        agrees(problem, plane, ((3, 1), (29, 0)), 24)


@pytest.mark.parametrize("restart", [*Restart, 7])
def test_restarts_follow_the_reference(restart, spec):
    common = {"restart": restart, "steps": 40, "measures": ("floor_sup",)}
    agrees(SOFTMAX, spec(SOFTMAX, **common), ((17, 0), (29, 0)), 40)
    for problem in BATCHES.values():
        plane = spec(problem, sampling=Sampling.RESHUFFLE, **common)
        agrees(problem, plane, ((17, 0), (29, 1)), 40)


def test_shared_noise_is_that_of_the_first_pixel(spec):
    plane = spec(SOFTMAX, sigma2=0.04, noise="shared", measures=("floor_sup",))
    agrees(SOFTMAX, plane, ((0, 1), (17, 1)), 60)


@pytest.mark.parametrize("case", [{}, {"sampling": Sampling.RESHUFFLE}])
def test_single_precision_agrees_to_its_rounding(spec, case):
    problem = BATCHES["softmax"] if case else SOFTMAX
    double, single = (
        run_tile(spec(problem, sigma2=0.01, dtype=dtype, **case), 0, 30)
        for dtype in ("float64", "float32")
    )
    # Each of 60 steps rounds weights of about 1 to 6e-8; stable runs do not amplify that.
    np.testing.assert_allclose(single["final_error"], double["final_error"], rtol=2e-4)
    assert (single["final_error"] != double["final_error"]).any()


def test_tiles_change_no_bit(spec):
    plane = spec(SOFTMAX, sigma2=0.01)
    whole = run_tile(plane, 0, 30)
    parts = [run_tile(plane, a, min(a + 7, 30)) for a in range(0, 30, 7)]
    for name, values in whole.items():
        assert values.tobytes() == np.concatenate([part[name] for part in parts]).tobytes()


def test_long_runs_converge_and_too_long_steps_diverge(spec):
    plane = spec(LOGISTIC, steps=3000)
    assert (run_tile(plane, 0, 30)["outcome"] == Outcome.CONVERGED).all()

    # Beyond alpha l2 = 2 even the regulariser alone throws the weights further out each step.
    wild = spec(LOGISTIC, alphas=np.array([500.0]), betas=np.array([0.0, 0.9]), steps=300)
    assert (run_tile(wild, 0, 2)["outcome"] == Outcome.DIVERGED).all()
