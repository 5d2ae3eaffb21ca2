"""A step of moments against the step of the state itself."""

import numpy as np

from ravine.methods import Method
from ravine.theory.blocks import system
from ravine.theory.finite_sums.moment_step import (
    Step,
    advance,
    apply_term,
    constant_step,
    symmetric,
)
from ravine.theory.finite_sums.terms import Scalars


def moments_of(r, v):
    """The three matrices of a cloud of states, (d, samples) each."""
    count = r.shape[1]
    return np.stack([r @ r.T, r @ v.T, v @ v.T]) / count


def test_moments_move_as_a_cloud_of_states_does():
    rng = np.random.default_rng(3)
    r, v, g = rng.standard_normal((3, 2, 50))
    step = Step(a=0.7, b=0.6, p=0.3, q=0.2)
    given = (g @ r.T / 50, g @ v.T / 50, g @ g.T / 50)
    after = advance(moments_of(r, v), *given, step)
    moved = moments_of(r + 0.7 * v - 0.3 * g, 0.6 * v - 0.2 * g)
    np.testing.assert_allclose(after, moved, rtol=1e-12)


def test_a_term_s_step_is_its_block_on_both_sides():
    rng = np.random.default_rng(4)
    root = rng.standard_normal((2, 2))
    H = root @ root.T
    s = rng.standard_normal((4, 30))
    A = system(H, Method(0.1, 0.8, 0.5))
    step = constant_step(Scalars(0.1, 0.8, 0.5))
    after = apply_term(moments_of(s[:2], s[2:]), H, step)
    moved = A @ s
    np.testing.assert_allclose(after, moments_of(moved[:2], moved[2:]), rtol=1e-12)


def test_schedules_broadcast():
    X = np.random.default_rng(0).standard_normal((3, 2, 2))
    zero = np.zeros((2, 2))
    many = Step(*(np.array([first, 0.0])[:, None, None] for first in (1.0, 0.5, 0.1, 0.1)))
    both = advance(X, zero, zero, np.broadcast_to(zero, (2, 2, 2)), many)
    np.testing.assert_array_equal(both[0], advance(X, zero, zero, zero, Step(1.0, 0.5, 0.1, 0.1)))
    np.testing.assert_array_equal(both[1], np.stack([X[0], zero, zero]))


def test_only_the_diagonal_blocks_are_made_symmetric():
    X = np.arange(12.0).reshape(3, 2, 2)
    even = symmetric(X)
    for kept in (0, 2):
        np.testing.assert_array_equal(even[kept], (X[kept] + X[kept].T) / 2)
    np.testing.assert_array_equal(even[1], X[1])
    assert even is not X
