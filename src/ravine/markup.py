"""HTML for notebooks and reports: one stylesheet, one table writer, formulas in plain text.

All text is escaped, and nothing is a script. Cards use the notebook's own text and background
colours, so that they can be read in light and dark themes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape

# The tones have a contrast of at least 4 on white and on black.
STYLE = """
.ravine { line-height: 1.5; }
.ravine h3 { font-size: 1.1em; margin: .3em 0; }
.ravine p { margin: .5em 0; max-width: 46rem; }
.ravine sup, .ravine sub { line-height: 0; }
.ravine .scroll, .ravine pre { overflow-x: auto; }
.ravine table { border-collapse: collapse; font-size: .9em; margin: .6em 0; color: inherit; }
.ravine th, .ravine td { text-align: left; padding: .3em .9em .3em 0; vertical-align: top;
  border: 0; border-bottom: 1px solid #8884; background: none; }
.ravine th { opacity: .75; font-weight: 600; }
.ravine .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.ravine .good { color: #1f8a4c; }
.ravine .bad { color: #d6453d; }
.ravine .unsure { color: #a8720e; }
"""

_GREEK = "alpha|beta|gamma|delta|eps|theta|kappa|lambda|mu|rho|sigma|omega"


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, its tone (``good``, ``bad``, ``unsure`` or none), its alignment.

    With ``formulas``, formulas in the text are typeset; do not use it for names from data.
    """

    text: str
    tone: str = ""
    number: bool = False
    formulas: bool = False

    def html(self, tag: str) -> str:
        """The cell as a ``tag``, "td" or "th"."""
        classes = " ".join([self.tone] * bool(self.tone) + ["number"] * self.number)
        mark = f' class="{classes}"' if classes else ""
        text = with_formulas(self.text) if self.formulas else escape(self.text)
        return f"<{tag}{mark}>{text}</{tag}>"


def table(header: Sequence[Cell | str], rows: Sequence[Sequence[Cell | str]]) -> str:
    """Write a table; a header without cells is omitted.

    Examples
    --------
    >>> "<td>a &lt; b</td>" in table(["claim"], [["a < b"]])
    True
    """

    def row(tag: str, cells: Sequence[Cell | str]) -> str:
        made = (cell if isinstance(cell, Cell) else Cell(cell) for cell in cells)
        return f"<tr>{''.join(cell.html(tag) for cell in made)}</tr>"

    head = f"<thead>{row('th', header)}</thead>" if header else ""
    body = "".join(row("td", cells) for cells in rows)
    return f'<div class="scroll"><table>{head}<tbody>{body}</tbody></table></div>'


def card(
    title: str,
    rows: Sequence[Sequence[Cell | str]],
    *,
    head: Sequence[Cell | str] = (),
    sentences: Sequence[str] = (),
    below: str = "",
) -> str:
    """The card of a result in a notebook: a heading, sentences and a table.

    The second text of a row is a number, aligned right. ``below`` is HTML.

    Examples
    --------
    >>> "a &lt; b" in card("A result", [("a < b", "true")])
    True
    """

    def cells(row: Sequence[Cell | str]) -> list[Cell]:
        return [
            one if isinstance(one, Cell) else Cell(one, number=place == 1)
            for place, one in enumerate(row)
        ]

    words = "".join(f"<p>{escape(text[:1].upper() + text[1:])}</p>" for text in sentences)
    body = table(cells(head), [cells(row) for row in rows]) + below
    return f'<div class="ravine"><style>{STYLE}</style><h3>{escape(title)}</h3>{words}{body}</div>'


def with_formulas(text: str) -> str:
    """Convert text to HTML, with Greek letters, superscripts and subscripts in its formulas.

    Examples
    --------
    >>> with_formulas("C_eps rho^(2k) <= 1 & A")
    'C<sub>ε</sub> ρ<sup>2k</sup> ≤ 1 &amp; A'
    """
    text = re.sub(rf"(?<![A-Za-z])({_GREEK})(?![A-Za-z])", _letter, text)
    text = escape(text.replace("<=", "≤").replace(">=", "≥"), quote=False)
    for mark, tag in (("^", "sup"), ("_", "sub")):
        # A script is a formula in brackets, which are dropped, or one number or symbol.
        script = rf"\{mark}(?:\(([^()]*)\)|\{{([^{{}}]*)\}}|(∞|\d+|k[1s]|[^\W\d_](?![A-Za-z])))"
        text = re.sub(script, rf"<{tag}>\1\2\3</{tag}>", text)

    return text


def _letter(match: re.Match[str]) -> str:
    """The letter of an HTML entity: the Greek ones are called as they are spelled."""
    return unescape(f"&{match[1].replace('eps', 'epsilon')};")
