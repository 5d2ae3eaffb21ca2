"""Small pieces of HTML for notebooks: a table with a heading, curves and number lines as SVG.

Everything that is text is escaped, nothing is a script, and ink is the notebook's own text colour,
so that a card reads on light and on dark ground.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from ravine.arguments import FloatArray

_WIDTH = 440  # pixels, about half of a notebook's cell
_HEIGHT = 150
_LEFT = 52.0  # pixels for the labels of the vertical axis
_BOTTOM = 24.0  # pixels for those of the horizontal one
_TOP = 8.0
_RIGHT = 10.0
_ROW = 22.0  # pixels from one row of a number line to the next
_NAMES = 130.0  # pixels for the names beside a number line
_DECADES = 16.0  # that a curve may span; below, the eye sees the end of double precision
_POINTS = 300  # of a curve, at most: one a pixel
_GOOD = "#2f8fcf"  # both stand out on white and on black, with any colour vision
_BAD = "#d55e00"
_CELL = "padding:0.15em 1.2em 0.15em 0;border:0;text-align:"
_FONT = 'font-family="system-ui, sans-serif" font-size="11" fill="currentColor"'


class Span(NamedTuple):
    """A number on a number line, or the two limits between which it is known."""

    name: str
    low: float
    high: float


def card(
    title: str,
    rows: Sequence[Sequence[str]],
    *,
    head: Sequence[str] = (),
    sentences: Sequence[str] = (),
    picture: str = "",
) -> str:
    """A heading, a table, a picture that is markup already, and sentences.

    The second cell of a row is a number and stands to the right; the others stand to the left.

    Examples
    --------
    >>> "a &lt; b" in card("A result", [("a < b", "true")])
    True
    """
    top = "".join(_cell("th", place, name) for place, name in enumerate(head))
    body = "".join(
        f"<tr>{''.join(_cell('td', place, cell) for place, cell in enumerate(row))}</tr>"
        for row in rows
    )
    words = "".join(
        f'<p style="margin:0.5em 0 0;max-width:46em">{escape(one[:1].upper() + one[1:])}</p>'
        for one in sentences
    )

    return (
        '<div style="line-height:1.45;padding:0.3em 0">'
        f'<div style="font-weight:600;font-size:1.05em;margin-bottom:0.3em">{escape(title)}</div>'
        '<div style="display:flex;flex-wrap:wrap;gap:0.6em 2.2em;align-items:flex-start">'
        '<table style="border-collapse:collapse;border:0;margin:0;font-size:0.95em;color:inherit">'
        f"{f'<thead><tr>{top}</tr></thead>' if top else ''}<tbody>{body}</tbody></table>"
        f"<div>{picture}</div></div>{words}</div>"
    )


def _cell(kind: str, place: int, text: str) -> str:
    side = "right;font-variant-numeric:tabular-nums" if place == 1 else "left"
    faint = ";opacity:0.7;font-weight:600" if kind == "th" else ";opacity:0.75" * (place > 1)
    ground = ";background:transparent"
    return f'<{kind} style="{_CELL}{side}{faint}{ground}">{escape(text)}</{kind}>'


def curve(values: FloatArray, label: str, *, across: str = "step") -> str:
    """Positive values over their index, on a logarithmic scale, as inline SVG.

    Examples
    --------
    >>> curve(np.array([1.0, 0.1, 0.01]), "errors").startswith("<svg")
    True
    """
    whole = np.asarray(values, dtype=np.float64)
    kept = np.unique(np.linspace(0, len(whole) - 1, _POINTS).round().astype(int))

    with np.errstate(divide="ignore", invalid="ignore"):
        height = np.log10(whole[kept])

    finite = height[np.isfinite(height)]
    if finite.size == 0:
        return ""

    top = float(finite.max())
    low = max(float(finite.min()), top - _DECADES)
    span = max(top - low, 1e-12)
    bottom = _HEIGHT - _BOTTOM
    last = max(len(whole) - 1, 1)
    x = _LEFT + (_WIDTH - _LEFT - _RIGHT) * kept / last
    y = _TOP + (bottom - _TOP) * (top - np.clip(height, low, top)) / span
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True) if np.isfinite(b))
    ticks = "".join(
        _height(_TOP + (bottom - _TOP) * (top - power) / span, power) for power in _powers(low, top)
    )
    ends = (
        f'<text x="{_LEFT:g}" y="{_HEIGHT - 8}" {_FONT}>0</text>'
        f'<text x="{_WIDTH - _RIGHT:g}" y="{_HEIGHT - 8}" text-anchor="end" {_FONT}>'
        f"{escape(across)} {len(whole) - 1}</text>"
    )

    return _svg(
        _HEIGHT,
        label,
        f'{ticks}{ends}<polyline points="{points}" fill="none" stroke="{_GOOD}" '
        'stroke-width="1.8" stroke-linejoin="round"/>',
    )


def _powers(low: float, top: float) -> list[float]:
    """Powers of ten inside the limits, five at most; the limits themselves where there is none."""
    apart = max(1, int(np.ceil((top - low) / 5.0)))
    inside = np.arange(np.ceil(low), np.floor(top) + 0.5)[::apart]
    return [float(power) for power in inside] or [low, top]


def _height(y: float, power: float) -> str:
    """A faint line across, and its power of ten beside it."""
    sign = "−" if power < 0 else ""
    digits = f"{abs(power):.0f}" if power == round(power) else f"{abs(power):.1f}"
    return (
        f'<line x1="{_LEFT:g}" x2="{_WIDTH - _RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}" '
        'stroke="currentColor" stroke-opacity="0.18"/>'
        f'<text x="{_LEFT - 6:g}" y="{y + 4:.1f}" text-anchor="end" {_FONT}>10'
        f'<tspan dy="-4" font-size="8">{sign}{digits}</tspan></text>'
    )


def number_line(spans: Sequence[Span], label: str, *, mark: float = 1.0) -> str:
    """Numbers on a line with the place of ``mark``: those below it in blue, others in orange.

    Limits that differ are drawn as a bar. What is infinite stands at the right end.

    Examples
    --------
    >>> number_line([Span("rate", 0.9, 0.9)], "rates").count("<circle")
    1
    """
    ends = [end for span in spans for end in (span.low, span.high) if np.isfinite(end)]
    low = min([*ends, mark])
    high = max([*ends, mark])
    room = 0.06 * max(high - low, 1e-12)
    low -= room
    high += room

    def place(value: float) -> float:
        share = (min(value, high) - low) / (high - low)
        return _NAMES + (_WIDTH - _NAMES - _RIGHT) * share

    height = _ROW * len(spans) + 22.0
    pieces = [
        f'<line x1="{place(mark):.1f}" x2="{place(mark):.1f}" y1="4" y2="{height - 18:.1f}" '
        'stroke="currentColor" stroke-opacity="0.6" stroke-dasharray="3 3"/>'
        f'<text x="{place(mark):.1f}" y="{height - 6:.1f}" text-anchor="middle" {_FONT}>'
        f"{mark:g}</text>"
    ]
    for row, span in enumerate(spans):
        y = 4.0 + _ROW * (row + 0.5)
        colour = _GOOD if span.high < mark else _BAD
        pieces.append(
            f'<text x="0" y="{y + 4:.1f}" {_FONT}>{escape(span.name)}</text>'
            f'<line x1="{_NAMES:g}" x2="{_WIDTH - _RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}" '
            'stroke="currentColor" stroke-opacity="0.15"/>'
        )
        if place(span.high) - place(span.low) > 1.0:
            pieces.append(
                f'<line x1="{place(span.low):.1f}" x2="{place(span.high):.1f}" y1="{y:.1f}" '
                f'y2="{y:.1f}" stroke="{colour}" stroke-width="5" stroke-linecap="round"/>'
            )
        else:
            pieces.append(
                f'<circle cx="{place(span.high):.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'
            )

    return _svg(height, label, "".join(pieces))


def _svg(height: float, label: str, content: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height:g}" '
        f'viewBox="0 0 {_WIDTH} {height:g}" role="img" aria-label="{escape(label)}" '
        f'style="max-width:100%;height:auto"><title>{escape(label)}</title>{content}</svg>'
    )
