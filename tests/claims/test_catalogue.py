"""The catalogue is complete, and every entry can be read."""

import json

import numpy as np
import pytest

from ravine.claims.catalogue import CLAIMS
from ravine.claims.claim import Claim, Evidence, Verdict, either, judge, judgeable
from ravine.figures.catalogue import FIGURES


def test_every_numbered_statement_and_every_erratum_is_there():
    ids = [claim.id for claim in CLAIMS]
    assert len(ids) == len(set(ids))
    wanted = {f"erratum-{i}" for i in range(1, 17)}
    wanted |= {f"theorem-{i}" for i in range(1, 5)} | {f"lemma-{i}" for i in range(1, 4)}
    wanted |= {"corollary-1.1", "corollary-4.1", "corollary-4.2"}
    wanted |= {"equation-4", "equation-5", "equation-6", "figure-1-rates", "figure-3"}
    assert wanted <= set(ids)


def test_claims_need_known_figures_only():
    assert {name for claim in CLAIMS for name in claim.needs} <= set(FIGURES)


@pytest.mark.parametrize("claim", [c for c in CLAIMS if not c.needs], ids=lambda claim: claim.id)
def test_words_are_made_from_data_that_json_holds(claim):
    judged = judge(claim, Evidence())
    written = json.loads(json.dumps(judged.as_json(), allow_nan=False))
    assert written["verdict"] == judged.verdict.value
    assert "{" not in judged.measured + judged.exact
    assert written["data"] == judged.data


def test_claims_without_their_figures_are_left_out():
    claim = Claim("a", "b", "c", "", "", lambda e: {}, lambda d: Verdict.HOLDS, ("figure-1",))
    assert judgeable([claim], Evidence()) == []
    assert judgeable([claim], Evidence({"figure-1": None})) == [claim]


def test_a_constant_of_theorem_1_grows_like_q():
    """needed = exact floor / paper's coefficient, about Q/10 (moments in closed form)."""
    claim = next(c for c in CLAIMS if c.id == "theorem-1")
    data = claim.measure(Evidence())
    assert data["needed"][3] == pytest.approx(2000 / 10, rel=0.1)
    assert np.all(np.diff(data["needed"]) > 0)


def test_either():
    assert [either(True), either(False, True), either(False)] == list(Verdict)
