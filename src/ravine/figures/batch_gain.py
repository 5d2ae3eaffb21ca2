"""What a larger batch buys: steps to a tenth of the error, with and without momentum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ravine.arguments import FloatArray
from ravine.figures.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, finish, panels, styled

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ravine.theory.tuning.batch_gain import BatchGain, Tuned
    from ravine.theory.tuning.useful_batch import BatchSizes


def tradeoff_law(Q: float, steepness: float, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Batch size and steps to a tenth on the curve (N_min/N)² + √(S_min/S) = 1, for x > 1.

    Tuned Nesterov with Q → ∞: b = K √(16 Q x³(x-1)/3) and N = N_min/√(1 - 1/x).
    """
    sizes = steepness * np.sqrt(16.0 / 3.0 * Q * x**3 * (x - 1.0))
    steps = np.log(10.0) * np.sqrt(0.75 * Q) / np.sqrt(1.0 - 1.0 / x)
    return sizes, steps


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
        (sizes, _steps(result.sgd), "s-", ORANGE, "best SGD"),
        (sizes, _steps(result.momentum), "o-", BLUE, "best with momentum"),
        (law_sizes[inside], law_steps[inside], "--", BLACK, "law for large Q"),
    )
    marks = (
        (three.momentum_pays, GREEN, "momentum pays from here"),
        (three.stable, RED, "textbook Nesterov is stable from here"),
        (three.useful.size, PURPLE, "half of the samples are wasted from here"),
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
