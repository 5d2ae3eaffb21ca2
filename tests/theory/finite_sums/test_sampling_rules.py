"""Draws of every rule, epochs of any length, and where a rule is known."""

import ast
from pathlib import Path

import numpy as np
import pytest

import ravine
from ravine.sampling import Sampling
from ravine.theory.finite_sums.mean_square import epoch_is_small
from ravine.theory.finite_sums.rules import RULES, Draws
from ravine.theory.finite_sums.terms import finite_sum

SOURCE = Path(ravine.__file__).parent


def drawn(sampling, n=5, paths=400, steps=40, seed=0):
    draws = Draws(n, sampling, paths, np.random.default_rng(seed))
    return np.stack([draws.next() for _ in range(steps)])


@pytest.mark.parametrize("sampling", list(Sampling))
def test_draws_have_the_traits_of_their_rule(sampling):
    order = drawn(sampling)
    traits = sampling.traits
    epochs = order.reshape(-1, 5, order.shape[1])
    whole = np.sort(epochs, axis=1) == np.arange(5)[:, None]
    assert whole.all() == traits.by_epoch
    repeats = (order[1:] == order[:-1]).any()
    assert repeats == (traits.may_repeat and traits.random)
    assert (order != order[:, :1]).any() == traits.random


def test_the_fixed_order_is_the_order_of_the_terms():
    np.testing.assert_array_equal(drawn(Sampling.CYCLIC, paths=2)[:7, 1], [0, 1, 2, 3, 4, 0, 1])


@pytest.mark.parametrize("sampling", [s for s in Sampling if s.traits.random])
def test_terms_are_drawn_evenly(sampling):
    shares = np.bincount(drawn(sampling, steps=50).ravel(), minlength=5) / 20000
    # 20000 draws: a standard error of at most 0.0028.
    np.testing.assert_allclose(shares, 0.2, atol=4 * 0.0028)


@pytest.mark.parametrize("sampling", list(Sampling))
def test_copies_of_paths_go_on_by_the_rule(sampling):
    draws = Draws(4, sampling, 6, np.random.default_rng(1))
    first = [draws.next() for _ in range(2)]
    draws.keep(np.array([0, 0, 0, 3, 3, 3]))
    rest = [draws.next() for _ in range(2)]
    if sampling.traits.by_epoch:
        parents = np.stack(first)[:, [0, 0, 0, 3, 3, 3]]
        whole = np.concatenate([parents, np.stack(rest)])
        np.testing.assert_array_equal(np.sort(whole, axis=0), np.arange(4)[:, None] + np.zeros(6))


def test_thousands_of_terms_are_a_long_epoch_and_no_overflow():
    assert not epoch_is_small(finite_sum(np.linspace(1, 2, 3000)[:, None]))
    assert epoch_is_small(finite_sum(np.ones((3000, 1))))


def files_that_tell_rules_apart(package):
    """Files of a package whose code compares, matches or looks up one particular rule."""
    named = set()
    for path in (SOURCE / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            asked = {
                ast.Compare: lambda one: [one.left, *one.comparators],
                ast.MatchValue: lambda one: [one.value],
                ast.Dict: lambda one: [key for key in one.keys if key is not None],
            }.get(type(node), lambda one: [])(node)
            for part in asked:
                for inner in ast.walk(part):
                    if isinstance(inner, ast.Attribute) and inner.attr in Sampling.__members__:
                        named.add(str(path.relative_to(SOURCE)))
    return named


def test_a_rule_is_known_in_two_files():
    """Its traits in ravine.sampling, which tell the engine how to draw, and the theory's table."""
    assert files_that_tell_rules_apart("theory") == {"theory/finite_sums/rules.py"}
    assert files_that_tell_rules_apart("engine") == set()
    assert set(RULES) == set(Sampling)


@pytest.mark.parametrize("rule", Sampling)
@pytest.mark.parametrize("n", [2, 5])
def test_places_of_a_round_are_those_of_the_draws(rule, n):
    """Where the last term comes, given whether it ended the round before."""
    length = n if rule.traits.by_epoch else 1
    order = drawn(rule, n=n, paths=4000, steps=8 * length)
    came = (order == n - 1).reshape(8, length, -1)
    for places, before in zip(RULES[rule].places(n), (False, True), strict=True):
        chosen = came[:-1, -1] == before
        if not chosen.any():
            continue
        shares = np.moveaxis(came[1:], 1, 2)[chosen].mean(axis=0)
        expected = np.full(length, places.between)
        expected[-1], expected[0] = places.last, places.first
        # Each share has a standard error of at most 1/√(4 count).
        np.testing.assert_allclose(shares, expected, atol=4.5 / np.sqrt(4 * chosen.sum()))
