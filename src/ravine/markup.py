"""Small pieces of HTML for notebooks: a table with a heading, a line drawn as SVG.

Everything that is text is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from ravine.arguments import FloatArray

_WIDTH = 320  # pixels, about a third of a notebook's cell
_HEIGHT = 90
_DECADES = 16.0  # that a curve may span; below, the eye sees the end of double precision
_POINTS = 300  # of a curve, at most: one a pixel


def card(
    title: str,
    rows: Sequence[tuple[str, str]],
    *,
    sentences: Sequence[str] = (),
    picture: str = "",
) -> str:
    """A heading, a table of names and values, sentences, and a picture that is markup already.

    Examples
    --------
    >>> "<td>a &lt; b</td>" in card("A result", [("a < b", "true")])
    True
    """
    body = "".join(
        f"<tr><td>{escape(name)}</td>"
        f'<td style="text-align:right;font-variant-numeric:tabular-nums">{escape(value)}</td></tr>'
        for name, value in rows
    )

    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences)
    return (
        f'<div style="max-width:42em"><strong>{escape(title)}</strong>'
        f"<table>{body}</table>{picture}{words}</div>"
    )


def curve(values: FloatArray, label: str) -> str:
    """Positive values over their index, on a logarithmic scale, as inline SVG.

    Examples
    --------
    >>> curve(np.array([1.0, 0.1, 0.01]), "errors").startswith("<svg")
    True
    """
    kept = np.asarray(values, dtype=np.float64)
    kept = kept[np.unique(np.linspace(0, len(kept) - 1, _POINTS).round().astype(int))]

    with np.errstate(divide="ignore", invalid="ignore"):
        height = np.log10(kept)

    finite = height[np.isfinite(height)]
    if finite.size == 0:
        return ""

    top = float(finite.max())
    low = max(float(finite.min()), top - _DECADES)
    span = max(top - low, 1e-12)
    x = np.linspace(2.0, _WIDTH - 2.0, len(height))
    y = 2.0 + (_HEIGHT - 4.0) * (top - np.clip(height, low, top)) / span
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True) if np.isfinite(b))

    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{escape(label)}">'
        f'<polyline points="{points}" fill="none" stroke="#0072b2" stroke-width="1.5"/></svg>'
        f"<div><small>{escape(label)}: 10<sup>{low:.1f}</sup> to 10<sup>{top:.1f}</sup>"
        "</small></div>"
    )
