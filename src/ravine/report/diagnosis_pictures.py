"""The pictures of a diagnosis: batches, parameter plane, predicted and measured errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.diagnosis.candidates import tuning_moments
from ravine.diagnosis.verdict import share_of_start
from ravine.methods import Method
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ravine.diagnosis import Diagnosis

COLOURS = {
    "yours": "#000000", "nesterov": "#c1272d", "pytorch": "#e69f00", "sgd": "#999999",
    "tuned-sgd": "#56b4e9", "certified": "#009e73", "safe": "#009e73", "fastest": "#0072b2",
    "budget": "#cc79a7",
}  # fmt: skip
_GRID = (36, 26)


@dataclass(frozen=True, eq=False)
class Plane:
    """Where each guarantee holds over (alpha L, beta), and where the candidates lie."""

    steps: FloatArray
    momenta: FloatArray
    exact_gradients: FloatArray
    mean_square: FloatArray
    any_order: FloatArray | None


def plane(found: Diagnosis) -> Plane:
    """Regions over a grid of Nesterov parameters: 1 where the method converges, else 0."""
    survey = found.survey
    L = float(survey.curvature.L)
    points = [float(p.candidate.method.alpha) * L for p in found.predictions]
    usual = [a for a in points if a < 20.0]
    low = min(1e-2, *(0.5 * a for a in usual))
    steps = np.geomspace(max(low, 1e-6), 8.0, _GRID[0])
    momenta = np.linspace(-0.3, 0.995, _GRID[1])
    methods = Method(steps[:, None] / L, momenta[None, :])
    moments = tuning_moments(survey.moments)
    stable = np.array(
        [[moments.is_stable(Method(a / L, b)) for b in momenta] for a in steps], dtype=float
    )
    proven = survey.certified_curvature
    exact = np.asarray(spectral_radius(survey.curvature, methods)) < 1.0
    any_order = None
    if proven is not None:
        any_order = (np.asarray(worst_case_rate(proven, methods)) < 1.0).astype(float)
    return Plane(steps, momenta, exact.astype(float), stable * exact, any_order)


def draw_plane(found: Diagnosis) -> Figure:
    """The (alpha, beta) plane of these data with the candidates in it."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    data = plane(found)
    figure = Figure(figsize=(7.6, 4.8), layout="constrained")
    axes = figure.add_subplot()
    axes.set_facecolor("#f3eee3")
    layers = [
        (data.exact_gradients, "#cfe3f1", "exact gradients"),
        (data.mean_square, "#8fbfdf", "mean square on these batches, drawn iid"),
    ]
    if data.any_order is not None:
        layers.append((data.any_order, "#3d85bd", "every order of the batches (certified)"))
    for region, colour, _ in layers:
        if region.any():
            axes.contourf(data.steps, data.momenta, region.T, levels=[0.5, 1.5], colors=[colour])
    axes.set_xscale("log")
    marks = []
    for p in found.predictions:
        m = p.candidate.method
        at = float(m.alpha) * float(found.survey.curvature.L)
        if data.steps[0] <= at <= data.steps[-1]:
            marks += axes.plot(
                at, float(m.beta), "o", color=COLOURS[p.candidate.key], markersize=8,
                markeredgecolor="white", label=p.candidate.name,
            )  # fmt: skip
    handles = [Patch(color=colour, label=label) for _, colour, label in layers] + marks
    axes.set(xlabel="step size × L of the whole objective", ylabel="momentum", ylim=(-0.3, 1.02))
    figure.legend(handles=handles, loc="outside right upper", fontsize=8, frameon=False)
    return figure


def draw_batches(found: Diagnosis) -> Figure:
    """Largest and least curvature of every batch, sorted, beside those of the whole."""
    from matplotlib.figure import Figure

    survey = found.survey
    order = np.argsort(survey.local[:, 1])
    place = np.arange(1, len(order) + 1)
    figure = Figure(figsize=(7.6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    few = len(order) <= 400
    style: dict[str, Any] = {"markersize": 4 if few else 1.5, "linestyle": "none", "marker": "o"}
    axes.plot(place, survey.local[order, 1], color="#c1272d", label="largest, of a batch", **style)
    low = survey.local[order, 0]
    if (low > 1e-12 * survey.local[:, 1].max()).any():
        axes.plot(place, np.where(low > 0, low, np.nan), color="#0072b2",
                  label="least, of a batch", **style)  # fmt: skip
    axes.axhline(float(survey.curvature.L), color="#c1272d", lw=1, ls="--", label="L of the whole")
    axes.axhline(
        float(survey.curvature.mu), color="#0072b2", lw=1, ls="--", label="mu of the whole"
    )
    axes.set_yscale("log")
    axes.set(
        xlabel="batches, sorted by their largest curvature", ylabel="curvature at the minimiser"
    )
    _name_leader(found, axes, order)
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    return figure


def _name_leader(found: Diagnosis, axes: Axes, order: npt.NDArray[np.intp]) -> None:
    lead = found.disagreement.batches[0]
    where = int(np.flatnonzero(order == lead)[0]) + 1
    height = float(found.survey.local[lead, 1])
    axes.annotate(
        f"batch {lead}", (where, height), xytext=(-12, 10), textcoords="offset points",
        fontsize=8, ha="right", arrowprops={"arrowstyle": "-", "lw": 0.7},
    )  # fmt: skip
    axes.margins(y=0.15)


def draw_curves(found: Diagnosis) -> Figure:
    """Predicted (dashed) and measured (solid) errors over the steps, relative to the start."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(7.6, 4.6), layout="constrained")
    axes = figure.add_subplot()
    runs, scale = found.runs, share_of_start(found, 1.0)
    for i, p in enumerate(found.predictions):
        colour = COLOURS[p.candidate.key]
        measured = np.sqrt(runs.squares[:, :, i].mean(axis=1)) * scale
        axes.plot(runs.steps, _shown(measured), color=colour, lw=1.4, label=p.candidate.name)
        if p.curve is not None:
            curve = np.sqrt(np.maximum(p.curve, 0.0)) * scale
            axes.plot(runs.steps, _shown(curve), color=colour, lw=1.1, ls=(0, (3, 2)))
    axes.set_yscale("log")
    axes.set(xlabel="steps", ylabel="‖y − x*‖, root mean square / start")
    handles, _ = axes.get_legend_handles_labels()
    handles += [
        Line2D([], [], color="#555555", lw=1.4, label="measured"),
        Line2D([], [], color="#555555", lw=1.1, ls=(0, (3, 2)), label="predicted"),
    ]
    figure.legend(handles=handles, loc="outside right upper", fontsize=8, frameon=False)
    return figure


def _shown(values: FloatArray) -> FloatArray:
    """Cut off what has diverged: beyond a hundred times the start nothing is learnt."""
    return np.where(np.isfinite(values) & (values < 1e2), values, np.nan)
