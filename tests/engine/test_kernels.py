import numpy as np
import pytest

from ravine import Curvature, Method, Sampling
from ravine.engine.device import FINITE_SUM, QUADRATIC, STEPWISE, kernel_for
from ravine.engine.kernels.finite_sum import is_quadratic_sum
from ravine.engine.run import run
from ravine.problems import (
    Quadratic,
    counterexample,
    from_data,
    from_functions,
    multinomial_logistic,
)
from ravine.problems.losses import Logistic

rng = np.random.default_rng(3)
X = rng.standard_normal((37, 4))
WIDE = rng.standard_normal((40, 33))
LOGISTIC = from_data(X, X[:, 0] + rng.standard_normal(37) > 0, loss="logistic", l2=0.1)
SOFTMAX = multinomial_logistic(42, 4, 3, 3, l2=0.05, seed=5)


def test_the_problem_and_its_sampling_decide_the_kernel(spec):
    squared = from_data(X, X @ np.ones(4), batch_size=10)
    batches = from_data(X, X[:, 0] > 0, loss="logistic", l2=0.1, batch_size=10)
    wide = from_data(WIDE, WIDE[:, 0], l2=0.1, batch_size=10)
    uncut = from_data(WIDE, WIDE[:, 0], l2=0.1)
    many = from_data(X, np.arange(37) % 17, loss="multinomial", l2=0.1)
    for problem, sampling, (expected, quadratic) in (
        (Quadratic(np.diag([1.0, 2.0])), None, (QUADRATIC, True)),
        (counterexample(1, 10, 4), Sampling.CYCLIC, (FINITE_SUM, True)),
        (squared, Sampling.IID, (FINITE_SUM, True)),
        (SOFTMAX, None, (FINITE_SUM, False)),
        (LOGISTIC, None, (FINITE_SUM, False)),
        (batches, Sampling.RESHUFFLE, (FINITE_SUM, False)),
        (wide, Sampling.IID, (FINITE_SUM, False)),
        (wide, None, (FINITE_SUM, True)),
        (uncut, Sampling.IID, (FINITE_SUM, True)),
        (many, None, (STEPWISE, False)),
    ):
        plane = spec(problem, sampling=sampling, steps=8, repeats=1)
        kernel = kernel_for(plane)
        assert kernel is expected, problem
        assert is_quadratic_sum(plane) is quadratic, problem
        kernel.check(plane)
        measured = kernel.run(plane, 4, 6)
        a, b, _ = plane.parameters(4)
        trace = run(problem, Method(a, b), 8, sampling=sampling, seed=8, trajectory=4)
        assert measured["final_error"][0, 0] == pytest.approx(trace.errors[-1], rel=1e-10)


@pytest.mark.parametrize("code", [None, 99])
def test_a_loss_without_compiled_code_runs_step_by_step(spec, monkeypatch, code):
    plane = spec(LOGISTIC, steps=8, repeats=1)
    compiled = kernel_for(plane).run(plane, 0, 2)["final_error"]
    monkeypatch.setattr(Logistic, "kernel_code", code)
    assert kernel_for(plane) is STEPWISE
    np.testing.assert_allclose(kernel_for(plane).run(plane, 0, 2)["final_error"], compiled, 1e-10)


def test_a_user_s_gradient_can_be_swept(spec):
    problem = from_functions(
        lambda x: x + 0.3 * np.sin(x), dimension=1, curvature=Curvature(0.7, 1.3), start=[2.0]
    )
    plane = spec(problem, steps=300, repeats=1)
    STEPWISE.check(plane)
    found = STEPWISE.run(plane, 0, 30)
    assert found["rate"].shape == (30, 1)
    # At the minimiser the curvature is 1.3: the rate is the radius of its two-by-two block.
    a, b, _ = plane.parameters(8)
    block = [[(1 + b) * (1 - 1.3 * a), -b * (1 - 1.3 * a)], [1.0, 0.0]]
    rho = np.abs(np.linalg.eigvals(np.array(block))).max()
    assert found["rate"][8, 0] == pytest.approx(rho, abs=0.02)
    with pytest.raises(ValueError, match="dtype must be float64 for this problem or method, got"):
        STEPWISE.check(spec(problem, dtype="float32"))
