"""Claims on the paper's example: each judgement follows its measurements."""

from claim_flips import FigureFlips, MeasuredFlips

from ravine.claims.claim import Judgement
from ravine.claims.divergent_example import CLAIMS

HOLDS = Judgement.HOLDS
CORRECTED = Judgement.CORRECTED
FAILS = Judgement.FAILS

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


class TestFlips(MeasuredFlips, FigureFlips):
    claims = CLAIMS
    measured = MEASURED
    from_figures = FROM_FIGURES
