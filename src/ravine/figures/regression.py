"""Figure 3 and an appendix figure: SGD on least squares, momentum on logistic regression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xarray as xr

from ravine.arguments import FloatArray
from ravine.engine.kernels.finite_sum import ensemble
from ravine.engine.measures import Outcome
from ravine.engine.run import run
from ravine.engine.sweep import sweep
from ravine.figures import style
from ravine.methods import Method, nesterov, sgd
from ravine.problems import Problem, multinomial_logistic, partitioned_least_squares
from ravine.sampling import Sampling
from ravine.theory.bounds import best_sgd_finite_sum
from ravine.theory.finite_sums.mean_square import stationary_covariance
from ravine.theory.ladder.rates import spectral_radius

CONDITION_NUMBERS = (16.0, 32.0, 64.0)
"""Condition numbers of the panels of Figure 3, as in the paper."""

DISTANCE = 1000.0
"""Initial distance from x*: two decades above the floor of the bound."""

DRAWN = 10
"""Number of single runs in the figure, as in the paper."""

_TRANSIENT = 20.0
"""The rate is fitted while the mean exceeds the bound's floor by this factor: noise is 5 %
there."""

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


def sgd_finite_sum(
    *,
    Q: Sequence[float] = CONDITION_NUMBERS,
    steps: int = 500,
    trajectories: int = 1000,
    samples: int = 25000,
    batches: int = 50,
    seed: int = 0,
) -> xr.Dataset:
    """Data of Figure 3: 25000 samples of 2 features in 50 batches, each of condition number Q.

    Parameters
    ----------
    Q
        Condition numbers.
    steps
        Steps of a run; one batch per step, drawn with replacement.
    trajectories
        Number of runs in the mean that estimates E‖y - x*‖.
    samples, batches
        Size of the problem.
    seed
        Seed of the data and the draws.

    Returns
    -------
    xarray.Dataset
        Over (Q, step): ``bound`` of the corollary, ``mean`` and ``largest`` of the runs, and
        ``rms_floor``, the exact stationary root mean square; ``runs`` (Q, run, step), ten of them.
    """
    rows = []
    for ratio in Q:
        problem = partitioned_least_squares(samples, 2, batches, Q=ratio, seed=seed)
        method = sgd(problem.curvature)

        away = problem.start - problem.minimiser
        start = problem.minimiser + DISTANCE * away / np.linalg.norm(away)
        runs = ensemble(
            problem, method, np.arange(steps + 1), trajectories=trajectories,
            sampling=Sampling.IID, seed=seed, start=start,
        )  # fmt: skip

        promise = best_sgd_finite_sum(problem.curvature)
        bound = promise.envelope(steps=steps, distance=DISTANCE, sigma=problem.mean_gradient_norm)
        law = stationary_covariance(problem.batch_hessians(), problem.batch_gradients(), method)
        rows.append(
            xr.Dataset(
                {
                    "bound": ("step", bound.values),
                    "mean": ("step", runs.norms.mean(axis=1)),
                    "largest": ("step", runs.norms.max(axis=1)),
                    "runs": (("run", "step"), runs.norms[:, :DRAWN].T),
                    "rms_floor": np.sqrt(law.error),
                    "bound_floor": bound.floor,
                },
                coords={"step": np.arange(steps + 1)},
            )
        )

    made = {"trajectories": trajectories, "samples": samples, "batches": batches, "seed": seed}
    return style.over_ratios(rows, Q, **made)


def tightness(data: xr.Dataset) -> dict[str, list[float]]:
    """Measure how close the runs come to the bound, for each Q.

    Returns
    -------
    dict
        ``largest``: the largest error of any run over the bound, at the worst step. ``rate``: the
        fitted factor per step of the mean over the bound's (Q-1)/(Q+1), in the transient.
        ``floor``: the bound's floor over the measured mean error in the last quarter.
    """
    rates = []
    for Q, mean, floor in zip(data["Q"].values, data["mean"], data["bound_floor"], strict=True):
        early = np.flatnonzero(mean > _TRANSIENT * floor)
        last = int(early[-1]) if len(early) > 1 else 1
        rate = float(mean[last] / mean[0]) ** (1.0 / last)
        rates.append(float(rate * (Q + 1.0) / (Q - 1.0)))

    late = data["mean"].isel(step=slice(-(data.sizes["step"] // 4), None)).mean("step")
    return {
        "largest": (data["largest"] / data["bound"]).max("step").values.tolist(),
        "rate": rates,
        "floor": (data["bound_floor"] / late).values.tolist(),
    }


@style.styled
def draw_sgd_finite_sum(data: xr.Dataset) -> style.Figure:
    """Draw Figure 3: the bound dashed, runs and their mean solid."""
    figure, axes = style.panels(1, data.sizes["Q"], height=2.8, sharey=True)
    steps = data["step"].values
    average = f"mean of {data.attrs['trajectories']} runs"
    for axis, Q in zip(axes[0], data["Q"].values, strict=True):
        one = data.sel(Q=Q)
        axis.semilogy(steps, one["runs"].T, color=style.SKY, linewidth=0.4, alpha=0.7)
        axis.semilogy(steps, one["mean"], color=style.BLUE, linewidth=1.4, label=average)
        label = "bound of the corollary"
        axis.semilogy(steps, one["bound"], "--", color=style.RED, linewidth=1.4, label=label)
        axis.axhline(
            one["rms_floor"], color=style.GREEN, linestyle=":", label="exact stationary rms"
        )
        axis.set_title(f"Q = {Q:g}")
        axis.set(xlabel="step k", ylabel="distance ‖y − x*‖", xlim=(0, steps[-1]))

    axes[0, 0].plot([], [], color=style.SKY, linewidth=0.8, label="ten of the runs")
    return style.finish(figure, axes, 4)


def findings(data: xr.Dataset) -> list[str]:
    """Describe how close the runs come to the bound."""
    closeness = tightness(data)
    mean = float((data["mean"] / data["bound"]).max())
    drawn = float((data["runs"] / data["bound"]).max())
    rate = style.at_each_ratio(data, closeness["rate"], ".5f")
    floor = style.at_each_ratio(data, closeness["floor"], ".2f")

    return [
        f"Largest mean distance over the bound: {mean:.4f}. Largest of the ten drawn runs: "
        f"{drawn:.4f}. Largest of all runs at any step: "
        f"{style.at_each_ratio(data, closeness['largest'], '.3f')}.",
        f"Rate of the transient over (Q-1)/(Q+1): {rate}.",
        f"The bound's floor over the measured one: {floor}; independent draws average out, which "
        "leaves √Q.",
    ]


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
    return style.over_ratios(rows, ratios, steps=steps, sigma2=SIGMA2, seed=seed)


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


def logistic_findings(data: xr.Dataset) -> list[str]:
    """The gain of momentum on the logistic problems."""
    gain = advantage(data)
    return [
        f"Best rate with momentum: {style.at_each_ratio(data, gain['momentum'], '.4f')}.",
        f"Best rate of SGD: {style.at_each_ratio(data, gain['sgd'], '.4f')}.",
        f"Momentum is faster by a factor of {style.at_each_ratio(data, gain['speed_up'], '.2f')}.",
        "The condition number at the minimiser, which sets the final rate, is lower: "
        f"{style.at_each_ratio(data, data['local_Q'].values, '.1f')}.",
    ]
