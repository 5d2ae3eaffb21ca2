"""What the tests of all claims share: a claim is measured once, and its words are read."""

import json

import pytest

from ravine.claims.claim import Evidence, judge

pytest.register_assert_rewrite("claim_flips")


def pytest_generate_tests(metafunc):
    """One test for each claim of the tables of a class, see ``claim_flips``."""
    if "measured_claim" in metafunc.fixturenames:
        metafunc.parametrize("measured_claim", metafunc.cls.measured)
    if "figure_claim" in metafunc.fixturenames:
        metafunc.parametrize("figure_claim", metafunc.cls.from_figures)


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
