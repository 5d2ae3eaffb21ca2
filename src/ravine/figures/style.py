"""The look that all figures of the reproduction share: sizes for print, colours, panels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, cast

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

DPI = 200
"""Dots per inch of a picture: fine lines stay sharp on a page."""

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
    "font.size": 9.0,
    "axes.titlesize": 9.0,
    "axes.labelsize": 9.0,
    "xtick.labelsize": 8.0,
    "ytick.labelsize": 8.0,
    "legend.fontsize": 8.0,
    "legend.title_fontsize": 8.0,
    "legend.edgecolor": "none",
    "legend.framealpha": 0.85,
    "legend.columnspacing": 1.2,
    "legend.handlelength": 1.6,
    "axes.linewidth": 0.6,
    "lines.linewidth": 1.2,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "mathtext.fontset": "dejavusans",
}

_P = ParamSpec("_P")


def styled(draw: Callable[_P, Figure]) -> Callable[_P, Figure]:
    """Decorate a function that draws a figure: it uses the sizes of this file."""

    @wraps(draw)
    def drawn(*arguments: _P.args, **options: _P.kwargs) -> Figure:
        import matplotlib as mpl

        with mpl.rc_context(cast("Any", _SETTINGS)):
            return draw(*arguments, **options)

    return drawn


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
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDE, height), layout="constrained")
    return figure, np.asarray(figure.subplots(rows, columns, squeeze=False, **options))


def name_panels(axes: npt.NDArray[Any]) -> None:
    """Put (a), (b), ... in front of the titles."""
    for letter, axis in zip("abcdefghijklmnopqrstuvwxyz", axes.flat, strict=False):
        title = axis.get_title()
        axis.set_title(f"({letter}) {title}")


def legend_below(figure: Figure, handles: Sequence[Artist], columns: int, **options: Any) -> None:
    """Put one legend for all panels below them."""
    options = {"loc": "outside lower center"} | options
    figure.legend(handles=handles, ncols=columns, **options)


def cell_edges(centres: npt.ArrayLike) -> tuple[float, float]:
    """The outer edges of equal cells with these centres."""
    axis = np.asarray(centres, dtype=np.float64)
    half = 0.5 * float(axis[1] - axis[0]) if len(axis) > 1 else 0.5
    return float(axis[0]) - half, float(axis[-1]) + half


def cell_centres(low: float, high: float, cells: int) -> npt.NDArray[np.float64]:
    """The centres of ``cells`` equal cells between two ends."""
    return low + (high - low) * (np.arange(cells) + 0.5) / cells
