"""Pictures as plain data: two axes, and layers drawn from back to front.

Colours are names of the page's style sheet ("chosen", "ink", ...) or #rrggbb. Arrays are sent as
base64: numbers in single precision, which is finer than any screen, and colours as bytes.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np

from ravine.arguments import FloatArray

Layer: TypeAlias = dict[str, Any]
"""A layer: its ``kind`` (fill, heat, line, dot or words) and its data."""

CEILING = 1e12
"""Ends of an axis: values beyond them are not worth distinguishing."""
FLOOR = 1e-16
_LEAST = 2.0  # fewest decades on a logarithmic axis: a single label would not show the scale
_ABOVE = 0.5  # decades above the highest line
_LABELS = 7  # of a logarithmic axis, at most
_SCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def as_json(value: Any) -> str:
    """The value as JSON, with arrays in base64.

    Examples
    --------
    >>> as_json({"x": np.array([1.0, 2.0])})
    '{"x":{"f4":"AACAPwAAAEA="}}'
    """
    return json.dumps(value, default=_packed, ensure_ascii=False, separators=(",", ":"))


def _packed(values: Any) -> dict[str, str]:
    kind = "u1" if values.dtype == np.uint8 else "f4"
    with np.errstate(over="ignore"):
        array = np.asarray(values, dtype=f"<{kind}")

    return {kind: base64.b64encode(array.tobytes()).decode("ascii")}


def axis(label: str, low: float, high: float, *, log: bool = False) -> dict[str, Any]:
    """Label and ends of an axis; a logarithmic one also has ticks, as values and texts."""
    ends = {"label": label, "low": low, "high": high, "log": log}
    if not log:
        return ends

    first, last = int(np.ceil(np.log10(low) - 1e-9)), int(np.floor(np.log10(high) + 1e-9))
    apart = max(1, -(-(last - first + 1) // _LABELS))
    powers = range(-(-first // apart) * apart, last + 1, apart)
    return ends | {"ticks": [10.0**n for n in powers], "words": [power(n) for n in powers]}


def power(n: float) -> str:
    """A power of ten as text.

    Examples
    --------
    >>> power(-1), power(-12)
    ('0.1', '10⁻¹²')
    """
    whole = round(n)
    return f"{10.0**whole:g}" if abs(whole) < 3 else "10" + str(whole).translate(_SCRIPTS)


def line(
    x: FloatArray, y: FloatArray, colour: str, words: str = "", width: float = 2.2, **more: Any
) -> Layer:
    """A line, or several with gaps of NaN between them.

    ``dash`` is that of matplotlib, and ``opacity`` is at most 1. ``rim`` adds a dark rim, so that
    the line is visible on every colour. A line without ``words`` is not in the legend.
    """
    defaults = {"kind": "line", "dash": "-", "opacity": 1.0, "rim": False}
    return {**defaults, "x": x, "y": y, "colour": colour, "words": words, "width": width, **more}


def joined(lines: Iterable[FloatArray]) -> dict[str, Any]:
    """Join lines of (x, y), with a gap after each."""
    gap = np.full((1, 2), np.nan)
    points = np.concatenate([part for line in lines for part in (line, gap)] or [gap])
    return {"x": points[:, 0], "y": points[:, 1]}


def decades(lines: Iterable[Layer], label: str) -> dict[str, Any]:
    """A logarithmic axis that holds the lines."""
    values = np.concatenate([line["y"] for line in lines])
    heights = np.log10(values[np.isfinite(values)])
    low, high = float(heights.min()), float(heights.max())
    margin = max(0.03 * (high - low), 0.5 * (_LEAST - (high - low)))
    return axis(label, 10.0 ** (low - margin), 10.0 ** (high + max(margin, _ABOVE)), log=True)


def drawable(values: FloatArray) -> FloatArray:
    """Clip values to the ends of an axis; infinite ones lie at the upper end."""
    return np.clip(np.where(np.isfinite(values), values, CEILING), FLOOR, CEILING)
