"""Figure 3: SGD at alpha = 2/(mu + L) on partitioned least squares, under its bound."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ravine.figures.style import BLUE, GREEN, RED, SKY, name_panels, panels
from ravine.methods import sgd
from ravine.problems.least_squares import partitioned_least_squares
from ravine.sampling import Sampling
from ravine.theory.bounds.finite_sum import best_sgd_finite_sum_bound
from ravine.theory.finite_sums.stationary_covariance import stationary_covariance

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

CONDITION_NUMBERS = (16.0, 32.0, 64.0)
DISTANCE = 1000.0
"""How far from x* the runs start."""


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
        Steps of a run; one batch a step, drawn with replacement.
    trajectories
        Runs whose mean estimates E‖y - x*‖.
    samples, batches
        Size of the problem.
    seed
        Of the data and the draws.

    Returns
    -------
    xarray.Dataset
        Over (Q, step): ``bound`` (the corollary), ``mean`` of the runs, ``largest`` of them, and
        ``rms_floor``, the exact stationary root mean square; ``runs`` (Q, run, step), ten of them.
    """
    import xarray as xr

    from ravine.engine.kernels.finite_sum import ensemble

    bounds, means, largest, few, floors, mean_floors = [], [], [], [], [], []
    for ratio in Q:
        problem = partitioned_least_squares(samples, 2, batches, Q=ratio, seed=seed)
        method = sgd(problem.curvature)
        away = problem.start - problem.minimiser
        start = problem.minimiser + DISTANCE * away / np.linalg.norm(away)
        found = ensemble(
            problem, method, np.arange(steps + 1), trajectories=trajectories,
            sampling=Sampling.IID, seed=seed, start=start,
        )  # fmt: skip
        sigma = problem.gradient_spread
        bound = best_sgd_finite_sum_bound(
            problem.curvature, steps=steps, distance=DISTANCE, sigma=sigma
        )
        law = stationary_covariance(problem.batch_hessians(), problem.batch_gradients(), method)
        bounds.append(bound.values)
        floors.append(np.sqrt(law.error))
        mean_floors.append(bound.floor)
        means.append(found.norms.mean(axis=1))
        largest.append(found.norms.max(axis=1))
        few.append(found.norms[:, :10].T)
    return xr.Dataset(
        {
            "bound": (("Q", "step"), np.stack(bounds)),
            "mean": (("Q", "step"), np.stack(means)),
            "largest": (("Q", "step"), np.stack(largest)),
            "runs": (("Q", "run", "step"), np.stack(few)),
            "rms_floor": ("Q", np.array(floors)),
            "bound_floor": ("Q", np.array(mean_floors)),
        },
        coords={"Q": list(Q), "step": np.arange(steps + 1)},
        attrs={"trajectories": trajectories, "samples": samples, "batches": batches, "seed": seed},
    )


def tightness(data: xr.Dataset) -> dict[str, list[float]]:
    """How close the runs come to the bound, one number for each Q.

    Returns
    -------
    dict
        ``largest``: the largest error of any run over the bound, at the worst step. ``rate``: the
        fitted factor per step of the mean over the bound's (Q-1)/(Q+1), in the transient.
        ``floor``: the bound's floor over the measured mean error in the last quarter.
    """
    steps = data["step"].values
    out: dict[str, list[float]] = {"largest": [], "rate": [], "floor": []}
    for Q in data["Q"].values:
        one = data.sel(Q=Q)
        out["largest"].append(float((one["largest"] / one["bound"]).max()))
        mean, floor = one["mean"].values, float(one["bound_floor"])
        early = np.flatnonzero(mean > 20.0 * floor)
        last = int(early[-1]) if len(early) > 1 else 1
        rate = float((mean[last] / mean[0]) ** (1.0 / last))
        out["rate"].append(rate / ((Q - 1.0) / (Q + 1.0)))
        out["floor"].append(floor / float(mean[-(len(steps) // 4) :].mean()))
    return out


def draw_sgd_finite_sum(data: xr.Dataset) -> Figure:
    """Draw Figure 3: the bound dashed, runs and their mean solid."""
    from matplotlib.lines import Line2D

    figure, axes = panels(1, data.sizes["Q"], height=2.8, sharey=True)
    steps = data["step"].values
    for axis, Q in zip(axes[0], data["Q"].values, strict=True):
        one = data.sel(Q=Q)
        for run in one["runs"].values:
            axis.semilogy(steps, run, color=SKY, linewidth=0.4, alpha=0.7)
        axis.semilogy(steps, one["mean"], color=BLUE, linewidth=1.4)
        axis.semilogy(steps, one["bound"], color=RED, linestyle="--", linewidth=1.4)
        axis.axhline(float(one["rms_floor"]), color=GREEN, linestyle=":", linewidth=1.2)
        axis.set_title(f"Q = {Q:g}", fontsize=8.0)
        axis.set_xlabel("step k", fontsize=8.0)
        axis.set_xlim(0, steps[-1])
    axes[0, 0].set_ylabel("distance ‖y − x*‖", fontsize=8.0)
    name_panels(axes)
    handles = [
        Line2D([], [], color=RED, linestyle="--", label="bound of the corollary"),
        Line2D([], [], color=BLUE, label=f"mean of {data.attrs['trajectories']} runs"),
        Line2D([], [], color=SKY, linewidth=0.8, label="ten of the runs"),
        Line2D([], [], color=GREEN, linestyle=":", label="exact stationary rms"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=7.5)
    return figure
