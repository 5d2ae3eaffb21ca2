"""The chosen method at work: errors over the steps, a fan of runs, exact moments and bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from ravine.arguments import FloatArray
from ravine.engine.kernels.finite_sum import ensemble
from ravine.methods import Method
from ravine.problems.counterexample import counterexample
from ravine.problems.worst_case import worst_case_quadratic
from ravine.theory.bounds.finite_sum import worst_case
from ravine.theory.bounds.noisy_gradients import additive_noise
from ravine.theory.finite_sums.inconsistent_term import inconsistent_term_moment
from ravine.theory.ladder.worst_case import worst_case_rate
from ravine.theory.noise.moments import noise_floor, second_moment
from ravine.web.theme import Theme, blank
from ravine.web.ticks import even, powers
from ravine.web.typed_arrays import typed
from ravine.web.view import Example, View

RUNS = 40
"""Runs in the fan: enough to see the spread, few enough to draw at once."""

DIMENSION = 8
"""Of the quadratic with additive noise: a few directions between mu and L."""

_POINTS = 160  # steps at which errors are kept, at most
_CEILING = 1e12  # errors beyond are all the same to the eye; the axis ends there
_FLOOR = 1e-16
_LEAST = 2.0  # decades on the axis
_ABOVE = 0.5  # and of room for a bound above the rest


def visits(K: int) -> FloatArray:
    """Steps at which errors are taken: all of a short run, evenly spread over a long one."""
    return np.unique(np.linspace(0, K, min(K + 1, _POINTS)).round().astype(np.int64))


def run_figure(view: View, theme: Theme, *, bound: bool = True) -> dict[str, Any]:
    """Errors of the chosen method on the chosen example, as plain data for Plotly.

    Without ``bound`` the one for additive noise is left out, which may take longer than all the
    rest. The axes are the same without it.
    """
    make = _noisy if view.example is Example.NOISE else _odd
    # Runs that diverge overflow: they are drawn at the ceiling.
    with np.errstate(over="ignore", invalid="ignore"):
        traces, label = make(view, theme, bound)

    layout = blank(
        theme,
        x={"title": {"text": "step k"}, "range": [0, view.K], **even(0, view.K, 6)},
        y={"title": {"text": label}, "type": "log", **_decades(traces)},
        # The page has a legend of its own; a picture that is taken away shows this one.
        legend={
            "orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": {"size": 12},
            "bgcolor": "rgba(0,0,0,0)", "itemwidth": 30,
        },
        uirevision="run",
    )  # fmt: skip

    layout["margin"] |= {"l": 72, "r": 20}  # for powers of ten, and for half of the last step
    return {"data": traces, "layout": layout}


def run_key(view: View, theme: Theme, *, bound: bool) -> str:
    """What two views with the same picture of the run have in common, and no others."""
    own = ("sigma2",) if view.example is Example.NOISE else ("n", "sampling")
    names = ("Q", "step", "beta", "gamma", "K", "seed", "example", *own)
    shown = View(**{name: getattr(view, name) for name in names})
    return f"{theme.name} {'bounded' if bound else 'unbounded'} {shown.query}"


def run_legend(figure: dict[str, Any]) -> list[dict[str, str]]:
    """The lines of a run by their names."""
    dashes = {"solid": "solid", "dash": "dashed", "dot": "dotted"}
    return [
        {
            "words": trace["name"],
            "colour": trace["line"]["color"],
            "dash": dashes[trace["line"]["dash"]],
        }
        for trace in figure["data"]
    ]


def _noisy(view: View, theme: Theme, bound: bool) -> tuple[list[dict[str, Any]], str]:
    """A quadratic with additive noise: runs, their mean, and the exact second moment."""
    problem = worst_case_quadratic(Q=view.Q, d=DIMENSION)
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

    away = problem.eigenvectors.T @ (problem.start - problem.minimiser)
    moments = second_moment(
        problem.eigenvalues, view.method, sigma2=view.sigma2, start=np.abs(away), steps=view.K
    )
    traces = _fan(at, runs.norms**2, theme)
    traces.append(_line(at, moments.sum(axis=-1)[at], theme.red, "exact mean"))

    level = noise_floor(problem.eigenvalues, view.method, sigma2=view.sigma2, quantity="distance")
    if np.isfinite(level) and level > 0.0:
        ends = np.array([0.0, view.K])
        traces.append(_line(ends, np.full(2, level), theme.green, "floor", dash="dot"))

    if bound:
        # The bound counts the noise of all coordinates together.
        envelope = additive_noise(view.curvature, view.method).envelope(
            steps=view.K,
            distance=float(np.linalg.norm(away)),
            sigma=float(np.sqrt(DIMENSION * view.sigma2)),
        )
        # It comes later than the rest, and moves no axis then.
        traces += [line | {"_extent": ()} for line in _bound(at, envelope.values[at], theme)]

    return traces, "‖y − x*‖²"


def _odd(view: View, theme: Theme, bound: bool) -> tuple[list[dict[str, Any]], str]:
    """The paper's sum: its third coordinate, in which the odd function pulls."""
    problem = counterexample(mu=1.0, L=view.Q, n=view.n)
    at = visits(view.K)
    runs = ensemble(
        problem, view.method, at, trajectories=RUNS, sampling=view.sampling, seed=view.seed
    )
    exact = inconsistent_term_moment(
        1.0, view.Q, view.method, n=view.n, sampling=view.sampling, steps=view.K
    )

    traces = _fan(at, runs.errors[:, :, 2] ** 2, theme)
    traces.append(_line(at, exact[at], theme.red, "exact mean"))
    # All terms have their minimum at x*, so that the bound holds along every path, squared too.
    traces += _bound(at, _every_order(view)[at] ** 2, theme)

    return traces, "(third coordinate)²"


