"""A self-contained HTML page: inline style, pictures embedded, light, printable."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from ravine.files import written_whole
from ravine.markup import STYLE, Cell, table, with_formulas

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_STYLE = """
:root { color-scheme: light; }
* { box-sizing: border-box; }
body { margin: 0; background: #fff; color: #1d2733;
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif; }
main { max-width: 74rem; margin: 0 auto; padding: 2.2rem 1.4rem 4rem; }
h1 { font-size: 1.55rem; line-height: 1.25; margin: 0 0 .3rem; }
h2 { font-size: 1.15rem; margin: 2.4rem 0 .6rem; padding-top: .9rem;
  border-top: 1px solid #e1e6ec; }
.subtitle, figcaption, footer { color: #5a6877; }
.lead { background: #f3f7fb; border-left: 4px solid #3d85bd; padding: .7rem 1.1rem;
  margin: 1.1rem 0; border-radius: 0 6px 6px 0; }
.lead.bad { border-color: #c1272d; background: #fcf3f2; }
.lead.unsure { border-color: #e69f00; background: #fdf8ec; }
.ravine .lead { color: inherit; }
.lead p:first-child { font-size: 1.12rem; font-weight: 600; }
figure { margin: 1.1rem 0; }
figure svg, figure img { max-width: 100%; height: auto; display: block; }
figcaption { font-size: .9rem; max-width: 46rem; }
ul { padding-left: 1.2rem; max-width: 46rem; }
details { margin: .3rem 0; max-width: 62rem; } summary { cursor: pointer; color: #2a6592; }
details button { float: right; margin: .5rem; }
pre { background: #f6f8fa; padding: .8rem 1rem; border-radius: 6px; overflow-x: auto;
  font-size: .82rem; line-height: 1.45; }
footer { margin-top: 3rem; font-size: .85rem; }
@media print { main { max-width: none; padding: 0; } h2, figure, tr { break-inside: avoid; } }
"""
"""Style of a page, in addition to that of tables and cards."""

_COPY = "navigator.clipboard.writeText(this.nextElementSibling.textContent)"
"""Script of the button that copies a piece of code."""


@dataclass
class Page:
    """A page that is built from top to bottom and then written.

    Text is escaped, except pictures and, on request, formulas.

    Examples
    --------
    >>> page = Page("A result", subtitle="made by ravine")
    >>> page.heading("What was measured")
    >>> page.paragraph("mu < L")
    >>> "<p>mu &lt; L</p>" in page.html()
    True
    """

    title: str
    subtitle: str = ""
    footer: str = ""
    _parts: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """Begin a section."""
        self._parts.append(f"<h2>{escape(text)}</h2>")

    def paragraph(self, text: str, *, formulas: bool = False) -> None:
        """Add a paragraph."""
        self._parts.append(f"<p>{_words(text, formulas)}</p>")

    def lead(self, sentences: Sequence[str], *, tone: str = "") -> None:
        """Add the sentences that a reader should see first, the first one largest."""
        inner = "".join(f"<p>{escape(text)}</p>" for text in sentences)
        self._parts.append(f'<div class="lead {escape(tone)}">{inner}</div>')

    def bullets(self, items: Sequence[str], *, formulas: bool = False) -> None:
        """Add a list."""
        inner = "".join(f"<li>{_words(item, formulas)}</li>" for item in items)
        self._parts.append(f"<ul>{inner}</ul>")

    def code(self, text: str, summary: str) -> None:
        """Add code that unfolds below its summary, with a button that copies it."""
        self._parts.append(
            f"<details><summary>{escape(summary)}</summary>"
            f'<button type="button" onclick="{_COPY}">copy</button>'
            f"<pre>{escape(text)}</pre></details>"
        )

    def table(self, header: Sequence[Cell | str], rows: Sequence[Sequence[Cell | str]]) -> None:
        """Add a table."""
        self._parts.append(table(header, rows))

    def picture(self, picture: Figure | Path, caption: str, *, formulas: bool = False) -> None:
        """Add a matplotlib figure as SVG, or a PNG file."""
        if isinstance(picture, Path):
            code = base64.b64encode(picture.read_bytes()).decode("ascii")
            image = f'<img alt="{escape(caption)}" src="data:image/png;base64,{code}">'
        else:
            image = _svg(picture, len(self._parts))

        words = _words(caption, formulas)
        self._parts.append(f"<figure>{image}<figcaption>{words}</figcaption></figure>")

    def html(self) -> str:
        """The whole page."""
        subtitle = f'<p class="subtitle">{escape(self.subtitle)}</p>' if self.subtitle else ""
        footer = f"<footer>{escape(self.footer)}</footer>" if self.footer else ""
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f"<title>{escape(self.title)}</title><style>{STYLE}{_STYLE}</style></head>\n"
            '<body><main class="ravine">'
            f"<h1>{escape(self.title)}</h1>{subtitle}\n"
            + "\n".join(self._parts)
            + f"\n{footer}</main></body></html>\n"
        )

    def write(self, path: Path) -> None:
        """Write the page completely or not at all."""
        with written_whole(path) as part:
            part.write_text(self.html(), encoding="utf-8")


def _words(text: str, formulas: bool) -> str:
    return with_formulas(text) if formulas else escape(text)


def _svg(figure: Figure, place: int) -> str:
    """The figure as an inline SVG; the salt makes ids unique and the same in every run."""
    import matplotlib

    buffer = io.StringIO()

    with matplotlib.rc_context({"svg.hashsalt": f"ravine {place}", "svg.fonttype": "none",
                                "font.family": "sans-serif"}):  # fmt: skip
        figure.savefig(buffer, format="svg", metadata={"Date": None})

    text = buffer.getvalue()
    return text[text.index("<svg") :]
