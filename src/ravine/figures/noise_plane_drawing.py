"""The drawing of a noise plane: coefficients and rates, theory beside measurement, a row a Q."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.figures.style import CONTOUR, NOTHING, cell_edges, panels

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = (
    ("paper_coefficient", "Theorem 1"),
    ("worst_coefficient", "exact, worst case"),
    ("exact_coefficient", "exact, here"),
    ("measured_coefficient", "measured"),
    ("spectral_radius", "theory, ρ(α, β)"),
    ("measured_rate", "measured"),
)
"""What each column shows, and its words."""

_COEFFICIENTS = 4
"""How many columns, from the left, are noise coefficients."""


def draw_noise_plane(data: xr.Dataset) -> Figure:
    """Draw a :func:`noise_plane`: a row a condition number; coefficients, then rates."""
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, PowerNorm
    from matplotlib.lines import Line2D

    # Inches: a row of panels, then the two colour bars and the legend.
    count = data.sizes["Q"]
    shape = {"height": 1.25 * count + 1.15, "sharex": True, "sharey": True}
    figure, axes = panels(count, len(_COLUMNS), **shape)

    # Four decades from near the least coefficient; those at the rim of stability are unbounded.
    exact = data["exact_coefficient"].values
    low = float(np.quantile(exact[np.isfinite(exact)], 0.02))
    coefficients = LogNorm(low, 1e4 * low)

    # Most of the plane is slow: the third power leaves it more of the colours.
    rates = PowerNorm(3.0, 0.0, 1.0)

    scales = {"coefficient": coefficients, "rate": rates}
    colours = colormaps["cividis_r"].with_extremes(bad=NOTHING)
    images: dict[str, Any] = {}
    extent = (*cell_edges(data["alpha_L"]), *cell_edges(data["beta"]))
    for row, Q in enumerate(data["Q"].values):
        one = data.sel(Q=Q)
        for axis, (name, words) in zip(axes[row], _COLUMNS, strict=True):
            kind = "coefficient" if "coefficient" in name else "rate"
            images[kind] = axis.imshow(
                _shown(one, name).T, norm=scales[kind], cmap=colours, origin="lower",
                aspect="auto", extent=extent, interpolation="nearest",
            )  # fmt: skip
            _contours(axis, one, name)
            if row == 0:
                axis.set_title(words, fontsize=7.5)
            axis.set_xticks([0, 1, 2, 3])
            axis.set_yticks([-1, -0.5, 0, 0.5, 1])

        axes[row, 0].set_ylabel(f"Q = {Q:g}\nmomentum β", fontsize=8.0)

    for axis in axes[-1]:
        axis.set_xlabel("step αL", fontsize=8.0)

    for kind, span, label in (
        ("coefficient", axes[:, :_COEFFICIENTS], "noise coefficient, L² E‖y − x*‖² / (d σ²)"),
        ("rate", axes[:, _COEFFICIENTS:], "linear rate a step"),
    ):
        bar = figure.colorbar(
            images[kind], ax=span, location="bottom", shrink=0.8, aspect=40, pad=0.02,
            extend="both" if kind == "coefficient" else "neither",
        )  # fmt: skip
        bar.set_label(label, fontsize=8.0)
        bar.ax.tick_params(labelsize=7.0)
        if kind == "rate":
            bar.set_ticks([0.4, 0.6, 0.8, 0.9, 1.0])

    handles = [
        Line2D([], [], color=CONTOUR, label="ρ(α, β) = 1; grey: diverges"),
        Line2D([], [], color="black", linestyle="--", linewidth=0.9,
               label="up and left of it: above Theorem 1's coefficient"),
    ]  # fmt: skip

    figure.legend(handles=handles, loc="outside upper right", ncols=2, frameon=False, fontsize=7.5)
    return figure


def _shown(one: xr.Dataset, name: str) -> np.ma.MaskedArray[Any, Any]:
    """The values of a panel; masked where the runs, or the theory, diverge."""
    values = one[name].values
    measured = name == "measured_rate"
    kept = one["diverged"].values == 0.0 if measured else one["spectral_radius"].values < 1.0
    return np.ma.masked_where(~kept | ~np.isfinite(values), values)


def _contours(axis: Axes, one: xr.Dataset, name: str) -> None:
    """The rim of stability, and where the exact worst case exceeds the paper's coefficient."""
    alphas = one["alpha_L"].values
    betas = one["beta"].values
    rho = one["spectral_radius"].values
    axis.contour(alphas, betas, rho.T, levels=[1.0], colors=[CONTOUR], linewidths=1.0)
    if name == "worst_coefficient":
        # Both are infinite outside: one over one there, and masked.
        stable = rho < 1.0
        paper = np.where(stable, one["paper_coefficient"].values, 1.0)
        exact = np.where(stable, one[name].values, 1.0)
        ratio = np.ma.masked_where(~stable, exact / paper)
        axis.contour(
            alphas, betas, ratio.T, levels=[1.0], colors=["black"], linewidths=0.9, linestyles="--"
        )
