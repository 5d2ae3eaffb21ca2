"""Finite sums on which standard Nesterov diverges, and which restart rules stop the divergence.

On four turning quadratics it diverges as soon as on any sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from ravine.arguments import FloatArray
from ravine.curvature import Curvature
from ravine.engine.kernels.finite_sum import ensemble
from ravine.figures import style
from ravine.methods import nesterov
from ravine.problems import QuadraticSum, counterexample, turning_quadratics
from ravine.theory.finite_sums.growth import growth
from ravine.theory.ladder.commuting import commuting_rate
from ravine.theory.ladder.worst_case import worst_case_rate

THRESHOLD = 6.0 + 4.0 * np.sqrt(2.0)
"""The Q above which the standard parameters diverge on some finite sum in some order."""

_BESIDE = 1e-3
"""Relative distance of two Q from the threshold, on both sides: the growth differs from 1 by 2e-4,
which 400 steps distinguish from rounding errors."""

RULES: dict[str, tuple[str | None, str, str, Any]] = {
    "never": (None, "never", style.BLACK, "-"),
    "gradient": ("gradient", "if a step goes against its gradient", style.BLUE, "--"),
    "sampled": ("sampled", "if the sampled term rises", style.ORANGE, "-."),
    "full": ("full", "if the whole objective rises", style.GREEN, "-"),
}
"""Each restart rule by name: its name in the engine, its label, its colour and its dashes."""


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
    problems = [turning_quadratics(1.0, ratio) for ratio in ratios]
    drawn = [turning_quadratics(1.0, ratio) for ratio in shown]
    iid = [
        growth(one.batch_hessians(), nesterov(one.curvature), sampling="iid").rate
        for one in problems
    ]
    return xr.Dataset(
        {
            "measured": ("Q", [_measured(one, steps) for one in problems]),
            "worst_case": ("Q", worst_case_rate(curvature, standard)),
            "commuting": ("Q", commuting_rate(curvature, standard).lower),
            "iid": ("Q", iid),
            "cyclic": (("shown", "step"), [_distances(one, steps, "cyclic") for one in drawn]),
            "full_gradient": (("shown", "step"), [_distances(one, steps, None) for one in drawn]),
        },
        coords={"Q": ratios, "shown": list(shown), "step": np.arange(steps + 1)},
        attrs={"steps": steps, "seed": 0, "threshold": THRESHOLD},
    )


def _distances(problem: QuadraticSum, steps: int, sampling: str | None) -> FloatArray:
    """‖y - x*‖ after every step: one term per step in turn, or the whole gradient."""
    visits = np.arange(steps + 1)
    method = nesterov(problem.curvature)
    return ensemble(problem, method, visits, trajectories=1, sampling=sampling).norms[:, 0]


def _measured(problem: QuadraticSum, steps: int) -> float:
    """Rate per step over the second half of a run, in whole rounds of the four terms."""
    middle = steps // 8 * 4
    distances = _distances(problem, steps, "cyclic")
    return float((distances[-1] / distances[middle]) ** (1.0 / (steps - middle)))


@style.styled
def draw_turning(data: xr.Dataset) -> style.Figure:
    """Draw the growth against Q, and a run on either side of the threshold."""
    figure, axes = style.panels(1, 2, height=3.0)
    left, right = axes[0]
    for name, line, colour, words in (
        ("worst_case", "-", style.BLACK, "exact worst case, √2 (1 − 1/√Q)"),
        ("measured", "o", style.RED, "four quadratics, cyclic"),
        ("commuting", "-.", style.BLUE, "worst with shared axes"),
        ("iid", "--", style.GREEN, "the four, iid (rms)"),
    ):
        left.plot(data["Q"], data[name], line, color=colour, markersize=3.5, label=words)
    left.axhline(1.0, color="grey", linewidth=0.6)
    left.axvline(THRESHOLD, color=style.CONTOUR, linestyle=":", label="Q = 6 + 4√2 = 11.657")
    left.set_xscale("log", base=2)
    left.set_xticks([4, 8, 16, 32, 64], ["4", "8", "16", "32", "64"])
    left.minorticks_off()
    left.set(xlabel="condition number Q", ylabel="rate per step", ylim=(0.3, 1.3))
    left.set_title("standard Nesterov")
    left.legend(loc="lower right")

    steps = data["step"].values
    for ratio, colour in zip(data["shown"].values, (style.ORANGE, style.RED), strict=True):
        one = data.sel(shown=ratio)
        right.semilogy(steps, one["cyclic"], color=colour, label=f"Q = {ratio:g}, cyclic")

    # With full gradients, the run reaches x* = 0 up to rounding within a few steps.
    whole = one["full_gradient"].where(one["full_gradient"] > 1e-16)
    right.semilogy(steps, whole, "--", color=style.BLUE, label=f"Q = {ratio:g}, full gradient")
    right.set(xlabel="step k", ylabel="distance ‖y − x*‖", xlim=(0, steps[-1]))
    right.set_title("either side of the threshold")
    right.legend()
    return style.finish(figure, axes)


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


def restart(*, steps: int = 2000, trajectories: int = 1000, seed: int = 0) -> xr.Dataset:
    """Data of the figure: rate per step with every restart rule, on the two examples.

    Parameters
    ----------
    steps
        Steps of a run; growth is measured over the second half.
    trajectories
        Number of runs of each random order.
    seed
        Seed of the draws.

    Returns
    -------
    xarray.Dataset
        Over (example, rule): ``growth``, the geometric mean of the growth of ‖y - x*‖ per step, and
        ``growth_half``, half the width of its 95 % limits. Over (example, rule, step):
        ``typical``, the geometric mean of the distances. The paper's example has n = 50, Q = 2000;
        the turning quadratics Q = 32.
    """
    paper = counterexample(0.05, 100.0, 50)
    examples = {
        "inconsistent batch, cyclic": (paper, "cyclic"),
        "inconsistent batch, iid without repeats": (paper, "iid-no-repeat"),
        "inconsistent batch, reshuffled": (paper, "reshuffle-no-repeat"),
        "turning quadratics, cyclic": (turning_quadratics(1.0, 32.0), "cyclic"),
    }
    visits = np.unique(np.linspace(0, steps, 101).astype(np.int64))
    middle = int(np.searchsorted(visits, steps // 2))

    def measured(problem: QuadraticSum, sampling: str, rule: str | None) -> xr.Dataset:
        """The data of one example under one rule."""
        count = 1 if sampling == "cyclic" else trajectories
        runs = ensemble(
            problem, nesterov(problem.curvature), visits, trajectories=count,
            sampling=sampling, restart=rule, seed=seed,
        )  # fmt: skip
        # A distance of zero counts as 1e-300.
        logs = np.log(np.maximum(runs.norms, 1e-300))
        per_step = (logs[-1] - logs[middle]) / (visits[-1] - visits[middle])
        growth = np.exp(per_step.mean())
        # Limits of the mean logarithm, converted to the growth.
        half = 1.96 * per_step.std() / np.sqrt(count) * growth
        typical = ("step", logs.mean(axis=1))
        return xr.Dataset({"growth": growth, "growth_half": half, "log_typical": typical})

    rows = [
        xr.concat([measured(*example, rule) for rule, *_ in RULES.values()], dim="rule")
        for example in examples.values()
    ]
    names = {"example": list(examples), "rule": list(RULES), "step": visits}
    attributes = {"steps": steps, "trajectories": trajectories, "seed": seed}
    return xr.concat(rows, dim="example").assign_coords(names).assign_attrs(attributes)


@style.styled
def draw_restart(data: xr.Dataset) -> style.Figure:
    """Draw the typical distance against the steps, one panel per example."""
    # The paper's example looks the same reshuffled and in cyclic order.
    shown = [0, 1, 3]
    figure, axes = style.panels(1, len(shown), height=4.0)
    for axis, i in zip(axes[0], shown, strict=True):
        one = data.isel(example=i)
        rates = []
        for name, (_, words, colour, line) in RULES.items():
            curve = one["log_typical"].sel(rule=name) / np.log(10.0)
            axis.plot(data["step"], curve, color=colour, linestyle=line, label=words)
            rates.append(f"{float(one['growth'].sel(rule=name)):.4f} per step")

        axis.set_title(str(one["example"].item()))
        axis.set(xlabel="step k", ylabel="log₁₀ of the typical ‖y − x*‖")
        axis.margins(y=0.5)
        axis.legend(axis.get_lines(), rates)
        axis.axhline(0.0, color="grey", linewidth=0.5)

    return style.finish(figure, axes, 2, title="restart")


def restart_findings(data: xr.Dataset) -> list[str]:
    """Describe the growth with each restart rule."""
    lines = []
    for growths in data["growth"]:
        rules = ", ".join(f"{one['rule'].item()} {one.item():.4f}" for one in growths)
        lines.append(f"{growths['example'].item()}: {rules} per step.")

    return lines
