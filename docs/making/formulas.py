"""LaTeX to MathML, which browsers draw by themselves: no script, no font, nothing to load."""

from __future__ import annotations

import re
from functools import cache
from html import unescape

from latex2mathml.converter import convert

_SIZES = re.compile(r"\\(?:bigg?|Bigg?)[lrm]?(?=[\\(\[|\])/{}.])")
"""Sizes of brackets: MathML stretches them to what they enclose."""

_SPANS = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\(?P<open>[(\[])(?P<tex>.*?)\\[)\]]</(?P=tag)>',
    re.DOTALL,
)
"""What the Markdown extension arithmatex leaves of ``$...$`` and ``$$...$$``."""


class FormulaError(ValueError):
    """A formula that MathML has no form for: it would be shown as source."""


@cache
def mathml(tex: str, *, display: bool = False) -> str:
    r"""The formula as a ``<math>`` element.

    >>> mathml(r"\\sqrt Q").startswith("<math")
    True
    """
    plain = _SIZES.sub("", tex.strip()).replace(r"\_", "_")
    code = convert(plain, display="block" if display else "inline")
    left = re.search(r"<mi>(\\[A-Za-z]+)</mi>|<mtext>(\\[A-Za-z]+)</mtext>", code)
    if left:
        raise FormulaError(f"{left.group(1) or left.group(2)} has no MathML, in {tex!r}")
    return code


def with_formulas(page: str) -> str:
    """The page's HTML with each formula in MathML."""

    def one(match: re.Match[str]) -> str:
        return mathml(unescape(match["tex"]), display=match["open"] == "[")

    return _SPANS.sub(one, page)
