"""The kernel for shared noise fills its bins with the errors of a plain loop."""

import numpy as np
import pytest

from ravine.engine.measures import bin_edges

CODE = """
from ravine.engine.cuda.quadratic import QuadraticLauncher
from ravine.engine.cuda.work_queue import work_queues
from ravine.engine.spec import Spec
from ravine.problems import worst_case_quadratic

problem = worst_case_quadratic(Q=9, d=2)
alphas = np.array([0.5, 1.0, 1.57]) / problem.eigenvalues.max()
spec = Spec(
    problem=problem, alphas=alphas, betas=np.array([0.6]), steps=137, sigma2=0.01,
    noise="shared", start=problem.start, device="cuda",
)
with work_queues(1) as (queue,):
    launcher = QuadraticLauncher(spec, queue)
    launch, runs = launcher.prepared(queue, 0, 3, 0)
    launch()
    bins, latest, when = (a.copy_to_host().tolist() for a in (runs.bins, runs.latest, runs.when))
start = problem.eigenvectors.T @ (problem.start - problem.minimiser)
noise = launcher._noise[0].copy_to_host().tolist()
result = bins, latest, when, noise, start.tolist(), problem.eigenvalues.tolist(), alphas.tolist()
"""


def test_bins_hold_the_errors_of_a_plain_loop(in_simulator):
    """Through bins of one, two and four steps; the last run diverges among the latter."""
    steps = 137
    bins, latest, when, noise, start, eigenvalues, alphas = in_simulator(CODE)
    # A row holds two steps of each of eight coordinates, of which two are there.
    z = np.array(noise).reshape(-1, 8, 2).transpose(0, 2, 1).reshape(-1, 8)[:steps, :2]
    edges = bin_edges(steps)
    found = np.array(bins).reshape(len(edges) - 1, 3)
    for p, alpha in enumerate(alphas):
        x = before = np.array(start)
        squares = []
        for k in range(steps):
            y = x + 0.6 * (x - before)
            x, before = y - alpha * (np.array(eigenvalues) * y + 0.1 * z[k]), x
            squares.append(((x + 0.6 * (x - before)) ** 2).sum())
        sums = np.add.reduceat(squares, edges[:-1])
        far = np.linalg.norm(start) + alpha * 0.1 * np.sqrt(2)
        beyond = np.flatnonzero(np.array(squares) > (1e10 * far) ** 2)
        assert when[p] == (beyond[0] + 1 if beyond.size else 0)
        there = len(sums) if when[p] == 0 else np.searchsorted(edges, when[p]) - 1
        np.testing.assert_allclose(found[:there, p], sums[:there], 1e-11)
        if when[p] == 0:
            assert latest[p] == pytest.approx(squares[-1], rel=1e-11)
    assert when[:2] == [0, 0]
    assert 128 < when[2] <= steps
