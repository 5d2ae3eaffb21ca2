"""The HTML report of a diagnosis."""

from __future__ import annotations

import math
from pathlib import Path

from ravine.diagnosis import Diagnosis
from ravine.diagnosis.prediction import Outcome, Prediction
from ravine.diagnosis.verdict import digits, share_of_start, verdict
from ravine.report.diagnosis_pictures import draw_batches, draw_curves, draw_plane
from ravine.report.page import Cell, Page
from ravine.theory.finite_sums.growth import Growth

_TONES = {
    Outcome.CONVERGES: "good",
    Outcome.ERRATIC: "unsure",
    Outcome.DIVERGES: "bad",
    Outcome.UNDECIDED: "unsure",
}


def write_diagnosis(found: Diagnosis, path: Path) -> None:
    """Write the report as one HTML file that needs nothing else."""
    diagnosis_page(found).write(path)


def diagnosis_page(found: Diagnosis) -> Page:
    """The report: verdict, methods, causes, remedies, pictures, data."""
    from ravine import __version__

    survey, problem = found.survey, found.survey.problem
    page = Page(
        f"Diagnosis of {found.name}",
        subtitle=(
            f"{problem.X.shape[0]} rows, {problem.features} columns, {problem.loss.name} loss, "
            f"l2 = {problem.l2:.3g}, {problem.terms} batches of "
            f"{int(problem.batch_sizes.max())}, sampling {found.sampling.value}"
        ),
        footer=f"ravine {__version__}, seed {found.seed}",
    )
    tone = {"good": "", "bad": "bad", "unsure": "unsure"}[_TONES[found.subject.outcome]]
    page.lead(verdict(found), tone=tone)
    page.heading("The methods")
    _methods(page, found)
    page.picture(
        draw_curves(found),
        f"Distance to the minimiser over {found.steps} steps ({found.epochs} epochs), mean of "
        f"{found.runs.squares.shape[1]} runs on the data. Dashed: predicted before the runs.",
    )
    page.heading("Where it converges")
    page.picture(
        draw_plane(found),
        "Step size and momentum (Nesterov's form): where exact gradients converge, where the "
        "mean squared error on these batches falls, and where every order of them is certain.",
    )
    page.heading("Why: what the batches disagree in")
    _causes(page, found)
    page.picture(
        draw_batches(found), "Curvature of every batch, against that of the whole objective."
    )
    if found.remedies:
        page.heading("What would change it")
        _remedies(page, found)
    page.heading("The data")
    c = survey.curvature
    held = "everywhere" if survey.quadratic else "at the minimiser"
    facts = [
        f"whole objective ({held}): mu = {c.mu:.4g}, L = {c.L:.4g}, Q = {c.Q:.4g}",
        _bounds(found),
        f"mean ‖gradient of a batch at the minimiser‖ = {survey.sigma:.4g}"
        + (": all batches share the minimiser" if survey.interpolates else ""),
    ]
    facts += [f.message + (f": {f.remedy}" if f.remedy else "") for f in found.findings]
    page.bullets(facts)
    page.heading("What is exact, and what is an estimate")
    page.bullets(_standing(found))
    return page


def _bounds(found: Diagnosis) -> str:
    bounds = found.survey.certified_curvature
    if bounds is None:
        return "some batch is flat in some direction, so no positive mu holds for all of them"
    return (
        f"every batch, everywhere: mu = {bounds.mu:.4g}, L = {bounds.L:.4g}, Q = {bounds.Q:.4g}; "
        "the certificate rests on these"
    )


