"""What a larger batch buys: steps to a tenth of the error, with and without momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ravine import __version__
from ravine.arguments import FloatArray
from ravine.figures.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, RED, finish, panels, styled

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from ravine.theory.tuning.batch_gain import BatchGain
    from ravine.theory.tuning.useful_batch import BatchSizes


def batch_gain_data(result: BatchGain) -> xr.Dataset:
    """The table of a :func:`ravine.batch_gain` over ``batch_size``.

    Variables ``gain``, and for ``sgd`` and ``momentum`` the guaranteed root-mean-square rate, the
    steps that take the error down to a tenth, and the parameters that have it.
    """
    import xarray as xr

    columns = {"gain": ("batch_size", result.gain)}
    for name, tuned in (("sgd", result.sgd), ("momentum", result.momentum)):
        values = {
            "rate": [one.rate for one in tuned],
            "steps": [one.steps_per_digit for one in tuned],
            "alpha": [float(one.method.alpha) for one in tuned],
            "beta": [float(one.method.beta) for one in tuned],
        }
        for key, numbers in values.items():
            columns[f"{name}_{key}"] = ("batch_size", np.array(numbers))

    return xr.Dataset(
        columns,
        coords={"batch_size": list(result.batch_sizes)},
        attrs={
            "mu": float(result.curvature.mu),
            "L": float(result.curvature.L),
            "Q": float(result.curvature.Q),
            "L_max": result.L_max,
            "mu_min": result.mu_min,
            "smallest_stable_batch": result.critical,
            "sentence": result.sentence,
            "ravine_version": __version__,
        },
    )


def tradeoff_law(Q: float, steepness: float, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Batch size and steps to a tenth on the curve (N_min/N)² + √(S_min/S) = 1, for x > 1.

    Tuned Nesterov with Q → ∞: b = K √(16 Q x³(x-1)/3) and N = N_min/√(1 - 1/x).
    """
    sizes = steepness * np.sqrt(16.0 / 3.0 * Q * x**3 * (x - 1.0))
    steps = np.log(10.0) * np.sqrt(0.75 * Q) / np.sqrt(1.0 - 1.0 / x)
    return sizes, steps


@styled
def draw_batch_gain(data: xr.Dataset, three: BatchSizes) -> Figure:
    """Draw :func:`batch_gain_data`: steps and samples against batch size, with three marks."""
    figure, axes = panels(1, 2, height=3.2)
    sizes = data["batch_size"].values
    share = data.attrs["L_max"] / data.attrs["L"]
    law_sizes, law_steps = tradeoff_law(data.attrs["Q"], share, 1.0 + np.geomspace(1e-3, 30.0, 200))
    inside = (law_sizes >= sizes[0]) & (law_sizes <= sizes[-1])
    curves = (
        (sizes, data["sgd_steps"].values, "s-", ORANGE, "best SGD"),
        (sizes, data["momentum_steps"].values, "o-", BLUE, "best with momentum"),
        (law_sizes[inside], law_steps[inside], "--", BLACK, "law for large Q"),
    )
    marks = (
        (three.momentum_pays, GREEN, "momentum pays from here"),
        (three.stable, RED, "textbook Nesterov is stable from here"),
        (three.useful.size, PURPLE, "half of the samples are wasted from here"),
    )
    titles = ("guaranteed for every problem", f"Q = {data.attrs['Q']:g}, L_max/L = {share:g}")
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
