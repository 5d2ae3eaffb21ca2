"""Pictures as plain data: two axes and what is drawn between them, for the browser or matplotlib.

Colours are names of the page's style sheet ("chosen", "ink", ...) or #rrggbb. Arrays go to the
browser as base64 of single precision, which is finer than any screen.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray

_LEAST = 2.0  # decades on a logarithmic axis: one label would say nothing of the scale
_ABOVE = 0.5  # decades above the highest line
CEILING = 1e12
"""Values beyond are all the same to the eye; an axis ends there."""
FLOOR = 1e-16


@dataclass(frozen=True)
class Axis:
    """Words and ends of an axis."""

    label: str
    low: float
    high: float
    log: bool = False


@dataclass(frozen=True, eq=False)
class Line:
    """A line, or several with gaps of NaN between them."""

    x: FloatArray
    y: FloatArray
    colour: str
    words: str = ""
    """In the legend; without words it has no entry."""
    width: float = 2.2
    dash: Literal["-", "--", "-.", ":"] = "-"
    opacity: float = 1.0
    rim: bool = False
    """Drawn over a dark rim, so that it shows on every colour."""
    extends: bool = True
    """Whether the axis makes room for it."""


@dataclass(frozen=True, eq=False)
class Fill:
    """A region as closed rings."""

    rings: Sequence[FloatArray]
    colour: str
    words: str


@dataclass(frozen=True, eq=False)
class Heat:
    """Values in colour over the whole picture, shape (y, x), bottom row first; NaN is left out."""

    values: FloatArray
    low: float
    high: float
    words: str
    log: bool = False
    """Whether the values are logarithms."""


@dataclass(frozen=True, eq=False)
class Dot:
    """A method: a marker with words beside it."""

    x: float
    y: float
    key: str
    """Of its colour and marker in ``ravine.figures.style.METHODS``."""
    words: str
    named: bool = True
    """Whether the words stand beside it; otherwise they are in the legend."""


@dataclass(frozen=True, eq=False)
class Words:
    """Lines of text around a point, with a line to another point if there is one."""

    lines: Sequence[str]
    at: tuple[float, float]
    ink: str
    points_at: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Picture:
    """Axes and layers, from back to front."""

    x: Axis
    y: Axis
    layers: Sequence[Line | Fill | Heat | Dot | Words] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """The picture as the page's script draws it."""
        return {
            "x": asdict(self.x),
            "y": asdict(self.y),
            "layers": [_layer(one) for one in self.layers],
        }


def packed(values: npt.ArrayLike) -> str:
    """Base64 of the bytes of an array, little-endian and in single precision.

    Examples
    --------
    >>> packed([1.0, 2.0])
    'AACAPwAAAEA='
    """
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(values, dtype="<f4")

    return base64.b64encode(array.tobytes()).decode("ascii")


def joined(lines: Iterable[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Lines of (x, y) one behind the other, with a gap after each."""
    gap = np.full((1, 2), np.nan)
    parts = [part for line in lines for part in (line, gap)] or [gap]
    points = np.concatenate(parts)
    return points[:, 0], points[:, 1]


def decades(lines: Iterable[Line], label: str) -> Axis:
    """A logarithmic axis that holds the lines."""
    values = np.concatenate([line.y.ravel() for line in lines if line.extends])
    heights = np.log10(values[np.isfinite(values)])
    low, high = float(heights.min()), float(heights.max())
    margin = max(0.03 * (high - low), 0.5 * (_LEAST - (high - low)))
    return Axis(label, 10.0 ** (low - margin), 10.0 ** (high + max(margin, _ABOVE)), log=True)


def drawable(values: FloatArray) -> FloatArray:
    """Values between the floor and the ceiling of an axis, infinite ones at the ceiling."""
    return np.clip(np.where(np.isfinite(values), values, CEILING), FLOOR, CEILING)


def _layer(one: Line | Fill | Heat | Dot | Words) -> dict[str, Any]:
    kind = type(one).__name__.lower()
    if isinstance(one, Fill):
        x, y = joined(one.rings)
        return {
            "kind": kind, "x": packed(x), "y": packed(y), "colour": one.colour, "words": one.words,
        }  # fmt: skip

    told = {"kind": kind, **{name: getattr(one, name) for name in one.__dataclass_fields__}}
    if isinstance(one, Line):
        told |= {"x": packed(one.x), "y": packed(one.y)}
    if isinstance(one, Heat):
        told |= {"values": packed(one.values), "columns": one.values.shape[1]}

    return told


def draw_picture(picture: Picture, colours: dict[str, str]) -> Any:
    """The picture as a matplotlib figure, with the colours behind the page's names."""
    from matplotlib.figure import Figure
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    from ravine.figures.style import METHODS

    figure = Figure(figsize=(7.0, 5.2), layout="constrained")
    axes = figure.add_subplot(
        xlabel=picture.x.label, ylabel=picture.y.label,
        xlim=(picture.x.low, picture.x.high), ylim=(picture.y.low, picture.y.high),
        xscale="log" if picture.x.log else "linear", yscale="log" if picture.y.log else "linear",
        facecolor=colours["outside"] if any(isinstance(one, Fill) for one in picture.layers)
        else "white",
    )  # fmt: skip
    for one in picture.layers:
        if isinstance(one, Line):
            axes.plot(
                one.x, one.y, one.dash, color=colours.get(one.colour, one.colour),
                lw=0.6 * one.width, alpha=one.opacity, label=one.words or None,
            )  # fmt: skip
        elif isinstance(one, Fill) and one.rings:
            path = Path.make_compound_path(*(Path(ring, closed=True) for ring in one.rings))
            axes.add_patch(PathPatch(path, fc=one.colour, ec="white", lw=0.8, label=one.words))
        elif isinstance(one, Heat):
            xs, ys = (np.linspace(0.0, 1.0, side + 1) for side in one.values.shape[::-1])
            xs, ys = (_spaced(axis, at) for axis, at in ((picture.x, xs), (picture.y, ys)))
            look: dict[str, Any] = {"vmin": one.low, "vmax": one.high, "cmap": "cividis_r"}
            mesh = axes.pcolormesh(xs, ys, one.values, rasterized=True, **look)
            figure.colorbar(mesh, ax=axes, label=("log₁₀ " if one.log else "") + one.words)
        elif isinstance(one, Dot):
            known = METHODS[one.key]
            axes.plot(one.x, one.y, known.marker, c=known.colour, mec="black", label=one.words)

    figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure


def _spaced(axis: Axis, share: FloatArray) -> FloatArray:
    """Places along an axis from shares of its length."""
    if axis.log:
        return axis.low * (axis.high / axis.low) ** share

    return axis.low + (axis.high - axis.low) * share
