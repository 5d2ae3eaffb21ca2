"""What a larger batch buys: steps to a tenth of the error, with and without momentum."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ravine import __version__
from ravine.figures.style import BLUE, GREY, ORANGE, RED, legend_below, name_panels, panels, styled

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from ravine.theory.tuning.batch_gain import BatchGain


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
            "critical_batch_size": result.critical,
            "sentence": result.sentence,
            "ravine_version": __version__,
        },
    )


@styled
def draw_batch_gain(data: xr.Dataset) -> Figure:
    """Draw :func:`batch_gain_data`: steps against batch size, and the gain of momentum."""
    figure, axes = panels(1, 2, height=3.0)
    left, right = axes[0]
    sizes = data["batch_size"].values
    left.loglog(sizes, data["sgd_steps"], "s-", color=ORANGE, markersize=4, label="best SGD")
    left.loglog(
        sizes, data["momentum_steps"], "o-", color=BLUE, markersize=4, label="best with momentum"
    )
    left.set_ylabel("steps to a tenth of the error")
    left.set_title("guaranteed for every problem")

    right.semilogx(sizes, data["gain"], "o-", color=BLUE, markersize=4, label="gain of momentum")
    right.axhline(1.0, color=GREY, linewidth=0.8)
    right.set_ylabel("times fewer steps than SGD")
    right.set_title(
        f"Q = {data.attrs['Q']:g}, L_max/L = {data.attrs['L_max'] / data.attrs['L']:g}",
    )

    critical = data.attrs["critical_batch_size"]
    for axis in (left, right):
        axis.set_xlabel("batch size")
        axis.axvline(critical, color=RED, linestyle="--", label="standard Nesterov is safe beyond")
        axis.set_xlim(0.8 * sizes[0], 1.25 * sizes[-1])

    name_panels(axes)
    handles = [*left.get_lines()[:2], left.get_lines()[-1]]
    legend_below(figure, handles, 3)
    return figure
