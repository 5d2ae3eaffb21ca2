"""Each verdict follows its measurements: a changed measurement changes it."""

import json

import pytest

from ravine.claims import CLAIMS
from ravine.claims.claim import JudgedClaim, Judgement, judge

HOLDS = Judgement.HOLDS
CORRECTED = Judgement.CORRECTED
FAILS = Judgement.FAILS
BY_ID = {claim.id: claim for claim in CLAIMS}

# What a run leads to, and a change to its measurements that must lead elsewhere.
MEASURED = {
    "equation-4": (HOLDS, {"largest_ratio": 1.01}, FAILS),
    "equation-5": (HOLDS, {"largest_ratio": 1.01}, FAILS),
    "equation-6": (HOLDS, {"least_ratio": 0.9}, FAILS),
    "equations-7-9": (HOLDS, {"largest_difference": 1e-3}, FAILS),
    "equation-10": (HOLDS, {"largest_difference": 1e-3}, FAILS),
    "equation-14": (HOLDS, {"largest_difference": 1e-3}, FAILS),
    "lemma-2": (HOLDS, {"largest_difference": 1e-3}, FAILS),
    "appendix-b-powers": (HOLDS, {"coefficient": 1e-3}, FAILS),
    "appendix-c-permutation": (HOLDS, {"largest_difference": 1.0}, FAILS),
    "theorem-1": (HOLDS, {"latest": 0.5}, FAILS),
    "erratum-2": (CORRECTED, {"needed": 1.0}, HOLDS),
    "erratum-3": (FAILS, {"constant": 1.0}, HOLDS),
    "c-epsilon": (FAILS, {"exact_over_paper": [0.5, 0.9]}, HOLDS),
    "corollary-1.1": (CORRECTED, {"corrected": 1.2}, FAILS),
    "erratum-4": (CORRECTED, {"fails_at": []}, HOLDS),
    "theorem-2": (HOLDS, {"largest_ratio": 1.01}, FAILS),
    "erratum-7": (CORRECTED, {"stated": 0.0032}, HOLDS),
    "erratum-6": (FAILS, {"sup_ratio_rescaled": 4.66, "sup_ratio": 4.66}, HOLDS),
    "joint-spectral-radius": (HOLDS, {"largest": 5.0}, FAILS),
    "lemma-1": (HOLDS, {"largest_difference": 0.1}, FAILS),
    "erratum-1": (FAILS, {"appendix": 0.5}, HOLDS),
    "theorem-3": (CORRECTED, {"least_growth": 0.99}, FAILS),
    "erratum-8": (CORRECTED, {"below": 1.01}, HOLDS),
    "erratum-9": (CORRECTED, {"iid": 1.06}, FAILS),
    "erratum-11": (FAILS, {"largest_product": 1e9}, HOLDS),
    "erratum-13": (FAILS, {"batch_2": 0.99}, HOLDS),
    "example-coordinates": (HOLDS, {"stays_zero": False}, FAILS),
    "example-large-n": (HOLDS, {"decreasing": False}, FAILS),
    "theorem-4": (HOLDS, {"largest_ratio": 1.1}, FAILS),
    "lemma-3": (HOLDS, {"largest_ratio": 1.1}, FAILS),
    "erratum-14": (CORRECTED, {"distance": 0.5}, HOLDS),
    "erratum-15": (CORRECTED, {"sum_ratio": 0.99}, HOLDS),
    "corollary-4.1": (HOLDS, {"largest_ratio": 1.1}, FAILS),
    "erratum-16": (CORRECTED, {"R": [0.3, 0.8, 0.9]}, HOLDS),
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
    "erratum-10": (
        {"measured": [1.05, 0.997, 0.984]},
        CORRECTED,
        {"measured": [1.1, 1.1, 1.1]},
        HOLDS,
    ),
    "erratum-12": ({"iid": 0.3, "reshuffle": 0.008}, FAILS, {"iid": 0.0, "reshuffle": 0.0}, HOLDS),
    "corollary-4.2": ({"largest_mean_ratio": 0.9998}, HOLDS, {"largest_mean_ratio": 1.1}, FAILS),
    "figure-3": (
        {"least_rate_ratio": 1.0, "largest_floor_ratio": 7.6},
        CORRECTED,
        {"largest_floor_ratio": 1.1},
        HOLDS,
    ),
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


def assert_turns(claim, measurements, expected, change, other):
    """Measurements lead to one judgement, and changed ones to another."""
    assert set(change) <= set(measurements)
    assert JudgedClaim(claim, measurements).judgement is expected
    assert JudgedClaim(claim, {**measurements, **change}).judgement is other
    assert other is not expected


def judged_from_scratch(name):
    """Judge a claim that needs no figure; its words and its JSON must be whole."""
    result = judge(BY_ID[name])
    written = json.loads(json.dumps(result.as_json(), allow_nan=False))
    assert written["verdict"] == result.judgement.value
    assert written["data"] == result.measurements
    assert "{" not in result.words["measured"] + result.words["exact"]
    return result


def test_every_claim_can_turn():
    assert {*MEASURED, *FROM_FIGURES} == set(BY_ID)
    assert all(BY_ID[name].needs for name in FROM_FIGURES)


@pytest.mark.parametrize("name", MEASURED)
def test_what_is_measured_decides(name):
    expected, change, other = MEASURED[name]
    assert_turns(BY_ID[name], judged_from_scratch(name).measurements, expected, change, other)


@pytest.mark.parametrize("name", FROM_FIGURES)
def test_data_of_figures_decide(name):
    assert_turns(BY_ID[name], *FROM_FIGURES[name])


def test_the_constant_of_theorem_1_grows_like_q():
    """needed = exact floor / paper's coefficient, about Q/10 (moments in closed form)."""
    needed = judged_from_scratch("theorem-1").measurements["needed"]
    assert needed[3] == pytest.approx(2000 / 10, rel=0.1)
    assert needed == sorted(needed)


def test_c_epsilon_is_reached_at_large_k_though_the_roots_fall():
    """k (rho/(rho+eps))^k is largest at 1/ln((rho+eps)/rho), which is rho/eps + 1/2 or 978.1."""
    m = judged_from_scratch("erratum-3").measurements
    assert m["monotone"]
    assert abs(m["reached_at"] - 978.1) < 1.0
    assert m["constant"] > 100.0 * m["ratio"]
