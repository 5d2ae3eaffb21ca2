"""Claims on additive noise in runs: each judgement follows its measurements."""

from claim_flips import FigureFlips, MeasuredFlips

from ravine.claims.additive_noise_runs import CLAIMS
from ravine.claims.claim import Judgement

HOLDS = Judgement.HOLDS
CORRECTED = Judgement.CORRECTED
FAILS = Judgement.FAILS

# What a run leads to, and a change to its measurements that must lead elsewhere.
MEASURED = {
    "erratum-6": (FAILS, {"sup_ratio_rescaled": 4.66, "sup_ratio": 4.66}, HOLDS),
}
_PLANE = {"least_outcome": 1.0, "least_rate": 0.999, "least_floor": 0.996, "most_below": 0.18}
# Measurements as the data of a figure give them, what they lead to, a change, and where to.
FROM_FIGURES = {
    "erratum-5": (
        {
            "iterate_nesterov": 1.48,
            "iterate_sgd": 1.0,
            "objective_nesterov": 0.5,
            "objective_sgd": 1.0,
        },
        CORRECTED,
        {"iterate_nesterov": 0.5},
        HOLDS,
    ),
    "figure-1-rates": (_PLANE, HOLDS, {"least_outcome": 0.99}, FAILS),
    "figure-1-noise": (_PLANE, CORRECTED, {"least_floor": 0.9}, FAILS),
    "figure-least-squares": (_PLANE, CORRECTED, {"least_rate": 0.9}, FAILS),
    "negative-momentum-guarantees": (
        {"least_negative": 1.0},
        HOLDS,
        {"least_negative": 0.9},
        FAILS,
    ),
    "figure-logistic": (
        {"speed_up": [3.5, 4.2, 4.9]},
        HOLDS,
        {"speed_up": [3.5, 3.2, 4.9]},
        CORRECTED,
    ),
}


class TestFlips(MeasuredFlips, FigureFlips):
    claims = CLAIMS
    measured = MEASURED
    from_figures = FROM_FIGURES
