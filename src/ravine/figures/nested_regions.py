"""Where each rung of the ladder guarantees convergence, for four condition numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ravine.figures.entry import FigureEntry, at_each_ratio, over_ratios
from ravine.figures.parameter_map import draw_safe_step, map_plane, parameter_map
from ravine.figures.plane import draw_plane
from ravine.figures.style import finish, panels, styled
from ravine.theory.ladder.rungs import RUNGS

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

CONDITION_NUMBERS = (2.0, 8.0, 32.0, 128.0)
"""Of the panels: below and above 11.66 and 17.06, where textbook Nesterov loses guarantees."""

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
    maps = [parameter_map(ratio, resolution=resolution, alpha_range=ALPHA_RANGE) for ratio in Q]
    return over_ratios(maps, Q, seed=0)


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


@styled
def draw_nested_regions(data: xr.Dataset) -> Figure:
    """Draw the nested regions, a panel for each Q."""
    figure, axes = panels(1, data.sizes["Q"], height=3.2, sharey=True)
    for axis, Q in zip(axes[0], data["Q"].values, strict=True):
        draw_plane(axis, map_plane(data.sel(Q=Q), Q), labels=False)
        draw_safe_step(axis)
        axis.set_title(f"Q = {Q:g}")

    return finish(figure, axes, 2)


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
)
