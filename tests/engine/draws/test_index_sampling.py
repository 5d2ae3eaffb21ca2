from collections import Counter
from itertools import pairwise, permutations

import numpy as np
import pytest
from reference import words

from ravine import Sampling
from ravine.engine.draws.index_sampling import (
    BY_EPOCH,
    IN_ORDER,
    NO_REPEAT,
    rule_number,
    sampled_indices,
)
from ravine.engine.draws.random import INDEX

RULES = [rule.value for rule in Sampling]


def reference(n, steps, rule, seed, trajectory, m):
    """The rules as they are described, in plain Python."""
    source = iter(words(seed, trajectory, 0, int(INDEX), steps * m))
    order, last, out = list(range(n)), [], []

    def draw(free):
        return (free * int(next(source))) >> 32

    def swap_in(place, free):
        there = place + draw(free)
        order[place], order[there] = order[there], order[place]
        return order[place]

    for k in range(steps):
        batches = -(-n // m)
        first = (k % batches) * m
        size = min(m, n - first) if rule not in ("iid", "iid-no-repeat") else m
        if rule == "cyclic":
            picked = list(range(first, first + size))
        elif rule == "iid" and m == 1:
            picked = [draw(n)]
        elif rule == "iid-no-repeat" and m == 1:
            picked = [(last[0] + 1 + draw(n - 1)) % n] if last else [draw(n)]
        elif rule.startswith("iid"):
            free = n
            if rule == "iid-no-repeat" and last:
                order = order[n - m :] + order[m : n - m] + order[:m]
                free = n - m
            picked = [swap_in(b, free - b) for b in range(m)]
        else:
            free = n - first
            if rule == "reshuffle-no-repeat" and first == 0 and k > 0:
                free = (batches - 1) * m
            picked = [swap_in(first + b, free - b) for b in range(size)]
        last = picked
        out.append(picked + [-1] * (m - size))
    return out


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("n", "m"), [(7, 1), (2, 1), (9, 3), (11, 4), (6, 3)])
def test_the_rules_are_what_they_say(rule, n, m):
    got = sampled_indices(n, 60, sampling=Sampling(rule), seed=2**40 + 3, trajectory=77, batch=m)
    assert got.tolist() == reference(n, 60, rule, 2**40 + 3, 77, m)


@pytest.mark.parametrize("rule", ["iid-no-repeat", "reshuffle-no-repeat"])
@pytest.mark.parametrize(("n", "m"), [(5, 1), (9, 3), (8, 4)])
def test_without_repeat_nothing_comes_twice_in_a_row(rule, n, m):
    got = sampled_indices(n, 500, sampling=Sampling(rule), seed=1, batch=m)
    for before, after in pairwise(got):
        assert not set(before[before >= 0]) & set(after[after >= 0])


@pytest.mark.parametrize("rule", ["reshuffle", "reshuffle-no-repeat", "cyclic"])
@pytest.mark.parametrize(("n", "m"), [(6, 1), (7, 3), (6, 2)])
def test_every_epoch_visits_each_term_once(rule, n, m):
    steps = -(-n // m)
    got = sampled_indices(n, 40 * steps, sampling=Sampling(rule), seed=4, batch=m)
    for epoch in got.reshape(40, steps * m):
        assert sorted(epoch[epoch >= 0]) == list(range(n))


def test_terms_are_drawn_evenly():
    # 60,000 draws of 6 terms: each count is 10,000 with deviation sqrt(10,000 * 5/6) = 91.
    for rule in ("iid", "iid-no-repeat"):
        counts = np.bincount(
            sampled_indices(6, 60_000, sampling=Sampling(rule), seed=8).ravel(), minlength=6
        )
        assert np.abs(counts - 10_000).max() < 4 * 92


def test_shuffles_are_uniform_and_independent_of_the_last():
    # 24 orders of 4 terms in 24,000 epochs: 1000 each, deviation 31; conditional ones likewise.
    got = sampled_indices(4, 4 * 24_000, sampling=Sampling.RESHUFFLE, seed=3).reshape(-1, 4)
    counts = Counter(map(tuple, got.tolist()))
    assert set(counts) == set(permutations(range(4)))
    assert max(abs(c - 1000) for c in counts.values()) < 4.5 * 31
    meets = np.mean(got[1:, 0] == got[:-1, 3])
    assert abs(meets - 0.25) < 4 * np.sqrt(0.25 * 0.75 / 24_000)


def test_without_repeat_the_other_orders_are_uniform():
    got = sampled_indices(4, 4 * 24_000, sampling=Sampling.RESHUFFLE_NO_REPEAT, seed=3).reshape(
        -1, 4
    )
    # Relative to the last term of the epoch before: 18 orders of 24,000, deviation 35.
    relative = (got[1:] - got[:-1, 3:]) % 4
    counts = Counter(map(tuple, relative.tolist()))
    assert len(counts) == 18
    assert max(abs(c - 24_000 / 18) for c in counts.values()) < 4.5 * 36


def test_streams_differ_between_trajectories_and_seeds():
    draws = [
        sampled_indices(1000, 50, sampling=Sampling.IID, seed=s, trajectory=t).tobytes()
        for s in (0, 1)
        for t in (0, 1, 128, 2**33)
    ]
    assert len(set(draws)) == 8


@pytest.mark.parametrize("rule", Sampling)
def test_numbers_of_rules_say_their_traits(rule):
    number = rule_number(rule)
    assert bool(number & BY_EPOCH) == rule.traits.by_epoch
    assert bool(number & IN_ORDER) != rule.traits.random
    assert bool(number & NO_REPEAT) != rule.traits.may_repeat


def test_every_rule_has_a_number_of_its_own():
    assert len({rule_number(rule) for rule in Sampling}) == len(Sampling)
    assert rule_number(None) == rule_number(Sampling.CYCLIC)
