"""Claims on exact gradients: each judgement follows its measurements."""

from claim_flips import MeasuredFlips

from ravine.claims.claim import Judgement
from ravine.claims.exact_gradients import CLAIMS

HOLDS = Judgement.HOLDS
FAILS = Judgement.FAILS

# What a run leads to, and a change to its measurements that must lead elsewhere.
MEASURED = {
    "equation-4": (HOLDS, {"largest_ratio": 1.01}, FAILS),
    "equation-5": (HOLDS, {"largest_ratio": 1.01}, FAILS),
    "equation-6": (HOLDS, {"least_ratio": 0.9}, FAILS),
}


class TestFlips(MeasuredFlips):
    claims = CLAIMS
    measured = MEASURED
