"""Where each rung of the ladder guarantees convergence, for four condition numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.curvature import Curvature
from ravine.figures.entry import FigureEntry, at_each_ratio
from ravine.figures.parameter_map import parameter_map
from ravine.figures.style import ORANGE, cell_edges, name_panels, panels
from ravine.methods import nesterov, sgd
from ravine.theory.ladder.rungs import RUNGS
from ravine.theory.ladder.safety import safe_step

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

CONDITION_NUMBERS = (2.0, 8.0, 32.0, 128.0)
"""Of the panels: below and above 11.66 and 17.06, where the usual parameters lose guarantees."""

ALPHA_RANGE = (0.0, 3.0)
"""Of alpha L; beyond 3 a corner at negative momentum is all that is stable."""

_ROUNDING = 1e-12
"""Relative excess of a rung over the next that is put down to rounding: at some pixels they are
equal."""


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

    maps = [parameter_map(ratio, resolution=resolution, alpha_range=ALPHA_RANGE) for ratio in Q]
    data = xr.concat(maps, dim="Q", combine_attrs="drop_conflicts").assign_coords(Q=list(Q))
    data.attrs["seed"] = 0
    return data


def areas(data: xr.Dataset) -> dict[str, list[float]]:
    """Share of the plane inside each region, for each Q, and whether they are nested.

    ``nested`` is the share of the pixels at which the rungs are in order.
    """
    rates = [data[rung.key].values for rung in RUNGS]
    ordered = np.all([a <= b * (1.0 + _ROUNDING) for a, b in pairwise(rates)], axis=0)
    shares = {
        rung.key: (data[rung.key] < 1.0).mean(("alpha_L", "beta")).values.tolist() for rung in RUNGS
    }
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
        for rung in RUNGS:
            rate = one[rung.key].values.T
            inside = [-1.0, 1.0]
            axis.contourf(one["alpha_L"], one["beta"], rate, levels=inside, colors=[rung.colour])

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
    handles = [Patch(color=rung.colour, label=rung.region_label) for rung in RUNGS]
    marks = [
        Line2D([], [], color="white", marker="o", label="usual Nesterov", **dot),
        Line2D([], [], color="#f2b134", marker="s", label="SGD, α = 2/(μ+L)", **dot),
        Line2D([], [], color=ORANGE, linestyle="--", label="largest step safe for every μ"),
    ]

    figure.legend(
        handles=[*handles, *marks], loc="outside lower center", ncols=3, frameon=False, fontsize=7.0
    )
    return figure


def _findings(data: xr.Dataset) -> list[str]:
    """Sizes of the nested regions."""
    shares = areas(data)
    lines = [
        f"Share of the plane, {rung.region}: {at_each_ratio(data, shares[rung.key], '.1%')}."
        for rung in RUNGS
    ]
    lines.append(f"The rungs are in order on {min(shares['nested']):.1%} of the pixels.")
    return lines


FIGURE = FigureEntry(
    name="nested-regions",
    title="Where convergence is certain: the whole ladder",
    caption="Each region lies inside the one before: "
    + "; ".join(rung.region for rung in RUNGS)
    + ".",
    compute=nested_regions,
    draw=draw_nested_regions,
    findings=_findings,
    mapped=True,
    seeded=False,
)
