"""Claims on the paper's example: each judgement follows its measurements."""

import pytest

from ravine.claims.claim import Judgement
from ravine.claims.divergent_example import CLAIMS

HOLDS = Judgement.HOLDS
CORRECTED = Judgement.CORRECTED
FAILS = Judgement.FAILS
BY_ID = {claim.id: claim for claim in CLAIMS}

# What a run leads to, and a change to its measurements that must lead elsewhere.
MEASURED = {
    "example-coordinates": (HOLDS, {"stays_zero": False}, FAILS),
    "example-large-n": (HOLDS, {"decreasing": False}, FAILS),
}
# Measurements as the data of a figure give them, what they lead to, a change, and where to.
FROM_FIGURES = {
    "erratum-10": (
        {"measured": [1.05, 0.997, 0.984]},
        CORRECTED,
        {"measured": [1.1, 1.1, 1.1]},
        HOLDS,
    ),
    "erratum-12": ({"iid": 0.3, "reshuffle": 0.008}, FAILS, {"iid": 0.0, "reshuffle": 0.0}, HOLDS),
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
