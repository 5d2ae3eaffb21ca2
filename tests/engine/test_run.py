import numpy as np
import pytest

from ravine import Curvature, Method, Sampling, nesterov, sgd
from ravine.engine.draws.index_sampling import sampled_indices
from ravine.engine.measures import Outcome
from ravine.engine.run import run
from ravine.problems import (
    Quadratic,
    counterexample,
    from_data,
    from_functions,
    multinomial_logistic,
    partitioned_least_squares,
    turning_quadratics,
    worst_case_quadratic,
)

PLAIN = Quadratic(np.diag([1.0, 9.0]), [2.0, -1.0], start=[3.0, 1.0])


def test_gradient_descent_is_written_out():
    trace = run(PLAIN, Method(0.1), 5, sampling=None)
    expected = np.array([[1.0, 2.0]]) * np.array([0.9, 0.1]) ** np.arange(6)[:, None]
    np.testing.assert_allclose(trace.y_errors, expected, atol=1e-15)
    np.testing.assert_allclose(trace.objective, 0.5 * (expected**2 @ [1.0, 9.0]), atol=1e-15)
    np.testing.assert_allclose(trace.velocity[1:], np.diff(expected, axis=0), atol=1e-15)
    np.testing.assert_array_equal(trace.velocity[0], 0.0)
    assert trace.steps == 5
    assert trace.errors[0] == pytest.approx(np.sqrt(5))


def test_nesterov_decays_at_its_rate():
    # (k + 1) rho^k for the slow direction at usual parameters: rho = 1 - 1/3.
    trace = run(PLAIN, nesterov(PLAIN.curvature), 200, sampling=None)
    assert trace.outcome is Outcome.CONVERGED
    assert trace.rate == pytest.approx(2 / 3, abs=0.02)
    assert trace.diverged_at == -1


def test_indices_are_those_of_the_kernels():
    problem = counterexample(0.05, 100, 9)
    trace = run(
        problem, sgd(problem.curvature), 40, sampling="reshuffle", seed=6, trajectory=3, batch=2
    )
    expected = sampled_indices(9, 40, sampling=Sampling.RESHUFFLE, seed=6, trajectory=3, batch=2)
    np.testing.assert_array_equal(trace.indices, expected)
    first = trace.indices[0]
    mean = np.mean([problem.batch_gradient(i, problem.start) for i in first], axis=0)
    np.testing.assert_array_equal(trace.gradient[0], mean)


def test_momentum_opposes_the_gradient_after_the_inconsistent_term():
    # The third coordinate overshoots when the last term is drawn, and momentum carries it on.
    problem = counterexample(0.05, 100, 50)
    trace = run(problem, nesterov(problem.curvature), 400, sampling="cyclic")
    after = np.flatnonzero(trace.indices[:-1, 0] == 49)[2:] + 1
    assert trace.opposed[after[after < 400], 2].all()
    assert not trace.opposed[:49, 2].any()


def test_divergence_is_an_outcome_and_overflow_an_end():
    problem = turning_quadratics(1, 100)
    trace = run(problem, nesterov(problem.curvature), 3000, sampling="cyclic")
    assert trace.outcome is Outcome.DIVERGED
    # Errors pass 1e10 times the start at 10 ln(10)/ln(1.2728) = 95 steps, more or less a few.
    assert 80 < trace.diverged_at < 110
    assert trace.steps < 3000
    assert np.isfinite(trace.y).all()
    assert len(trace.y) == len(trace.objective) == trace.steps + 1 == len(trace.indices) + 1


def test_noise_has_the_variance_asked_for_and_the_floor_is_an_outcome():
    problem = worst_case_quadratic(8, 10)
    trace = run(problem, sgd(problem.curvature), 4000, sampling=None, sigma2=0.25, seed=3)
    noise = trace.gradient - np.array([problem.gradient(y) for y in trace.y[:-1]])
    # 40,000 normals: the variance is known to sqrt(2/40000), 4 of them.
    assert abs(noise.var() / 0.25 - 1) < 4 * np.sqrt(2 / 40_000)
    assert abs(noise.mean()) < 4 * 0.5 / 200
    assert trace.outcome is Outcome.NOISE_FLOOR
    other = run(problem, sgd(problem.curvature), 10, sampling=None, sigma2=0.25, seed=4)
    assert not np.array_equal(other.gradient[1], trace.gradient[1])


def test_mini_batches_of_a_noisy_sum_end_at_a_floor():
    problem = partitioned_least_squares(Q=16, seed=1)
    trace = run(problem, sgd(problem.curvature), 3000, sampling="iid", seed=2)
    assert trace.outcome is Outcome.NOISE_FLOOR


@pytest.mark.parametrize(
    ("problem", "steps"),
    [
        (multinomial_logistic(40, 4, 3, 3, l2=0.2, batch_size=10), 2000),
        (from_data(np.eye(6) + 0.1, np.arange(6.0), batch_size=3, l2=0.1), 2000),
        # Well conditioned, and slow to evaluate: its objective is an integral over its gradients.
        (
            from_functions(
                gradients=lambda i, x: x + 0.3 * np.sin(x - i),
                terms=4,
                dimension=2,
                curvature=Curvature(0.7, 1.3),
                start=[3.0, -1.0],
            ),
            150,
        ),
    ],
    ids=["multinomial_logistic", "from_data", "from_functions"],
)
@pytest.mark.parametrize("restart", [None, "gradient", "sampled", "full"])
def test_any_problem_runs(problem, steps, restart):
    trace = run(
        problem,
        nesterov(problem.curvature),
        min(400, steps),
        sampling="reshuffle",
        restart=restart,
        seed=1,
    )
    assert trace.outcome is not Outcome.DIVERGED
    assert trace.objective[-1] < trace.objective[0]
    assert trace.made_by["problem"] == problem.name
    full = run(problem, nesterov(problem.curvature), steps, sampling=None, restart=restart)
    assert full.outcome is Outcome.CONVERGED
    assert full.objective[-1] == pytest.approx(problem.minimum, rel=1e-9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": Method([0.1, 0.2])}, "alpha must be a single number"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"sampling": "sorted"}, "sampling must be one of iid"),
        ({"sigma2": -1}, "sigma2 must be zero or more"),
        ({"start": [1.0]}, "start must be a number or a vector of 2 coordinates, got"),
        ({"restart": "never"}, "restart must be one of"),
        ({"batch": 5}, "batch must be at most the 4 terms, got 5"),
        ({"batch": 3, "sampling": "iid-no-repeat"}, "batch must be at most half of the 4 terms"),
        ({"batch": 3, "sampling": "reshuffle-no-repeat"}, "batch must be at most half of the 4"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"trajectory": 1.5}, "trajectory must be a whole number"),
    ],
)
def test_bad_input_is_one_line(options, message):
    plain = {"method": Method(0.1), "steps": 5, "sampling": "iid"}
    with pytest.raises((ValueError, TypeError), match=message) as caught:
        run(turning_quadratics(1, 5), **plain | options)
    assert "\n" not in str(caught.value)


def test_a_notebook_shows_the_outcome():
    problem = counterexample(mu=1.0, L=8.0, n=4)
    trace = run(problem, Method(0.1, 0.3), 30, sampling="cyclic")
    html = trace._repr_html_()
    assert trace.outcome.sentence in html
    assert f"{trace.errors[-1]:.6g}" in html
