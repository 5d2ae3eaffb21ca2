from ravine.claims.catalogue import CLAIMS
from ravine.web.claims_room import claims_room, claims_table


def cells(table, row):
    return table.children[1].children[row].children


def test_every_claim_has_a_row():
    assert len(claims_table({}).children[1].children) == len(CLAIMS)
    assert cells(claims_table({}), 0)[3].children == "not measured yet"


def test_a_judged_claim_shows_its_verdict_in_its_colour():
    known = {CLAIMS[1].id: {"id": CLAIMS[1].id, "verdict": "holds", "measured": "0.5 <= 1"}}
    where, statement, measured, verdict = cells(claims_table(known), 1)
    assert where.children == CLAIMS[1].place
    assert statement.children == CLAIMS[1].statement
    assert measured.children[0] == "0.5 <= 1"
    assert (verdict.children, verdict.className) == ("holds", "good")


def test_a_claim_that_waits_for_a_figure_names_it():
    place = next(i for i, claim in enumerate(CLAIMS) if claim.needs)
    assert cells(claims_table({}), place)[2].children[0].startswith("needs ")


def test_the_room_has_a_button_for_every_figure():
    from ravine.figures.catalogue import FIGURES

    assert all(title in str(claims_room()) for title in (entry.title for entry in FIGURES.values()))
