"""Theory and runs side by side over (alpha L, beta): Figure 1, and the same for least squares.

There are two sweeps for every condition number. One starts very far from x*, so that the decay to
the noise floor is long enough to fit its rate. The other starts at x*, so that its floor is due to
noise alone, and is repeated to get a standard error.

Coefficients are L² E‖y - x*‖² / (d sigma²): relative to the total variance of the noise, as in
Theorem 1, and dimensionless.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from ravine.arguments import FloatArray
from ravine.engine.measures import Outcome, bin_edges
from ravine.engine.sweep import sweep
from ravine.figures import style
from ravine.methods import Method
from ravine.problems import Quadratic, least_squares, worst_case_quadratic
from ravine.theory.blocks import block, moment_block, moment_gain
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.noise.moments import (
    exact_noise_coefficient,
    noise_floor,
    paper_noise_coefficient,
)

CONDITION_NUMBERS = (2.0, 8.0, 32.0)
"""Condition numbers of the rows, as in the paper."""

ALPHA_RANGE = (0.0, 3.0)
"""Range of alpha L. The stable region ends at 4/3 for beta = 1 and at 2 for beta = 0; beyond 3
there is only a corner at negative momentum."""

BETA_RANGE = (-1.0, 1.0)
"""Range of momenta for which some step is stable."""

FAR = 1e120
"""Factor on the distance from x* at the start of the runs for the rate: 120 decades above the noise
floor, and its square does not overflow."""

NEAR_CONTOUR = 0.01
"""Pixels with |rho - 1| below this are too slow to distinguish: 0.99^1000 = 4e-5."""

NEAR_RATE = 0.01
"""Largest difference at which a fitted rate agrees with rho."""

NEAR_FLOOR = 4.0
"""Largest difference, in standard errors, at which a measured floor agrees with the exact one."""

_LONG_NAMES = {
    "spectral_radius": "spectral radius rho(alpha, beta) of Theorem 1",
    "measured_rate": "fitted linear rate of ||y - x*||",
    "paper_coefficient": "L^2 times the noise coefficient of Theorem 1 with its C_epsilon",
    "worst_coefficient": "L^2 times the exact noise coefficient of the worst direction",
    "exact_coefficient": "L^2 E||y - x*||^2 / (d sigma^2), exact and stationary, of this problem",
    "expected_coefficient": "the same, exact mean over the measured steps",
    "measured_coefficient": "L^2 E||y - x*||^2 / (d sigma^2), measured",
    "measured_coefficient_se": "its standard error over the repeats",
    "diverged": "1 where the run diverged",
}

_COLUMNS = {
    "paper_coefficient": "Theorem 1",
    "worst_coefficient": "exact, worst case",
    "exact_coefficient": "exact, here",
    "measured_coefficient": "measured",
    "spectral_radius": "theory, ρ(α, β)",
    "measured_rate": "measured",
}
"""The quantity and the caption of each column; the coefficients come first."""


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
        Steps of the runs for the rate and for the noise floor, and runs per pixel for the noise
        floor.
    seed
        Of all random draws.
    options
        Passed on to ``ravine.engine.sweep.sweep``, e.g. ``device`` or ``threads``.

    Returns
    -------
    xarray.Dataset
        Dimensions Q, alpha_L, beta. A coefficient is infinite if there is no stationary
        distribution.
    """
    alphas = style.cell_centres(*ALPHA_RANGE, resolution)
    betas = style.cell_centres(*BETA_RANGE, resolution)
    rows = []
    for place, problem in enumerate(problems):
        plane = (problem, alphas / float(problem.curvature.L), betas)
        shared = {"sigma2": sigma2, "seed": seed + place, **options}
        decay = sweep(*plane, steps=rate_steps, start=FAR, measure=("rate", "outcome"), **shared)
        rest = sweep(
            *plane, steps=floor_steps, start=0.0, repeats=repeats, measure=("floor",), **shared
        )
        # A floor is a root mean square: the error of its square is twice the floor times its error.
        unit = float(problem.curvature.L) ** 2 / (problem.dimension * sigma2)
        floor = rest["floor"].values
        diverged = decay["outcome"].values == int(Outcome.DIVERGED)
        row = {
            "measured_rate": decay["rate"].values,
            "diverged": diverged.astype(np.float64),
            "measured_coefficient": unit * floor**2,
            "measured_coefficient_se": unit * 2.0 * floor * rest["floor_se"].values,
            **_theory(problem, alphas, betas, floor_steps),
        }
        rows.append(
            xr.Dataset(
                {
                    name: (("alpha_L", "beta"), row[name], {"long_name": words})
                    for name, words in _LONG_NAMES.items()
                },
                coords={"alpha_L": alphas, "beta": betas},
            )
        )

    lengths = {"rate_steps": rate_steps, "floor_steps": floor_steps, "repeats": repeats}
    return style.over_ratios(
        rows,
        [float(problem.curvature.Q) for problem in problems],
        problem=problems[0].name,
        dimension=problems[0].dimension,
        sigma2=sigma2,
        seed=seed,
        start=FAR,
        device=str(rest.attrs["device"]),
        **lengths,
    )


