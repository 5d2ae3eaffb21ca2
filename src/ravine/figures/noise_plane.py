"""Theory and runs side by side over (alpha L, beta): Figure 1, and the same for least squares.

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
from ravine.figures.entry import FigureEntry, at_each_ratio
from ravine.figures.style import (
    CONTOUR,
    NOTHING,
    cell_centres,
    cell_edges,
    legend_below,
    panels,
    styled,
)
from ravine.methods import Method
from ravine.problems import Quadratic, least_squares, worst_case_quadratic
from ravine.theory.blocks import block, moment_block
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

CONDITION_NUMBERS = (2.0, 8.0, 32.0)
"""Of the rows, as in the paper."""

ALPHA_RANGE = (0.0, 3.0)
"""Of alpha L: the stable region ends at 4/3 for beta = 1 and at 2 for beta = 0; beyond 3 lies
nothing but a corner at negative momentum."""

BETA_RANGE = (-1.0, 1.0)
"""All momenta for which some step is stable."""

FAR = 1e120
"""How many times as far from x* the runs for the rate start: 120 decades above the noise floor,
and its square is still a double."""

NEAR_CONTOUR = 0.01
"""Pixels with |rho - 1| below this are too slow to tell apart: 0.99^1000 = 4e-5."""

NEAR_RATE = 0.01
"""A fitted rate agrees with rho up to this."""

NEAR_FLOOR = 4.0
"""A measured floor agrees with the exact one up to this many of its standard errors."""

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


def stochastic_approximation(
    *, Q: Sequence[float] = CONDITION_NUMBERS, d: int = 100, **options: Any
) -> xr.Dataset:
    """Data of Figure 1: worst-case quadratics, noise of variance 0.0025 in each coordinate."""
    return noise_plane([worst_case_quadratic(ratio, d) for ratio in Q], sigma2=0.0025, **options)


def noisy_least_squares(
    *, Q: Sequence[float] = CONDITION_NUMBERS, seed: int = 0, **options: Any
) -> xr.Dataset:
    """The same for 500 samples of 10 features, noise of standard deviation 0.25."""
    problems = [least_squares(500, 10, Q=ratio, seed=seed) for ratio in Q]
    return noise_plane(problems, sigma2=0.25**2, seed=seed, **options)


def noise_plane(
    problems: Sequence[Quadratic],
    *,
    sigma2: float,
    resolution: int = 100,
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

    from ravine.engine.measures import Outcome
    from ravine.engine.sweep import sweep

    alphas = cell_centres(*ALPHA_RANGE, resolution)
    betas = cell_centres(*BETA_RANGE, resolution)
    rows = []
    for place, problem in enumerate(problems):
        plane = (problem, alphas / float(problem.curvature.L), betas)
        shared = {"sigma2": sigma2, "seed": seed + place, **options}
        decay = sweep(*plane, steps=rate_steps, start=FAR, measure=("rate", "outcome"), **shared)
        rest = sweep(
            *plane, steps=floor_steps, start=0.0, repeats=repeats, measure=("floor",), **shared
        )
        # A floor is a root mean square: its square has twice itself times its error.
        unit = float(problem.curvature.L) ** 2 / (problem.dimension * sigma2)
        floor = rest["floor"].values
        diverged = decay["outcome"].values == int(Outcome.DIVERGED)
        rows.append(
            {
                "measured_rate": decay["rate"].values,
                "diverged": diverged.astype(np.float64),
                "measured_coefficient": unit * floor**2,
                "measured_coefficient_se": unit * 2.0 * floor * rest["floor_se"].values,
                **_theory(problem, alphas, betas, floor_steps),
            }
        )

    dims = ("Q", "alpha_L", "beta")
    return xr.Dataset(
        {
            key: (dims, np.stack([row[key] for row in rows]), {"long_name": words})
            for key, words in _LONG_NAMES.items()
        },
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
            "device": str(rest.attrs["device"]),
        },
    )


def _theory(
    problem: Quadratic, alphas: FloatArray, betas: FloatArray, steps: int
) -> dict[str, FloatArray]:
    """Rate and coefficients of a problem in closed form, stationary and over the steps measured."""
    from ravine.engine.measures import bin_edges

    L = float(problem.curvature.L)
    method = Method(alphas[:, None] / L, betas[None, :])
    rho = np.asarray(spectral_radius(problem.curvature, method))
    paper = np.asarray(paper_noise_coefficient(problem.curvature, method, c_epsilon=True))
    worst = np.asarray(exact_noise_coefficient(problem.curvature, method))

    # The floor is measured from the first bin that starts in the second half.
    edges = bin_edges(steps)
    first = int(edges[min(int(np.searchsorted(edges, 0.5 * steps)), len(edges) - 2)]) + 1

    # Elsewhere there is no stationary law.
    stable = rho < 1.0
    chosen = Method(
        *(np.broadcast_to(one, rho.shape)[stable] for one in (method.alpha, method.beta))
    )
    eigenvalues = problem.eigenvalues
    law = np.full(rho.shape, np.inf)
    law[stable] = sum(np.asarray(stationary_variance(lam, chosen).y) for lam in eigenvalues)
    window = np.full(rho.shape, np.inf)
    window[stable] = mean_square_from_rest(eigenvalues, chosen, first, steps)
    return {
        "spectral_radius": rho,
        "paper_coefficient": L**2 * paper,
        "worst_coefficient": L**2 * worst,
        "exact_coefficient": L**2 * (law / len(eigenvalues)),
        "expected_coefficient": L**2 * (window / len(eigenvalues)),
    }


def mean_square_from_rest(
    eigenvalues: FloatArray, method: Method, first: int, last: int
) -> FloatArray:
    """Mean over k = first, ..., last of E‖y_{k+1} - x*‖², started at x*, noise of variance 1.

    From rest the covariance of (r, v) after k steps is X - B^k X Bᵏᵀ with X the stationary one, so
    that the sum over a window needs two powers of B and one linear system,
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

        # E r v with r = x + beta v, from the moments of (x, x_last).
        shared = np.asarray(law.x - law.covariance + method.beta * law.velocity)
        X = np.stack([np.stack([law.y, shared], -1), np.stack([shared, law.velocity], -1)], axis=-2)

        ends = _carried(B, first, X) - _carried(B, last + 1, X)
        right = np.stack([ends[..., 0, 0], ends[..., 0, 1], ends[..., 1, 1]], axis=-1)
        solution = np.linalg.solve(np.eye(3) - moment_block(B), right[..., None])
        total += np.asarray(law.y) - solution[..., 0, 0] / (last + 1 - first)

    return total


