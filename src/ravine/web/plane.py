"""The plane of step size and momentum: regions of the ladder, or a quantity in colour.

The method itself is a knob that the page lays over the picture: moving it draws nothing anew.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from plotly.colors import sequential
from scipy.ndimage import binary_dilation

from ravine.arguments import FloatArray
from ravine.methods import Method, nesterov, sgd
from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.rungs import RUNGS, Rung
from ravine.web.quantities import QUANTITIES, Quantity
from ravine.web.theme import Theme, blank
from ravine.web.ticks import at, even, powers
from ravine.web.typed_arrays import typed
from ravine.web.view import Axis, View

COARSE = 64
FINE = 200
"""Pixels along an axis: while something moves, and when it rests."""

_LEFT = 1e-3  # least alpha L on a logarithmic axis
_RIGHT = 2.5  # largest alpha L: beyond 4/3 nothing with positive momentum converges
_DECADES = 4.0  # of a noise floor or error that the colours tell apart
_SHADOW = "rgba(0,0,0,0.55)"
_LINES = {"-": "solid", "--": "dashed", "-.": "dashed", ":": "dotted"}  # the nearest in a legend
_DASHES = {"-": "solid", "--": "9px,5px", "-.": "9px,3px,2px,3px", ":": "2px,3px"}
_CIVIDIS = sequential.Cividis[::-1]  # even in lightness, and told apart with any colour vision
_SHADES = [[place / (len(_CIVIDIS) - 1), colour] for place, colour in enumerate(_CIVIDIS)]
_BAR = 100  # pixels to the right of the plane for the bar of colours, its labels and its title
_BORDERS = ("Q", "axis", "gamma", "ratio", "batch")  # what the borders of the regions depend on


def alpha_axis(view: View, pixels: int) -> FloatArray:
    """Centres of the pixels in alpha L."""
    share = (np.arange(pixels) + 0.5) / pixels
    if view.axis is Axis.LOG:
        return _LEFT * (_RIGHT / _LEFT) ** share

    return _RIGHT * share


def beta_axis(pixels: int) -> FloatArray:
    """Centres of the pixels in beta."""
    return -1.0 + 2.0 * (np.arange(pixels) + 0.5) / pixels


def methods(view: View, pixels: int) -> Method:
    """The methods of all pixels, momentum along the first axis as a picture has it."""
    alphas = alpha_axis(view, pixels)[None, :] / view.Q
    return Method(alphas, beta_axis(pixels)[:, None], view.gamma)


def rungs_at(view: View, plane: Method) -> dict[str, FloatArray]:
    """Every rung of the ladder over the plane, by key."""
    return {rung.key: _upper(view, rung, plane) for rung in RUNGS}


def plane_figure(view: View, theme: Theme, *, fine: bool) -> dict[str, Any]:
    """The picture, as plain data for Plotly."""
    pixels = FINE if fine else COARSE
    quantity = QUANTITIES[view.colour]
    rungs = _all_rungs(_with(view, _BORDERS), pixels)
    if view.colour == "regions":
        traces = [_regions(view, rungs, pixels, theme)]
    else:
        traces = [_coloured(view, quantity, pixels)]

    traces += _edges(view, rungs, pixels, theme)
    traces.append(_marks(view, theme))
    log = view.axis is Axis.LOG
    span = [np.log10(_LEFT), np.log10(_RIGHT)] if log else [0.0, _RIGHT]
    steps = at([0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0]) if log else even(0.0, _RIGHT, 6)
    layout = blank(
        theme,
        x={"title": {"text": "step size αL"}, "range": span, "type": "log" if log else "linear",
           "showgrid": False, "fixedrange": True, **steps},
        y={"title": {"text": "momentum β"}, "range": [-1.0, 1.0], "showgrid": False,
           "fixedrange": True, **even(-1.0, 1.0, 5)},
        uirevision="plane",
    )  # fmt: skip

    layout["plot_bgcolor"] = theme.nothing
    if view.colour != "regions":
        layout["margin"]["r"] = _BAR
        layout["annotations"] = [_beside(quantity.label, theme)]

    return {"data": traces, "layout": layout}


def _beside(label: str, theme: Theme) -> dict[str, Any]:
    """The title of the bar of colours, at a place that does not depend on its labels."""
    return {
        "text": label,
        "textangle": -90,
        "xref": "paper",
        "yref": "paper",
        "x": 1.0,
        "y": 0.5,
        "xshift": _BAR - 14,
        "xanchor": "center",
        "showarrow": False,
        "font": {"size": 14, "color": theme.ink},
    }


def plane_key(view: View, theme: Theme, *, fine: bool) -> str:
    """What two views with the same picture of the plane have in common, and no others."""
    shown = _with(view, (*_BORDERS, "colour", *QUANTITIES[view.colour].needs))
    return f"{theme.name} {'fine' if fine else 'coarse'} {shown.query}"


def plane_legend(view: View) -> list[dict[str, str]]:
    """The regions with their colours, or the lines around them with their dashes."""
    if view.colour == "regions":
        return [{"words": rung.region_label, "fill": rung.colour} for rung in RUNGS]

    return [
        {"words": rung.contour_label, "colour": rung.contour[0], "dash": _LINES[rung.contour[1]]}
        for rung in RUNGS
    ]


def _with(view: View, names: tuple[str, ...]) -> View:
    """The view with everything but these settings at its default."""
    return View(**{name: getattr(view, name) for name in names})


@lru_cache(maxsize=32)
def _all_rungs(view: View, pixels: int) -> dict[str, FloatArray]:
    """Every rung as the picture needs it, kept: a new colour or point does not compute it again.

    The rungs are nested, r₂ <= JSR <= r*, and the commuting one costs thirty times the others.
    Where r₂ >= 1 or r* < 1 its side of 1 is known without it, so that it is computed in between
    alone, and in the pixels beside: the line through 1 is interpolated between these.
    """
    plane = methods(view, pixels)
    cheap = [rung for rung in RUNGS if rung.function is not commuting_rate]
    known = {rung.key: _upper(view, rung, plane) for rung in cheap}
    below = known["iid_rate"]
    above = known["worst_case_rate"]

    open_ = (below < 1.0) & (above >= 1.0)
    near = binary_dilation(open_, np.ones((3, 3), dtype=bool))
    values = np.where(above < 1.0, above, below)
    alpha, beta, gamma = np.broadcast_arrays(plane.alpha, plane.beta, plane.gamma)
    if near.any():
        some = Method(alpha[near], beta[near], gamma[near])
        values[near] = commuting_rate(view.batches.terms(view.curvature), some).upper

    known["commuting_rate"] = values
    return {rung.key: known[rung.key] for rung in RUNGS}


def _upper(view: View, rung: Rung, plane: Method) -> FloatArray:
    return np.asarray(rung.rate(view.curvature, plane, view.batches).upper)


def _regions(view: View, rungs: dict[str, FloatArray], pixels: int, theme: Theme) -> dict[str, Any]:
    """Number of rungs below 1: the rungs are nested, so it says which of them are."""
    count = sum((values < 1.0).astype(np.uint8) for values in rungs.values())
    steps = [theme.nothing, *(rung.colour for rung in RUNGS)]
    scale = []
    for place, colour in enumerate(steps):
        scale += [[place / len(steps), colour], [(place + 1) / len(steps), colour]]

    return _heatmap(view, pixels, np.asarray(count), "uint8") | {
        "colorscale": scale,
        "zmin": -0.5,
        "zmax": len(steps) - 0.5,
        "showscale": False,
    }


def _coloured(view: View, quantity: Quantity, pixels: int) -> dict[str, Any]:
    """One quantity in colour: rates below 1 as they are, other quantities as powers of ten."""
    values = quantity.values(view, methods(view, pixels))
    if quantity.rate:
        shown = np.where(values < 1.0, values, np.nan)
        low = min(float(np.nanmin(shown)), 0.99) if np.isfinite(shown).any() else 0.0
        bar: dict[str, Any] = {"zmin": low, "zmax": 1.0}
        ticks = even(low, 1.0, 6)
    else:
        with np.errstate(divide="ignore"):
            shown = np.log10(np.where(np.isfinite(values), values, np.nan))
        shown = np.where(np.isfinite(shown), shown, np.nan)
        low = float(np.nanquantile(shown, 0.02)) if np.isfinite(shown).any() else 0.0
        bar = {"zmin": low, "zmax": low + _DECADES}
        ticks = powers(low, low + _DECADES, 6, logarithms=True)

    return _heatmap(view, pixels, shown, "float32") | bar | {
        "colorscale": _SHADES,
        "colorbar": {"thickness": 14, "tickfont": {"size": 13}, "x": 1.0, "xpad": 12, "ypad": 0,
                     "outlinewidth": 0, **ticks},
    }  # fmt: skip


def _heatmap(view: View, pixels: int, values: FloatArray, kind: str) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "x": typed(alpha_axis(view, pixels), "float64"),
        "y": typed(beta_axis(pixels), "float64"),
        "z": typed(values, kind),
        "hoverinfo": "skip",
    }


def _edges(
    view: View, rungs: dict[str, FloatArray], pixels: int, theme: Theme
) -> list[dict[str, Any]]:
    """Where each rung is 1: beyond, it promises nothing. Lines are lighter to send than planes."""
    from contourpy import LineType, contour_generator

    alphas = alpha_axis(view, pixels)
    betas = beta_axis(pixels)
    traces = []
    for rung in RUNGS:
        # Lines are found by linear interpolation: far values would only bend them.
        near = np.clip(rungs[rung.key], 0.5, 1.5)
        tracer = contour_generator(alphas, betas, near, line_type=LineType.ChunkCombinedNan)
        points = tracer.lines(1.0)[0][0]
        if points is None:
            continue

        line = {
            "type": "scatter",
            "mode": "lines",
            "x": typed(points[:, 0]),
            "y": typed(points[:, 1]),
            "name": rung.contour_label,
            "hoverinfo": "skip",
        }
        if view.colour == "regions":
            traces.append(line | {"line": {"width": 1.4, "color": theme.ground}})
        else:
            colour, dashes = rung.contour
            # A dark line underneath: every colour of the map is far from one of the two.
            traces.append(line | {"line": {"width": 3.4, "color": _SHADOW}})
            traces.append(line | {"line": {"width": 1.8, "color": colour, "dash": _DASHES[dashes]}})

    return traces


def _marks(view: View, theme: Theme) -> dict[str, Any]:
    """The usual Nesterov parameters and SGD's best fixed step."""
    usual = [nesterov(view.curvature), sgd(view.curvature)]
    return {
        "type": "scatter",
        "mode": "markers",
        "x": [float(method.alpha) * view.Q for method in usual],
        "y": [float(method.beta) for method in usual],
        "marker": {
            "size": 11,
            "symbol": ["circle", "square"],
            "color": "#ffffff",
            "line": {"width": 1.5, "color": "#000000"},
        },
        "hoverinfo": "skip",
    }