def _theory(
    problem: Quadratic, alphas: FloatArray, betas: FloatArray, steps: int
) -> dict[str, Any]:
    """Rate and coefficients of a problem in closed form, stationary and over the measured steps."""
    curvature = problem.curvature
    L = float(curvature.L)
    alpha, beta = np.meshgrid(alphas / L, betas, indexing="ij")
    method = Method(alpha, beta)
    rho = np.asarray(spectral_radius(curvature, method))

    # The floor is measured from the first bin that starts in the second half.
    edges = bin_edges(steps)
    first = int(edges[min(int(np.searchsorted(edges, 0.5 * steps)), len(edges) - 2)]) + 1

    # Elsewhere there is no stationary distribution.
    stable = rho < 1.0
    window = np.full(rho.shape, np.inf)
    window[stable] = mean_square_from_rest(
        problem.eigenvalues, Method(alpha[stable], beta[stable]), first, steps
    )
    law = np.asarray(noise_floor(problem.eigenvalues, method))
    return {
        "spectral_radius": rho,
        "paper_coefficient": L**2 * paper_noise_coefficient(curvature, method, c_epsilon=True),
        "worst_coefficient": L**2 * exact_noise_coefficient(curvature, method),
        "exact_coefficient": L**2 * np.where(stable, law, np.inf) / problem.dimension,
        "expected_coefficient": L**2 * window / problem.dimension,
    }


def stationary_moments(eigenvalues: Any, method: Method) -> tuple[FloatArray, FloatArray]:
    """T, the map of (E r², E rv, E v²) by a step, and its fixed point X for noise of variance 1.

    Shapes (..., 3, 3) and (..., 3, 1); eigenvalues broadcast against the method, which is stable.
    Moments m become X + T^k (m - X) after k steps.
    """
    T = moment_block(block(eigenvalues, method))
    gain = np.broadcast_to(moment_gain(method), T.shape[:-1])
    return T, np.asarray(np.linalg.solve(np.eye(3) - T, gain[..., None]))


def mean_square_from_rest(
    eigenvalues: FloatArray, method: Method, first: int, last: int
) -> FloatArray:
    """Mean over k = first, ..., last of E‖y_{k+1} - x*‖², started at x*, noise of variance 1.

    From rest, the moments after k steps are X - T^k X, and the sum is a geometric series.

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
        T, X = stationary_moments(lam, method)
        ends = np.linalg.matrix_power(T, first) - np.linalg.matrix_power(T, last + 1)
        transient = np.linalg.solve(np.eye(3) - T, ends @ X) / (last + 1 - first)
        total += (X - transient)[..., 0, 0]

    return total


def agreement(data: xr.Dataset) -> dict[str, FloatArray]:
    """Measure how well runs and theory agree, for each Q.

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
    rho = data["spectral_radius"]
    stable = data.where(rho < 1.0)
    floor_off = abs(stable["measured_coefficient"] - stable["expected_coefficient"])

    def share(good: xr.DataArray, among: xr.DataArray) -> FloatArray:
        return good.where(among).mean(("alpha_L", "beta")).values

    return {
        "outcome": share((rho >= 1.0) == (data["diverged"] > 0), abs(rho - 1.0) > NEAR_CONTOUR),
        "rate": share(abs(stable["measured_rate"] - rho) <= NEAR_RATE, rho < 1.0),
        "floor": share(floor_off <= NEAR_FLOOR * stable["measured_coefficient_se"], rho < 1.0),
        # Equal coefficients may differ by rounding errors.
        "below_paper": share(
            stable["worst_coefficient"] > stable["paper_coefficient"] * (1.0 + 1e-12), rho < 1.0
        ),
    }


