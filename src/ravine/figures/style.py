"""What figures share: sizes for print, colours, and panels for several condition numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from ravine.files import written_whole

if TYPE_CHECKING:
    import matplotlib.axes
    import matplotlib.collections
    import matplotlib.figure
    import xarray as xr

Axes: TypeAlias = "matplotlib.axes.Axes"
Figure: TypeAlias = "matplotlib.figure.Figure"

DPI = 200
"""Dots per inch of a picture, enough for sharp fine lines."""

WIDE = 7.2
"""Width of a figure over two columns of print, in inches."""

# Okabe and Ito's colours, which can be distinguished with any kind of colour vision.
BLACK = "#000000"
ORANGE = "#e69f00"
SKY = "#56b4e9"
GREEN = "#009e73"
BLUE = "#0072b2"
RED = "#d55e00"
PURPLE = "#cc79a7"
GREY = "#8a8a8a"

CONTOUR = "#c1272d"
"""Colour of the line rho = 1, on every map."""

MAP_COLOURS = "cividis_r"
"""Colour map of every map: perceptually uniform, light for the smallest value."""

NOTHING = "#e4e0d8"
"""Background of the maps: diverged or undefined."""

OUTSIDE = "#f3e0d6"
"""Colour of the part of the plane where even exact gradients diverge."""


class Look(NamedTuple):
    """The look of a method in every picture."""

    words: str
    colour: str
    marker: str
    """Matplotlib's name for the marker."""


METHODS = {
    "nesterov": Look("standard Nesterov", RED, "o"),
    "sgd": Look("SGD at 2/(μ+L)", PURPLE, "s"),
    "yours": Look("your settings", BLACK, "D"),
    "pytorch": Look("PyTorch's example", ORANGE, "o"),
    "pytorch-decay": Look("PyTorch's example, linear decay", SKY, "o"),
    "one-over-L": Look("SGD at 1/L", "#6d6d6d", "s"),
    "tuned-sgd": Look("tuned SGD", "#999933", "s"),
    "certified": Look("certified", GREEN, "o"),
    "safe": Look("safe in any order", GREEN, "o"),
    "iid": Look("safe for independent batches", "#66a61e", "o"),
    "fastest": Look("fastest", "#332288", "o"),
    "constant": Look("constant lr", "#8c564b", "o"),
    "schedule": Look("schedule", "#7b3294", "o"),
    "averaged": Look("averaged", BLUE, "o"),
    "quick": Look("quick", "#1b7837", "o"),
}
"""Colour and marker of every method in pictures, by key."""

_SETTINGS = Path(__file__).with_name("print.mplstyle")
"""Sizes of text, and widths of lines and frames."""


@contextmanager
def _print_sizes() -> Iterator[None]:
    from matplotlib.style import context

    with context(_SETTINGS):
        yield


styled = _print_sizes()
"""Decorates a function that draws a figure: it uses the sizes of ``print.mplstyle``."""


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


def finish(figure: Figure, axes: npt.NDArray[Any], columns: int = 0, **options: Any) -> Figure:
    """Put (a), (b), ... in front of the titles of the panels, and their legend below.

    Parameters
    ----------
    figure, axes
        The figure and axes of :func:`panels`, after drawing.
    columns
        Columns of one legend for all panels, with the labels of the first; no legend if 0.
    options
        Options of the legend.

    Returns
    -------
    Figure
        The same figure.
    """
    if axes.size > 1:
        for letter, axis in zip("abcdefghijklmnopqrstuvwxyz", axes.flat, strict=False):
            axis.set_title(f"({letter}) {axis.get_title()}")

    if columns:
        handles, _ = axes.flat[0].get_legend_handles_labels()
        figure.legend(handles=handles, ncols=columns, **{"loc": "outside lower center"} | options)

    return figure


def save_picture(figure: Figure, path: Path) -> None:
    """Write a PNG, SVG or PDF file; the same data give the same file: no date, fixed ids."""
    import matplotlib as mpl

    undated = {".svg": "Date", ".pdf": "CreationDate"}.get(path.suffix.lower(), "Software")
    with written_whole(path) as part, mpl.rc_context({"svg.hashsalt": "ravine"}):
        figure.savefig(part, dpi=DPI, metadata={undated: None})


def draw_map(
    axes: Axes,
    steps: npt.ArrayLike,
    momenta: npt.ArrayLike,
    values: npt.ArrayLike,
    norm: Any,
    rho: npt.ArrayLike | None = None,
) -> matplotlib.collections.QuadMesh:
    """Draw values over (steps, momenta) in colour, and the background where they are not finite.

    Parameters
    ----------
    axes, steps, momenta, values, norm
        Of matplotlib.
    rho
        A spectral radius over the same: the line on which it is 1 is drawn on top.

    Returns
    -------
    QuadMesh
        For a colour bar.
    """
    axes.set_facecolor(NOTHING)
    axes.set(xlabel="step size αL", ylabel="momentum β")
    shown = np.ma.masked_invalid(np.asarray(values).T)
    mesh = axes.pcolormesh(steps, momenta, shown, norm=norm, cmap=MAP_COLOURS, rasterized=True)
    if rho is not None:
        look: Any = {"levels": [1.0], "colors": [CONTOUR], "linewidths": 1.0}
        axes.contour(steps, momenta, np.asarray(rho).T, **look)

    return mesh


def cell_centres(low: float, high: float, cells: int) -> npt.NDArray[np.float64]:
    """The centres of ``cells`` equal cells between two ends."""
    return low + (high - low) * (np.arange(cells) + 0.5) / cells


def over_ratios(rows: Sequence[xr.Dataset], Q: npt.ArrayLike, **attributes: Any) -> xr.Dataset:
    """Join data sets, one per condition number."""
    import xarray as xr

    together = xr.concat(rows, dim="Q", combine_attrs="drop_conflicts")
    return together.assign_coords(Q=np.asarray(Q)).assign_attrs(attributes)


def at_each_ratio(data: xr.Dataset, values: npt.ArrayLike, form: str = ".2%") -> str:
    """Describe one value per condition number.

    Examples
    --------
    >>> import xarray as xr
    >>> at_each_ratio(xr.Dataset(coords={"Q": [2.0, 8.0]}), [0.5, 0.25])
    '50.00% at Q = 2, 25.00% at Q = 8'
    """
    pairs = zip(data["Q"].values, np.asarray(values), strict=True)
    return ", ".join(f"{value:{form}} at Q = {Q:.3g}" for Q, value in pairs)
