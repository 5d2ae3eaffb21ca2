"""Claims of the closing section: each judgement follows its measurements."""

from claim_flips import FigureFlips

from ravine.claims.claim import Judgement
from ravine.claims.conclusions import CLAIMS

HOLDS = Judgement.HOLDS
CORRECTED = Judgement.CORRECTED
FAILS = Judgement.FAILS

# Measurements as the data of a figure give them, what they lead to, a change, and where to.
FROM_FIGURES = {
    "sufficient-not-necessary": (
        {"nested": 1.0, "convergent": [0.6, 0.5], "guaranteed": [0.2, 0.1]},
        HOLDS,
        {"nested": 0.99},
        FAILS,
    ),
    "joint-spectral-radius-difficult": (
        {
            "largest_difference": 1e-15,
            "last_convergent": 11.64,
            "threshold": 11.657,
            "first_divergent": 11.67,
        },
        CORRECTED,
        {"first_divergent": 11.5},
        FAILS,
    ),
    "restart": (
        {
            "paper_after": 0.992,
            "turning_gradient": 1.16,
            "turning_sampled": 1.16,
            "turning_full": 0.89,
        },
        CORRECTED,
        {"turning_full": 1.16},
        FAILS,
    ),
    "negative-momentum": (
        {"saved": 0.4, "saved_at_equal_rate": 0.02},
        CORRECTED,
        {"saved": 0.0},
        FAILS,
    ),
}


class TestFlips(FigureFlips):
    claims = CLAIMS
    from_figures = FROM_FIGURES
