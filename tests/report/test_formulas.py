"""Formulas are found among words, and nothing else is taken for one."""

import re
from xml.etree import ElementTree

import pytest

from ravine.claims.catalogue import CLAIMS
from ravine.report.formulas import with_formulas


def formulas_of(text: str) -> list[str]:
    """The formulas of a text, tags left out."""
    drawn = with_formulas(text)
    return [re.sub(r"<[^>]*>", "", code) for code in re.findall(r"<math .*?</math>", drawn)]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("As ‖A^k‖^(1/k) falls to rho, C_eps is at most ‖A‖/rho.", ["‖Ak‖1/k", "ρ", "Cε", "‖A‖/ρ"]),
        ("the proof gives C_eps² and 1 - (rho+eps)²: with", ["Cε2", "1−(ρ+ε)2"]),
        ("E f(y_{k+1}) - f* is at most L/2 (1 - 1/√Q + eps_k)^(2k) times", None),
        ("Q^(3/2)/4 against Q", ["Q3/2/4"]),
        ("E‖y - x*‖_∞ / sigma", ["E‖y−x*‖∞/σ"]),
    ],
)
def test_formulas_are_found(text, shown):
    if shown is None:
        assert formulas_of(text) == ["Ef(yk+1)−f*", "L/2(1−1/Q+εk)2k"]
    else:
        assert formulas_of(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "A permutation sorts a matrix, k by k.",
        "Q = 8, 32, 128 and n = 50",
        "L-smooth, 3-d, and/or, 1e-8, a < b & c",
        "SGD with 2, 1, 1, 1, ... (see E)",
    ],
)
def test_words_stay_words(text):
    assert formulas_of(text) == []
    assert re.sub("&lt;", "<", with_formulas(text)).replace("&amp;", "&") == text


def test_structure_is_right():
    assert with_formulas("((Q-1)/(Q+1))^(2k)") == (
        '<math displaystyle="true"><msup><mrow><mo stretchy="true" lspace="0" rspace="0">(</mo>'
        "<mfrac><mrow><mi>Q</mi><mo>−</mo><mn>1</mn></mrow>"
        "<mrow><mi>Q</mi><mo>+</mo><mn>1</mn></mrow></mfrac>"
        '<mo stretchy="true" lspace="0" rspace="0">)</mo></mrow>'
        "<mrow><mrow><mn>2</mn><mi>k</mi></mrow></mrow></msup></math>"
    )


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_claim_is_well_formed_and_loses_nothing(claim):
    for text in (claim.statement, claim.measured, claim.exact):
        drawn = with_formulas(text)
        ElementTree.fromstring(f"<p>{drawn}</p>")
        assert "^" not in re.sub(r"<[^>]*>", "", drawn), text
        assert "C_eps" not in drawn
