"""Claims on exact gradients: each judgement follows its measurements."""

import pytest

from ravine.claims.claim import Judgement
from ravine.claims.exact_gradients import CLAIMS

HOLDS = Judgement.HOLDS
FAILS = Judgement.FAILS
BY_ID = {claim.id: claim for claim in CLAIMS}

# What a run leads to, and a change to its measurements that must lead elsewhere.
MEASURED = {
    "equation-4": (HOLDS, {"largest_ratio": 1.01}, FAILS),
    "equation-5": (HOLDS, {"largest_ratio": 1.01}, FAILS),
    "equation-6": (HOLDS, {"least_ratio": 0.9}, FAILS),
}


def test_every_claim_has_a_flip():
    assert {claim.id for claim in CLAIMS} == set(MEASURED)


@pytest.mark.parametrize("name", MEASURED)
def test_what_is_measured_decides(name, judged_from_scratch, turns):
    expected, change, other = MEASURED[name]
    judged = judged_from_scratch(BY_ID[name])
    assert set(change) <= set(judged.measurements)
    turns(BY_ID[name], judged.measurements, expected, change, other)
