"""Claims on parameters that converge: each judgement follows its measurements."""

from claim_flips import FigureFlips, MeasuredFlips

from ravine.claims.claim import Judgement
from ravine.claims.convergent_parameters import CLAIMS

HOLDS = Judgement.HOLDS
CORRECTED = Judgement.CORRECTED
FAILS = Judgement.FAILS

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


class TestFlips(MeasuredFlips, FigureFlips):
    claims = CLAIMS
    measured = MEASURED
    from_figures = FROM_FIGURES
