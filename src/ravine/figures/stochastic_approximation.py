"""Figure 1: the worst-case quadratic with additive noise, theory and runs side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ravine.figures.entry import FigureEntry
from ravine.figures.noise_plane import CAPTION, noise_plane, plane_findings
from ravine.figures.noise_plane_drawing import draw_noise_plane
from ravine.problems.worst_case import worst_case_quadratic

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

SIGMA2 = 0.0025
"""Variance of the noise on a coordinate of the gradient, as in the paper."""

CONDITION_NUMBERS = (2.0, 8.0, 32.0)
"""Of the rows, as in the paper."""


def stochastic_approximation(
    *, resolution: int = 100, Q: Sequence[float] = CONDITION_NUMBERS, d: int = 100, **options: Any
) -> xr.Dataset:
    """Data of Figure 1: worst-case quadratics with noise of variance 0.0025 a coordinate.

    Parameters
    ----------
    resolution
        Pixels along each axis.
    Q
        Condition numbers.
    d
        Dimension.
    options
        As in :func:`ravine.figures.noise_plane.noise_plane`.
    """
    problems = [worst_case_quadratic(ratio, d) for ratio in Q]
    return noise_plane(problems, sigma2=SIGMA2, resolution=resolution, **options)


def draw_stochastic_approximation(data: xr.Dataset) -> Figure:
    """Draw Figure 1."""
    return draw_noise_plane(data)


FIGURE = FigureEntry(
    name="figure-1",
    title="Figure 1: the worst-case quadratic with additive noise",
    caption=CAPTION
    + "Dimension 100, noise of variance 0.0025 a coordinate; each pixel its own run.",
    compute=stochastic_approximation,
    draw=draw_stochastic_approximation,
    findings=plane_findings,
    quick={"Q": (2.0, 32.0), "rate_steps": 1000, "floor_steps": 600, "repeats": 16},
    mapped=True,
    swept=True,
)
