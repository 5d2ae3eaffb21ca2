"""The pictures of a diagnosis: batches, parameter plane, predicted and measured errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.diagnosis.candidates import tuning_moments
from ravine.methods import Method
from ravine.theory.finite_sums.second_moments import growth_plane
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ravine.diagnosis import Diagnosis

COLOURS = {
    "yours": "#000000", "nesterov": "#c1272d", "pytorch": "#e69f00", "pytorch-decay": "#b8860b",
    "sgd": "#999999", "one-over-L": "#6d6d6d", "tuned-sgd": "#56b4e9", "certified": "#009e73",
    "safe": "#009e73", "iid": "#66a61e", "fastest": "#0072b2", "constant": "#cc79a7",
    "schedule": "#7b3294", "averaged": "#d95f8d", "quick": "#1b7837",
}  # fmt: skip
_GRID = (56, 40)
"""Step sizes and momenta of the picture; boundaries are drawn between them."""


@dataclass(frozen=True, eq=False)
class Plane:
    """Logarithms of rates over (alpha L, beta): below 0 a method converges.

    As numbers, not as regions, so that boundaries run between the points of the grid.
    """

    steps: FloatArray
    momenta: FloatArray
    exact_gradients: FloatArray
    mean_square: FloatArray
    any_order: FloatArray | None


def plane(result: Diagnosis) -> Plane:
    """Rates over a grid of Nesterov parameters."""
    survey = result.survey
    L = float(survey.curvature.L)
    points = [float(p.candidate.method.alpha) * L for p in result.predictions]
    usual = [a for a in points if a < 20.0]
    low = min(1e-2, *(0.5 * a for a in usual))
    steps = np.geomspace(max(low, 1e-6), 8.0, _GRID[0])
    momenta = np.linspace(-0.3, 0.995, _GRID[1])
    methods = Method(steps[:, None] / L, momenta[None, :])
    moments = tuning_moments(survey.moments)
    exact = _log(np.asarray(spectral_radius(survey.curvature, methods)))
    # Directions that are left out of the moments decay no faster than exact gradients there.
    square = np.maximum(0.5 * _log(growth_plane(moments, methods)), exact)
    proven = survey.certified_curvature
    any_order = None
    if proven is not None:
        any_order = _log(np.asarray(worst_case_rate(proven, methods)))

    return Plane(steps, momenta, exact, square, any_order)


def _log(rates: FloatArray) -> FloatArray:
    return np.log(np.maximum(rates, 1e-12))


def draw_plane(result: Diagnosis) -> Figure:
    """The (alpha, beta) plane of these data with the candidates in it."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    data = plane(result)
    figure = Figure(figsize=(7.6, 4.8), layout="constrained")
    axes = figure.add_subplot()
    axes.set_facecolor("#f3eee3")
    layers = [
        (data.exact_gradients, "#cfe3f1", "exact gradients"),
        (data.mean_square, "#8fbfdf", "mean square on these batches, drawn iid"),
    ]
    if data.any_order is not None:
        layers.append((data.any_order, "#3d85bd", "every order of the batches (certified)"))

    for rates, colour, _ in layers:
        if (rates < 0.0).any():
            levels = [float(rates.min()) - 1.0, 0.0]
            axes.contourf(data.steps, data.momenta, rates.T, levels=levels, colors=[colour])

    axes.set_xscale("log")
    marks = []
    for p in result.predictions:
        m = p.candidate.method
        at = float(m.alpha) * float(result.survey.curvature.L)
        if data.steps[0] <= at <= data.steps[-1]:
            marks += axes.plot(
                at, float(m.beta), "o", color=COLOURS[p.candidate.key], markersize=8,
                markeredgecolor="white", label=p.candidate.name,
            )  # fmt: skip

    handles = [Patch(color=colour, label=label) for _, colour, label in layers] + marks
    axes.set(xlabel="step size × L of the whole objective", ylabel="momentum", ylim=(-0.3, 1.02))
    figure.legend(handles=handles, loc="outside right upper", fontsize=8, frameon=False)
    return figure


def draw_batches(result: Diagnosis) -> Figure:
    """Largest and least curvature of every batch, sorted, beside those of the whole."""
    from matplotlib.figure import Figure

    survey = result.survey
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
    _name_leader(result, axes, order)
    figure.legend(loc="outside right upper", fontsize=8, frameon=False)
    return figure


def _name_leader(result: Diagnosis, axes: Axes, order: npt.NDArray[np.intp]) -> None:
    """Name the batch that drives the disagreement, where batches stay the same."""
    axes.margins(y=0.15)
    if not result.disagreement.batches:
        return

    lead = result.disagreement.batches[0]
    where = int(np.flatnonzero(order == lead)[0]) + 1
    height = float(result.survey.local[lead, 1])
    axes.annotate(
        f"batch {lead}", (where, height), xytext=(-12, 10), textcoords="offset points",
        fontsize=8, ha="right", arrowprops={"arrowstyle": "-", "lw": 0.7},
    )  # fmt: skip


def draw_curves(result: Diagnosis) -> Figure:
    """Predicted (dashed) and measured (solid) excess loss over the steps, relative to the start."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(7.6, 4.6), layout="constrained")
    axes = figure.add_subplot()
    runs = result.runs
    taken = runs.watched
    scale = 1.0 / result.survey.start_excess
    for i, p in enumerate(result.predictions):
        colour = COLOURS[p.candidate.key]
        measured = runs.excess[taken][:, :, i].mean(axis=1) * scale
        axes.plot(runs.steps[taken], _shown(measured), color=colour, lw=1.4, label=p.candidate.name)
        if p.curve is not None:
            curve = p.curve.excess[runs.steps] * scale
            axes.plot(runs.steps, _shown(curve), color=colour, lw=1.1, ls=(0, (3, 2)))

    axes.set_yscale("log")
    axes.set(xlabel="steps", ylabel="excess loss f − f*, over the start's")
    handles, _ = axes.get_legend_handles_labels()
    handles += [
        Line2D([], [], color="#555555", lw=1.4, label="measured"),
        Line2D([], [], color="#555555", lw=1.1, ls=(0, (3, 2)), label="exact moments"),
    ]
    figure.legend(handles=handles, loc="outside right upper", fontsize=8, frameon=False)
    return figure


def _shown(values: FloatArray) -> FloatArray:
    """Leave out what has diverged: beyond a hundred times the start nothing is learnt."""
    return np.where(np.isfinite(values) & (values < 1e2) & (values > 0.0), values, np.nan)
