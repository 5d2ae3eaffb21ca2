"""The search for the growth against Kronecker products of the blocks."""

import numpy as np
import pytest

from ravine.methods import Method
from ravine.theory.blocks import systems
from ravine.theory.finite_sums.deadline import NEVER, Deadline
from ravine.theory.finite_sums.deviations import MatrixDeviations
from ravine.theory.finite_sums.growth_search import search_growth
from ravine.theory.finite_sums.noise_loop import NoiseLoop
from ravine.theory.ladder.rates import block_radius

LAMBDA = np.array([0.4, 1.0, 3.0])


def searched(method, *, size=0.5, deadline=NEVER, tolerance=1e-9):
    """The search on two terms Λ ± Δ, and what Kronecker products say."""
    rng = np.random.default_rng(7)
    root = rng.standard_normal((3, 3))
    delta = size * (root + root.T) / 2
    deviations = np.stack([delta, -delta])
    parameters = [float(value) for value in (method.alpha, method.beta, method.gamma)]

    loop = NoiseLoop(MatrixDeviations(deviations, np.full(2, 0.5), 3.0))
    mean = float(block_radius(LAMBDA, *map(np.float64, parameters)).max()) ** 2
    solution = search_growth(
        LAMBDA, loop, method, mean_value=mean, tolerance=tolerance, deadline=deadline
    )

    A = systems(np.diag(LAMBDA) + deviations, *parameters)
    lifted = np.mean([np.kron(one, one) for one in A], axis=0)
    return solution, np.abs(np.linalg.eigvals(lifted)).max()


@pytest.mark.parametrize("method", [Method(0.1), Method(0.2, 0.5), Method(0.9, 0.6)])
def test_the_growth_is_that_of_the_mean_of_squared_blocks(method):
    solution, expected = searched(method)
    assert solution.root.settled
    assert solution.root.value == pytest.approx(expected, rel=1e-8)
    assert solution.root.value >= solution.mean_value


def test_terms_that_agree_grow_as_their_mean():
    solution, expected = searched(Method(0.1, 0.3), size=0.0)
    assert solution.root.value == pytest.approx(expected, rel=1e-9)
    assert solution.root.value == pytest.approx(solution.mean_value, rel=1e-9)


def test_no_time_leaves_limits_that_hold():
    solution, expected = searched(Method(0.2, 0.5), deadline=Deadline(0.0))
    assert not solution.root.settled
    assert solution.root.low <= expected <= solution.root.high
    assert solution.root.low < solution.root.high
