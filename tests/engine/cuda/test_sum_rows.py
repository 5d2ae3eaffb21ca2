"""What is each trajectory's own in a finite sum is the same on the GPU as on the CPU."""

import numpy as np
import pytest

CODE = """
from ravine.engine.cuda.finite_sum import FiniteSumLauncher
from ravine.engine.cuda.work_queue import work_queues
from ravine.engine.kernels.finite_sum import new_sum, new_trajectories
from ravine.engine.spec import Spec
from ravine.problems import counterexample
from ravine.sampling import Sampling

problem = counterexample(mu=0.05, L=100, n=5)
spec = Spec(
    problem=problem, alphas=np.array([0.0, 1e-3, 5e-3]), betas=np.array([-0.5, 0.5]), steps=3,
    repeats=2, sigma2=0.25, noise="{noise}", dtype="{dtype}", start=problem.start,
    sampling=Sampling.IID, gammas={gammas}, device="cuda",
)
with work_queues(1) as (queue,):
    FiniteSumLauncher(spec, queue).launch(queue, 1, 5)
    own = queue.buffer("own of sums", (3, 8), spec.dtype).copy_to_host()
    limit = queue.buffer("limit", (8,), np.float64).copy_to_host()
    identity = queue.buffer("identity", (8,), np.uint64).copy_to_host()
lanes = new_trajectories(spec, new_sum(spec), 1, 5)
result = [
    [own.tolist(), lanes.own[:, :8].tolist()],
    [limit.tolist(), lanes.limit[:8].tolist()],
    [identity.tolist(), lanes.identity[:8].tolist()],
]
"""


@pytest.mark.parametrize(
    ("noise", "dtype", "gammas"),
    [
        ("shared", "float64", "None"),
        ("independent", "float32", "np.array([[0.2, -1.0], [0.1, 0.0], [0.5, 0.4]])"),
    ],
)
def test_rows_are_those_of_the_processor(in_simulator, noise, dtype, gammas):
    code = CODE.format(noise=noise, dtype=dtype, gammas=gammas)
    for found, expected in in_simulator(code):
        np.testing.assert_allclose(found, expected, 4e-16)
