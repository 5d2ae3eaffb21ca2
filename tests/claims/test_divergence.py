"""Claims on Theorem 3: each judgement follows its measurements."""

from claim_flips import MeasuredFlips

from ravine.claims.claim import Judgement
from ravine.claims.divergence import CLAIMS

HOLDS = Judgement.HOLDS
CORRECTED = Judgement.CORRECTED
FAILS = Judgement.FAILS

# What a run leads to, and a change to its measurements that must lead elsewhere.
MEASURED = {
    "joint-spectral-radius": (HOLDS, {"largest": 5.0}, FAILS),
    "lemma-1": (HOLDS, {"largest_difference": 0.1}, FAILS),
    "erratum-1": (FAILS, {"appendix": 0.5}, HOLDS),
    "theorem-3": (CORRECTED, {"least_growth": 0.99}, FAILS),
    "erratum-8": (CORRECTED, {"below": 1.01}, HOLDS),
    "erratum-9": (CORRECTED, {"iid": 1.06}, FAILS),
    "erratum-11": (FAILS, {"largest_product": 1e9}, HOLDS),
    "erratum-13": (FAILS, {"batch_2": 0.99}, HOLDS),
}


class TestFlips(MeasuredFlips):
    claims = CLAIMS
    measured = MEASURED
