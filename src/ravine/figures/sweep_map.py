"""A measured plane: one measure of a sweep in colour, with the rungs of the ladder as contours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ravine.arguments import FloatArray, Refusal, known_name
from ravine.curvature import Curvature
from ravine.figures.plane import Plane, ladder_plane, plane_figure
from ravine.figures.style import draw_map

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

_OUTCOMES = ("#3d85bd", "#8fbfdf", "#f3eee3", "#5c5c5c")
"""Colours of converged, noise floor, undecided, diverged: the order of their numbers."""

_LOGARITHMIC = ("floor", "floor_sup", "final_error", "diverged_at", "rate_start", "rate_stop")
"""Measures that span many powers of ten."""

_FINE = 160
"""Points along each axis for contours that look smooth."""

_DECADES = 1e12
"""Ratio of the largest to the smallest value on a logarithmic scale; diverging runs exceed it."""


def shown_measure(data: xr.Dataset, measure: str | None = None) -> xr.DataArray:
    """The measure of a sweep to draw, by name or the first one, with ascending axes.

    Parameters
    ----------
    data
        The result of ``ravine.engine.sweep.sweep`` for a plane of at least 2 x 2 pixels.
    measure
        One of its variables. Default: the first.

    Examples
    --------
    >>> from ravine.engine.sweep import sweep
    >>> from ravine.problems import worst_case_quadratic
    >>> swept = sweep(worst_case_quadratic(8, 5), [0.2, 0.1], [0.0, 0.5], steps=50, threads=1)
    >>> shown_measure(swept, "rate")["alpha"].values.tolist()
    [0.1, 0.2]
    """
    if "pair" in data.sizes or min(data.sizes.values()) < 2:
        sizes = " x ".join(str(n) for n in data.sizes.values())
        rule = "a plane of at least 2 x 2 pixels"
        raise Refusal("the sweep", rule, sizes, "sweep over two axes")

    names = [str(name) for name in data.data_vars]
    chosen = names[0] if measure is None else known_name("measure", measure, names)
    return data[chosen].sortby(["alpha", "beta"])


def sweep_plane(data: xr.Dataset) -> Plane:
    """The rungs of the ladder for the curvature of a sweep, on an even grid over its axes.

    A sweep with its own look-ahead has it only at its pixels, so some of these are used instead.
    """
    curvature = Curvature(data.attrs["mu"], data.attrs["L"])
    plane = data.sortby(["alpha", "beta"])
    steps = plane["alpha"].values * data.attrs["L"]
    momenta = plane["beta"].values
    if "gamma" not in plane.coords:
        ends = (np.linspace(axis[0], axis[-1], _FINE) for axis in (steps, momenta))
        return ladder_plane(curvature, *ends)

    i, j = (
        np.unique(np.linspace(0, len(axis) - 1, _FINE).round().astype(int))
        for axis in (steps, momenta)
    )
    gamma = plane["gamma"].values[np.ix_(i, j)].T
    return ladder_plane(curvature, steps[i], momenta[j], gamma=gamma)


def draw_sweep_map(data: xr.Dataset, measure: str | None = None) -> Figure:
    """Draw one measure of a sweep, as in :func:`shown_measure`, with the ladder on top."""
    shown = shown_measure(data, measure)
    Q = data.attrs["L"] / data.attrs["mu"]

    def under(figure: Figure, axes: Axes) -> None:
        _draw_measure(figure, axes, shown, shown["alpha"] * data.attrs["L"])

    title = f"{data.attrs['problem']}, Q = {Q:g}, {data.attrs['steps']} steps"
    return plane_figure(sweep_plane(data), title, under=under)


def _draw_measure(figure: Figure, axes: Axes, shown: xr.DataArray, steps: xr.DataArray) -> None:
    """A measure in colour with a colour bar; outcomes are in the legend instead."""
    from matplotlib.colors import ListedColormap, Normalize

    if shown.name == "outcome":
        # Each whole number lies in the middle of its colour.
        mesh = draw_map(axes, steps, shown["beta"], shown, Normalize(-0.5, 3.5))
        mesh.set_cmap(ListedColormap(_OUTCOMES))
        for colour, words in zip(_OUTCOMES, shown.attrs["flag_meanings"].split(), strict=True):
            look: dict[str, Any] = {"facecolor": colour, "edgecolor": "black", "linewidth": 0.5}
            axes.fill([], [], label=words.replace("_", " "), **look)
        return

    if shown.name == "diverged_at":
        shown = shown.where(shown > 0)
    norm = _scale(str(shown.name), shown.values)
    mesh = draw_map(axes, steps, shown["beta"], shown, norm)
    figure.colorbar(mesh, ax=axes, label=shown.attrs["long_name"])


def _scale(measure: str, values: FloatArray) -> Normalize:
    """A logarithmic scale for measures over many powers of ten, up to diverging runs."""
    from matplotlib.colors import LogNorm, Normalize

    logarithmic = measure in _LOGARITHMIC
    known = values[np.isfinite(values) & ((values > 0.0) | (not logarithmic))]
    if known.size == 0:
        return Normalize(0.0, 1.0)

    low = float(known.min())
    high = float(known.max())
    if logarithmic and low < high:
        return LogNorm(low, min(high, _DECADES * low))

    return Normalize(low, min(high, 1.0) if measure == "rate" and low < 1.0 else high)
