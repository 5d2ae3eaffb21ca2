"""The chosen method at work: errors over the steps, a fan of runs, exact moments and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ravine.arguments import FloatArray
from ravine.engine.kernels.finite_sum import ensemble
from ravine.methods import Method
from ravine.problems.counterexample import counterexample
from ravine.problems.worst_case import worst_case_quadratic
from ravine.theory.noise.moments import noise_floor, second_moment
from ravine.web.theme import Theme, blank
from ravine.web.typed_arrays import typed
from ravine.web.view import Example, View

RUNS = 40
"""Runs in the fan: enough to see the spread, few enough to draw at once."""

_POINTS = 160  # steps at which errors are kept, at most
_DIMENSION = 8  # of the quadratic with additive noise
_CEILING = 1e12  # errors beyond are all the same to the eye; the axis ends there
_FLOOR = 1e-16


def visits(K: int) -> FloatArray:
    """Steps at which errors are taken: all of a short run, evenly spread over a long one."""
    return np.unique(np.linspace(0, K, min(K + 1, _POINTS)).round().astype(np.int64))


def run_figure(view: View, theme: Theme) -> dict[str, Any]:
    """Errors of the chosen method on the chosen example, as plain data for Plotly."""
    if view.example is Example.NOISE:
        traces, label = _noisy(view, theme)
    else:
        traces, label = _odd(view, theme)

    layout = blank(
        theme,
        x={"title": {"text": "step k"}, "range": [0, view.K]},
        y={"title": {"text": label}, "type": "log", "exponentformat": "power"},
        showlegend=True,
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 12}},
        uirevision="run",
    )

    layout["margin"]["t"] = 34
    return {"data": traces, "layout": layout}


def _noisy(view: View, theme: Theme) -> tuple[list[dict[str, Any]], str]:
    """A quadratic with additive noise: runs, their mean, and the exact second moment."""
    problem = worst_case_quadratic(Q=view.Q, d=_DIMENSION)
    at = visits(view.K)
    runs = ensemble(
        problem,
        view.method,
        at,
        trajectories=RUNS,
        sampling=None,
        sigma2=view.sigma2,
        seed=view.seed,
    )

    squares = runs.norms**2
    traces = _fan(at, squares, theme)
    if view.gamma is None:
        exact = _exact_curve(view, problem.eigenvalues, problem)
        traces.append(_line(np.arange(view.K + 1.0), exact, theme.red, "exact mean E‖y − x*‖²"))
        level = float(np.asarray(noise_floor(problem.eigenvalues, view.method, sigma2=view.sigma2)))
        if np.isfinite(level) and level > 0.0:
            ends = np.array([0.0, view.K])
            floor = np.full(2, level)
            traces.append(_line(ends, floor, theme.green, "noise floor", dash="dot"))

    return traces, "‖y − x*‖²"


def _exact_curve(view: View, eigenvalues: FloatArray, problem: Any) -> FloatArray:
    away = problem.eigenvectors.T @ (problem.start - problem.minimiser)
    moments = second_moment(
        eigenvalues, view.method, sigma2=view.sigma2, start=np.abs(away), steps=view.K
    )
    return np.asarray(moments.sum(axis=-1))


def _odd(view: View, theme: Theme) -> tuple[list[dict[str, Any]], str]:
    """The paper's sum: its third coordinate, in which the odd function pulls."""
    problem = counterexample(mu=1.0, L=view.Q, n=view.n)
    at = visits(view.K)
    runs = ensemble(
        problem, view.method, at, trajectories=RUNS, sampling=view.sampling, seed=view.seed
    )
    return _fan(at, runs.errors[:, :, 2] ** 2, theme), "(third coordinate)²"


def _fan(at: FloatArray, squares: FloatArray, theme: Theme) -> list[dict[str, Any]]:
    """Thin lines for the runs, a thick one for their mean; gaps where a line leaves the picture."""
    kept = np.where(np.isfinite(squares), squares, _CEILING)
    kept = np.clip(kept, _FLOOR, _CEILING)
    steps, runs = kept.shape
    # One trace for all runs, with a gap after each: forty traces would be drawn one by one.
    x = np.append(at.astype(np.float64), np.nan)
    y = np.vstack([kept, np.full((1, runs), np.nan)])
    fan = {
        "type": "scattergl" if steps * runs > 20_000 else "scatter",
        "mode": "lines",
        "x": typed(np.tile(x, runs), "float64"),
        "y": typed(y.T.ravel(), "float64"),
        "line": {"width": 0.8, "color": theme.sky},
        "opacity": 0.45,
        "hoverinfo": "skip",
        "name": f"{runs} runs",
        "connectgaps": False,
    }

    mean = _line(at, kept.mean(axis=1), theme.blue, "their mean")
    return [fan, mean]


def _line(
    x: FloatArray, y: FloatArray, colour: str, name: str, *, dash: str = "solid"
) -> dict[str, Any]:
    with np.errstate(invalid="ignore"):
        shown = np.clip(np.where(np.isfinite(y), y, _CEILING), _FLOOR, _CEILING)

    return {
        "type": "scatter",
        "mode": "lines",
        "x": typed(x, "float64"),
        "y": typed(shown, "float64"),
        "line": {"width": 2.4, "color": colour, "dash": dash},
        "hoverinfo": "skip",
        "name": name,
    }


def warm_up() -> None:
    """Compile, or load from disk, what the pictures need."""
    usual = Method(0.01, 0.5)
    problem = worst_case_quadratic(Q=4, d=2)
    ensemble(problem, usual, [1], trajectories=1, sampling=None, sigma2=1.0)
    ensemble(problem, usual, [1], trajectories=1, sampling=None)
    odd = counterexample(mu=1.0, L=4.0, n=3)
    for sampling in ("iid", "cyclic", "reshuffle"):
        ensemble(odd, usual, [1], trajectories=1, sampling=sampling)
