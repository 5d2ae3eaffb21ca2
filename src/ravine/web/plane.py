"""The plane of step size and momentum: regions of the ladder, or a quantity in colour.

The method itself is a knob that the page lays over the picture: moving it draws nothing anew.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ravine.arguments import FloatArray
from ravine.methods import Method, nesterov, sgd
from ravine.theory.ladder.rungs import RUNGS
from ravine.web.quantities import QUANTITIES, Quantity
from ravine.web.theme import Theme, blank
from ravine.web.typed_arrays import typed
from ravine.web.view import Axis, View

COARSE = 64
FINE = 200
"""Pixels along an axis: while something moves, and when it rests."""

_LEFT = 1e-3  # least alpha L on a logarithmic axis
_RIGHT = 2.5  # largest alpha L: beyond 4/3 nothing with positive momentum converges
_DECADES = 4.0  # of a noise floor or error that the colours tell apart
_SHADES = "Cividis"  # even in lightness, and told apart with any colour vision


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
    return {
        rung.key: np.asarray(rung.rate(view.curvature, plane, view.batches).upper) for rung in RUNGS
    }


def plane_figure(view: View, theme: Theme, *, fine: bool) -> dict[str, Any]:
    """The picture, as plain data for Plotly."""
    pixels = FINE if fine else COARSE
    quantity = QUANTITIES[view.colour]
    rungs = _all_rungs(_ground(view), pixels)
    if view.colour == "regions":
        traces = [_regions(view, rungs, pixels, theme)]
    else:
        traces = [_coloured(view, quantity, pixels)]

    traces += _edges(view, rungs, pixels, theme)
    traces.append(_marks(view, theme))
    log = view.axis is Axis.LOG
    span = [np.log10(_LEFT), np.log10(_RIGHT)] if log else [0.0, _RIGHT]
    layout = blank(
        theme,
        x={"title": {"text": "step size αL"}, "range": span, "type": "log" if log else "linear",
           "showgrid": False, "fixedrange": True},
        y={"title": {"text": "momentum β"}, "range": [-1.0, 1.0], "showgrid": False,
           "fixedrange": True},
        uirevision="plane",
    )  # fmt: skip

    layout["plot_bgcolor"] = theme.nothing
    return {"data": traces, "layout": layout}


def _ground(view: View) -> View:
    """The view with everything that the rungs do not depend on at its default."""
    return View(Q=view.Q, axis=view.axis, gamma=view.gamma, ratio=view.ratio, batch=view.batch)


@lru_cache(maxsize=32)
def _all_rungs(view: View, pixels: int) -> dict[str, FloatArray]:
    """Every rung, kept: changing the colour or the point does not compute them again."""
    return rungs_at(view, methods(view, pixels))


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
        ticks: dict[str, Any] = {}
    else:
        with np.errstate(divide="ignore"):
            shown = np.log10(np.where(np.isfinite(values), values, np.nan))
        shown = np.where(np.isfinite(shown), shown, np.nan)
        low = float(np.nanquantile(shown, 0.02)) if np.isfinite(shown).any() else 0.0
        bar = {"zmin": low, "zmax": low + _DECADES}
        powers = np.arange(np.ceil(low), low + _DECADES + 1e-9)
        ticks = {"tickvals": powers.tolist(), "ticktext": [f"10<sup>{p:.0f}</sup>" for p in powers]}

    return _heatmap(view, pixels, shown, "float32") | bar | {
        "colorscale": _SHADES,
        "reversescale": True,
        "colorbar": {"title": {"text": quantity.label, "side": "right"}, "thickness": 14,
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
        colour = theme.ground if view.colour == "regions" else rung.colour
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": typed(points[:, 0], "float64"),
                "y": typed(points[:, 1], "float64"),
                "line": {"width": 1.4, "color": colour},
                "name": rung.contour_label,
                "hoverinfo": "skip",
            }
        )

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
