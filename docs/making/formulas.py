"""LaTeX to MathML, which browsers draw by themselves: no script, no font, nothing to load."""

from __future__ import annotations

import re
from functools import cache
from html import unescape

from latex2mathml.converter import convert

_SIZES = re.compile(r"\\[bB]igg?([lr])(?=[\\(\[|\])/{}.])")
"""Sizes of brackets, which come in pairs: MathML stretches them to what they enclose."""

_SPANS = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<open>[(\[])(?P<tex>.*?)\\[)\]]</(?P=tag)>',
    re.DOTALL,
)
"""What the Markdown extension arithmatex leaves of ``$...$`` and ``$$...$$``."""

_LETTERS = {
    ("double-struck", "R"): "ℝ",
    ("double-struck", "C"): "ℂ",
    ("double-struck", "E"): "𝔼",
    ("double-struck", "P"): "ℙ",
    ("sans-serif", "T"): "⊤",
}
"""Letters of other alphabets, as characters: browsers know no ``mathvariant`` but ``normal``."""


class FormulaError(ValueError):
    """A formula that MathML has no form for: it would be shown as source."""


@cache
def mathml(tex: str, *, display: bool = False) -> str:
    r"""The formula as a ``<math>`` element.

    >>> mathml(r"\\sqrt Q").startswith("<math")
    True
    """
    plain = _SIZES.sub(lambda size: {"l": r"\left", "r": r"\right"}[size[1]], tex.strip())
    plain = plain.replace(r"\_", "_")
    code = convert(plain, display="block" if display else "inline")
    left = re.search(r"<m(?:i|text)>(\\[A-Za-z]+)</m", code)
    if left:
        raise FormulaError(f"{left.group(1)} has no MathML, in {tex!r}")
    return _as_browsers_draw_it(code)


def _as_browsers_draw_it(code: str) -> str:
    """MathML Core: letters as characters, bars without the space of an operator."""

    def letter(match: re.Match[str]) -> str:
        return f'<mi mathvariant="normal">{_LETTERS[match[1], match[2]]}</mi>'

    code = re.sub(r'<mi mathvariant="(double-struck|sans-serif)">(.)</mi>', letter, code)

    # A bar or a double bar encloses; as an operator it would stand apart from what it encloses.
    bars = r"<mo(?: stretchy=\"false\")?>(&#x0007C;|&#x02016;)</mo>"
    code = re.sub(bars, r'<mo stretchy="false" lspace="0" rspace="0">\1</mo>', code)

    # A slash in a line of text is a fraction: no space around it.
    code = code.replace("<mo>&#x0002F;</mo>", '<mo lspace="0" rspace="0">&#x0002F;</mo>')

    # These are operators: ±, ⪯ and ⪰.
    return re.sub(r"<mi>(&#x0(?:00B1|2AAF|2AB0);)</mi>", r"<mo>\1</mo>", code)


def with_formulas(page: str) -> str:
    """The page's HTML with each formula in MathML."""

    def one(match: re.Match[str]) -> str:
        return mathml(unescape(match["tex"]), display=match["open"] == "[")

    return _SPANS.sub(one, page)
