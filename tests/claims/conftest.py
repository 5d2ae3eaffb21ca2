"""What the tests of all claims share: a claim is measured once, and its words are read."""

import json

import pytest

from ravine.claims.claim import Evidence, judge


@pytest.fixture
def judged_from_scratch():
    """Judge a claim that needs no figure; its words and its JSON must be whole."""

    def judged(claim):
        result = judge(claim, Evidence())
        written = json.loads(json.dumps(result.as_json(), allow_nan=False))
        assert written["verdict"] == result.judgement.value
        assert written["data"] == result.measurements
        assert "{" not in result.measured + result.exact
        return result

    return judged


@pytest.fixture
def turns():
    """Check that measurements lead to one judgement, and changed ones to another."""

    def check(claim, measurements, expected, change, other):
        assert claim.decide(measurements) is expected
        assert claim.decide({**measurements, **change}) is other
        assert other is not expected

    return check
