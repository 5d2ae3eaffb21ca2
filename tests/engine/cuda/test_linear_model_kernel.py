"""A thread runs a trajectory of a linear model as the CPU's kernel runs a lane."""

import numpy as np
import pytest

CODE = """
from ravine.engine.cuda.finite_sum import FiniteSumLauncher
from ravine.engine.cuda.work_queue import work_queues
from ravine.engine.kernels.finite_sum import run_tile
from ravine.engine.measures import FIELDS
from ravine.engine.restart import Restart
from ravine.engine.spec import Spec
from ravine.problems import from_data

rng = np.random.default_rng(6)
X = rng.standard_normal((6, 4))
problem = from_data(X, np.arange(6) % 3, loss="multinomial", l2=0.1)
spec = Spec(
    problem=problem, alphas=np.array([1.0, 4.0]), betas=np.array([0.5]), steps=5,
    restart=Restart.GRADIENT, start=problem.start, dtype="{dtype}", device="cuda",
)
with work_queues(1) as (queue,):
    launcher = FiniteSumLauncher(spec, queue)
    fields = launcher.launch(queue, 0, 2).copy_to_host()
expected = run_tile(spec, 0, 2)
result = launcher._whole, fields.tolist(), [expected[name].ravel().tolist() for name in FIELDS]
"""


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
def test_fields_are_those_of_the_processor(in_simulator, dtype, tolerance):
    whole, found, expected = in_simulator(CODE.format(dtype=dtype))
    assert not whole
    np.testing.assert_allclose(np.array(found).T, expected, tolerance, equal_nan=True)
