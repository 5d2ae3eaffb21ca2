"""The pictures of a diagnosis: batches, parameter plane, predicted and measured errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.diagnosis.candidates import tuning_moments
from ravine.figures import plane as shared
from ravine.figures.plane import Mark
from ravine.figures.style import METHODS
from ravine.methods import Method
from ravine.theory.finite_sums.second_moments import growth_plane
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ravine.diagnosis.diagnosis import Diagnosis

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
    """The plane of step size and momentum of these data, with the methods in it."""
    from matplotlib.figure import Figure

    data = plane(result)
    rates = {"spectral_radius": data.exact_gradients, "iid_rate": data.mean_square}
    if data.any_order is not None:
        rates["worst_case_rate"] = data.any_order

    L = float(result.survey.curvature.L)
    marks = [
        Mark(p.candidate.key, p.candidate.name, float(p.candidate.method.alpha) * L,
             float(p.candidate.method.beta))
        for p in result.predictions
    ]  # fmt: skip
    shown = shared.Plane(
        data.steps,
        data.momenta,
        shared.rung_regions({key: np.exp(values.T) for key, values in rates.items()}),
        tuple(mark for mark in marks if data.steps[0] <= mark.step <= data.steps[-1]),
        log=True,
    )

    figure = Figure(figsize=(7.6, 4.8), layout="constrained")
    axes = figure.add_subplot()
    handles = shared.draw_plane(axes, shown, labels=False)
    axes.set_xlabel("step size × L of the whole objective")
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
        colour = METHODS[p.candidate.key].colour
        measured = runs.excess[taken][:, :, i].mean(axis=1) * scale
        axes.plot(runs.steps[taken], _shown(measured), color=colour, lw=1.4, label=p.candidate.name)
        if p.curve is not None:
            curve = p.curve[runs.steps] * scale
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
