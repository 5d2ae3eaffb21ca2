"""Pictures of a diagnosis on the page: its regions with the methods as points, and their runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ravine.web.theme import Theme, blank
from ravine.web.typed_arrays import typed

_SHADES = ("#efe9dd", "#cfe3f1", "#3d85bd")  # diverges, exact gradients converge, batches do too
_SHADOW = "0 0 3px #000, 0 0 2px #000"  # white words can then be read on any region
_NIGHT = ("#241f1a", "#35566e", "#3d85bd")


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

    asked = _points([], [], theme.red, "the point that you asked about") | {"text": [""]}
    layout = blank(
        theme,
        x={"title": {"text": "step size αL"}, "type": "log",
           "range": [np.log10(plane["steps"][0]), np.log10(plane["steps"][-1])], "dtick": 1},
        y={"title": {"text": "momentum β"}, "range": [plane["momenta"][0], 1.0]},
        hovermode="closest",
        uirevision="data-plane",
    )  # fmt: skip

    return {"data": [heat, _candidates(record, theme), asked], "layout": layout}


def _candidates(record: dict[str, Any], theme: Theme) -> dict[str, Any]:
    """Every method as a point: the recommended one in colour, the names of a few beside them."""
    L = record["curvature"]["L"]
    methods = record["methods"]
    named = {record["recommended"], record["quick"], methods[0]["key"]}
    points = _points(
        [method["alpha"] * L for method in methods],
        [method["beta"] for method in methods],
        [
            theme.orange if method["key"] == record["recommended"] else "#ffffff"
            for method in methods
        ],
        [method["name"] for method in methods],
    )

    return points | {
        "mode": "markers+text",
        "text": [method["name"] if method["key"] in named else "" for method in methods],
        "textposition": "bottom right",
        "textfont": {"size": 12, "color": "#ffffff", "shadow": _SHADOW},
    }


def _points(
    x: list[float], y: list[float], colour: str | list[str], names: str | list[str]
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "marker": {"size": 11, "color": colour, "line": {"width": 1.5, "color": "#000000"}},
        "customdata": names,
        "hovertemplate": "%{customdata}<br>αL %{x:.3g}, β %{y:.3g}<extra></extra>",
    }


def curves_figure(result: dict[str, Any], theme: Theme) -> dict[str, Any]:
    """Measured loss of the methods that matter most, with the floor predicted for each."""
    colours = (theme.orange, theme.blue, theme.green, theme.red, theme.sky, theme.faint)
    record = result["record"]
    traces = []
    for colour, method in zip(colours, _foremost(record), strict=False):
        measured = method["measured"]
        line = {
            "type": "scatter",
            "mode": "lines",
            "x": measured["loss_steps"],
            "y": measured["excess"],
            "name": method["name"],
            "line": {"width": 2.2, "color": colour},
            "hoverinfo": "skip",
        }
        traces.append(line)

        floor = method["excess_floor"]
        if floor and floor["value"] and measured["loss_steps"]:
            ends = [measured["loss_steps"][0], measured["loss_steps"][-1]]
            dotted = {"width": 1.4, "color": colour, "dash": "dot"}
            level = [floor["value"]] * 2
            traces.append(line | {"x": ends, "y": level, "line": dotted, "showlegend": False})

    layout = blank(
        theme,
        x={"title": {"text": "step"}},
        y={"title": {"text": "f(y) − f*, mean of the runs"}, "type": "log", "dtick": 1,
           "exponentformat": "power"},
        showlegend=True,
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": {"size": 12},
                "bgcolor": "rgba(0,0,0,0)", "itemclick": False, "itemdoubleclick": False},
    )  # fmt: skip

    layout["margin"] |= {"t": 44, "l": 72}  # two lines of legend; powers of ten
    return {"data": traces, "layout": layout}


def _foremost(record: dict[str, Any]) -> list[dict[str, Any]]:
    """The recommended method, the one that was asked about, the quick one; then the others."""
    methods = record["methods"]
    first = [record["recommended"], methods[0]["key"], record["quick"]]
    place = {key: first.index(key) for key in first}
    return sorted(methods, key=lambda method: place.get(method["key"], len(first)))


def _numbers(rows: list[list[float | None]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """A table from JSON, in which infinite numbers are None."""
    return np.array([[np.inf if value is None else value for value in row] for row in rows])
