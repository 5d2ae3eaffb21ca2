"""Claims on additive noise: each judgement follows its measurements."""

import pytest
from claim_flips import MeasuredFlips

from ravine.claims.additive_noise import CLAIMS
from ravine.claims.claim import Judgement

HOLDS = Judgement.HOLDS
CORRECTED = Judgement.CORRECTED
FAILS = Judgement.FAILS
BY_ID = {claim.id: claim for claim in CLAIMS}

# What a run leads to, and a change to its measurements that must lead elsewhere.
MEASURED = {
    "theorem-1": (HOLDS, {"latest": 0.5}, FAILS),
    "erratum-2": (CORRECTED, {"needed": 1.0}, HOLDS),
    "erratum-3": (FAILS, {"constant": 1.0}, HOLDS),
    "c-epsilon": (FAILS, {"exact_over_paper": [0.5, 0.9]}, HOLDS),
    "corollary-1.1": (CORRECTED, {"corrected": 1.2}, FAILS),
    "erratum-4": (CORRECTED, {"fails_at": []}, HOLDS),
    "theorem-2": (HOLDS, {"largest_ratio": 1.01}, FAILS),
    "erratum-7": (CORRECTED, {"stated": 0.0032}, HOLDS),
}


class TestFlips(MeasuredFlips):
    claims = CLAIMS
    measured = MEASURED


def test_the_constant_of_theorem_1_grows_like_q(judged_from_scratch):
    """needed = exact floor / paper's coefficient, about Q/10 (moments in closed form)."""
    needed = judged_from_scratch(BY_ID["theorem-1"]).measurements["needed"]
    assert needed[3] == pytest.approx(2000 / 10, rel=0.1)
    assert needed == sorted(needed)


def test_c_epsilon_is_reached_at_large_k_though_the_roots_fall(judged_from_scratch):
    """k (rho/(rho+eps))^k is largest at 1/ln((rho+eps)/rho), which is rho/eps + 1/2 or 978.1."""
    m = judged_from_scratch(BY_ID["erratum-3"]).measurements
    assert m["monotone"]
    assert abs(m["reached_at"] - 978.1) < 1.0
    assert m["constant"] > 100.0 * m["ratio"]
