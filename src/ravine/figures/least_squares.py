"""Appendix figure: random least squares with additive noise, the twin of Figure 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ravine.figures.entry import FigureEntry
from ravine.figures.noise_plane import CAPTION, noise_plane, plane_findings
from ravine.figures.noise_plane_drawing import draw_noise_plane
from ravine.problems.least_squares import least_squares

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

SIGMA = 0.25
"""Standard deviation of the noise on a coordinate of the gradient, as in the paper."""

CONDITION_NUMBERS = (2.0, 8.0, 32.0)
"""Of the rows, as in the paper."""


def noisy_least_squares(
    *, resolution: int = 100, Q: Sequence[float] = CONDITION_NUMBERS, seed: int = 0, **options: Any
) -> xr.Dataset:
    """Data of the figure: 500 samples of 10 features, noise of standard deviation 0.25.

    Parameters
    ----------
    resolution
        Pixels along each axis.
    Q
        Condition numbers.
    seed
        Of the problems and of the noise.
    options
        As in :func:`ravine.figures.noise_plane.noise_plane`.
    """
    problems = [least_squares(500, 10, Q=ratio, seed=seed) for ratio in Q]
    return noise_plane(problems, sigma2=SIGMA**2, resolution=resolution, seed=seed, **options)


def draw_noisy_least_squares(data: xr.Dataset) -> Figure:
    """Draw the figure."""
    return draw_noise_plane(data)


FIGURE = FigureEntry(
    name="least-squares",
    title="Appendix figure: random least squares with additive noise",
    caption=CAPTION + "500 samples of 10 features, noise of standard deviation 0.25.",
    compute=noisy_least_squares,
    draw=draw_noisy_least_squares,
    findings=plane_findings,
    quick={"Q": (8.0,), "rate_steps": 1000, "floor_steps": 600, "repeats": 16},
    mapped=True,
    swept=True,
)