def _methods(page: Page, found: Diagnosis) -> None:
    header: list[Cell | str] = ["method", "outcome"]
    header += [
        Cell(name, number=True)
        for name in (
            "lr", "momentum",
            "exact gradients", "mean square", "almost sure", "any order", "floor", "predicted",
            "measured",
        )
    ]  # fmt: skip
    rows: list[list[Cell | str]] = []
    for i, p in enumerate(found.predictions):
        last = float(found.runs.squares[-1, :, i].mean())
        measured = _share(found, last) if math.isfinite(last) else "diverged"
        rows.append(
            [
                p.candidate.name,
                Cell(p.outcome.value, _TONES[p.outcome]),
                Cell(f"{float(p.candidate.method.alpha):.4g}", number=True),
                Cell(f"{float(p.candidate.method.beta):.4g}", number=True),
                Cell(digits(p.spectral_radius), number=True),
                Cell(_growth(p.mean_square), number=True),
                Cell(_growth(p.almost_sure), number=True),
                Cell("–" if p.worst_case is None else digits(p.worst_case), number=True),
                Cell("–" if p.floor is None else _share(found, p.floor.value), number=True),
                Cell(_after(found, p), number=True),
                Cell(measured, number=True),
            ]
        )
    page.table(header, rows)
    page.paragraph(
        "Growth of the error per step: below 1 it falls. Errors are root-mean-square distances to "
        f"the minimiser as a share of the start's; predicted and measured after {found.epochs} "
        "epochs. ± gives 95 % limits where a number is an estimate."
    )
    page.bullets([f"{p.candidate.name}: {p.candidate.reason}" for p in found.predictions])


def _growth(g: Growth) -> str:
    power = 0.5 if g.sense.power == 2 else 1.0
    value, reach = g.value**power, 0.5 * (g.high**power - g.low**power)
    if g.exact or reach < 1e-7 or value > 100.0:
        return digits(value)
    return f"{digits(value)} ± {reach:.1g}"


def _after(found: Diagnosis, p: Prediction) -> str:
    return "–" if p.error_after is None else _share(found, p.error_after.value)


def _share(found: Diagnosis, square: float) -> str:
    share = share_of_start(found, square)
    if not math.isfinite(share):
        return "–"
    return f"{share:.2g} ×" if share > 10.0 else f"{100 * share:.3g} %"


def _causes(page: Page, found: Diagnosis) -> None:
    why = found.disagreement
    directions = ", ".join(f"{name} ({weight:+.2f})" for name, weight in why.columns)
    page.paragraph(
        f"The batch Hessians differ from their mean by {100 * why.spread:.0f} % of its size (root "
        f"mean square, Frobenius norm). The direction that matters most: {directions}."
    )
    page.table(
        ["batch", Cell("share of the disagreement", number=True),
         Cell("curvature along it, over the average", number=True)],
        [
            [str(b), Cell(f"{100 * s:.0f} %", number=True), Cell(f"{r:.3g}", number=True)]
            for b, s, r in zip(why.batches, why.shares, why.ratios, strict=True)
        ],
    )  # fmt: skip
    if why.rows:
        parts = ", ".join(
            f"row {r} ({100 * s:.0f} %)" for r, s in zip(why.rows, why.row_shares, strict=True)
        )
        page.paragraph(
            f"Rows that make the curvature of batch {why.batches[0]} there, counted from 0 in the "
            f"data as given: {parts}."
        )


def _remedies(page: Page, found: Diagnosis) -> None:
    page.table(
        ["option tried on the data", "outcome", Cell("rate a step", number=True)],
        [
            [r.action, Cell(r.outcome.value, _TONES[r.outcome]), Cell(digits(r.rate), number=True)]
            for r in found.remedies
        ],
    )


def _standing(found: Diagnosis) -> list[str]:
    survey = found.survey
    lines = []
    if survey.quadratic:
        lines.append("The loss is quadratic: rates at the minimiser hold everywhere.")
    else:
        lines.append(
            "The loss is not quadratic: rates and floors are local, of the quadratic at the "
            "minimiser. The certificate is global, from curvature bounds that hold everywhere."
        )
    if not survey.every_batch:
        lines.append(
            f"Mean-square rates are estimates from the {survey.sure} heaviest and "
            f"{len(survey.sample) - survey.sure} random ones of {survey.problem.terms} batches, "
            "for iid sampling."
        )
    if not survey.every_direction:
        lines.append(
            f"Second moments are followed in {survey.moments.dimension} of "
            f"{survey.problem.dimension} directions, those of the largest curvature and of the "
            "heaviest batches: mean-square rates are estimates without limits for the rest."
        )
    senses = {p.mean_square.exact for p in found.predictions}
    if survey.exact and senses == {True}:
        lines.append("Mean-square rates are exact for this sampling of these batches.")
    elif survey.exact:
        lines.append(f"Mean-square rates under {found.sampling.value} sampling are estimates.")
    if any(p.candidate.certificate is not None for p in found.predictions):
        lines.append("The certificate was verified in exact rational arithmetic.")
    return lines
