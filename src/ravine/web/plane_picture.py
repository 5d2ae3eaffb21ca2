"""The plane of step size and momentum as the page shows it, and as a file to take away."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ravine.arguments import FloatArray
from ravine.figures.plane import Plane, draw_plane, ladder_plane
from ravine.figures.style import ink_on
from ravine.methods import Method
from ravine.theory.ladder.rungs import RUNGS
from ravine.web.picture import Layer, axis, joined, line
from ravine.web.quantities import QUANTITIES, Quantity
from ravine.web.view import RIGHT, Axis, View

GRID = {False: 36, True: 72}
"""Points of the borders along an axis: while something moves, and at rest."""
SECTIONS = {False: 2, True: 4}
"""Parts into which the distance between them is cut for the border of the costly rung."""
PIXELS = {False: 64, True: 160}
"""Points along an axis of a quantity in colour."""

_LEFT = 1e-3  # least step size αL
_DECADES = 4.0  # of a noise floor or error that the colours tell apart
_BORDERS = ("Q", "axis", "gamma", "ratio", "batch")  # what the regions depend on


def plane_key(view: View, *, fine: bool) -> str:
    """What two views with the same picture of the plane have in common, and no others."""
    shown = view.only(*_BORDERS, "colour", *view.needs)
    return f"{'fine' if fine else 'coarse'} {shown.query}"


def plane_picture(view: View, *, fine: bool) -> dict[str, Any]:
    """The regions of the ladder, or a quantity in colour with the regions as lines."""
    plane = _plane(view.only(*_BORDERS), fine)
    layers: list[Layer] = []
    if view.colour == "regions":
        layers += region_layers(plane)
    else:
        layers.append(_heat(view, QUANTITIES[view.colour], PIXELS[fine]))
        for one in plane.regions:
            border = joined(plane.contour(one))
            look: dict[str, Any] = {"words": one.contour_label, "width": 1.6, "rim": True}
            layers.append(line(**border, colour=one.contour[0], dash=one.contour[1], **look))

    return {
        "x": axis("step size αL", _LEFT, RIGHT, log=plane.log),
        "y": axis("momentum β", -1, 1),
        "layers": layers + mark_layers(plane, {mark.key for mark in plane.marks}),
    }


def region_layers(plane: Plane) -> list[Layer]:
    """Every region filled, and the names in them."""
    fills = [
        {"kind": "fill", "colour": one.colour, "words": one.label, **joined(plane.borders(one))}
        for one in plane.regions
    ]
    names = [
        {"kind": "words", "ink": ink_on(label.ground), **label._asdict()}
        for label in plane.labels()
    ]
    return fills + names


def mark_layers(plane: Plane, named: set[str]) -> list[Layer]:
    """Every marked method; the names of some stand beside them, the others are in the legend."""
    return [
        {"kind": "dot", "x": mark.step, "y": mark.momentum, "key": mark.key, "words": mark.words,
         "named": mark.key in named}
        for mark in plane.marks
    ]  # fmt: skip


@lru_cache(maxsize=32)
def _plane(view: View, fine: bool) -> Plane:
    """The regions, kept: a new colour or point does not compute them again."""
    share = np.linspace(0.0, 1.0, GRID[fine])
    options: dict[str, Any] = {"quick": True, "costly_sections": SECTIONS[fine]}
    options |= {"gamma": view.gamma, "batches": view.batches, "log": view.axis is Axis.LOG}
    return ladder_plane(view.curvature, _steps(view, share), 2.0 * share - 1.0, **options)


def _steps(view: View, share: FloatArray) -> FloatArray:
    """Step sizes αL at shares of the axis."""
    if view.axis is Axis.LOG:
        return _LEFT * (RIGHT / _LEFT) ** share

    return _LEFT + (RIGHT - _LEFT) * share


def middles(view: View, pixels: int) -> tuple[FloatArray, FloatArray]:
    """Step sizes αL and momenta at the middles of all pixels."""
    share = (np.arange(pixels) + 0.5) / pixels
    return _steps(view, share), 2.0 * share - 1.0


def methods(view: View, pixels: int) -> Method:
    """The methods at the middles of all pixels, momentum along the first axis."""
    steps, momenta = middles(view, pixels)
    return Method(steps[None, :] / view.Q, momenta[:, None], view.gamma)


def _heat(view: View, quantity: Quantity, pixels: int) -> Layer:
    """One quantity in colour: rates below 1 as they are, other quantities as powers of ten."""
    grid = methods(view, pixels)
    values = quantity.values(view, grid)
    # Where even exact gradients diverge, no number of steps makes a colour meaningful.
    values = np.where(RUNGS[0].rate(view.curvature, grid).upper < 1.0, values, np.inf)
    if quantity.rate:
        shown = np.where(values < 1.0, values, np.nan)
        low = min(float(np.nanmin(shown)), 0.99) if np.isfinite(shown).any() else 0.0
        high = 1.0
    else:
        with np.errstate(divide="ignore", invalid="ignore"):
            shown = np.log10(values)
        shown = np.where(np.isfinite(shown), shown, np.nan)
        low = float(np.nanquantile(shown, 0.02)) if np.isfinite(shown).any() else 0.0
        high = low + _DECADES

    scale = {"low": low, "high": high, "log": not quantity.rate}
    return {"kind": "heat", "values": shown, "columns": pixels, "words": quantity.label, **scale}


def draw_plane_figure(view: View) -> Any:
    """The plane as a figure of matplotlib."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 6.4), layout="constrained")
    axes = figure.add_subplot()
    if view.colour != "regions":
        heat = _heat(view, QUANTITIES[view.colour], PIXELS[True])
        look: dict[str, Any] = {"vmin": heat["low"], "vmax": heat["high"], "cmap": "cividis_r"}
        mesh = axes.pcolormesh(
            *middles(view, PIXELS[True]), heat["values"], rasterized=True, **look
        )
        figure.colorbar(mesh, ax=axes, label=("log₁₀ " if heat["log"] else "") + heat["words"])

    plane = _plane(view.only(*_BORDERS), True)
    handles = draw_plane(axes, plane, filled=view.colour == "regions")
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure


def plane_csv(view: View) -> str:
    """The plane as a table: step, momentum, every rung, and the quantity in colour."""
    look: dict[str, Any] = {"gamma": view.gamma, "batches": view.batches}
    plane = ladder_plane(view.curvature, *middles(view, PIXELS[True]), **look)
    columns = dict(zip(("alpha_L", "beta"), np.meshgrid(plane.steps, plane.momenta), strict=True))
    columns |= {region.key: region.rate for region in plane.regions}
    if view.colour != "regions":
        grid = methods(view, PIXELS[True])
        columns[view.colour] = QUANTITIES[view.colour].values(view, grid)

    rows = np.stack([column.ravel() for column in columns.values()], axis=1)
    lines = [",".join(f"{value:.9g}" for value in row) for row in rows.tolist()]
    return "\n".join([",".join(columns), *lines]) + "\n"
