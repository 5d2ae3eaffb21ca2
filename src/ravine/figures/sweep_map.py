"""A measured plane: one measure of a sweep in colour, the rungs of the ladder as contours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ravine.arguments import FloatArray, Refusal
from ravine.curvature import Curvature
from ravine.figures.plane import Plane, draw_plane, rung_regions, standard_marks
from ravine.figures.style import draw_map, finish, panels, styled
from ravine.methods import Method
from ravine.theory.ladder.rungs import RUNGS

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure

_OUTCOMES = ("#3d85bd", "#8fbfdf", "#f3eee3", "#5c5c5c")
"""Colours of converged, noise floor, undecided, diverged: the order of their numbers."""

_LOGARITHMIC = ("floor", "floor_sup", "final_error", "diverged_at", "rate_start", "rate_stop")
"""Measures that span many powers of ten."""

_FINE = 160
"""Points of a contour along each axis: smooth to the eye at the size of the figure."""

_DECADES = 1e12
"""Largest value that a logarithmic scale shows, over the least: runs that diverge go beyond."""


def sweep_map(data: xr.Dataset, measure: str | None = None) -> xr.Dataset:
    """One measure of a sweep, and the rungs of the ladder for its curvature on a finer grid.

    Parameters
    ----------
    data
        What ``ravine.engine.sweep.sweep`` returned, over a plane of at least 2 x 2 pixels.
    measure
        A variable of it; the first one unless given.

    Returns
    -------
    xarray.Dataset
        ``measured`` over (``alpha_L``, ``beta``), with missing pixels as NaN, and each rung over
        (``alpha_L_fine``, ``beta_fine``): over the plane of the sweep where it has a look-ahead of
        its own, else evenly between the ends of the axes. Axes are in ascending order.

    Examples
    --------
    >>> from ravine.engine.sweep import sweep
    >>> from ravine.problems import worst_case_quadratic
    >>> swept = sweep(worst_case_quadratic(8, 5), [0.1, 0.2], [0.0, 0.5], steps=50, threads=1)
    >>> dict(sweep_map(swept, "rate")["measured"].sizes)
    {'alpha_L': 2, 'beta': 2}
    """
    import xarray as xr

    if "pair" in data.sizes or min(data.sizes.values()) < 2:
        sizes = " x ".join(str(n) for n in data.sizes.values())
        rule = "a plane of at least 2 x 2 pixels"
        raise Refusal("the sweep", rule, sizes, "sweep over two axes")

    name = str(next(iter(data.data_vars))) if measure is None else measure
    if name not in data.data_vars:
        rule = f"one of {', '.join(str(n) for n in data.data_vars)}"
        raise Refusal("measure", rule, name, "or sweep with that measure")

    plane = data.sortby(["alpha", "beta"])
    curvature = Curvature(plane.attrs["mu"], plane.attrs["L"])
    alphas, betas, gammas = _fine_grid(plane)
    method = Method(alphas[:, None], betas[None, :], gammas)
    values = {rung.key: rung.rate(curvature, method).upper for rung in RUNGS}
    smoothness = float(curvature.L)
    measured = plane[name]

    return xr.Dataset(
        {
            "measured": (("alpha_L", "beta"), measured.values.astype(np.float64), measured.attrs),
            **{key: (("alpha_L_fine", "beta_fine"), value) for key, value in values.items()},
        },
        coords={
            "alpha_L": plane["alpha"].values * smoothness,
            "beta": plane["beta"].values,
            "alpha_L_fine": alphas * smoothness,
            "beta_fine": betas,
        },
        attrs={
            "measure": name,
            "problem": plane.attrs["problem"],
            "Q": float(curvature.Q),
            "steps": plane.attrs["steps"],
        },
    )


def _fine_grid(plane: xr.Dataset) -> tuple[FloatArray, FloatArray, FloatArray | None]:
    """Where the rungs are computed: step sizes, momenta, and look-aheads if they are given."""
    alphas = plane["alpha"].values
    betas = plane["beta"].values
    if "gamma" not in plane.coords:
        fine_alphas = np.linspace(alphas[0], alphas[-1], _FINE)
        fine_betas = np.linspace(betas[0], betas[-1], _FINE)
        return fine_alphas, fine_betas, None

    i, j = (
        np.unique(np.linspace(0, len(axis) - 1, _FINE).round().astype(int))
        for axis in (alphas, betas)
    )
    return alphas[i], betas[j], plane["gamma"].values[np.ix_(i, j)]


@styled
def draw_sweep_map(data: xr.Dataset) -> Figure:
    """Draw a :func:`sweep_map`."""
    from matplotlib.colors import ListedColormap, Normalize

    figure, axes = panels(1, 1, height=6.2)
    axis = axes[0, 0]
    measure = data.attrs["measure"]
    shown = data["measured"]
    if measure == "outcome":
        # Each whole number in the middle of its colour.
        mesh = draw_map(axis, data["alpha_L"], data["beta"], shown, Normalize(-0.5, 3.5))
        mesh.set_cmap(ListedColormap(_OUTCOMES))
        for colour, words in zip(_OUTCOMES, shown.attrs["flag_meanings"].split(), strict=True):
            look = {"facecolor": colour, "edgecolor": "black", "linewidth": 0.5}
            axis.fill([], [], label=words.replace("_", " "), **look)
    else:
        if measure == "diverged_at":
            shown = shown.where(shown > 0)
        norm = _scale(measure, shown.values)
        mesh = draw_map(axis, data["alpha_L"], data["beta"], shown, norm)
        figure.colorbar(mesh, ax=axis, label=shown.attrs["long_name"])

    regions = rung_regions({rung.key: data[rung.key].values.T for rung in RUNGS})
    marks = standard_marks(Curvature(1.0, data.attrs["Q"]))
    ends = data["alpha_L_fine"].values, data["beta_fine"].values
    draw_plane(axis, Plane(*ends, regions, marks), filled=False)
    steps = data.attrs["steps"]
    axis.set_title(f"{data.attrs['problem']}, Q = {data.attrs['Q']:g}, {steps} steps")
    return finish(figure, axes, 2)


def _scale(measure: str, values: FloatArray) -> Normalize:
    """A logarithmic scale for what spans many powers of ten, up to where runs diverge."""
    from matplotlib.colors import LogNorm, Normalize

    logarithmic = measure in _LOGARITHMIC
    known = values[np.isfinite(values) & ((values > 0.0) | (not logarithmic))]
    if known.size == 0:
        return Normalize(0.0, 1.0)

    low = float(known.min())
    high = float(known.max())
    if logarithmic and low < high:
        return LogNorm(low, min(high, _DECADES * low))

    return Normalize(low, min(high, 1.0) if measure == "rate" and low < 1.0 else high)
