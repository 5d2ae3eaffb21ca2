"""Appendix figure: the rate on multinomial logistic regression, with and without momentum."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from ravine.arguments import FloatArray
from ravine.engine.measures import Outcome
from ravine.engine.run import run
from ravine.engine.sweep import sweep
from ravine.figures import style
from ravine.figures.ratios import at_each_ratio, over_ratios
from ravine.methods import Method, nesterov
from ravine.problems import Problem, multinomial_logistic
from ravine.theory.ladder.rates import spectral_radius

PROBLEMS = ((30.0, 1.0, 0.03986), (45.0, 0.5, 0.01989), (60.0, 0.3, 0.01361))
"""Target condition number, separation of the classes, weight of the regulariser."""

SIGMA2 = 1e-20
"""Variance of the noise per coordinate, small enough to show many decades of decay."""

ALPHA_RANGE = (0.0, 3.0)
"""Range of alpha L; the stable region is widest at negative momentum."""

BETA_RANGE = (-0.5, 1.0)
"""Range of momenta: positive ones, and a strip below zero."""

_EXPLAINED = 100.0
"""A fitted rate explains the last error if rate^steps is at most this many times smaller: near a
double root the error behaves like k rate^k, with k of a few hundred."""

_CLOSE = 1e-3
"""Share of the initial distance below which a run with a large step is not in a cycle."""


def noisy_logistic(*, resolution: int = 100, steps: int = 500, seed: int = 0) -> xr.Dataset:
    """Data of the figure: fitted rates over (alpha L, beta) at Q near 30, 45 and 60.

    5 classes, 100 samples of 10 features, 5 of them informative. The objective is not quadratic: mu
    and L are the extreme eigenvalues of the Hessian along a run.

    Parameters
    ----------
    resolution
        Pixels along each axis.
    steps
        Steps of a run.
    seed
        Seed of the data and of the noise.

    Returns
    -------
    xarray.Dataset
        ``rate`` (Q, alpha_L, beta), fitted; ``sgd_rate`` (Q, alpha_L), at beta = 0 exactly; both
        NaN where the runs do not converge; ``spectral_radius`` of a quadratic with the same mu and
        L; ``mu``, ``L`` (Q), and ``local_Q``, the condition number at the minimiser, which sets the
        final rate.
    """
    alphas = style.cell_centres(*ALPHA_RANGE, resolution)
    betas = style.cell_centres(*BETA_RANGE, resolution)
    problems = [multinomial_logistic(separation=s, l2=l2, seed=seed) for _, s, l2 in PROBLEMS]
    rows = [_row(problem, alphas, betas, steps, seed) for problem in problems]
    ratios = [float(row["L"] / row["mu"]) for row in rows]
    return over_ratios(rows, ratios, steps=steps, sigma2=SIGMA2, seed=seed)


def _row(
    problem: Problem, alphas: FloatArray, betas: FloatArray, steps: int, seed: int
) -> xr.Dataset:
    """The data of one problem."""
    # A run from zero weights never moves along the flattest directions: adding the same vector to
    # the weights of all classes changes only the regulariser, and the gradient at zero has no such
    # part.
    start = 0.1 * np.random.default_rng(seed).standard_normal(problem.dimension)
    noise: dict[str, Any] = {"sigma2": SIGMA2, "seed": seed, "start": start}
    # Extreme eigenvalues of the Hessian along a run with the standard parameters.
    trace = run(problem, nesterov(problem.curvature), 100, sampling=None, **noise)
    met = problem.curvature_along(trace.y)
    step = alphas / float(met.L)

    def rates(momenta: npt.ArrayLike) -> FloatArray:
        measure = ("rate", "outcome", "final_error")
        swept = sweep(problem, step, momenta, steps=steps, measure=measure, **noise)
        away = swept["final_error"].values / np.linalg.norm(start - problem.minimiser)
        return _settled(swept, away, (alphas < 1.0)[:, None], steps)

    plane = ("alpha_L", "beta")
    local = np.linalg.eigvalsh(problem.hessian())
    return xr.Dataset(
        {
            "rate": (plane, rates(betas)),
            "sgd_rate": ("alpha_L", rates([0.0])[:, 0]),
            "spectral_radius": (plane, spectral_radius(met, Method(step[:, None], betas))),
            "mu": met.mu,
            "L": met.L,
            "local_Q": local[-1] / local[0],
        },
        coords={"alpha_L": alphas, "beta": betas},
    )


def _settled(
    swept: xr.Dataset, final: FloatArray, small: npt.NDArray[np.bool_], steps: int
) -> FloatArray:
    """The rates of the runs that converge; NaN for the others.

    The fitted rate, if it explains how close the run came. It may not: gradients of the loss are
    bounded, so a run with too large a step ends in a cycle around x*, not at infinity. For steps
    below 1/L, where there are no cycles, a run can be too slow for a fit; then the mean factor per
    step is used.
    """
    rate = swept["rate"].values
    converged = swept["outcome"].values == int(Outcome.CONVERGED)

    # Rates that were not fitted are NaN, so comparisons with them are False.
    with np.errstate(invalid="ignore"):
        explained = (final < _EXPLAINED * rate**steps) & (rate < 1.0)
        trusted = converged | (explained & (small | (final < _CLOSE)))
        fitted = np.where(trusted, rate, np.nan)
        return np.where(small & ~converged & ~explained, final ** (1.0 / steps), fitted)


def advantage(data: xr.Dataset) -> dict[str, list[float]]:
    """The best rate with and without momentum, and their ratio of speeds, for each Q."""
    positive = data["rate"].values[:, :, data["beta"].values > 0.0]
    momentum = [_least(rates, (3, 3)) for rates in positive]
    sgd = [_least(rates, (3,)) for rates in data["sgd_rate"].values]
    speed_up = (np.log(momentum) / np.log(sgd)).tolist()
    return {"momentum": momentum, "sgd": sgd, "speed_up": speed_up}


def _least(rates: FloatArray, window: tuple[int, ...]) -> float:
    """The smallest median over neighbouring pixels, so that a single fit cannot be the best."""
    around = np.lib.stride_tricks.sliding_window_view(np.nan_to_num(rates, nan=1.0), window)
    return float(np.median(around, axis=tuple(range(-len(window), 0))).min())


@style.styled
def draw_noisy_logistic(data: xr.Dataset) -> style.Figure:
    """Draw the rate maps with the line beta = 0 and the contour of the quadratic theory."""
    from matplotlib.colors import PowerNorm

    figure, axes = style.panels(1, data.sizes["Q"], height=3.1, sharey=True)
    speed = advantage(data)["speed_up"]
    for i, axis in enumerate(axes[0]):
        one = data.isel(Q=i)
        maps = one["alpha_L"], one["beta"], one["rate"]
        mesh = style.draw_map(axis, *maps, PowerNorm(2.0, 0.6, 1.0), one["spectral_radius"])
        axis.axhline(0.0, color="white", linestyle="--", linewidth=1.0)
        axis.set_title(f"Q = {float(one['Q']):.1f}: {speed[i]:.2f} × SGD")

    ticks = [0.6, 0.7, 0.8, 0.9, 1.0]
    figure.colorbar(mesh, ax=axes, aspect=30, pad=0.01, ticks=ticks, label="fitted rate per step")
    first = axes[0, 0]
    first.plot([], [], color="#9a9a9a", linestyle="--", label="β = 0: SGD (white)")
    first.plot([], [], color=style.CONTOUR, label="ρ = 1 of a quadratic with the same μ, L")
    return style.finish(figure, axes, 2)


def findings(data: xr.Dataset) -> list[str]:
    """The gain of momentum on the logistic problems."""
    gain = advantage(data)
    return [
        f"Best rate with momentum: {at_each_ratio(data, gain['momentum'], '.4f')}.",
        f"Best rate of SGD: {at_each_ratio(data, gain['sgd'], '.4f')}.",
        f"Momentum is faster by a factor of {at_each_ratio(data, gain['speed_up'], '.2f')}.",
        "The condition number at the minimiser, which sets the final rate, is lower: "
        f"{at_each_ratio(data, data['local_Q'].values, '.1f')}.",
    ]
