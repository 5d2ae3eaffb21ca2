"""The look that all figures of the reproduction share: sizes for print, colours, panels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

DPI = 200
"""Dots an inch of a picture: fine lines stay sharp on a page."""

WIDE = 7.2
"""Width of a figure over two columns of print, in inches."""

# Okabe and Ito's colours, told apart with any kind of colour vision.
BLACK = "#000000"
ORANGE = "#e69f00"
SKY = "#56b4e9"
GREEN = "#009e73"
BLUE = "#0072b2"
RED = "#d55e00"
PURPLE = "#cc79a7"
GREY = "#8a8a8a"

CONTOUR = "#c1272d"
"""Of rho = 1, on every map."""

NOTHING = "#e4e0d8"
"""Behind the maps: what diverged, or is not defined."""

OUTSIDE = "#f3e0d6"
"""Of the plane where even exact gradients diverge."""


class Look(NamedTuple):
    """How a method is shown in every picture."""

    words: str
    colour: str
    marker: str
    """By matplotlib's name."""


METHODS = {
    "nesterov": Look("standard Nesterov", RED, "o"),
    "sgd": Look("SGD at 2/(μ+L)", PURPLE, "s"),
    "yours": Look("your settings", BLACK, "D"),
    "pytorch": Look("PyTorch's example", ORANGE, "o"),
    "pytorch-decay": Look("PyTorch's example, linear decay", "#b8860b", "o"),
    "one-over-L": Look("SGD at 1/L", "#6d6d6d", "s"),
    "tuned-sgd": Look("tuned SGD", SKY, "s"),
    "certified": Look("certified", GREEN, "o"),
    "safe": Look("safe in any order", GREEN, "o"),
    "iid": Look("safe for independent batches", "#66a61e", "o"),
    "fastest": Look("fastest", BLUE, "o"),
    "constant": Look("constant lr", "#8c564b", "o"),
    "schedule": Look("schedule", "#7b3294", "o"),
    "averaged": Look("averaged", "#d95f8d", "o"),
    "quick": Look("quick", "#1b7837", "o"),
}
"""Colour and marker of every method that a picture shows, by key."""

# Sizes of type and widths of lines are in points.
_SETTINGS: dict[str, Any] = {
    "font.size": 8.0,
    "axes.titlesize": 8.0,
    "axes.labelsize": 8.0,
    "xtick.labelsize": 7.0,
    "ytick.labelsize": 7.0,
    "legend.fontsize": 7.5,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "mathtext.fontset": "dejavusans",
}


def ink_on(ground: str) -> str:
    """Black or white, whichever is easier to read on a colour #rrggbb.

    Examples
    --------
    >>> ink_on("#ffffcc"), ink_on("#253494")
    ('#000000', '#ffffff')
    """
    red, green, blue = (int(ground[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return "#000000" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "#ffffff"


def panels(
    rows: int, columns: int, *, height: float, **options: Any
) -> tuple[Figure, npt.NDArray[Any]]:
    """Return an empty figure of print width and its axes, shape (rows, columns)."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context(cast("Any", _SETTINGS)):
        figure = Figure(figsize=(WIDE, height), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, **options)

    for axis in axes.flat:
        axis.tick_params(labelsize=7.0)

    return figure, np.asarray(axes)


def name_panels(axes: npt.NDArray[Any]) -> None:
    """Put (a), (b), ... in front of the titles."""
    for letter, axis in zip("abcdefghijklmnopqrstuvwxyz", axes.flat, strict=False):
        title = axis.get_title()
        axis.set_title(f"({letter}) {title}", fontsize=8.0)


def legend_below(figure: Figure, handles: Sequence[Artist], columns: int, **options: Any) -> None:
    """Put one legend for all panels below them."""
    look: dict[str, Any] = {
        "loc": "outside lower center",
        "frameon": False,
        "fontsize": 7.5,
        "columnspacing": 1.2,
    }
    figure.legend(handles=handles, ncols=columns, **look | options)


def cell_edges(centres: npt.ArrayLike) -> tuple[float, float]:
    """The outer edges of equal cells with these centres."""
    axis = np.asarray(centres, dtype=np.float64)
    half = 0.5 * float(axis[1] - axis[0]) if len(axis) > 1 else 0.5
    return float(axis[0]) - half, float(axis[-1]) + half


def cell_centres(low: float, high: float, cells: int) -> npt.NDArray[np.float64]:
    """The centres of ``cells`` equal cells between two ends."""
    return low + (high - low) * (np.arange(cells) + 0.5) / cells
