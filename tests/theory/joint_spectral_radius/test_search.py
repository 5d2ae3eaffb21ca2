import numpy as np

from ravine.theory.joint_spectral_radius.search import irreducible


def test_one_dimension_needs_no_search() -> None:
    answer = irreducible(np.array([[[2.0]], [[-3.0]]]), 1e-6, 1)
    assert answer.lower == 3.0
    assert answer.upper == 3.0
    assert answer.word == (1,)
    assert not answer.exhausted


def test_what_a_small_purse_has_seen_a_large_one_sees_too() -> None:
    """The lower bound never falls and the upper one never rises with the budget."""
    matrices = np.random.default_rng(48).normal(size=(2, 5, 5))
    answers = [irreducible(matrices, 1e-9, budget) for budget in (1, 299, 300, 700, 2500)]
    lowers = [answer.lower for answer in answers]
    uppers = [answer.upper for answer in answers]
    assert lowers == sorted(lowers)
    assert uppers == sorted(uppers, reverse=True)
    assert answers[0].exhausted
    # no part of an allotment is spent: the first polytope costs 300
    assert answers[0].upper == answers[1].upper
    assert [answer.norm.kind for answer in answers[:2]] == ["norm of all products of length 12"] * 2
    assert answers[-1].norm.kind == "invariant polytope"


def test_positive_sets_are_proven_in_the_orthant() -> None:
    matrices = np.random.default_rng(2).integers(0, 3, (3, 6, 6)).astype(float)
    answer = irreducible(matrices, 1e-6, 5000)
    assert answer.norm.kind == "invariant polytope in the positive orthant"
    assert answer.upper <= answer.lower * (1.0 + 1e-6)
