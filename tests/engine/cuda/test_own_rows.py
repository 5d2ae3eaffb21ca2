"""What is each trajectory's own is the same on the GPU as on the CPU."""

import numpy as np
import pytest

CODE = """
from ravine.engine.cuda import own_rows as rows
from ravine.engine.cuda.quadratic import QuadraticLauncher
from ravine.engine.cuda.measures import new_runs
from ravine.engine.cuda.work_queue import work_queues
from ravine.engine.kernels.quadratic_kernel import new_plan, new_trajectories, noise_mode
from ravine.engine.spec import Spec
from ravine.problems import worst_case_quadratic

problem = worst_case_quadratic(Q=9, d=3)
spec = Spec(
    problem=problem, alphas=np.array([0.0, 0.1, 0.3]), betas=np.array([-1.0, 0.5]), steps=4,
    repeats=2, sigma2=0.25, noise="{noise}", dtype="{dtype}", start=problem.start,
    gammas={gammas}, device="cuda",
)
mode = noise_mode(spec)
plan = new_plan(spec, mode)
shared = "{noise}" == "shared"
with work_queues(1) as (queue,):
    launcher = QuadraticLauncher(spec, queue)
    launcher.prepared(queue, 1, 5, 1 if shared else 0)
    n = 4 if shared else 8
    own = queue.buffer("own", (rows.ROWS, n), np.float64).copy_to_host()
    identity = queue.buffer("identity", (n,), np.uint64).copy_to_host()
pixels = np.repeat(np.arange(1, 5), 1 if shared else 2)
repeats = np.full(4, 1) if shared else np.tile([0, 1], 4)
lanes = new_trajectories(spec, plan, pixels, repeats)
alpha, beta, gamma, factor, limit = lanes.own
bound = np.minimum(limit / factor, np.finfo("{dtype}").max)
expected = dict(
    ALPHA=alpha, BETA=beta, GAMMA=gamma, AHEAD=lanes.g, UNIT=1 / lanes.unit, FACTOR=factor,
    BOUND=bound, SCALE=np.zeros(n) if shared else -alpha * 0.5,
)
result = [
    [own[getattr(rows, name)].tolist(), values.tolist()] for name, values in expected.items()
] + ([] if shared else [[identity.tolist(), lanes.stream.tolist()]])
"""


@pytest.mark.parametrize(
    ("noise", "dtype", "gammas"),
    [
        ("shared", "float64", "None"),
        ("independent", "float32", "np.array([[0.2, -1.0], [0.1, 0.0], [0.5, 0.4]])"),
    ],
)
def test_rows_are_those_of_the_processor(in_simulator, noise, dtype, gammas):
    for found, expected in in_simulator(CODE.format(noise=noise, dtype=dtype, gammas=gammas)):
        np.testing.assert_allclose(found, expected, 4e-16)
