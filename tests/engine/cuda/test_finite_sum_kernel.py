"""A thread runs a trajectory of a finite sum as the CPU's kernel runs a lane."""

import numpy as np

CODE = """
from ravine.engine.cuda.finite_sum import FiniteSumLauncher
from ravine.engine.cuda.work_queue import work_queues
from ravine.engine.kernels.finite_sum import run_tile
from ravine.engine.measures import FIELDS
from ravine.engine.spec import Spec
from ravine.problems import counterexample
from ravine.sampling import Sampling

problem = counterexample(mu=0.5, L=10, n=4)
spec = Spec(
    problem=problem, alphas=np.array([0.05, 0.3]), betas=np.array([0.5]), steps=9, repeats=2,
    sampling=Sampling.RESHUFFLE, start=problem.start, seed=3, device="cuda",
)
with work_queues(1) as (queue,):
    fields = FiniteSumLauncher(spec, queue).launch(queue, 0, 2).copy_to_host()
expected = run_tile(spec, 0, 2)
result = fields.tolist(), [expected[name].ravel().tolist() for name in FIELDS]
"""


def test_fields_are_those_of_the_processor(in_simulator):
    found, expected = in_simulator(CODE)
    np.testing.assert_allclose(np.array(found).T, expected, 1e-12, equal_nan=True)
    assert len(set(np.array(found)[:, -1])) == 4
