"""Four turning quadratics: the sum that breaks usual Nesterov as soon as any sum can."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.figures.style import BLACK, BLUE, CONTOUR, GREEN, ORANGE, RED, name_panels, panels
from ravine.methods import nesterov
from ravine.problems.counterexample import turning_quadratics
from ravine.sampling import Sampling
from ravine.theory.finite_sums.growth import growth
from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.worst_case import worst_case_rate

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

THRESHOLD = 6.0 + 4.0 * np.sqrt(2.0)
"""The Q above which some finite sum, in some order, breaks the usual parameters."""
_BESIDE = 1e-3  # relative distance of the two Q on both sides of the threshold


def turning(
    *, Q: Sequence[float] | None = None, shown: tuple[float, float] = (11.0, 12.5), steps: int = 800
) -> xr.Dataset:
    """Data of the figure: growth of the four quadratics over Q, and two runs.

    Parameters
    ----------
    Q
        Condition numbers; by default 22 from 4 to 64 and two right beside 6 + 4√2.
    shown
        The condition numbers of the runs that are drawn.
    steps
        Steps of a run; growth is measured over the second half, a multiple of 4.

    Returns
    -------
    xarray.Dataset
        Over Q: ``measured`` growth a step in cyclic order, ``worst_case`` (exact over all sums),
        ``commuting`` (exact over sums with shared eigenvectors), ``iid`` root-mean-square growth
        of the same four terms. Over (shown, step): ``cyclic`` and ``full_gradient`` distances.
    """
    import xarray as xr

    if Q is None:
        beside = THRESHOLD * np.array([1.0 - _BESIDE, 1.0 + _BESIDE])
        Q = np.sort(np.concatenate([np.geomspace(4.0, 64.0, 22), beside])).tolist()
    ratios = np.asarray(Q, dtype=np.float64)
    curvature = Curvature(np.ones_like(ratios), ratios)
    usual = nesterov(curvature)
    return xr.Dataset(
        {
            "measured": ("Q", np.array([_measured(ratio, steps) for ratio in ratios])),
            "worst_case": ("Q", np.asarray(worst_case_rate(curvature, usual))),
            "commuting": ("Q", np.asarray(commuting_rate(curvature, usual).lower)),
            "iid": ("Q", np.array([_iid(ratio) for ratio in ratios])),
            "cyclic": (("shown", "step"), np.stack([_run(r, steps, True) for r in shown])),
            "full_gradient": (("shown", "step"), np.stack([_run(r, steps, False) for r in shown])),
        },
        coords={"Q": ratios, "shown": list(shown), "step": np.arange(steps + 1)},
        attrs={"steps": steps, "seed": 0, "threshold": THRESHOLD},
    )


def _distances(ratio: float, visits: npt.ArrayLike, cyclic: bool) -> FloatArray:
    from ravine.engine.kernels.finite_sum import ensemble

    problem = turning_quadratics(1.0, ratio)
    order = Sampling.CYCLIC if cyclic else None
    found = ensemble(problem, nesterov(problem.curvature), visits, trajectories=1, sampling=order)
    return found.norms[:, 0]


def _measured(ratio: float, steps: int) -> float:
    early, late = _distances(ratio, np.array([steps // 8 * 4, steps]), True)
    return float((late / early) ** (1.0 / (steps - steps // 8 * 4)))


def _iid(ratio: float) -> float:
    problem = turning_quadratics(1.0, ratio)
    return growth(problem.batch_hessians(), nesterov(problem.curvature), sampling="iid").rate


def _run(ratio: float, steps: int, cyclic: bool) -> FloatArray:
    return _distances(ratio, np.arange(steps + 1), cyclic)


def draw_turning(data: xr.Dataset) -> Figure:
    """Draw the growth over Q, and a run on either side of the threshold."""
    figure, axes = panels(1, 2, height=3.0)
    left, right = axes[0]
    ratios = data["Q"].values
    left.plot(ratios, data["worst_case"], color=BLACK, label="exact worst case, √2 (1 − 1/√Q)")
    left.plot(
        ratios, data["measured"], "o", color=RED, markersize=3.5, label="four quadratics, cyclic"
    )
    left.plot(ratios, data["commuting"], color=BLUE, linestyle="-.", label="worst with shared axes")
    left.plot(ratios, data["iid"], color=GREEN, linestyle="--", label="the four, iid (rms)")
    left.axhline(1.0, color="grey", linewidth=0.6)
    left.axvline(THRESHOLD, color=CONTOUR, linestyle=":", label="Q = 6 + 4√2 = 11.657")
    left.set_xscale("log", base=2)
    ticks = [4, 8, 16, 32, 64]
    left.set_xticks(ticks, [str(tick) for tick in ticks])
    left.minorticks_off()
    left.set(xlabel="condition number Q", ylabel="growth a step")
    left.set_title("usual Nesterov parameters", fontsize=8.0)
    left.legend(fontsize=6.5, frameon=False, loc="lower right")
    steps = data["step"].values
    for ratio, colour in zip(data["shown"].values, (ORANGE, RED), strict=True):
        one = data.sel(shown=ratio)
        right.semilogy(steps, one["cyclic"], color=colour, label=f"Q = {ratio:g}, cyclic")
    first = data.isel(shown=-1)
    kept = first["full_gradient"].values > 1e-16
    right.semilogy(
        steps[kept], first["full_gradient"].values[kept], color=BLUE, linestyle="--",
        label=f"Q = {float(first['shown']):g}, full gradient",
    )  # fmt: skip
    right.set(xlabel="step k", ylabel="distance ‖y − x*‖", xlim=(0, steps[-1]))
    right.set_title("either side of the threshold", fontsize=8.0)
    right.legend(fontsize=6.5, frameon=False)
    name_panels(axes)
    return figure
