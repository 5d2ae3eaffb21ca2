"""Restart on both examples: what stops the divergence, and what does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.arguments import FloatArray
from ravine.figures.entry import FigureEntry
from ravine.figures.style import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    legend_below,
    name_panels,
    panels,
    styled,
)
from ravine.methods import nesterov
from ravine.problems import QuadraticSum, counterexample, turning_quadratics
from ravine.sampling import Sampling

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

RULES: dict[str, tuple[str | None, str, str, Any]] = {
    "never": (None, "never", BLACK, "-"),
    "gradient": ("gradient", "when a step goes against its gradient", BLUE, "--"),
    "sampled": ("sampled", "when the sampled function rose", ORANGE, "-."),
    "full": ("full", "when the whole objective rose", GREEN, "-"),
}
"""Each restart rule by name: what the engine calls it, its words, its colour and its dashes."""


def _examples() -> dict[str, tuple[QuadraticSum, Sampling]]:
    paper = counterexample(0.05, 100.0, 50)
    return {
        "inconsistent batch, cyclic": (paper, Sampling.CYCLIC),
        "inconsistent batch, iid without repeat": (paper, Sampling.IID_NO_REPEAT),
        "inconsistent batch, reshuffled": (paper, Sampling.RESHUFFLE_NO_REPEAT),
        "turning quadratics, cyclic": (turning_quadratics(1.0, 32.0), Sampling.CYCLIC),
    }


def restart(*, steps: int = 2000, trajectories: int = 1000, seed: int = 0) -> xr.Dataset:
    """Data of the figure: rate per step with every restart rule, on the paper's and our example.

    Parameters
    ----------
    steps
        Steps of a run; growth is measured over the second half.
    trajectories
        Runs of each random order.
    seed
        Of the draws.

    Returns
    -------
    xarray.Dataset
        Over (example, rule): ``growth``, the geometric mean of the growth of ‖y - x*‖ per step, and
        ``growth_half``, half the width of its 95 % limits. Over (example, rule, step):
        ``typical``, the geometric mean of the distances. The paper's example has n = 50, Q = 2000;
        the turning quadratics Q = 32.
    """
    import xarray as xr

    from ravine.engine.kernels.finite_sum import ensemble

    visits = np.unique(np.linspace(0, steps, 101).astype(np.int64))
    middle = int(np.searchsorted(visits, steps // 2))
    examples = _examples()
    shape = (len(examples), len(RULES))
    growth = np.empty(shape)
    half = np.empty(shape)
    typical = np.empty((*shape, len(visits)))
    for i, (problem, sampling) in enumerate(examples.values()):
        count = 1 if sampling is Sampling.CYCLIC else trajectories
        for j, (rule, *_) in enumerate(RULES.values()):
            # The turning quadratics without restart grow by 1.16 per step.
            runs = ensemble(
                problem, nesterov(problem.curvature), visits, trajectories=count,
                sampling=sampling, restart=rule, seed=seed,
            )  # fmt: skip
            logs = _logs(runs.norms)
            a_step = (logs[-1] - logs[middle]) / (visits[-1] - visits[middle])
            growth[i, j] = np.exp(a_step.mean())
            # Limits of the mean logarithm, carried over to the growth.
            half[i, j] = 1.96 * a_step.std() / np.sqrt(count) * growth[i, j]
            typical[i, j] = logs.mean(axis=1)

    return xr.Dataset(
        {
            "growth": (("example", "rule"), growth),
            "growth_half": (("example", "rule"), half),
            "log_typical": (("example", "rule", "step"), typical),
        },
        coords={"example": list(examples), "rule": list(RULES), "step": visits},
        attrs={"steps": steps, "trajectories": trajectories, "seed": seed},
    )


def _logs(norms: FloatArray) -> FloatArray:
    """Logarithms of distances; one that has come down to zero counts as 1e-300."""
    return np.log(np.maximum(norms, 1e-300))


@styled
def draw_restart(data: xr.Dataset) -> Figure:
    """Draw the typical distance over the steps, a panel for each example."""
    from matplotlib.lines import Line2D

    # The reshuffled paper's example looks as the cyclic one does.
    shown = [0, 1, 3]
    figure, axes = panels(1, len(shown), height=3.0)
    for axis, i in zip(axes[0], shown, strict=True):
        one = data.isel(example=i)
        for name, (_, _, colour, line) in RULES.items():
            curve = one["log_typical"].sel(rule=name).values / np.log(10.0)
            rate = float(one["growth"].sel(rule=name))
            axis.plot(
                data["step"], curve, color=colour, linestyle=line, linewidth=1.2,
                label=f"{rate:.4f} per step",
            )  # fmt: skip

        axis.set_title(str(one["example"].item()))
        axis.set(xlabel="step k", ylabel="log₁₀ of the typical ‖y − x*‖")
        axis.legend(loc="best")
        axis.axhline(0.0, color="grey", linewidth=0.5)

    name_panels(axes)
    handles = [
        Line2D([], [], color=colour, linestyle=line, label=words)
        for _, words, colour, line in RULES.values()
    ]
    legend_below(figure, handles, 2, title="restart")
    return figure


def _findings(data: xr.Dataset) -> list[str]:
    """Growth with each restart rule."""
    lines = []
    for example, growths in zip(data["example"].values, data["growth"].values, strict=True):
        rules = ", ".join(
            f"{rule} {growth:.4f}"
            for rule, growth in zip(data["rule"].values, growths, strict=True)
        )
        lines.append(f"{example}: {rules} per step.")

    return lines


FIGURE = FigureEntry(
    name="restart",
    title="Restart on both examples",
    caption="Typical distance (geometric mean) with four restart rules: the paper's example with "
    "n = 50, Q = 2000, and the turning quadratics with Q = 32. Where curves coincide the last one "
    "covers the others.",
    compute=restart,
    draw=draw_restart,
    findings=_findings,
    quick={"trajectories": 100},
)
