"""Claims on the recursion: each judgement follows its measurements."""

from claim_flips import MeasuredFlips

from ravine.claims.claim import Judgement
from ravine.claims.linear_recursion import CLAIMS

HOLDS = Judgement.HOLDS
FAILS = Judgement.FAILS

# What a run leads to, and a change to its measurements that must lead elsewhere.
MEASURED = {
    "equations-7-9": (HOLDS, {"largest_difference": 1e-3}, FAILS),
    "equation-10": (HOLDS, {"largest_difference": 1e-3}, FAILS),
    "equation-14": (HOLDS, {"largest_difference": 1e-3}, FAILS),
    "lemma-2": (HOLDS, {"largest_difference": 1e-3}, FAILS),
    "appendix-b-powers": (HOLDS, {"coefficient": 1e-3}, FAILS),
    "appendix-c-permutation": (HOLDS, {"largest_difference": 1.0}, FAILS),
}


class TestFlips(MeasuredFlips):
    claims = CLAIMS
    measured = MEASURED
