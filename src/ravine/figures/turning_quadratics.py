"""Four turning quadratics: standard Nesterov diverges on them as soon as on any sum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.engine.kernels.finite_sum import ensemble
from ravine.figures.style import BLACK, BLUE, CONTOUR, GREEN, ORANGE, RED, finish, panels, styled
from ravine.methods import nesterov
from ravine.problems import turning_quadratics
from ravine.sampling import Sampling
from ravine.theory.finite_sums.growth import growth
from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.worst_case import worst_case_rate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

THRESHOLD = 6.0 + 4.0 * np.sqrt(2.0)
"""The Q above which the standard parameters diverge on some finite sum in some order."""

_BESIDE = 1e-3
"""Relative distance of two Q from the threshold, on both sides: the growth differs from 1 by 2e-4,
which 400 steps distinguish from rounding errors."""


def turning(
    *, Q: Sequence[float] | None = None, shown: tuple[float, float] = (11.0, 12.5), steps: int = 800
) -> xr.Dataset:
    """Data of the figure: growth of the four quadratics over Q, and two runs.

    Parameters
    ----------
    Q
        Condition numbers. Default: 22 from 4 to 64, and two next to 6 + 4√2.
    shown
        Condition numbers of the runs in the figure.
    steps
        Steps of a run; growth is measured over the second half, a multiple of 4.

    Returns
    -------
    xarray.Dataset
        Over Q: ``measured`` rate per step in cyclic order, ``worst_case`` (exact over all sums),
        ``commuting`` (exact over sums with shared eigenvectors), ``iid`` root-mean-square growth
        of the same four terms. Over (shown, step): ``cyclic`` and ``full_gradient`` distances.
    """
    if Q is None:
        beside = THRESHOLD * np.array([1.0 - _BESIDE, 1.0 + _BESIDE])
        Q = np.sort(np.concatenate([np.geomspace(4.0, 64.0, 22), beside])).tolist()

    ratios = np.asarray(Q, dtype=np.float64)
    curvature = Curvature(np.ones_like(ratios), ratios)
    standard = nesterov(curvature)
    cyclic = [_distances(ratio, steps, Sampling.CYCLIC) for ratio in shown]
    whole = [_distances(ratio, steps, None) for ratio in shown]
    terms = [turning_quadratics(1.0, ratio).batch_hessians() for ratio in ratios]
    iid = [
        growth(one, nesterov(Curvature(1.0, ratio)), sampling="iid").rate
        for one, ratio in zip(terms, ratios, strict=True)
    ]
    return xr.Dataset(
        {
            "measured": ("Q", [_measured(ratio, steps) for ratio in ratios]),
            "worst_case": ("Q", worst_case_rate(curvature, standard)),
            "commuting": ("Q", commuting_rate(curvature, standard).lower),
            "iid": ("Q", iid),
            "cyclic": (("shown", "step"), cyclic),
            "full_gradient": (("shown", "step"), whole),
        },
        coords={"Q": ratios, "shown": list(shown), "step": np.arange(steps + 1)},
        attrs={"steps": steps, "seed": 0, "threshold": THRESHOLD},
    )


def _distances(ratio: float, steps: int, sampling: Sampling | None) -> FloatArray:
    """‖y - x*‖ after every step: one term per step in turn, or the whole gradient."""
    problem = turning_quadratics(1.0, ratio)
    visits = np.arange(steps + 1)
    method = nesterov(problem.curvature)
    return ensemble(problem, method, visits, trajectories=1, sampling=sampling).norms[:, 0]


def _measured(ratio: float, steps: int) -> float:
    """Rate per step over the second half of a run, in whole rounds of the four terms."""
    middle = steps // 8 * 4
    distances = _distances(ratio, steps, Sampling.CYCLIC)
    return float((distances[-1] / distances[middle]) ** (1.0 / (steps - middle)))


@styled
def draw_turning(data: xr.Dataset) -> Figure:
    """Draw the growth against Q, and a run on either side of the threshold."""
    figure, axes = panels(1, 2, height=3.0)
    left, right = axes[0]
    for name, style, colour, words in (
        ("worst_case", "-", BLACK, "exact worst case, √2 (1 − 1/√Q)"),
        ("measured", "o", RED, "four quadratics, cyclic"),
        ("commuting", "-.", BLUE, "worst with shared axes"),
        ("iid", "--", GREEN, "the four, iid (rms)"),
    ):
        left.plot(data["Q"], data[name], style, color=colour, markersize=3.5, label=words)
    left.axhline(1.0, color="grey", linewidth=0.6)
    left.axvline(THRESHOLD, color=CONTOUR, linestyle=":", label="Q = 6 + 4√2 = 11.657")
    left.set_xscale("log", base=2)
    left.set_xticks([4, 8, 16, 32, 64], ["4", "8", "16", "32", "64"])
    left.minorticks_off()
    left.set(xlabel="condition number Q", ylabel="rate per step", ylim=(0.3, 1.3))
    left.set_title("standard Nesterov")
    left.legend(loc="lower right")

    steps = data["step"].values
    for ratio, colour in zip(data["shown"].values, (ORANGE, RED), strict=True):
        one = data.sel(shown=ratio)
        right.semilogy(steps, one["cyclic"], color=colour, label=f"Q = {ratio:g}, cyclic")

    # With full gradients, the run reaches x* = 0 up to rounding within a few steps.
    whole = one["full_gradient"].where(one["full_gradient"] > 1e-16)
    right.semilogy(steps, whole, "--", color=BLUE, label=f"Q = {ratio:g}, full gradient")
    right.set(xlabel="step k", ylabel="distance ‖y − x*‖", xlim=(0, steps[-1]))
    right.set_title("either side of the threshold")
    right.legend()
    return finish(figure, axes)


def findings(data: xr.Dataset) -> list[str]:
    """Describe the measured growth, the closed form and the threshold."""
    off = float(np.abs(data["measured"] / data["worst_case"] - 1.0).max())
    ratios = data["Q"].values
    growing = data["measured"].values > 1.0

    return [
        f"Measured growth agrees with √2 (1 - 1/√Q) to {off:.0e}.",
        f"Converges at Q = {ratios[~growing].max():.4f}, diverges at Q = "
        f"{ratios[growing].min():.4f}; the threshold is {data.attrs['threshold']:.4f}.",
    ]
