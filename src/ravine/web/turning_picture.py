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
_SIDE = 121  # points of a level line
_BARE = {"showgrid": False, "showticklabels": False, "showline": False, "ticks": ""}
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
    traces = [
        *_valley(active, reach, theme),
        *_path(path, theme),
        _axes(problem, reach, theme),
    ]
    layout = blank(
        theme,
        x={"range": [-reach, reach], **_BARE},
        y={"range": [-reach, reach], **_BARE, "scaleanchor": "x"},
        uirevision="turning",
        annotations=[{
            "text": f"step {shown} of {steps}: distance {np.linalg.norm(path[-1]):.3g}",
            "xref": "paper", "yref": "paper", "x": 0.02, "y": 0.98, "showarrow": False,
            "font": {"size": 13, "color": theme.ink}, "bgcolor": theme.ground,
        }],
    )  # fmt: skip

    layout["margin"] = {"l": 10, "r": 10, "t": 10, "b": 10}
    return {"data": traces, "layout": layout}


def turning_key(view: View, theme: Theme, frame: int) -> str:
    """What two views with the same path have in common, and no others."""
    names = ("Q", "step", "beta", "gamma", "K", "seed", "example")
    shown = View(**{name: getattr(view, name) for name in names})
    return f"{theme.name} {shown.query} {frame}"


def _valley(hessian: FloatArray, reach: float, theme: Theme) -> list[dict[str, Any]]:
    """Level lines of ½ xᵀHx, evenly spaced in the distance along its steepest direction."""
    values, vectors = np.linalg.eigh(hessian)
    turn = np.linspace(0.0, 2.0 * np.pi, _SIDE)
    circle = np.stack([np.cos(turn), np.sin(turn)])
    ellipse = vectors @ (circle / np.sqrt(values)[:, None])
    top = (
        np.hypot(_WIDE, 1.0) * reach * np.sqrt(values[-1])
    )  # in the farthest corner of the picture

    lines = []
    for height in top * np.arange(1, _LINES + 1) / _LINES:
        colour = _between(theme.sky, theme.grid, height / top)
        lines.append(
            {
                "type": "scatter",
                "mode": "lines",
                "x": typed(height * ellipse[0]),
                "y": typed(height * ellipse[1]),
                "line": {"width": 1, "color": colour},
                "hoverinfo": "skip",
            }
        )

    return lines


def _between(first: str, second: str, share: float) -> str:
    """The colour a share of the way from one #rrggbb to another."""
    ends = [[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in (first, second)]
    mixed = [round(a + share * (b - a)) for a, b in zip(*ends, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in mixed)


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
