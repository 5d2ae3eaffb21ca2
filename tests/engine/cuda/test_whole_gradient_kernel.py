"""Whole gradients in registers are those of the problem."""

import numpy as np
import pytest

CODE = """
from ravine.engine.cuda.finite_sum import FiniteSumLauncher, whole_layout_for
from ravine.engine.cuda.whole_gradient_kernel import by_feature, whole_gradient
from ravine.engine.cuda.source import device_function
from ravine.engine.cuda.work_queue import work_queues
from ravine.engine.kernels.finite_sum import new_sum
from ravine.engine.spec import Spec
from ravine.problems import from_data

rng = np.random.default_rng(4)
X = rng.standard_normal((7, 3))
problem = from_data(X, {target}, loss="{loss}", l2=0.1)
spec = Spec(
    problem=problem, alphas=np.ones(1), betas=np.zeros(1), steps=2, start=problem.start,
    dtype="{dtype}",
)
layout = whole_layout_for(spec, new_sum(spec))
gradient = whole_gradient(layout)
with work_queues(1) as (queue,):
    rows, target, weights, l2 = FiniteSumLauncher(spec, queue)._arguments[:4]
y = rng.standard_normal(problem.dimension).astype("{dtype}")

@device_function
def number(entry, same, at, y):
    return y[at]

take = by_feature(layout.features, layout.outputs, number)
numbers = ((0,) * layout.outputs,) * layout.features

@cuda.jit
def kernel(rows, target, weights, l2, y, out):
    g = gradient(take(numbers, numbers, 0, y), rows, target, weights, l2)
    for j in range(layout.features):
        for c in range(layout.outputs):
            out[j * layout.outputs + c] = g[j][c]

out = np.zeros(problem.dimension)
kernel[1, 1](rows, target, weights, l2, y, out)
result = out.tolist(), problem.gradient(y.astype(float)).tolist()
"""


@pytest.mark.parametrize(
    ("loss", "target", "dtype", "tolerance"),
    [
        ("multinomial", "np.arange(7) % 3", "float64", 1e-13),
        ("multinomial", "np.arange(7) % 3", "float32", 2e-6),
        ("logistic", "X[:, 0] > 0.1", "float64", 1e-13),
    ],
)
def test_gradient_is_that_of_the_problem(in_simulator, loss, target, dtype, tolerance):
    found, expected = in_simulator(CODE.format(loss=loss, target=target, dtype=dtype))
    np.testing.assert_allclose(found, expected, tolerance, tolerance)
