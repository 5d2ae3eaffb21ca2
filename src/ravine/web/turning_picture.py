"""Why four tame quadratics throw a point out: its path over their valleys, in the plane."""

from __future__ import annotations

from typing import Any

import numpy as np

from ravine.arguments import FloatArray
from ravine.engine.run import run
from ravine.problems.counterexample import turning_quadratics
from ravine.web.theme import Theme, blank
from ravine.web.typed_arrays import typed
from ravine.web.view import View

MOST_STEPS = 60
"""Steps of the path that are drawn: beyond, the picture would only shrink."""

_ANGLES = 4
_WIDE = 1.8  # width of the picture in heights, at most
_SIDE = 61  # points along a side of the valley's grid
_LINES = 7  # level lines of the valley in force


def turning_figure(view: View, theme: Theme, frame: int) -> dict[str, Any]:
    """The path after ``frame`` steps, over the level lines of the quadratic that comes next."""
    problem = turning_quadratics(1.0, view.Q, terms=_ANGLES)
    steps = min(view.K, MOST_STEPS)
    trace = run(problem, view.method, steps, sampling="cyclic", seed=view.seed)
    shown = min(frame, trace.steps)
    path = trace.y[: shown + 1]
    reach = 1.15 * max(1.5, float(np.abs(path).max()))
    active = problem.batch_hessian(shown % _ANGLES)
    across = np.linspace(-_WIDE * reach, _WIDE * reach, _SIDE)
    upward = np.linspace(-reach, reach, _SIDE)
    traces = [
        _valley(active, across, upward, theme),
        *_path(path, theme),
        _axes(problem, reach, theme),
    ]
    layout = blank(
        theme,
        x={"range": [-reach, reach], "showgrid": False, "showticklabels": False, "ticks": ""},
        y={"range": [-reach, reach], "showgrid": False, "showticklabels": False, "ticks": "",
           "scaleanchor": "x"},
        uirevision="turning",
        annotations=[{
            "text": f"step {shown} of {steps}: distance {np.linalg.norm(path[-1]):.3g}",
            "xref": "paper", "yref": "paper", "x": 0.02, "y": 0.98, "showarrow": False,
            "font": {"size": 13, "color": theme.ink}, "bgcolor": theme.ground,
        }],
    )  # fmt: skip

    layout["margin"] = {"l": 10, "r": 10, "t": 10, "b": 10}
    return {"data": traces, "layout": layout}


def _valley(
    hessian: FloatArray, across: FloatArray, upward: FloatArray, theme: Theme
) -> dict[str, Any]:
    """Level lines of ½ xᵀHx, evenly spaced in the distance along its steepest direction."""
    x, y = np.meshgrid(across, upward)
    points = np.stack([x.ravel(), y.ravel()])
    height = np.sqrt(np.einsum("ik,ij,jk->k", points, hessian, points)).reshape(x.shape)
    top = float(height.max())

    return {
        "type": "contour",
        "x": typed(across),
        "y": typed(upward),
        "z": typed(height),
        "contours": {"start": 0.0, "end": top, "size": top / _LINES, "coloring": "lines"},
        "colorscale": [[0, theme.sky], [1, theme.grid]],
        "line": {"width": 1},
        "showscale": False,
        "hoverinfo": "skip",
    }


def _path(path: FloatArray, theme: Theme) -> list[dict[str, Any]]:
    line = {
        "type": "scatter",
        "mode": "lines+markers",
        "x": typed(path[:, 0], "float64"),
        "y": typed(path[:, 1], "float64"),
        "line": {"width": 1.8, "color": theme.red},
        "marker": {"size": 4, "color": theme.red},
        "hoverinfo": "skip",
    }

    here = {
        "type": "scatter",
        "mode": "markers",
        "x": [float(path[-1, 0])],
        "y": [float(path[-1, 1])],
        "marker": {"size": 13, "color": theme.orange, "line": {"width": 2, "color": "#000000"}},
        "hoverinfo": "skip",
    }

    return [line, here]


def _axes(problem: Any, reach: float, theme: Theme) -> dict[str, Any]:
    """The flat direction of each of the quadratics: the valleys between which the point goes."""
    x: list[float | None] = []
    y: list[float | None] = []
    for term in range(problem.terms):
        _, vectors = np.linalg.eigh(problem.batch_hessian(term))
        flat = reach * vectors[:, 0]
        x += [-float(flat[0]), float(flat[0]), None]
        y += [-float(flat[1]), float(flat[1]), None]

    return {
        "type": "scatter",
        "mode": "lines",
        "x": x,
        "y": y,
        "line": {"width": 1, "color": theme.faint, "dash": "dot"},
        "hoverinfo": "skip",
    }
