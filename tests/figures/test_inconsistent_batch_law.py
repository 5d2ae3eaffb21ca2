"""The closed forms of Figure 2 against every order of a few draws."""

from itertools import pairwise, permutations, product

import numpy as np
import pytest

from ravine import Sampling
from ravine.figures.inconsistent_batch_law import MU, L, hit_zero, mean_after
from ravine.methods import nesterov
from ravine.problems import counterexample


@pytest.mark.parametrize("rule", [Sampling.IID, Sampling.IID_NO_REPEAT])
def test_mean_after_sums_over_all_orders(rule):
    """Against every order of 8 draws from 3 terms, with its probability."""
    n, steps = 3, 8
    problem = counterexample(MU, L, n)
    method = nesterov(problem.curvature)
    alpha, beta = float(method.alpha), float(method.beta)
    total = mass = 0.0
    for order in product(range(n), repeat=steps):
        repeats = any(a == b for a, b in pairwise(order))
        if rule is Sampling.IID_NO_REPEAT and repeats:
            continue
        weight = n**-steps if rule is Sampling.IID else 1 / (n * (n - 1.0) ** (steps - 1))
        x = last = 1.0
        for term in order:
            y = x + beta * (x - last)
            x, last = y - alpha * (L if term == n - 1 else MU) * y, x
        total += weight * abs(x + beta * (x - last))
        mass += weight
    assert mass == pytest.approx(1.0)
    assert mean_after(n, rule, steps) == pytest.approx(total, rel=1e-10)


def test_iid_draws_hit_zero_when_the_bad_term_comes_twice():
    n, steps = 3, 6
    orders = np.array(list(product(range(n), repeat=steps)))
    bad = orders == n - 1
    twice = (bad[:, 1:] & bad[:, :-1]).any(axis=1).mean()
    assert hit_zero(n, Sampling.IID, steps) == pytest.approx(twice, rel=1e-12)


@pytest.mark.parametrize(("n", "epochs"), [(2, 3), (3, 3), (4, 2)])
def test_reshuffled_draws_hit_zero_at_the_seams_alone(n, epochs):
    """Against every sequence of orders: an epoch cannot both begin and end with the bad term."""
    ends = [(order[0] == n - 1, order[-1] == n - 1) for order in permutations(range(n))]
    hits = [
        any(before[1] and after[0] for before, after in pairwise(sequence))
        for sequence in product(ends, repeat=epochs)
    ]
    assert hit_zero(n, Sampling.RESHUFFLE, epochs * n) == pytest.approx(np.mean(hits), rel=1e-12)