def _every_order(view: View) -> FloatArray:
    """What the third coordinate stays below in every order; infinite where nothing is promised."""
    if float(worst_case_rate(view.curvature, view.method)) >= 1.0:
        return np.full(view.K + 1, np.inf)

    return worst_case(view.curvature, view.method).envelope(steps=view.K).values


def _bound(at: FloatArray, values: FloatArray, theme: Theme) -> list[dict[str, Any]]:
    """The bound as a dashed line, where there is one."""
    if not np.isfinite(values).any():
        return []

    return [_line(at, values, theme.ink, "bound", dash="dash", width=1.6)]


def _decades(traces: list[dict[str, Any]]) -> dict[str, Any]:
    """The range of the values, labelled at powers of ten, a handful of them."""
    heights = np.log10(np.concatenate([trace.pop("_extent") for trace in traces]))
    low = float(heights.min())
    high = float(heights.max())
    # Two powers of ten are in sight at least: one label would say nothing of the scale.
    margin = max(0.03 * (high - low), 0.5 * (_LEAST - (high - low)))
    low -= margin
    high += max(margin, _ABOVE)
    return {"range": [low, high], **powers(low, high, 7)}


def _fan(at: FloatArray, squares: FloatArray, theme: Theme) -> list[dict[str, Any]]:
    """Thin lines for the runs, a thick one for their mean; gaps where a line leaves the picture."""
    kept = _drawable(squares)
    runs = kept.shape[1]
    # One trace for all runs, with a gap after each: forty traces would be drawn one by one.
    x = np.append(at.astype(np.float64), np.nan)
    y = np.vstack([kept, np.full((1, runs), np.nan)])
    fan = {
        "type": "scatter",
        "mode": "lines",
        "x": typed(np.tile(x, runs)),
        "y": typed(y.T.ravel()),
        "line": {"width": 0.8, "color": theme.sky, "dash": "solid"},
        "opacity": 0.45,
        "hoverinfo": "skip",
        "name": f"{runs} runs",
        "connectgaps": False,
        "_extent": _extent(kept),
    }

    mean = _line(at, kept.mean(axis=1), theme.blue, "mean")
    return [fan, mean]


def _line(
    x: FloatArray,
    y: FloatArray,
    colour: str,
    name: str,
    *,
    dash: str = "solid",
    width: float = 2.4,
) -> dict[str, Any]:
    shown = _drawable(y)
    return {
        "type": "scatter",
        "mode": "lines",
        "x": typed(x),
        "y": typed(shown),
        "line": {"width": width, "color": colour, "dash": dash},
        "hoverinfo": "skip",
        "name": name,
        "_extent": _extent(shown),
    }


def _drawable(values: FloatArray) -> FloatArray:
    """Values between the floor and the ceiling of the axis, infinite ones at the ceiling."""
    finite = np.where(np.isfinite(values), values, _CEILING)
    return np.clip(finite, _FLOOR, _CEILING)


def _extent(values: FloatArray) -> tuple[float, float]:
    return float(values.min()), float(values.max())


def warm_up() -> None:
    """Compile, or load from disk, what the pictures need."""
    usual = Method(0.01, 0.5)
    problem = worst_case_quadratic(Q=4, d=2)
    ensemble(problem, usual, [1], trajectories=1, sampling=None, sigma2=1.0)
    ensemble(problem, usual, [1], trajectories=1, sampling=None)
    odd = counterexample(mu=1.0, L=4.0, n=3)
    for sampling in ("iid", "cyclic", "reshuffle"):
        ensemble(odd, usual, [1], trajectories=1, sampling=sampling)
