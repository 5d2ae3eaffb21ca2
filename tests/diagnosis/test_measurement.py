import numpy as np
import pytest

from ravine.diagnosis.measurement import (
    follow,
    hessian_products,
    marked_steps,
    on_data,
    on_quadratics,
)
from ravine.engine.run import run
from ravine.methods import Method
from ravine.problems import from_data
from ravine.sampling import Sampling


def model(loss: str):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((22, 3))
    target = {
        "squared": rng.standard_normal(22),
        "logistic": rng.integers(2, size=22),
        "multinomial": np.arange(22) % 3,
    }[loss]
    return from_data(X, target, loss=loss, l2=0.1, batch_size=5)


@pytest.mark.parametrize("loss", ["squared", "logistic", "multinomial"])
def test_gradients_and_products_at_many_points_are_those_at_each(loss):
    problem = model(loss)
    points = np.random.default_rng(2).standard_normal((4, problem.dimension))
    for b in (0, 4):  # the last batch is shorter
        slopes = [problem.batch_gradient(b, p) for p in points]
        curved = [problem.batch_hessian(b) @ p for p in points]
        np.testing.assert_allclose(on_data(problem)(b, points), slopes, rtol=1e-12, atol=1e-14)
        found = hessian_products(problem)(b, points)
        np.testing.assert_allclose(found, curved, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loss", ["squared", "logistic", "multinomial"])
def test_a_run_in_a_fixed_order_is_the_engines(loss):
    problem = model(loss)
    methods = [Method(0.05, 0.7), Method(0.1, 0.5, gamma=0.0)]
    found = follow(
        on_data(problem), methods, problem.start, problem.minimiser, batches=problem.terms,
        sampling=Sampling.CYCLIC, steps=40, seeds=1,
    )  # fmt: skip
    for i, method in enumerate(methods):
        trace = run(problem, method, 40, sampling="cyclic", start=problem.start)
        expected = trace.errors[found.steps] ** 2
        np.testing.assert_allclose(found.squares[:, 0, i], expected, rtol=1e-8, atol=1e-20)


def test_divergence_is_noticed_and_stays_infinite():
    H, z = np.array([[[1.0]]]), np.zeros((1, 1))
    found = follow(
        on_quadratics(H, z), [Method(3.0), Method(0.5)], np.ones(1), np.zeros(1), batches=1,
        sampling=Sampling.CYCLIC, steps=100, seeds=2,
    )  # fmt: skip
    # |1 - 3| = 2 a step passes 1e12 after 40 steps.
    assert found.diverged_at[0].tolist() == [40, -1]
    assert np.isinf(found.squares[-1, :, 0]).all()
    assert found.squares[-1, 0, 1] < 1e-20
    assert np.isinf(found.average[:, 0]).all()


def test_marks_begin_at_the_start_and_end_with_the_last_step():
    marks = marked_steps(1234)
    assert marks[0] == 0
    assert marks[-1] == 1234
    assert (np.diff(marks) > 0).all()
    assert marked_steps(1).tolist() == [0, 1]
