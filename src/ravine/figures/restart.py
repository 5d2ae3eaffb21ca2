"""Restart on both examples: which rules stop the divergence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from ravine.engine.kernels.finite_sum import ensemble
from ravine.figures.style import BLACK, BLUE, GREEN, ORANGE, finish, panels, styled
from ravine.methods import nesterov
from ravine.problems import QuadraticSum, counterexample, turning_quadratics
from ravine.sampling import Sampling

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RULES: dict[str, tuple[str | None, str, str, Any]] = {
    "never": (None, "never", BLACK, "-"),
    "gradient": ("gradient", "if a step goes against its gradient", BLUE, "--"),
    "sampled": ("sampled", "if the sampled term rises", ORANGE, "-."),
    "full": ("full", "if the whole objective rises", GREEN, "-"),
}
"""Each restart rule by name: its name in the engine, its label, its colour and its dashes."""


def _examples() -> dict[str, tuple[QuadraticSum, Sampling]]:
    paper = counterexample(0.05, 100.0, 50)
    return {
        "inconsistent batch, cyclic": (paper, Sampling.CYCLIC),
        "inconsistent batch, iid without repeats": (paper, Sampling.IID_NO_REPEAT),
        "inconsistent batch, reshuffled": (paper, Sampling.RESHUFFLE_NO_REPEAT),
        "turning quadratics, cyclic": (turning_quadratics(1.0, 32.0), Sampling.CYCLIC),
    }


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
    visits = np.unique(np.linspace(0, steps, 101).astype(np.int64))
    middle = int(np.searchsorted(visits, steps // 2))

    def measured(problem: QuadraticSum, sampling: Sampling, rule: str | None) -> xr.Dataset:
        """The data of one example under one rule."""
        count = 1 if sampling is Sampling.CYCLIC else trajectories
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

    examples = _examples()
    rows = [
        xr.concat([measured(*example, rule) for rule, *_ in RULES.values()], dim="rule")
        for example in examples.values()
    ]
    names = {"example": list(examples), "rule": list(RULES), "step": visits}
    attributes = {"steps": steps, "trajectories": trajectories, "seed": seed}
    return xr.concat(rows, dim="example").assign_coords(names).assign_attrs(attributes)


@styled
def draw_restart(data: xr.Dataset) -> Figure:
    """Draw the typical distance against the steps, one panel per example."""
    # The paper's example looks the same reshuffled and in cyclic order.
    shown = [0, 1, 3]
    figure, axes = panels(1, len(shown), height=4.0)
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

    return finish(figure, axes, 2, title="restart")


def findings(data: xr.Dataset) -> list[str]:
    """Describe the growth with each restart rule."""
    lines = []
    for example, growths in zip(data["example"].values, data["growth"].values, strict=True):
        rules = ", ".join(
            f"{rule} {growth:.4f}"
            for rule, growth in zip(data["rule"].values, growths, strict=True)
        )
        lines.append(f"{example}: {rules} per step.")

    return lines
