"""Theory and runs side by side over (alpha L, beta): what Figure 1 and its appendix twin share.

For every condition number two sweeps are run. One starts very far from x*, so that the decay
towards the noise floor is long enough for its rate to be fitted. The other starts at x*, so that
nothing but noise is in its floor, and is repeated, so that the floor has a standard error.

Coefficients are L² E‖y - x*‖² / (d sigma²): of the total variance of the noise, as in Theorem 1,
and free of units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.arguments import FloatArray
from ravine.figures.style import CONTOUR, NOTHING, cell_centres, cell_edges, panels
from ravine.methods import Method
from ravine.problems.quadratic import Quadratic
from ravine.theory.blocks import block
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.noise.moments import (
    exact_noise_coefficient,
    paper_noise_coefficient,
    stationary_variance,
)

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ALPHA_RANGE = (0.0, 3.0)
BETA_RANGE = (-1.0, 1.0)
FAR = 1e120
"""How many times as far from x* the runs for the rate start."""
NEAR_CONTOUR = 0.01
"""Pixels with |rho - 1| below this are too slow to tell apart."""

_LONG_NAMES = {
    "spectral_radius": "spectral radius rho(alpha, beta) of Theorem 1",
    "measured_rate": "fitted linear rate of ||y - x*||",
    "paper_coefficient": "L^2 times the noise coefficient of Theorem 1 with its C_epsilon",
    "worst_coefficient": "L^2 times the exact noise coefficient of the worst direction",
    "exact_coefficient": "L^2 E||y - x*||^2 / (d sigma^2), exact and stationary, of this problem",
    "expected_coefficient": "the same, exact mean over the steps that were measured",
    "measured_coefficient": "L^2 E||y - x*||^2 / (d sigma^2), measured",
    "measured_coefficient_se": "its standard error over the repeats",
    "diverged": "1 where the run diverged",
}


def noise_plane(
    problems: Sequence[Quadratic],
    *,
    sigma2: float,
    resolution: int,
    rate_steps: int = 2000,
    floor_steps: int = 1000,
    repeats: int = 12,
    seed: int = 0,
    **options: Any,
) -> xr.Dataset:
    """Rates, noise coefficients and outcomes of every problem over (alpha L, beta).

    Parameters
    ----------
    problems
        Quadratics of equal dimension, one for each condition number.
    sigma2
        Variance of the noise on each coordinate of the gradient, positive.
    resolution
        Pixels along each axis.
    rate_steps, floor_steps, repeats
        Steps of the runs for the rate and for the noise floor, and runs of each pixel for the
        noise floor.
    seed
        Of all random draws.
    options
        Passed on to ``ravine.engine.sweep.sweep``, e.g. ``device`` or ``threads``.

    Returns
    -------
    xarray.Dataset
        Dimensions Q, alpha_L, beta. Infinite coefficients mean that there is no stationary law.
    """
    import xarray as xr

    from ravine.engine.device import choose_device, device_name

    alphas = cell_centres(*ALPHA_RANGE, resolution)
    betas = cell_centres(*BETA_RANGE, resolution)
    parts = [
        _one_problem(problem, alphas, betas, sigma2, (rate_steps, floor_steps), repeats, seed + i,
                     options)
        for i, problem in enumerate(problems)
    ]  # fmt: skip
    names = ("Q", "alpha_L", "beta")
    data = xr.Dataset(
        {key: (names, np.stack([part[key] for part in parts])) for key in parts[0]},
        coords={
            "Q": [float(problem.curvature.Q) for problem in problems],
            "alpha_L": alphas,
            "beta": betas,
        },
        attrs={
            "problem": problems[0].name,
            "dimension": problems[0].dimension,
            "sigma2": sigma2,
            "rate_steps": rate_steps,
            "floor_steps": floor_steps,
            "repeats": repeats,
            "seed": seed,
            "start": FAR,
            "device": device_name(choose_device(options.get("device", "cpu"), problems[0])),
        },
    )
    for key, words in _LONG_NAMES.items():
        data[key].attrs["long_name"] = words
    return data


def _one_problem(
    problem: Quadratic,
    alphas: FloatArray,
    betas: FloatArray,
    sigma2: float,
    steps: tuple[int, int],
    repeats: int,
    seed: int,
    options: dict[str, Any],
) -> dict[str, FloatArray]:
    from ravine.engine.measures import Outcome
    from ravine.engine.sweep import sweep

    L = float(problem.curvature.L)
    fast = sweep(
        problem, alphas / L, betas, steps=steps[0], sigma2=sigma2, start=FAR, seed=seed,
        measure=("rate", "outcome"), **options,
    )  # fmt: skip
    floor = sweep(
        problem, alphas / L, betas, steps=steps[1], sigma2=sigma2, start=0.0, seed=seed,
        repeats=repeats, measure=("floor",), **options,
    )  # fmt: skip
    method = Method(alphas[:, None] / L, betas[None, :])
    rho = np.asarray(spectral_radius(problem.curvature, method))
    unit = L**2 / (problem.dimension * sigma2)
    square = floor["floor"].values ** 2
    diverged = fast["outcome"].values == int(Outcome.DIVERGED)
    return {
        "spectral_radius": rho,
        "measured_rate": fast["rate"].values,
        "paper_coefficient": L**2
        * np.asarray(paper_noise_coefficient(problem.curvature, method, c_epsilon=True)),
        "worst_coefficient": L**2 * np.asarray(exact_noise_coefficient(problem.curvature, method)),
        **_exact(problem.eigenvalues, method, rho < 1.0, steps[1], L),
        "measured_coefficient": unit * square,
        "measured_coefficient_se": unit * 2.0 * floor["floor"].values * floor["floor_se"].values,
        "diverged": diverged.astype(np.float64),
    }


def _exact(
    eigenvalues: FloatArray, method: Method, stable: np.ndarray[Any, Any], steps: int, L: float
) -> dict[str, FloatArray]:
    from ravine.engine.measures import bin_edges

    edges = bin_edges(steps)
    # The floor is measured from the first bin that starts in the second half.
    first = int(edges[min(int(np.searchsorted(edges, 0.5 * steps)), len(edges) - 2)]) + 1
    alpha, beta = (np.broadcast_to(v, stable.shape)[stable] for v in (method.alpha, method.beta))
    chosen = Method(alpha, beta)
    law, window = np.full(stable.shape, np.inf), np.full(stable.shape, np.inf)
    d = len(eigenvalues)
    law[stable] = sum(np.asarray(stationary_variance(lam, chosen).y) for lam in eigenvalues) / d
    window[stable] = mean_square_from_rest(eigenvalues, chosen, first, steps) / d
    return {"exact_coefficient": L**2 * law, "expected_coefficient": L**2 * window}


def mean_square_from_rest(
    eigenvalues: FloatArray, method: Method, first: int, last: int
) -> FloatArray:
    """Mean over k = first, ..., last of E‖y_{k+1} - x*‖², started at x*, noise of variance 1.

    From rest the covariance of (r, v) after k steps is X - B^k X Bᵏᵀ with X the stationary one, so
    that the sum over a window needs two powers of B and one linear system of three equations,
    S = B S Bᵀ + (B^first X B^firstᵀ - B^(last+1) X B^(last+1)ᵀ).

    Examples
    --------
    >>> from ravine.theory.noise.moments import second_moment
    >>> method = Method(np.array([0.3]), np.array([0.5]))
    >>> exact = second_moment(1.0, method, start=0.0, steps=20)[11:].mean()
    >>> bool(abs(mean_square_from_rest(np.array([1.0]), method, 11, 20)[0] - exact) < 1e-12)
    True
    """
    total = np.zeros(np.shape(method.alpha))
    for lam in eigenvalues:
        B = block(lam, method)
        law = stationary_variance(lam, method)
        shared = np.asarray(law.x - law.covariance + method.beta * law.velocity)
        X = np.stack([np.stack([law.y, shared], -1), np.stack([shared, law.velocity], -1)], axis=-2)
        gone = _carried(B, first, X) - _carried(B, last + 1, X)
        a, b, c, d = (B[..., i, j] for i in (0, 1) for j in (0, 1))
        M = np.empty((*a.shape, 3, 3))
        for row, entries in enumerate(
            ((a * a, 2 * a * b, b * b), (a * c, a * d + b * c, b * d), (c * c, 2 * c * d, d * d))
        ):
            M[..., row, :] = np.stack(entries, axis=-1)
        right = np.stack([gone[..., 0, 0], gone[..., 0, 1], gone[..., 1, 1]], axis=-1)
        window = np.linalg.solve(np.eye(3) - M, right[..., None])[..., 0, 0]
        total += np.asarray(law.y) - window / (last + 1 - first)
    return total


def _carried(B: FloatArray, k: int, X: FloatArray) -> FloatArray:
    power = np.linalg.matrix_power(B, k)
    return np.asarray(power @ X @ np.swapaxes(power, -1, -2))


def agreement(data: xr.Dataset) -> dict[str, FloatArray]:
    """How well runs and theory agree, one number for each Q.

    Returns
    -------
    dict
        ``outcome``: share of the pixels with rho farther than 0.01 from 1 that diverge if and
        only if rho >= 1. ``rate``: share of the stable pixels whose fitted rate is within 0.01
        of rho.
        ``floor``: share of them whose measured mean square is within 4 standard errors of the
        exact one. ``below_paper``: share of them where the exact coefficient of the worst
        direction exceeds the paper's.
    """
    shares: dict[str, list[float]] = {"outcome": [], "rate": [], "floor": [], "below_paper": []}
    for Q in data["Q"].values:
        one = {str(name): array.values for name, array in data.sel(Q=Q).items()}
        rho = one["spectral_radius"]
        far, stable = np.abs(rho - 1.0) > NEAR_CONTOUR, rho < 1.0
        shares["outcome"].append(((rho >= 1.0) == (one["diverged"] > 0))[far].mean())
        shares["rate"].append((np.abs(one["measured_rate"] - rho)[stable] <= 0.01).mean())
        off = np.abs(one["measured_coefficient"] - one["expected_coefficient"])[stable]
        shares["floor"].append((off <= 4.0 * one["measured_coefficient_se"][stable]).mean())
        under = one["worst_coefficient"] > one["paper_coefficient"] * (1.0 + 1e-12)
        shares["below_paper"].append(under[stable].mean())
    return {name: np.array(values) for name, values in shares.items()}


_COLUMNS = (
    ("paper_coefficient", "Theorem 1"),
    ("worst_coefficient", "exact, worst case"),
    ("exact_coefficient", "exact, here"),
    ("measured_coefficient", "measured"),
    ("spectral_radius", "theory, ρ(α, β)"),
    ("measured_rate", "measured"),
)
_COEFFICIENTS = 4  # of the columns


def draw_noise_plane(data: xr.Dataset) -> Figure:
    """Draw a :func:`noise_plane`: a row a condition number; coefficients, then rates."""
    from matplotlib import colormaps
    from matplotlib.colors import LogNorm, PowerNorm
    from matplotlib.lines import Line2D

    count = data.sizes["Q"]
    shape = {"height": 1.25 * count + 1.15, "sharex": True, "sharey": True}
    figure, axes = panels(count, len(_COLUMNS), **shape)
    exact = data["exact_coefficient"].values
    low = float(np.quantile(exact[np.isfinite(exact)], 0.02))
    # Most of the plane is slow: the third power leaves it more of the colours.
    scales = {"coefficient": LogNorm(low, 1e4 * low), "rate": PowerNorm(3.0, 0.0, 1.0)}
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
    alphas, betas = one["alpha_L"].values, one["beta"].values
    rho = one["spectral_radius"].values
    axis.contour(alphas, betas, rho.T, levels=[1.0], colors=[CONTOUR], linewidths=1.0)
    if name == "worst_coefficient":
        stable = rho < 1.0
        paper = np.where(stable, one["paper_coefficient"].values, 1.0)
        ratio = np.ma.masked_where(~stable, np.where(stable, one[name].values, 1.0) / paper)
        axis.contour(
            alphas, betas, ratio.T, levels=[1.0], colors=["black"], linewidths=0.9, linestyles="--"
        )
