"""Claims on the recursion: each judgement follows its measurements."""

import pytest

from ravine.claims.claim import Judgement
from ravine.claims.linear_recursion import CLAIMS

HOLDS = Judgement.HOLDS
FAILS = Judgement.FAILS
BY_ID = {claim.id: claim for claim in CLAIMS}

# What a run leads to, and a change to its measurements that must lead elsewhere.
MEASURED = {
    "equations-7-9": (HOLDS, {"largest_difference": 1e-3}, FAILS),
    "equation-10": (HOLDS, {"largest_difference": 1e-3}, FAILS),
    "equation-14": (HOLDS, {"largest_difference": 1e-3}, FAILS),
    "lemma-2": (HOLDS, {"largest_difference": 1e-3}, FAILS),
    "appendix-b-powers": (HOLDS, {"coefficient": 1e-3}, FAILS),
    "appendix-c-permutation": (HOLDS, {"largest_difference": 1.0}, FAILS),
}


def test_every_claim_has_a_flip():
    assert {claim.id for claim in CLAIMS} == set(MEASURED)


@pytest.mark.parametrize("name", MEASURED)
def test_what_is_measured_decides(name, judged_from_scratch, turns):
    expected, change, other = MEASURED[name]
    judged = judged_from_scratch(BY_ID[name])
    assert set(change) <= set(judged.measurements)
    turns(BY_ID[name], judged.measurements, expected, change, other)