def findings(data: xr.Dataset) -> list[str]:
    """Describe the agreement of runs and theory over the plane."""
    shares = agreement(data)
    return [
        f"Diverges exactly where rho >= 1, farther than {NEAR_CONTOUR:g} from it: "
        f"{style.at_each_ratio(data, shares['outcome'])}.",
        f"Fitted rate within {NEAR_RATE:g} of rho, of the stable pixels: "
        f"{style.at_each_ratio(data, shares['rate'])}.",
        f"Measured floor within {NEAR_FLOOR:g} standard errors of the exact variance: "
        f"{style.at_each_ratio(data, shares['floor'])}.",
        "Exact coefficient of the worst direction above that of Theorem 1: "
        f"{style.at_each_ratio(data, shares['below_paper'], '.1%')} of the stable pixels.",
    ]


@style.styled
def draw_noise_plane(data: xr.Dataset) -> style.Figure:
    """Draw a :func:`noise_plane`: one row per condition number; coefficients, then rates."""
    from matplotlib.colors import LogNorm, PowerNorm

    # Inches: a row of panels, then the two colour bars and the legend.
    count = data.sizes["Q"]
    shape = {"height": 1.25 * count + 1.15, "sharex": True, "sharey": True}
    figure, axes = style.panels(count, len(_COLUMNS), **shape)

    # Four decades from near the smallest coefficient; at the edge of stability they are unbounded.
    # Most rates are slow, and the third power gives them more of the colours.
    exact = data["exact_coefficient"].values
    low = float(np.quantile(exact[np.isfinite(exact)], 0.02))
    scales = {True: LogNorm(low, 1e4 * low), False: PowerNorm(3.0, 0.0, 1.0)}
    images = {}
    for axis, words in zip(axes[0], _COLUMNS.values(), strict=True):
        axis.set_title(words)
    for row, Q in zip(axes, data["Q"].values, strict=True):
        one = data.sel(Q=Q)
        plane = one["alpha_L"], one["beta"]
        stable = one["spectral_radius"] < 1.0
        for axis, name in zip(row, _COLUMNS, strict=True):
            kept = one["diverged"] == 0.0 if name == "measured_rate" else stable
            noise = "coefficient" in name
            maps = *plane, one[name].where(kept), scales[noise], one["spectral_radius"]
            images[noise] = style.draw_map(axis, *maps)
            axis.set(xticks=[0, 1, 2, 3], yticks=[-1, -0.5, 0, 0.5, 1])
            axis.label_outer()

        row[0].set_ylabel(f"Q = {Q:g}\nmomentum β")
        above = one["worst_coefficient"].where(stable) / one["paper_coefficient"].where(stable)
        look: Any = {"levels": [1.0], "colors": ["black"], "linewidths": 0.9, "linestyles": "--"}
        row[1].contour(*plane, above.T, **look)

    bars: Any = {"location": "bottom", "shrink": 0.8, "aspect": 40, "pad": 0.02}
    words = "noise coefficient, L² E‖y − x*‖² / (d σ²)"
    figure.colorbar(images[True], ax=axes[:, :4], extend="both", label=words, **bars)
    ticks = [0.4, 0.6, 0.8, 0.9, 1.0]
    figure.colorbar(images[False], ax=axes[:, 4:], ticks=ticks, label="rate per step", **bars)

    first = axes[0, 0]
    first.plot([], [], color=style.CONTOUR, label="ρ(α, β) = 1; grey: diverges")
    words = "up and left of it: above Theorem 1's coefficient"
    first.plot([], [], color="black", linestyle="--", linewidth=0.9, label=words)
    figure.legend(ncols=2, loc="outside upper right")
    return figure
