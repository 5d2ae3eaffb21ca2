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
from ravine.figures.entry import at_each_ratio
from ravine.figures.style import cell_centres
from ravine.methods import Method
from ravine.problems.quadratic import Quadratic
from ravine.theory.blocks import block, moment_block
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.noise.moments import (
    exact_noise_coefficient,
    paper_noise_coefficient,
    stationary_variance,
)

if TYPE_CHECKING:
    import xarray as xr

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

    alphas = cell_centres(*ALPHA_RANGE, resolution)
    betas = cell_centres(*BETA_RANGE, resolution)
    swept = [
        _one_problem(
            problem, alphas, betas, sigma2, (rate_steps, floor_steps), repeats, seed + i, options
        )
        for i, problem in enumerate(problems)
    ]

    parts = [part for part, _ in swept]

    dims = ("Q", "alpha_L", "beta")
    data = xr.Dataset(
        {key: (dims, np.stack([part[key] for part in parts])) for key in parts[0]},
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
            "device": swept[0][1],
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
) -> tuple[dict[str, FloatArray], str]:
    """Measured and computed coefficients of one problem, and the device that measured them."""
    from ravine.engine.measures import Outcome
    from ravine.engine.sweep import sweep

    L = float(problem.curvature.L)
    rate_steps, floor_steps = steps
    decay = sweep(
        problem, alphas / L, betas, steps=rate_steps, sigma2=sigma2, start=FAR, seed=seed,
        measure=("rate", "outcome"), **options,
    )  # fmt: skip
    rest = sweep(
        problem, alphas / L, betas, steps=floor_steps, sigma2=sigma2, start=0.0, seed=seed,
        repeats=repeats, measure=("floor",), **options,
    )  # fmt: skip

    method = Method(alphas[:, None] / L, betas[None, :])
    rho = np.asarray(spectral_radius(problem.curvature, method))
    paper = np.asarray(paper_noise_coefficient(problem.curvature, method, c_epsilon=True))
    worst = np.asarray(exact_noise_coefficient(problem.curvature, method))

    # A floor is a root mean square: its square has twice itself times its error.
    unit = L**2 / (problem.dimension * sigma2)
    floor = rest["floor"].values
    square_se = 2.0 * floor * rest["floor_se"].values
    diverged = decay["outcome"].values == int(Outcome.DIVERGED)
    coefficients = {
        "spectral_radius": rho,
        "measured_rate": decay["rate"].values,
        "paper_coefficient": L**2 * paper,
        "worst_coefficient": L**2 * worst,
        **_exact(problem.eigenvalues, method, rho < 1.0, floor_steps, L),
        "measured_coefficient": unit * floor**2,
        "measured_coefficient_se": unit * square_se,
        "diverged": diverged.astype(np.float64),
    }

    return coefficients, str(rest.attrs["device"])


def _exact(
    eigenvalues: FloatArray, method: Method, stable: np.ndarray[Any, Any], steps: int, L: float
) -> dict[str, FloatArray]:
    """Coefficients of the problem in closed form: stationary, and over the steps measured."""
    from ravine.engine.measures import bin_edges

    edges = bin_edges(steps)
    # The floor is measured from the first bin that starts in the second half.
    first = int(edges[min(int(np.searchsorted(edges, 0.5 * steps)), len(edges) - 2)]) + 1

    # Elsewhere there is no stationary law.
    alpha = np.broadcast_to(method.alpha, stable.shape)[stable]
    beta = np.broadcast_to(method.beta, stable.shape)[stable]
    chosen = Method(alpha, beta)

    d = len(eigenvalues)
    law = np.full(stable.shape, np.inf)
    law[stable] = sum(np.asarray(stationary_variance(lam, chosen).y) for lam in eigenvalues) / d

    window = np.full(stable.shape, np.inf)
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

        # E r v with r = x + beta v, from the moments of (x, x_last).
        shared = np.asarray(law.x - law.covariance + method.beta * law.velocity)
        X = np.stack([np.stack([law.y, shared], -1), np.stack([shared, law.velocity], -1)], axis=-2)

        ends = _carried(B, first, X) - _carried(B, last + 1, X)
        right = np.stack([ends[..., 0, 0], ends[..., 0, 1], ends[..., 1, 1]], axis=-1)
        solution = np.linalg.solve(np.eye(3) - moment_block(B), right[..., None])
        transient = solution[..., 0, 0]

        total += np.asarray(law.y) - transient / (last + 1 - first)

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


CAPTION = (
    "Rows: condition numbers. From the left: the noise coefficient of Theorem 1 with the paper's "
    "constant, the exact one of the worst direction, the exact one of this problem, and the "
    "measured one; then the spectral radius and the measured rate. Same colours throughout each "
    "group. Red: rho = 1. "
)
"""What the captions of both figures begin with."""


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
