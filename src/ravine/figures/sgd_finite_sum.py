"""Figure 3: SGD at alpha = 2/(mu + L) on partitioned least squares, and its bound."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import xarray as xr

from ravine.engine.kernels.finite_sum import ensemble
from ravine.figures.ratios import at_each_ratio, over_ratios
from ravine.figures.style import BLUE, GREEN, RED, SKY, Figure, finish, panels, styled
from ravine.methods import sgd
from ravine.problems import partitioned_least_squares
from ravine.sampling import Sampling
from ravine.theory.bounds import best_sgd_finite_sum
from ravine.theory.finite_sums.mean_square import stationary_covariance

CONDITION_NUMBERS = (16.0, 32.0, 64.0)
"""Condition numbers of the panels, as in the paper."""

DISTANCE = 1000.0
"""Initial distance from x*: two decades above the floor of the bound."""

DRAWN = 10
"""Number of single runs in the figure, as in the paper."""

_TRANSIENT = 20.0
"""The rate is fitted while the mean exceeds the bound's floor by this factor: noise is 5 %
there."""


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
    return over_ratios(rows, Q, **made)


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


@styled
def draw_sgd_finite_sum(data: xr.Dataset) -> Figure:
    """Draw Figure 3: the bound dashed, runs and their mean solid."""
    figure, axes = panels(1, data.sizes["Q"], height=2.8, sharey=True)
    steps = data["step"].values
    average = f"mean of {data.attrs['trajectories']} runs"
    for axis, Q in zip(axes[0], data["Q"].values, strict=True):
        one = data.sel(Q=Q)
        axis.semilogy(steps, one["runs"].T, color=SKY, linewidth=0.4, alpha=0.7)
        axis.semilogy(steps, one["mean"], color=BLUE, linewidth=1.4, label=average)
        label = "bound of the corollary"
        axis.semilogy(steps, one["bound"], "--", color=RED, linewidth=1.4, label=label)
        axis.axhline(one["rms_floor"], color=GREEN, linestyle=":", label="exact stationary rms")
        axis.set_title(f"Q = {Q:g}")
        axis.set(xlabel="step k", ylabel="distance ‖y − x*‖", xlim=(0, steps[-1]))

    axes[0, 0].plot([], [], color=SKY, linewidth=0.8, label="ten of the runs")
    return finish(figure, axes, 4)


def findings(data: xr.Dataset) -> list[str]:
    """Describe how close the runs come to the bound."""
    closeness = tightness(data)
    mean = float((data["mean"] / data["bound"]).max())
    drawn = float((data["runs"] / data["bound"]).max())

    return [
        f"Largest mean distance over the bound: {mean:.4f}. Largest of the ten drawn runs: "
        f"{drawn:.4f}. Largest of all runs at any step: "
        f"{at_each_ratio(data, closeness['largest'], '.3f')}.",
        f"Rate of the transient over (Q-1)/(Q+1): {at_each_ratio(data, closeness['rate'], '.5f')}.",
        "The bound's floor over the measured one: "
        f"{at_each_ratio(data, closeness['floor'], '.2f')}; independent draws average out, which "
        "leaves √Q.",
    ]
