"""A claim is judged by what was measured, and the catalogue is complete."""

import numpy as np
import pytest

from ravine.claims import CLAIMS
from ravine.claims.claim import Claim, Judgement, judge
from ravine.figures.catalogue import FIGURES


def claim(**changes):
    parts = {
        "id": "larger",
        "place": "nowhere",
        "statement": "the first number is the larger",
        "measured": "{first:g} and {second:g}",
        "exact": "{first:.2f}",
        "measure": lambda: {"first": np.float64(3.0), "second": np.array(2.0)},
        "holds": lambda m: m["first"] > m["second"],
    }
    return Claim(**{**parts, **changes})


def test_words_hold_the_numbers():
    judged = judge(claim())
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
    assert type(judged.measurements["first"]) is float


def test_measuring_draws_on_the_figures():
    reading = claim(measure=lambda data: data, needs=("figure-1",))
    judged = judge(reading, {"figure-1": {"first": 5.0, "second": 4.0}})
    assert judged.words["measured"] == "5 and 4"


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
    made = claim(holds=lambda m: holds, corrected=lambda m: corrected)
    assert judge(made).judgement is expected


def test_every_numbered_statement_and_every_erratum_is_there():
    ids = [claim.id for claim in CLAIMS]
    assert len(ids) == len(set(ids)) == 48
    wanted = {f"erratum-{i}" for i in range(1, 17)}
    wanted |= {f"theorem-{i}" for i in range(1, 5)} | {f"lemma-{i}" for i in range(1, 4)}
    wanted |= {"corollary-1.1", "corollary-4.1", "corollary-4.2"}
    wanted |= {"equation-4", "equation-5", "equation-6", "figure-1-rates", "figure-3"}
    assert wanted <= set(ids)


def test_claims_need_known_figures_only():
    assert {name for claim in CLAIMS for name in claim.needs} <= set(FIGURES)
