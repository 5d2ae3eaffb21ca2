"""Which method is the fastest at which batch size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.arguments import FloatArray
from ravine.catalogue import CATALOGUE
from ravine.curvature import Curvature
from ravine.figures.style import BLUE, GREEN, GREY, ORANGE, PURPLE, RED, SKY, panels, styled
from ravine.theory.ladder.iid import iid_rate
from ravine.theory.tuning.league import AnyMethod, fastest_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PUBLISHED = {
    "gradient-descent": (GREY, ":"),
    "nesterov": (RED, "-"),
    "triple-momentum": (PURPLE, "-"),
    "robust-momentum": (SKY, "-"),
    "mass": (GREEN, "-"),
    "asgd": ("#8c564b", "-"),
    "aggmo": ("#b8860b", "-"),
}
"""Methods that the picture shows at their published parameters, with colour and line."""
_TUNED = {"sgd": ("best SGD", ORANGE), "nesterov": ("best Nesterov", BLUE)}
"""Methods that it shows at their best parameters, with words and colour."""
_SIZES = 33
"""Batch sizes of the published curves; the tuned ones take every second."""


@dataclass(frozen=True)
class LeagueCurves:
    """Steps to a tenth of the error against batch size: plain data, to be drawn anywhere."""

    curvature: Curvature
    L_max: float
    sizes: FloatArray
    published: dict[str, FloatArray]
    """By name; NaN where the method may diverge."""
    tuned_sizes: FloatArray
    tuned: dict[str, FloatArray]
    """Of SGD and of Nesterov's method with the best parameters at each batch size."""


def league_curves(
    curvature: Curvature, *, L_max: float | None = None, mu_min: float | None = None
) -> LeagueCurves:
    """Compute the curves from batch size 1 to where gradients are nearly exact."""
    most = float(curvature.L) if L_max is None else float(L_max)
    last = 30.0 * most / float(curvature.L) * float(np.sqrt(curvature.Q))
    sizes = np.geomspace(1.0, max(last, 100.0), _SIZES)
    few = sizes[::2]

    def options(size: float) -> dict[str, Any]:
        return {"L_max": L_max, "mu_min": mu_min, "batch_size": size}

    def steps(methods: list[AnyMethod], sizes: FloatArray) -> FloatArray:
        """Steps to a tenth with one method for each batch size."""
        pairs = zip(methods, sizes, strict=True)
        rates = np.array([iid_rate(curvature, method, **options(b)) for method, b in pairs])
        known = np.where((rates > 0.0) & (rates < 1.0), rates, np.nan)
        return np.asarray(np.log(0.1) / np.log(known))

    published = {
        name: steps([CATALOGUE[name](curvature, L_max=L_max, batch_size=b) for b in sizes], sizes)
        for name in _PUBLISHED
    }
    tuned = {
        kind: steps([fastest_of(kind, curvature, options(b)) for b in few], few) for kind in _TUNED
    }
    return LeagueCurves(curvature, most, sizes, published, few, tuned)


@styled
def draw_league(curves: LeagueCurves, *, batch_size: float | None = None) -> Figure:
    """Draw :func:`league_curves`; a grey line marks ``batch_size``."""
    figure, axes = panels(1, 1, height=4.2)
    axis = axes[0, 0]
    ends = []
    for name, (colour, line) in _PUBLISHED.items():
        steps = curves.published[name]
        axis.loglog(curves.sizes, steps, line, color=colour)
        known = np.flatnonzero(np.isfinite(steps))
        if known.size:
            ends.append((float(steps[known[-1]]), CATALOGUE[name].title, colour))
            # A method becomes stable at its smallest stable batch: mark where its curve begins.
            if known[0] > 0:
                axis.plot(curves.sizes[known[0]], steps[known[0]], "o", color=colour, markersize=3)

    lowest = 0.0
    for height, title, colour in sorted(ends):
        # Labels of curves that end side by side are moved apart.
        lowest = max(height, 1.17 * lowest)
        axis.text(1.08 * curves.sizes[-1], lowest, title, va="center", fontsize=7.0, color=colour)

    for kind, (words, colour) in _TUNED.items():
        steps = curves.tuned[kind]
        axis.loglog(curves.tuned_sizes, steps, color=colour, linewidth=2.6, label=words, zorder=4)

    if batch_size is not None:
        axis.axvline(batch_size, color=GREY, linewidth=0.8, linestyle="--")

    share = curves.L_max / float(curves.curvature.L)
    Q = float(curves.curvature.Q)
    axis.set_title(f"thin: published parameters; Q = {Q:g}, L_max/L = {share:g}")
    axis.set(xlabel="batch size", ylabel="steps to a tenth of the error, guaranteed")
    axis.set_xlim(curves.sizes[0], 3.5 * curves.sizes[-1])
    axis.legend(frameon=False, loc="upper right")
    axis.grid(True, which="major", linewidth=0.3, alpha=0.5)
    return figure
