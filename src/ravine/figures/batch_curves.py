"""Steps against batch size: the gain of larger batches, and the fastest method at each size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray, Real
from ravine.catalogue import CATALOGUE
from ravine.curvature import Curvature
from ravine.figures import style
from ravine.theory.ladder.batch_noise import Batches
from ravine.theory.ladder.iid import iid_rate
from ravine.theory.tuning.batch_gain import BatchGain, fastest_of
from ravine.theory.tuning.useful_batch import BatchSizes, tradeoff_law

_PUBLISHED = {
    "gradient-descent": (style.GREY, ":"),
    "nesterov": (style.RED, "-"),
    "triple-momentum": (style.PURPLE, "-"),
    "robust-momentum": (style.SKY, "-"),
    "mass": (style.GREEN, "-"),
    "asgd": ("#8c564b", "-"),
    "aggmo": ("#b8860b", "-"),
}
"""Methods of the league with published parameters, and their colours and lines."""
_SGD, _FASTEST = style.METHODS["tuned-sgd"].colour, style.METHODS["fastest"].colour
_TUNED = {"sgd": ("best SGD", _SGD), "nesterov": ("best Nesterov", _FASTEST)}
"""Methods of the league with their best parameters, and their labels and colours."""
_SIZES = 33
"""Number of batch sizes of the published curves; tuned curves use every second one."""


@style.styled
def draw_batch_gain(result: BatchGain, three: BatchSizes) -> style.Figure:
    """Draw a :func:`ravine.batch_gain`: steps and samples against batch size, with three marks."""
    figure, axes = style.panels(1, 2, height=3.2)
    sizes = np.array(result.batch_sizes)
    Q = float(result.curvature.Q)
    share = result.L_max / float(result.curvature.L)
    law_sizes, law_steps = tradeoff_law(Q, share, 1.0 + np.geomspace(1e-3, 30.0, 200))
    inside = (law_sizes >= sizes[0]) & (law_sizes <= sizes[-1])
    plain, fast = (_steps([one.rate for one in best]) for best in (result.sgd, result.momentum))
    curves = (
        (sizes, plain, "s-", _SGD, "best SGD"),
        (sizes, fast, "o-", _FASTEST, "best with momentum"),
        (law_sizes[inside], law_steps[inside], "--", style.ORANGE, "law for large Q"),
    )
    marks = (
        (three.momentum_pays, style.GREEN, "momentum pays off from here"),
        (three.stable, style.RED, "textbook Nesterov is stable from here"),
        (three.useful.size, style.PURPLE, "more than half of the samples are wasted from here"),
    )
    titles = ("guaranteed for every problem", f"Q = {Q:g}, L_max/L = {share:g}")
    for axis, unit, title in zip(axes[0], ("steps", "samples"), titles, strict=True):
        for b, steps, line, colour, words in curves:
            values = steps if unit == "steps" else b * steps
            axis.loglog(b, values, line, color=colour, markersize=4, label=words)
        for place, colour, words in marks:
            if sizes[0] <= place <= sizes[-1]:
                axis.axvline(place, color=colour, linestyle=":", linewidth=1.4, label=words)

        axis.set(xlabel="batch size", ylabel=f"{unit} to a tenth of the error", title=title)
        axis.set_xlim(0.8 * sizes[0], 1.25 * sizes[-1])

    return style.finish(figure, axes, 3)


def _steps(rates: npt.ArrayLike) -> FloatArray:
    """Steps to a tenth of the error; NaN where it may not fall, or is gone after one."""
    known = np.asarray(rates, dtype=np.float64)
    known = np.where((known > 0.0) & (known < 1.0), known, np.nan)
    return np.asarray(np.log(0.1) / np.log(known))


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
    known = [Batches(L_max, b, mu_min) for b in sizes]

    def published(name: str, batches: Batches) -> Real:
        """The rate of a method at its published parameters."""
        method = CATALOGUE[name](curvature, L_max=L_max, batch_size=batches.batch_size)
        return iid_rate(curvature, method, **batches.options())

    thin = {name: _steps([published(name, one) for one in known]) for name in _PUBLISHED}
    tuned = {
        kind: _steps([fastest_of(kind, curvature, one).rate for one in known[::2]])
        for kind in _TUNED
    }
    title = f"thin: published parameters; Q = {float(curvature.Q):g}, L_max/L = {share:g}"
    return LeagueCurves(title, sizes, thin, tuned)


@style.styled
def draw_league(curves: LeagueCurves, *, batch_size: float | None = None) -> style.Figure:
    """Draw :func:`league_curves`; a grey line marks ``batch_size``."""
    figure, [[axis]] = style.panels(1, 1, height=4.2)
    # Thin lines with their names at their right ends.
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

    for kind, (words, colour) in _TUNED.items():
        few = curves.sizes[::2]
        axis.loglog(few, curves.tuned[kind], color=colour, linewidth=2.6, label=words, zorder=4)
    if batch_size is not None:
        axis.axvline(batch_size, color=style.GREY, linewidth=0.8, linestyle="--")

    axis.set(xlabel="batch size", ylabel="steps to a tenth of the error, guaranteed")
    axis.set(title=curves.title, xlim=(curves.sizes[0], 3.5 * curves.sizes[-1]))
    axis.legend(frameon=False, loc="upper right")
    axis.grid(True, which="major", linewidth=0.3, alpha=0.5)
    return figure
