"""Pictures of a diagnosis on the page: its regions with the methods as points, and their runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ravine.web.theme import Theme, blank
from ravine.web.typed_arrays import typed

_SHADES = ("#efe9dd", "#cfe3f1", "#3d85bd")  # diverges, exact gradients converge, batches do too
_NIGHT = ("#241f1a", "#35566e", "#3d85bd")
_MOST = 8  # curves that the eye still tells apart


def data_plane_figure(result: dict[str, Any], theme: Theme) -> dict[str, Any]:
    """Where the batches of this table converge in mean square, with every method as a point."""
    plane = result["plane"]
    record = result["record"]
    exact = _numbers(plane["exact_gradients"]).T
    square = _numbers(plane["mean_square"]).T
    count = (exact < 0.0).astype(np.uint8) + (square < 0.0).astype(np.uint8)
    shades = _NIGHT if theme.name == "dark" else _SHADES
    scale: list[list[Any]] = []
    for place, colour in enumerate(shades):
        scale += [[place / 3.0, colour], [(place + 1) / 3.0, colour]]

    heat = {
        "type": "heatmap",
        "x": plane["steps"],
        "y": plane["momenta"],
        "z": typed(count, "uint8"),
        "colorscale": scale,
        "zmin": -0.5,
        "zmax": 2.5,
        "showscale": False,
        "hovertemplate": "αL %{x:.3g}, β %{y:.3g}<extra></extra>",
    }

    L = record["curvature"]["L"]
    methods = record["methods"]
    points = {
        "type": "scatter",
        "mode": "markers+text",
        "x": [method["alpha"] * L for method in methods],
        "y": [method["beta"] for method in methods],
        "text": [method["key"] for method in methods],
        "textposition": "top right",
        "textfont": {"size": 10, "color": theme.ink},
        "marker": {
            "size": 10,
            "color": [
                theme.orange if method["key"] == record["recommended"] else "#ffffff"
                for method in methods
            ],
            "line": {"width": 1.5, "color": "#000000"},
        },
        "hoverinfo": "skip",
    }

    low, high = np.log10(plane["steps"][0]), np.log10(plane["steps"][-1])
    layout = blank(
        theme,
        x={"title": {"text": "step size αL"}, "type": "log", "range": [low, high]},
        y={"title": {"text": "momentum β"}, "range": [plane["momenta"][0], 1.0]},
        hovermode="closest",
    )

    return {"data": [heat, points], "layout": layout}


def curves_figure(result: dict[str, Any], theme: Theme) -> dict[str, Any]:
    """Measured loss of every method over the steps."""
    colours = (theme.blue, theme.red, theme.green, theme.orange, theme.sky, theme.faint)
    traces = []
    for place, method in enumerate(result["record"]["methods"][:_MOST]):
        measured = method["measured"]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": measured["loss_steps"],
                "y": measured["excess"],
                "name": method["name"],
                "line": {"width": 2, "color": colours[place % len(colours)]},
                "hoverinfo": "skip",
            }
        )

    layout = blank(
        theme,
        x={"title": {"text": "step"}},
        y={"title": {"text": "f(y) − f*, mean of the runs"}, "type": "log",
           "exponentformat": "power"},
        showlegend=True,
        legend={"orientation": "h", "y": -0.2, "yanchor": "top", "x": 0, "font": {"size": 11}},
    )  # fmt: skip

    return {"data": traces, "layout": layout}


def _numbers(rows: list[list[float | None]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A table from JSON, in which infinite numbers are None."""
    return np.array([[np.inf if value is None else value for value in row] for row in rows])
