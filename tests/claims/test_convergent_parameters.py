"""Claims on parameters that converge: each judgement follows its measurements."""

import pytest

from ravine.claims.claim import Judgement
from ravine.claims.convergent_parameters import CLAIMS

HOLDS = Judgement.HOLDS
CORRECTED = Judgement.CORRECTED
FAILS = Judgement.FAILS
BY_ID = {claim.id: claim for claim in CLAIMS}

# What a run leads to, and a change to its measurements that must lead elsewhere.
MEASURED = {
    "theorem-4": (HOLDS, {"largest_ratio": 1.1}, FAILS),
    "lemma-3": (HOLDS, {"largest_ratio": 1.1}, FAILS),
    "erratum-14": (CORRECTED, {"distance": 0.5}, HOLDS),
    "erratum-15": (CORRECTED, {"sum_ratio": 0.99}, HOLDS),
    "corollary-4.1": (HOLDS, {"largest_ratio": 1.1}, FAILS),
    "erratum-16": (CORRECTED, {"R": [0.3, 0.8, 0.9]}, HOLDS),
}
# Measurements as the data of a figure give them, what they lead to, a change, and where to.
FROM_FIGURES = {
    "corollary-4.2": ({"largest_mean_ratio": 0.9998}, HOLDS, {"largest_mean_ratio": 1.1}, FAILS),
    "figure-3": (
        {"least_rate_ratio": 1.0, "largest_floor_ratio": 7.6},
        CORRECTED,
        {"largest_floor_ratio": 1.1},
        HOLDS,
    ),
}


def test_every_claim_has_a_flip():
    assert {claim.id for claim in CLAIMS} == set(MEASURED) | set(FROM_FIGURES)


@pytest.mark.parametrize("name", MEASURED)
def test_what_is_measured_decides(name, judged_from_scratch, turns):
    expected, change, other = MEASURED[name]
    judged = judged_from_scratch(BY_ID[name])
    assert set(change) <= set(judged.measurements)
    turns(BY_ID[name], judged.measurements, expected, change, other)


@pytest.mark.parametrize("name", FROM_FIGURES)
def test_data_of_figures_decide(name, turns):
    measurements, expected, change, other = FROM_FIGURES[name]
    assert BY_ID[name].needs
    turns(BY_ID[name], measurements, expected, change, other)
