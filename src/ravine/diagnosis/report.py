"""The HTML report of a diagnosis, and its pictures: losses, parameter plane, batches."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ravine.arguments import FloatArray
from ravine.diagnosis.candidates import tuning_moments
from ravine.diagnosis.code import FRAMEWORKS, training_scripts
from ravine.digits import rate_digits
from ravine.figures import plane as shared
from ravine.figures.plane import Mark, Plane
from ravine.figures.style import METHODS
from ravine.markup import Cell
from ravine.methods import Method
from ravine.report import Page
from ravine.theory.finite_sums.second_moments import growth_plane
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ravine.diagnosis.diagnosis import Diagnosis

_GRID = (56, 40)
"""Number of step sizes and momenta in the picture; boundaries are interpolated."""
_LARGEST, _LEAST = "#c1272d", "#0072b2"
"""Colours of the two ends of a spectrum."""
_number = partial(Cell, number=True)


def diagnosis_page(result: Diagnosis) -> Page:
    """The report: the answer, the code, the methods, causes, remedies, pictures, data."""
    from ravine import __version__

    answer = result.answer
    page = Page(
        f"Diagnosis of {result.name}",
        subtitle="; ".join(answer.data[:2]).removeprefix(f"{result.name}: "),
        footer=f"ravine {__version__}, seed {result.setup.seed}, {result.seconds:.1f} s",
    )
    page.lead(answer.lines, tone="" if result.recommendation is not None else answer.tone)

    if answer.notes:
        page.bullets(answer.notes)

    for framework, script in training_scripts(result).items():
        page.code(script, f"Training loop in {FRAMEWORKS[framework]}")

    page.heading("The methods")
    _methods(page, result)
    page.picture(
        draw_curves(result),
        f"Excess loss over {result.steps} steps ({result.epochs} epochs), mean of "
        f"{result.runs.seeds} runs on the data. Dashed: exact moments for independent batches.",
    )

    page.heading("Where it converges")
    page.picture(
        draw_plane(result),
        "Step size and momentum (Nesterov's form): where exact gradients converge, where the "
        "mean squared error on these batches falls, and where every order of them is guaranteed to "
        "converge.",
    )

    page.heading("Why: where the batches disagree")
    _causes(page, result)
    page.picture(
        draw_batches(result), "Curvature of every batch, against that of the whole objective."
    )

    if result.remedies:
        page.heading("What would help")
        page.table(
            ["change that was tried", "outcome", _number("rate per step")],
            [
                [r.action, Cell(r.outcome.value, r.outcome.tone), _number(rate_digits(r.rate))]
                for r in result.remedies
            ],
        )

    page.heading("The data")
    page.bullets(_facts(result), formulas=True)
    page.bullets(answer.data)
    page.heading("What is exact and what is estimated")
    page.bullets(_standing(result))

    return page


def _methods(page: Page, result: Diagnosis) -> None:
    methods = result.answer.methods
    page.table(*methods.cells())
    page.paragraph(methods.caption)
    page.heading("Rates and noise floors")
    page.table(*methods.cells(detail=True))
    page.paragraph(
        "Distance left: root-mean-square distance to the minimiser, as a share of that at the "
        "start. Rates per step, at the first step size: below 1 the error falls; ± gives "
        "95 % limits of an estimate. Smallest stable batch: the size from which the mean square "
        "converges on this data with independent batches."
    )
    every = [p.candidate for p in result.predictions]
    page.bullets([f"{c.name}: {c.recipe.words}; {c.reason}" for c in every])


def _causes(page: Page, result: Diagnosis) -> None:
    why = result.disagreement
    directions = ", ".join(f"{name} ({weight:+.2f})" for name, weight in why.columns)
    page.paragraph(
        f"The batch Hessians differ from their mean by {100 * why.size:.0f} % of its size (root "
        f"mean square, Frobenius norm). The direction that matters most: {directions}."
    )

    what = "batch" if why.batches else "row"
    titles = "share of the disagreement", "curvature along it / average"
    leading = zip(why.batches or why.rows, why.shares, why.ratios, strict=True)
    page.table(
        [what, *map(_number, titles)],
        [
            [str(which), _number(f"{100 * share:.0f} %"), _number(f"{ratio:.3g}")]
            for which, share, ratio in leading
        ],
    )

    if why.batches and why.rows:
        both = zip(why.rows, why.row_shares, strict=True)
        parts = ", ".join(f"row {row} ({100 * share:.0f} %)" for row, share in both)
        page.paragraph(
            f"Rows that contribute most to the curvature of batch {why.batches[0]} along it, "
            f"counted from 0 in the data as given: {parts}."
        )


def _facts(result: Diagnosis) -> list[str]:
    """Curvature and gradients at the minimiser."""
    survey = result.survey
    whole, bounds = survey.curvature, survey.certified_curvature
    held = "everywhere" if survey.quadratic else "at the minimiser"
    shared = ": all batches share the minimiser" if survey.interpolates else ""
    every = "some batch is flat in some direction, so no positive mu holds for all of them"

    if bounds is not None:
        every = (
            f"every batch, everywhere: mu = {bounds.mu:.4g}, L = {bounds.L:.4g}, "
            f"Q = {bounds.Q:.4g}; the certificate rests on these"
        )

    return [
        f"whole objective ({held}): mu = {whole.mu:.4g}, L = {whole.L:.4g}, Q = {whole.Q:.4g}",
        every,
        f"mean ‖gradient of a batch at the minimiser‖ = {survey.sigma:.4g}{shared}",
    ]


def _standing(result: Diagnosis) -> list[str]:
    """How the numbers were computed, as far as it applies to this diagnosis."""
    survey, every = result.survey, result.predictions
    exact = all(p.mean_square.exact for p in every)
    what = "batches" if survey.batching.fixed else "rows"
    lines = {
        "The loss is quadratic: rates at the minimiser hold everywhere.": survey.quadratic,
        "The loss is not quadratic: rates and floors are those of its quadratic approximation at "
        "the minimiser. The certificate is global, from curvature bounds that hold everywhere.": (
            not survey.quadratic
        ),
        f"Second moments are those of the {survey.sure} heaviest and "
        f"{len(survey.sample) - survey.sure} random ones of all {what}.": not survey.complete,
        f"Second moments are computed in {survey.moments.dimension} of {survey.model.dimension} "
        "directions: those of the largest curvature, and those of the heaviest rows. For others, "
        "mean-square rates are estimates without confidence limits.": not survey.every_direction,
        "Mean-square rates are exact for this order of these batches.": exact,
        "Mean-square rates lie between those of exact gradients and of independent draws; where "
        "these differ, they are estimates from randomly drawn epochs.": not exact,
        "Losses and distances after the epochs are means over runs on the data.": True,
        **{f"Not computed with --time {result.time:g}: {one}.": True for one in result.left_out},
        "The certificate was verified in exact rational arithmetic.": any(
            p.candidate.certificate is not None for p in every
        ),
    }
    return [line for line, holds in lines.items() if holds]


def plane(result: Diagnosis) -> Plane:
    """The plane of rates with exact gradients, with these batches, and in any order of them.

    On a grid of step sizes times L and momenta, in Nesterov's form.
    """
    survey = result.survey
    L = float(survey.curvature.L)
    marks = [
        Mark(c.key, c.name, float(c.method.alpha) * L, float(c.method.beta))
        for c in (p.candidate for p in result.predictions)
    ]
    low = min(1e-2, *(0.5 * mark.step for mark in marks if mark.step < 20.0))
    steps = np.geomspace(max(low, 1e-6), 8.0, _GRID[0])
    momenta = np.linspace(-0.3, 0.995, _GRID[1])
    methods = Method(steps[None, :] / L, momenta[:, None])

    exact = np.asarray(spectral_radius(survey.curvature, methods))
    # Directions without second moments decay no faster than with exact gradients.
    square = np.sqrt(growth_plane(tuning_moments(survey.moments), methods))
    rates = {"spectral_radius": exact, "iid_rate": np.maximum(square, exact)}
    proven = survey.certified_curvature

    if proven is not None:
        rates["worst_case_rate"] = np.asarray(worst_case_rate(proven, methods))

    return shared.rated_plane(steps, momenta, rates, tuple(marks), log=True)


def draw_plane(result: Diagnosis) -> Figure:
    """The plane of step size and momentum of these data, with the methods in it."""
    whole = plane(result)
    low, high = whole.steps[0], whole.steps[-1]
    inside = tuple(mark for mark in whole.marks if low <= mark.step <= high)
    figure, axes = _picture(4.8)
    shared.draw_plane(axes, replace(whole, marks=inside), labels=False)
    axes.set_xlabel("step size × L of the whole objective")

    return _with_legend(figure)


def draw_batches(result: Diagnosis) -> Figure:
    """Largest and smallest curvature of every batch, sorted, beside those of the objective."""
    survey = result.survey
    order = np.argsort(survey.local[:, 1])
    least, largest = survey.local[order].T
    place = np.arange(1, len(order) + 1)
    figure, axes = _picture(3.6)
    dots: dict[str, Any] = {"marker": "o", "linestyle": "none"}
    dots["markersize"] = 4 if len(order) <= 400 else 1.5

    axes.plot(place, largest, color=_LARGEST, label="largest, of a batch", **dots)
    if (least > 1e-12 * largest.max()).any():
        shown = np.where(least > 0, least, np.nan)
        axes.plot(place, shown, color=_LEAST, label="least, of a batch", **dots)

    whole = survey.curvature
    axes.axhline(float(whole.L), color=_LARGEST, lw=1, ls="--", label="L of the whole")
    axes.axhline(float(whole.mu), color=_LEAST, lw=1, ls="--", label="mu of the whole")
    axes.set_yscale("log")
    axes.set_xlabel("batches, sorted by their largest curvature")
    axes.set_ylabel("curvature at the minimiser")
    axes.margins(y=0.15)

    # If batches are fixed, the one that drives the disagreement is labelled.
    for lead in result.disagreement.batches[:1]:
        where = int(np.flatnonzero(order == lead)[0])
        line = {"arrowstyle": "-", "lw": 0.7}
        axes.annotate(
            f"batch {lead}", (where + 1, largest[where]), xytext=(-12, 10),
            textcoords="offset points", fontsize=8, ha="right", arrowprops=line,
        )  # fmt: skip

    return _with_legend(figure)


def draw_curves(result: Diagnosis) -> Figure:
    """Predicted (dashed) and measured (solid) excess loss over the steps, relative to the start."""
    from matplotlib.lines import Line2D

    figure, axes = _picture(4.6)
    runs = result.runs
    taken = runs.watched
    exact: dict[str, Any] = {"lw": 1.1, "ls": (0, (3, 2))}

    for i, p in enumerate(result.predictions):
        look: Any = {"color": METHODS[p.candidate.key].colour}
        measured = _shown(result, runs.excess[taken][:, :, i].mean(axis=1))
        axes.plot(runs.steps[taken], measured, lw=1.4, label=p.candidate.name, **look)

        if p.curve is not None:
            axes.plot(runs.steps, _shown(result, p.curve[runs.steps]), **look, **exact)

    axes.set_yscale("log")
    axes.set(xlabel="steps", ylabel="excess loss f − f*, over that at the start")
    handles = axes.get_legend_handles_labels()[0]

    for words, line in (("measured", {"lw": 1.4}), ("exact moments", exact)):
        handles.append(Line2D([], [], color="#555555", label=words, **line))

    return _with_legend(figure, handles=handles)


def _shown(result: Diagnosis, excess: FloatArray) -> FloatArray:
    """Losses as shares of that at the start; diverging runs are cut off at a hundred times it."""
    values = excess / result.survey.start_excess
    return np.where(np.isfinite(values) & (values < 1e2) & (values > 0.0), values, np.nan)


def _picture(height: float) -> tuple[Figure, Axes]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, height), layout="constrained")
    return figure, figure.add_subplot()


def _with_legend(figure: Figure, **options: Any) -> Figure:
    figure.legend(loc="outside right upper", fontsize=8, frameon=False, **options)
    return figure
