"""A claim is judged by what was measured."""

import pytest

from ravine.claims.claim import Claim, Evidence, Judgement, judge, judgeable, judgement


def claim(**changes):
    parts = {
        "id": "larger",
        "place": "nowhere",
        "statement": "the first number is the larger",
        "measured": "{first:g} and {second:g}",
        "exact": "{first:.2f}",
        "measure": lambda evidence: {"first": 3.0, "second": 2.0},
        "decide": lambda m: judgement(m["first"] > m["second"]),
    }
    return Claim(**{**parts, **changes})


def test_words_hold_the_numbers():
    judged = judge(claim(), Evidence())
    assert judged.judgement is Judgement.HOLDS
    assert judged.as_json() == {
        "id": "larger",
        "place": "nowhere",
        "statement": "the first number is the larger",
        "measured": "3 and 2",
        "exact": "3.00",
        "verdict": "holds",
        "data": {"first": 3.0, "second": 2.0},
    }


def test_measurements_decide():
    turned = claim(measure=lambda evidence: {"first": 1.0, "second": 2.0})
    assert judge(turned, Evidence()).judgement is Judgement.FAILS


def test_measuring_draws_on_the_figures():
    reading = claim(measure=lambda evidence: evidence.figures["figure-1"], needs=("figure-1",))
    judged = judge(reading, Evidence({"figure-1": {"first": 5.0, "second": 4.0}}))
    assert judged.measured == "5 and 4"


def test_claims_without_their_figures_are_left_out():
    needy = claim(needs=("figure-1", "figure-2"))
    assert judgeable([needy], Evidence({"figure-1": None})) == []
    assert judgeable([needy], Evidence({"figure-1": None, "figure-2": None})) == [needy]


@pytest.mark.parametrize(
    ("holds", "corrected", "expected"),
    [
        (True, True, Judgement.HOLDS),
        (True, False, Judgement.HOLDS),
        (False, True, Judgement.CORRECTED),
        (False, False, Judgement.FAILS),
    ],
)
def test_judgement(holds, corrected, expected):
    assert judgement(holds, corrected) is expected
