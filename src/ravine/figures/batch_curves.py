"""Steps against batch size: the gain of larger batches, and the fastest method at each size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.arguments import FloatArray
from ravine.catalogue import CATALOGUE
from ravine.curvature import Curvature
from ravine.figures.style import (
    GREEN,
    GREY,
    METHODS,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    finish,
    panels,
    styled,
)
from ravine.theory.ladder.batch_noise import Batches
from ravine.theory.ladder.iid import iid_rate
from ravine.theory.tuning.batch_gain import fastest_of
from ravine.theory.tuning.league import AnyMethod
from ravine.theory.tuning.useful_batch import tradeoff_law

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ravine.theory.tuning.batch_gain import BatchGain
    from ravine.theory.tuning.search import Tuned
    from ravine.theory.tuning.useful_batch import BatchSizes

_PUBLISHED = {
    "gradient-descent": (GREY, ":"),
    "nesterov": (RED, "-"),
    "triple-momentum": (PURPLE, "-"),
    "robust-momentum": (SKY, "-"),
    "mass": (GREEN, "-"),
    "asgd": ("#8c564b", "-"),
    "aggmo": ("#b8860b", "-"),
}
"""Methods of the league with published parameters, and their colours and lines."""
_SGD, _FASTEST = METHODS["tuned-sgd"].colour, METHODS["fastest"].colour
_TUNED = {"sgd": ("best SGD", _SGD), "nesterov": ("best Nesterov", _FASTEST)}
"""Methods of the league with their best parameters, and their labels and colours."""
_SIZES = 33
"""Number of batch sizes of the published curves; tuned curves use every second one."""


@styled
def draw_batch_gain(result: BatchGain, three: BatchSizes) -> Figure:
    """Draw a :func:`ravine.batch_gain`: steps and samples against batch size, with three marks."""
    figure, axes = panels(1, 2, height=3.2)
    sizes = np.array(result.batch_sizes)
    Q = float(result.curvature.Q)
    share = result.L_max / float(result.curvature.L)
    law_sizes, law_steps = tradeoff_law(Q, share, 1.0 + np.geomspace(1e-3, 30.0, 200))
    inside = (law_sizes >= sizes[0]) & (law_sizes <= sizes[-1])
    curves = (
        (sizes, _steps(result.sgd), "s-", _SGD, "best SGD"),
        (sizes, _steps(result.momentum), "o-", _FASTEST, "best with momentum"),
        (law_sizes[inside], law_steps[inside], "--", ORANGE, "law for large Q"),
    )
    marks = (
        (three.momentum_pays, GREEN, "momentum pays off from here"),
        (three.stable, RED, "textbook Nesterov is stable from here"),
        (three.useful.size, PURPLE, "more than half of the samples are wasted from here"),
    )
    titles = ("guaranteed for every problem", f"Q = {Q:g}, L_max/L = {share:g}")
    for axis, unit, title in zip(axes[0], ("steps", "samples"), titles, strict=True):
        for b, steps, style, colour, words in curves:
            values = steps if unit == "steps" else b * steps
            axis.loglog(b, values, style, color=colour, markersize=4, label=words)
        for place, colour, words in marks:
            if sizes[0] <= place <= sizes[-1]:
                axis.axvline(place, color=colour, linestyle=":", linewidth=1.4, label=words)

        axis.set(xlabel="batch size", ylabel=f"{unit} to a tenth of the error", title=title)
        axis.set_xlim(0.8 * sizes[0], 1.25 * sizes[-1])

    return finish(figure, axes, 3)


def _steps(tuned: Sequence[Tuned]) -> FloatArray:
    return np.array([one.steps_per_digit for one in tuned])


@dataclass(frozen=True)
class LeagueCurves:
    """The league at every batch size, as plain data."""

    title: str
    sizes: FloatArray
    published: dict[str, FloatArray]
    """Curves by name; NaN where the method may diverge."""
    tuned: dict[str, FloatArray]
    """Curves of SGD and Nesterov's method with the best parameters, at every second size."""


def league_curves(
    curvature: Curvature, *, L_max: float | None = None, mu_min: float | None = None
) -> LeagueCurves:
    """Compute the curves from batch size 1 to where gradients are nearly exact."""
    share = 1.0 if L_max is None else float(L_max) / float(curvature.L)
    last = 30.0 * share * float(np.sqrt(curvature.Q))
    sizes = np.geomspace(1.0, max(last, 100.0), _SIZES)
    few = sizes[::2]

    def batches(size: float) -> Batches:
        return Batches(L_max, size, mu_min)

    def steps(methods: list[AnyMethod], sizes: FloatArray) -> FloatArray:
        """Steps to a tenth of the error, with one method for each batch size."""
        pairs = zip(methods, sizes, strict=True)
        rates = np.array([iid_rate(curvature, one, **batches(b).options()) for one, b in pairs])
        known = np.where((rates > 0.0) & (rates < 1.0), rates, np.nan)
        return np.asarray(np.log(0.1) / np.log(known))

    published = {
        name: steps([CATALOGUE[name](curvature, L_max=L_max, batch_size=b) for b in sizes], sizes)
        for name in _PUBLISHED
    }
    tuned = {
        kind: steps([fastest_of(kind, curvature, batches(b)).method for b in few], few)
        for kind in _TUNED
    }
    title = f"thin: published parameters; Q = {float(curvature.Q):g}, L_max/L = {share:g}"
    return LeagueCurves(title, sizes, published, tuned)


@styled
def draw_league(curves: LeagueCurves, *, batch_size: float | None = None) -> Figure:
    """Draw :func:`league_curves`; a grey line marks ``batch_size``."""
    figure, axes = panels(1, 1, height=4.2)
    axis = axes[0, 0]
    _draw_published(axis, curves)
    for kind, (words, colour) in _TUNED.items():
        look: dict[str, Any] = {"color": colour, "linewidth": 2.6, "label": words, "zorder": 4}
        axis.loglog(curves.sizes[::2], curves.tuned[kind], **look)
    if batch_size is not None:
        axis.axvline(batch_size, color=GREY, linewidth=0.8, linestyle="--")

    axis.set_title(curves.title)
    axis.set(xlabel="batch size", ylabel="steps to a tenth of the error, guaranteed")
    axis.set_xlim(curves.sizes[0], 3.5 * curves.sizes[-1])
    axis.legend(frameon=False, loc="upper right")
    axis.grid(True, which="major", linewidth=0.3, alpha=0.5)
    return figure


def _draw_published(axis: Axes, curves: LeagueCurves) -> None:
    """Thin lines with their names at their right ends."""
    ends = []
    for name, (colour, line) in _PUBLISHED.items():
        steps = curves.published[name]
        axis.loglog(curves.sizes, steps, line, color=colour)
        known = np.flatnonzero(np.isfinite(steps))
        if known.size:
            ends.append((float(steps[known[-1]]), CATALOGUE[name].title, colour))
            # A method is stable from its smallest stable batch on: mark the start of its curve.
            if known[0] > 0:
                axis.plot(curves.sizes[known[0]], steps[known[0]], "o", color=colour, markersize=3)

    lowest = 0.0
    for height, title, colour in sorted(ends):
        # Move the labels of curves apart if they end close together.
        lowest = max(height, 1.17 * lowest)
        axis.text(1.08 * curves.sizes[-1], lowest, title, va="center", fontsize=7.0, color=colour)
