"""The catalogue is complete."""

from ravine.claims.catalogue import CLAIMS
from ravine.claims.claim import _statements
from ravine.figures.catalogue import FIGURES


def test_every_numbered_statement_and_every_erratum_is_there():
    ids = [claim.id for claim in CLAIMS]
    assert len(ids) == len(set(ids)) == 48
    wanted = {f"erratum-{i}" for i in range(1, 17)}
    wanted |= {f"theorem-{i}" for i in range(1, 5)} | {f"lemma-{i}" for i in range(1, 4)}
    wanted |= {"corollary-1.1", "corollary-4.1", "corollary-4.2"}
    wanted |= {"equation-4", "equation-5", "equation-6", "figure-1-rates", "figure-3"}
    assert wanted <= set(ids)


def test_every_statement_belongs_to_a_claim_in_the_same_order():
    assert list(_statements()) == [claim.id for claim in CLAIMS]


def test_claims_need_known_figures_only():
    assert {name for claim in CLAIMS for name in claim.needs} <= set(FIGURES)
