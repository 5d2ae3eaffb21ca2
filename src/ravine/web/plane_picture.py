"""The plane of step size and momentum, on the page and as a file to download."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from ravine.arguments import FloatArray
from ravine.figures.plane import Plane, ladder_plane, plane_figure
from ravine.figures.style import MAP_COLOURS, METHODS, draw_map, ink_on
from ravine.methods import Method
from ravine.theory.ladder.rungs import OUTSIDE, RUNGS
from ravine.web.picture import Layer, axis, joined, line, power
from ravine.web.view import QUANTITIES, RIGHT, Axis, View

GRID = {False: 36, True: 72}
"""Points along an axis for the borders: while something moves, and at rest."""
SECTIONS = {False: 2, True: 4}
"""Subdivisions of each interval for the border of the slowest rung."""
PIXELS = {False: 48, True: 160}
"""Points along an axis for a quantity in colour."""

_LEFT = 1e-3  # least step size αL
_SHADES = 11  # of the bar in the legend
_DECADES = 4.0  # decades of a noise floor or error that the colours span
_BORDERS = ("Q", "axis", "gamma", "ratio", "batch")  # what the regions depend on


def plane_key(view: View) -> str:
    """A key that two views share exactly if their planes look the same."""
    return view.only(*_BORDERS, "colour", *view.needs).query


def plane_picture(view: View, *, fine: bool) -> dict[str, Any]:
    """The regions of the ladder, or a quantity in colour with the regions as lines."""
    plane = _plane(view.only(*_BORDERS), fine)
    outside = OUTSIDE
    if view.colour == "regions":
        layers = region_layers(plane, named=fine)  # labels take longer than borders
    else:
        layers = [_heat(view, fine)]
        if QUANTITIES[view.colour].rate:
            outside = "1 or more: does not converge"
        for one in plane.regions:
            colour, dash = one.rung.contour
            look: dict[str, Any] = {"words": one.rung.contour_label, "width": 1.6, "rim": True}
            layers.append(line(colour=colour, dash=dash, **look, **joined(plane.contour(one))))

    return {
        "x": axis("step size αL", _LEFT, RIGHT, log=plane.log),
        "y": axis("momentum β", -1, 1),
        "outside": outside,
        "layers": layers + mark_layers(plane, {mark.key for mark in plane.marks}),
    }


def region_layers(plane: Plane, *, named: bool = True) -> list[Layer]:
    """Every region, filled and labelled."""
    fills = [
        {"kind": "fill", "colour": one.rung.colour, "words": one.rung.region_label}
        | joined(one.rings)
        for one in plane.regions
    ]
    names = [
        {"kind": "words", "ink": ink_on(label.ground), **label._asdict()}
        for label in (plane.labels() if named else ())
    ]
    return fills + names


def mark_layers(plane: Plane, named: set[str]) -> list[Layer]:
    """Every marked method: labelled in the plane, or in the legend."""
    return [
        {"kind": "dot", "x": mark.step, "y": mark.momentum, "words": mark.words,
         "colour": METHODS[mark.key].colour, "marker": METHODS[mark.key].marker,
         "named": mark.key in named}
        for mark in plane.marks
    ]  # fmt: skip


@lru_cache(maxsize=32)
def _plane(view: View, fine: bool) -> Plane:
    """The regions; cached, because a new colour or point does not change them."""
    share = np.linspace(0.0, 1.0, GRID[fine])
    options: dict[str, Any] = {"costly_sections": SECTIONS[fine]}
    options |= {"gamma": view.gamma, "batches": view.batches, "log": view.axis is Axis.LOG}
    return ladder_plane(view.curvature, _steps(view, share), 2.0 * share - 1.0, **options)


def _steps(view: View, share: FloatArray) -> FloatArray:
    """Step sizes αL at shares of the axis."""
    if view.axis is Axis.LOG:
        return _LEFT * (RIGHT / _LEFT) ** share

    return _LEFT + (RIGHT - _LEFT) * share


def middles(view: View, pixels: int) -> tuple[FloatArray, FloatArray]:
    """Step sizes αL and momenta at the centres of all pixels."""
    share = (np.arange(pixels) + 0.5) / pixels
    return _steps(view, share), 2.0 * share - 1.0


def quantity_map(view: View, pixels: int) -> tuple[FloatArray, float, float]:
    """The quantity in colour over (momenta, steps), and the values at the ends of its colours.

    Rates are on a linear scale, other quantities are logarithms to base 10. Where even exact
    gradients diverge, no colour is meaningful, and the value is NaN.
    """
    quantity = QUANTITIES[view.colour]
    steps, momenta = middles(view, pixels)
    alpha, beta = np.meshgrid(steps / view.Q, momenta)
    stable = RUNGS[0].rate(view.curvature, Method(alpha, beta, view.gamma)).upper < 1.0
    values = np.full(stable.shape, np.nan)
    values[stable] = quantity.values(view, Method(alpha[stable], beta[stable], view.gamma))
    if quantity.rate:
        values[values >= 1.0] = np.nan
        return values, min(float(np.nanmin(values, initial=1.0)), 0.99), 1.0

    with np.errstate(divide="ignore"):
        values = np.log10(values)
    values[~np.isfinite(values)] = np.nan
    known = values[~np.isnan(values)]
    low = float(np.quantile(known, 0.02)) if known.size else 0.0
    return values, low, low + _DECADES


def _heat(view: View, fine: bool) -> Layer:
    """One quantity in colour, from the top row of pixels to the bottom row."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    values, low, high = quantity_map(view, PIXELS[fine])
    shades = colormaps[MAP_COLOURS]
    pixels = shades((values - low) / (high - low), bytes=True)  # NaN is transparent
    quantity = QUANTITIES[view.colour]
    ends = [f"{end:.2f}" if quantity.rate else power(end) for end in (low, high)]
    bar = {"words": quantity.label, "ends": ends}
    bar["shades"] = [to_hex(shade) for shade in shades(np.linspace(0.0, 1.0, _SHADES))]
    return {"kind": "heat", "pixels": pixels[::-1], "columns": PIXELS[fine], **bar}


def draw_plane_figure(view: View) -> Any:
    """The plane as a matplotlib figure."""
    plane = _plane(view.only(*_BORDERS), True)
    if view.colour == "regions":
        return plane_figure(plane)

    def under(axes: Any) -> None:
        from matplotlib.colors import Normalize

        values, low, high = quantity_map(view, PIXELS[True])
        mesh = draw_map(axes, *middles(view, PIXELS[True]), values.T, Normalize(low, high))
        quantity = QUANTITIES[view.colour]
        words = quantity.label if quantity.rate else f"log₁₀ {quantity.label}"
        axes.figure.colorbar(mesh, ax=axes, label=words)

    return plane_figure(plane, under=under)


def plane_csv(view: View) -> str:
    """The plane as a table: step, momentum, every rung, and the quantity in colour."""
    steps, momenta = np.meshgrid(*middles(view, PIXELS[True]))
    grid = Method(steps / view.Q, momenta, view.gamma)
    columns: dict[str, Any] = {"alpha_L": steps, "beta": momenta}
    columns |= {rung.key: rung.rate(view.curvature, grid, view.batches).upper for rung in RUNGS}
    if view.colour != "regions":
        columns[view.colour] = QUANTITIES[view.colour].values(view, grid)

    table = pd.DataFrame({name: column.ravel() for name, column in columns.items()})
    return str(table.to_csv(index=False, float_format="%.9g", na_rep="nan"))
