"""Formulas become MathML that browsers draw, or stop the build."""

import re
from pathlib import Path

import pytest
from making.formulas import FormulaError, mathml, with_formulas

DOCS = Path(__file__).parents[2] / "docs"


def test_a_fraction_is_a_fraction_and_letters_are_characters():
    assert "<mfrac>" in mathml(r"\frac{1}{Q}")
    assert "ℝ" in mathml(r"\mathbb R^d")
    assert 'display="block"' in mathml("x", display=True)


def test_a_bar_stands_close_to_what_it_encloses():
    assert mathml(r"|T|").count('lspace="0"') == 2


def test_large_brackets_stretch_and_an_order_is_an_operator():
    drawn = mathml(r"\Bigl(\frac{a}{b}\Bigr) \preceq c")
    assert drawn.count('stretchy="true"') == 2
    assert "<mo>&#x02AAF;</mo>" in drawn


def test_an_unknown_command_is_an_error():
    with pytest.raises(FormulaError, match="nosuchsign"):
        mathml(r"x + \nosuchsign")


def test_spans_of_a_page_are_replaced_and_unescaped():
    page = r'<p>as <span class="arithmatex">\(r &lt; 1\)</span></p>'
    drawn = with_formulas(page)
    assert "arithmatex" not in drawn
    assert "&lt;" in drawn or "&#x0003C;" in drawn
    assert "<math" in drawn


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_every_formula_of_a_page_can_be_drawn(page):
    text = re.sub(r"```.*?```|`[^`]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for block, inline in re.findall(r"\$\$(.+?)\$\$|\$([^$\s][^$]*)\$", text, re.DOTALL):
        assert mathml(block or inline).startswith("<math")
