"""Where each rung of the ladder guarantees convergence, for four condition numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.curvature import Curvature
from ravine.figures.parameter_map import parameter_map
from ravine.figures.style import ORANGE, cell_edges, name_panels, panels
from ravine.methods import nesterov, sgd
from ravine.theory.ladder.safety import safe_step

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

CONDITION_NUMBERS = (2.0, 8.0, 32.0, 128.0)
RUNGS = {
    "spectral_radius": ("#cfe3f1", "additive noise (ρ < 1)"),
    "commuting_rate": ("#8fbfdf", "sums with shared eigenvectors"),
    "worst_case_rate": ("#3d85bd", "every finite sum, any order (r* < 1)"),
    "contraction": ("#0b3c66", "the paper's guarantee (R < 1)"),
}
"""From the most optimistic to the most cautious, each with its colour and meaning."""


def nested_regions(*, resolution: int = 100, Q: Sequence[float] = CONDITION_NUMBERS) -> xr.Dataset:
    """Data of the figure: every rung over (Q, alpha_L, beta).

    Parameters
    ----------
    resolution
        Pixels along each axis.
    Q
        Condition numbers.
    """
    import xarray as xr

    maps = [parameter_map(ratio, resolution=resolution, alpha_range=(0.0, 3.0)) for ratio in Q]
    data = xr.concat(maps, dim="Q", combine_attrs="drop_conflicts").assign_coords(Q=list(Q))
    data.attrs["seed"] = 0
    return data


def areas(data: xr.Dataset) -> dict[str, list[float]]:
    """Share of the plane inside each region, for each Q, and whether they are nested.

    ``nested`` is the share of the pixels at which the four rungs are in order.
    """
    rates = [data[name].values for name in RUNGS]
    ordered = np.all([a <= b * (1.0 + 1e-12) for a, b in pairwise(rates)], axis=0)
    shares = {name: (data[name] < 1.0).mean(("alpha_L", "beta")).values.tolist() for name in RUNGS}
    return shares | {"nested": ordered.mean(axis=(1, 2)).tolist()}


def draw_nested_regions(data: xr.Dataset) -> Figure:
    """Draw the nested regions, a panel for each Q."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    figure, axes = panels(1, data.sizes["Q"], height=2.9, sharey=True)
    betas = np.linspace(-0.999, 0.999, 400)
    for axis, Q in zip(axes[0], data["Q"].values, strict=True):
        one = data.sel(Q=Q)
        axis.set_facecolor("#f3eee3")
        for name, (colour, _) in RUNGS.items():
            rate = one[name].values.T
            axis.contourf(one["alpha_L"], one["beta"], rate, levels=[-1.0, 1.0], colors=[colour])
        axis.plot(safe_step(1.0, betas), betas, "--", color=ORANGE, linewidth=1.1)
        curvature = Curvature(1.0 / Q, 1.0)
        for marker, colour, method in (("o", "white", nesterov), ("s", "#f2b134", sgd)):
            point = method(curvature)
            axis.plot(
                point.alpha, point.beta, marker, color=colour, markeredgecolor="black", markersize=5
            )
        axis.set_title(f"Q = {Q:g}", fontsize=8.0)
        axis.set_xlim(*cell_edges(one["alpha_L"]))
        axis.set_ylim(*cell_edges(one["beta"]))
        axis.set_xlabel("step αL", fontsize=8.0)
    axes[0, 0].set_ylabel("momentum β", fontsize=8.0)
    name_panels(axes)
    dot: dict[str, Any] = {"linestyle": "", "markeredgecolor": "black", "markersize": 5}
    handles = [Patch(color=colour, label=words) for colour, words in RUNGS.values()]
    marks = [
        Line2D([], [], color="white", marker="o", label="usual Nesterov", **dot),
        Line2D([], [], color="#f2b134", marker="s", label="SGD, α = 2/(μ+L)", **dot),
        Line2D([], [], color=ORANGE, linestyle="--", label="largest step safe for every μ"),
    ]
    figure.legend(
        handles=[*handles, *marks], loc="outside lower center", ncols=3, frameon=False, fontsize=7.0
    )
    return figure
