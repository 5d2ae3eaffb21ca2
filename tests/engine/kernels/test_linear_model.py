import numpy as np
import pytest

from ravine import Method, Sampling
from ravine.engine.kernels import linear_model
from ravine.engine.run import run
from ravine.problems import from_data, multinomial_logistic

rng = np.random.default_rng(3)
X = rng.standard_normal((37, 4))
WIDE = rng.standard_normal((40, 33))
LOGISTIC = from_data(X, X[:, 0] + rng.standard_normal(37) > 0, loss="logistic", l2=0.1)
SOFTMAX = multinomial_logistic(42, 4, 3, 3, l2=0.05, seed=5)


def test_the_data_decide_the_kernel(spec):
    squared = from_data(X, X @ np.ones(4), batch_size=10)
    batches = from_data(X, X[:, 0] > 0, loss="logistic", l2=0.1, batch_size=10)
    wide = from_data(WIDE, WIDE[:, 0], l2=0.1, batch_size=10)
    many = from_data(X, np.arange(37) % 17, loss="multinomial", l2=0.1)
    for problem, sampling, expected in (
        (squared, Sampling.IID, "finite_sum"),
        (SOFTMAX, None, "linear_model_kernel"),
        (LOGISTIC, None, "linear_model_kernel"),
        (batches, Sampling.RESHUFFLE, "linear_model_kernel"),
        (wide, Sampling.IID, "linear_model_kernel"),
        (wide, None, "finite_sum"),
        (many, None, "stepwise"),
    ):
        plane = spec(problem, sampling=sampling, steps=8, repeats=1)
        chosen = linear_model.kernel_module(plane)
        assert chosen.__name__.endswith(expected)
        linear_model.check(plane)
        found = linear_model.run_tile(plane, 4, 6)
        a, b, _ = plane.parameters(4)
        trace = run(problem, Method(a, b), 8, sampling=sampling, seed=8, trajectory=4)
        assert found["final_error"][0, 0] == pytest.approx(trace.errors[-1], rel=1e-10)