def _carried(B: FloatArray, k: int, X: FloatArray) -> FloatArray:
    """B^k X B^kᵀ."""
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
        stable = rho < 1.0

        far = np.abs(rho - 1.0) > NEAR_CONTOUR
        as_predicted = (rho >= 1.0) == (one["diverged"] > 0)
        shares["outcome"].append(as_predicted[far].mean())

        rate_off = np.abs(one["measured_rate"] - rho)[stable]
        shares["rate"].append((rate_off <= NEAR_RATE).mean())

        floor_off = np.abs(one["measured_coefficient"] - one["expected_coefficient"])[stable]
        floor_se = one["measured_coefficient_se"][stable]
        shares["floor"].append((floor_off <= NEAR_FLOOR * floor_se).mean())

        # Equal coefficients differ by rounding.
        under = one["worst_coefficient"] > one["paper_coefficient"] * (1.0 + 1e-12)
        shares["below_paper"].append(under[stable].mean())

    return {name: np.array(values) for name, values in shares.items()}


def plane_findings(data: xr.Dataset) -> list[str]:
    """Agreement of runs and theory over the plane, in sentences."""
    shares = agreement(data)
    return [
        f"Diverges exactly where rho >= 1, farther than {NEAR_CONTOUR:g} from it: "
        f"{at_each_ratio(data, shares['outcome'])}.",
        f"Fitted rate within {NEAR_RATE:g} of rho, of the stable pixels: "
        f"{at_each_ratio(data, shares['rate'])}.",
        f"Measured floor within {NEAR_FLOOR:g} standard errors of the exact variance: "
        f"{at_each_ratio(data, shares['floor'])}.",
        "Exact coefficient of the worst direction above that of Theorem 1: "
        f"{at_each_ratio(data, shares['below_paper'], '.1%')} of the stable pixels.",
    ]


@styled
def draw_noise_plane(data: xr.Dataset) -> Figure:
    """Draw a :func:`noise_plane`: one row per condition number; coefficients, then rates."""
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
                axis.set_title(words)
            axis.set_xticks([0, 1, 2, 3])
            axis.set_yticks([-1, -0.5, 0, 0.5, 1])

        axes[row, 0].set_ylabel(f"Q = {Q:g}\nmomentum β")

    for axis in axes[-1]:
        axis.set_xlabel("step size αL")

    for kind, span, label in (
        ("coefficient", axes[:, :_COEFFICIENTS], "noise coefficient, L² E‖y − x*‖² / (d σ²)"),
        ("rate", axes[:, _COEFFICIENTS:], "rate per step"),
    ):
        bar = figure.colorbar(
            images[kind], ax=span, location="bottom", shrink=0.8, aspect=40, pad=0.02,
            extend="both" if kind == "coefficient" else "neither",
        )  # fmt: skip
        bar.set_label(label)
        if kind == "rate":
            bar.set_ticks([0.4, 0.6, 0.8, 0.9, 1.0])

    handles = [
        Line2D([], [], color=CONTOUR, label="ρ(α, β) = 1; grey: diverges"),
        Line2D([], [], color="black", linestyle="--", linewidth=0.9,
               label="up and left of it: above Theorem 1's coefficient"),
    ]  # fmt: skip

    legend_below(figure, handles, 2, loc="outside upper right")
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


_CAPTION = (
    "Rows: condition numbers. From the left: the noise coefficient of Theorem 1 with the paper's "
    "constant, the exact one of the worst direction, the exact one of this problem, and the "
    "measured one; then the spectral radius and the measured rate. Same colours throughout each "
    "group. Red: rho = 1. "
)
_QUICK = {"rate_steps": 1000, "floor_steps": 600, "repeats": 16}

FIGURE = FigureEntry(
    name="figure-1",
    title="Figure 1: the worst-case quadratic with additive noise",
    caption=_CAPTION
    + "Dimension 100, noise of variance 0.0025 in each coordinate; each pixel its own run.",
    compute=stochastic_approximation,
    draw=draw_noise_plane,
    findings=plane_findings,
    quick={"Q": (2.0, 32.0), **_QUICK},
    mapped=True,
    swept=True,
)
LEAST_SQUARES = FigureEntry(
    name="least-squares",
    title="Appendix figure: random least squares with additive noise",
    caption=_CAPTION + "500 samples of 10 features, noise of standard deviation 0.25.",
    compute=noisy_least_squares,
    draw=draw_noise_plane,
    findings=plane_findings,
    quick={"Q": (8.0,), **_QUICK},
    mapped=True,
    swept=True,
)
