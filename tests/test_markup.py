"""Cards and formulas: text is never markup, and formulas are found among words."""

import re

import pytest

from ravine.claims import CLAIMS
from ravine.markup import card, with_formulas


def test_text_is_never_markup():
    html = card("<b>", [("<i>", "</td>")], sentences=["<script>alert(1)</script>"])
    assert "<b>" not in html
    assert "<i>" not in html
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_card_has_sentences_a_header_and_numbers_to_the_right():
    html = card("A result", [("rate", "0.9")], head=("rung", "value"), sentences=["the reason"])
    assert "<p>The reason</p>" in html
    assert '<th class="number">value</th>' in html
    assert '<td>rate</td><td class="number">0.9</td>' in html


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("‖A^k‖^(1/k) falls to rho", "‖A<sup>k</sup>‖<sup>1/k</sup> falls to ρ"),
        ("C_eps² and 1 - (rho+eps)²", "C<sub>ε</sub>² and 1 - (ρ+ε)²"),
        ("E f(y_{k+1}) - f*", "E f(y<sub>k+1</sub>) - f*"),
        ("((Q-1)/(Q+1))^(2k) <= 1", "((Q-1)/(Q+1))<sup>2k</sup> ≤ 1"),
        ("B(mu)^k1 ... B(mu)^ks", "B(μ)<sup>k1</sup> ... B(μ)<sup>ks</sup>"),
        ("E‖y - x*‖_∞ / sigma", "E‖y - x*‖<sub>∞</sub> / σ"),
        ("L-smooth, and/or, 1e-8, batch_size, a < b & c", None),
    ],
)
def test_formulas(text, drawn):
    if drawn is None:
        assert with_formulas(text) == text.replace("&", "&amp;").replace("<", "&lt;")
    else:
        assert with_formulas(text) == drawn


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_every_formula_of_a_claim_is_set(claim):
    for text in (claim.statement, claim.measured, claim.exact):
        assert not re.search(r"\^|_\(|_\{|C_eps|<(?!/?su[bp]>)", with_formulas(text)), text
