"""The HTML report of a diagnosis."""

from __future__ import annotations

import math

from ravine.diagnosis import Diagnosis
from ravine.diagnosis.estimate import Estimate
from ravine.diagnosis.prediction import Fate, Prediction
from ravine.diagnosis.recipe import momentum_digits
from ravine.diagnosis.verdict import digits, loss_share, share_of_start, verdict
from ravine.markup import Cell
from ravine.report.diagnosis_pictures import draw_batches, draw_curves, draw_plane
from ravine.report.page import Page
from ravine.theory.finite_sums.growth import Growth

_TONES = {
    Fate.CONVERGES: "good",
    Fate.USELESS: "unsure",
    Fate.ERRATIC: "unsure",
    Fate.DIVERGES: "bad",
    Fate.UNDECIDED: "unsure",
}


def diagnosis_page(result: Diagnosis) -> Page:
    """The report: verdict, methods, causes, remedies, pictures, data."""
    from ravine import __version__

    survey = result.survey
    model = survey.model
    cut = survey.cut
    page = Page(
        f"Diagnosis of {result.name}",
        subtitle=(
            f"{cut.rows} rows, {model.features} columns, {model.loss.name} loss, "
            f"l2 = {model.l2:.3g}, {cut.steps_per_epoch} batches of {cut.batch_size} an epoch, "
            f"{cut.phrase}"
        ),
        footer=f"ravine {__version__}, seed {result.seed}, {result.seconds:.1f} s",
    )

    tone = {"good": "", "bad": "bad", "unsure": "unsure"}[_TONES[result.subject.fate]]
    page.lead(verdict(result), tone=tone)
    page.heading("The methods")
    _methods(page, result)
    page.picture(
        draw_curves(result),
        f"Excess loss over {result.steps} steps ({result.epochs} epochs), mean of "
        f"{result.runs.squares.shape[1]} runs on the data. Dashed: exact moments of batches that "
        "are drawn independently.",
    )

    page.heading("Where it converges")
    page.picture(
        draw_plane(result),
        "Step size and momentum (Nesterov's form): where exact gradients converge, where the "
        "mean squared error on these batches falls, and where every order of them is certain.",
    )

    page.heading("Why: what the batches disagree in")
    _causes(page, result)
    page.picture(
        draw_batches(result), "Curvature of every batch, against that of the whole objective."
    )
    if result.remedies:
        page.heading("What would change it")
        _remedies(page, result)

    page.heading("The data")
    c = survey.curvature
    held = "everywhere" if survey.quadratic else "at the minimiser"
    facts = [
        f"whole objective ({held}): mu = {c.mu:.4g}, L = {c.L:.4g}, Q = {c.Q:.4g}",
        _bounds(result),
        f"mean ‖gradient of a batch at the minimiser‖ = {survey.sigma:.4g}"
        + (": all batches share the minimiser" if survey.interpolates else ""),
    ]

    page.bullets(facts, formulas=True)
    noticed = [f.message + (f": {f.remedy}" if f.remedy else "") for f in result.findings]
    if noticed:
        page.bullets(noticed)
    page.heading("What is exact, and what is an estimate")
    page.bullets(_standing(result))
    return page


def _bounds(result: Diagnosis) -> str:
    bounds = result.survey.certified_curvature
    if bounds is None:
        return "some batch is flat in some direction, so no positive mu holds for all of them"

    return (
        f"every batch, everywhere: mu = {bounds.mu:.4g}, L = {bounds.L:.4g}, Q = {bounds.Q:.4g}; "
        "the certificate rests on these"
    )


def _methods(page: Page, result: Diagnosis) -> None:
    header: list[Cell | str] = ["method", "outcome"]
    header += [
        Cell(name, number=True)
        for name in (
            "lr", "momentum", "loss left", "distance left", "steps to 1 %", "exact gradients",
            "mean square", "almost sure", "any order", "floor of the loss", "critical batch",
        )
    ]  # fmt: skip

    rows: list[list[Cell | str]] = []
    for p in result.predictions:
        method = p.candidate.method
        rows.append(
            [
                p.candidate.name,
                Cell(p.fate.value, _TONES[p.fate]),
                Cell(f"{float(method.alpha):.4g}", number=True),
                Cell(momentum_digits(float(method.beta)), number=True),
                Cell(_loss(result, p.excess_after), number=True),
                Cell(_distance(result, p.error_after), number=True),
                Cell(f"{p.to_near:.0f}" if math.isfinite(p.to_near) else "–", number=True),
                Cell(digits(p.spectral_radius), number=True),
                Cell(_growth(p.mean_square), number=True),
                Cell(_growth(p.almost_sure), number=True),
                Cell("–" if p.worst_case is None else digits(p.worst_case), number=True),
                Cell(_floor(result, p), number=True),
                Cell("–" if p.critical_batch is None else str(p.critical_batch), number=True),
            ]
        )

    page.table(header, rows)
    page.paragraph(
        f"Left after {result.epochs} epochs, as shares of the start's: excess loss, and root-mean-"
        "square distance to the minimiser. Growth of the error per step, at the first step size: "
        "below 1 it falls. ± gives 95 % limits where a number is an estimate. Critical batch: the "
        "size from which the mean square converges on this data with independent draws."
    )

    page.bullets(
        [
            f"{p.candidate.name}: {p.candidate.recipe.words}; {p.candidate.reason}"
            for p in result.predictions
        ]
    )


def _growth(g: Growth) -> str:
    power = 0.5 if g.sense.power == 2 else 1.0
    value = g.value**power
    reach = 0.5 * (g.high**power - g.low**power)
    if g.exact or reach < 1e-7 or value > 100.0:
        return digits(value)

    return f"{digits(value)} ± {reach:.1g}"


def _loss(result: Diagnosis, estimate: Estimate | None) -> str:
    return "diverged" if estimate is None else _share(loss_share(result, estimate.value))


def _distance(result: Diagnosis, estimate: Estimate | None) -> str:
    return "diverged" if estimate is None else _share(share_of_start(result, estimate.value))


def _floor(result: Diagnosis, p: Prediction) -> str:
    return "–" if p.floor_excess is None else _share(loss_share(result, p.floor_excess.value))


def _share(share: float) -> str:
    if not math.isfinite(share):
        return "–"

    return f"{share:.2g} ×" if share > 10.0 else f"{100 * share:.3g} %"


def _causes(page: Page, result: Diagnosis) -> None:
    why = result.disagreement
    directions = ", ".join(f"{name} ({weight:+.2f})" for name, weight in why.columns)
    page.paragraph(
        f"The batch Hessians differ from their mean by {100 * why.spread:.0f} % of its size (root "
        f"mean square, Frobenius norm). The direction that matters most: {directions}."
    )
    shares = zip(why.batches or why.rows, why.shares, why.ratios, strict=True)
    page.table(
        ["batch" if why.batches else "row", Cell("share of the disagreement", number=True),
         Cell("curvature along it, over the average", number=True)],
        [
            [str(b), Cell(f"{100 * s:.0f} %", number=True), Cell(f"{r:.3g}", number=True)]
            for b, s, r in shares
        ],
    )  # fmt: skip

    if why.batches and why.rows:
        parts = ", ".join(
            f"row {r} ({100 * s:.0f} %)" for r, s in zip(why.rows, why.row_shares, strict=True)
        )
        page.paragraph(
            f"Rows that make the curvature of batch {why.batches[0]} there, counted from 0 in the "
            f"data as given: {parts}."
        )


def _remedies(page: Page, result: Diagnosis) -> None:
    page.table(
        ["option tried on the data", "outcome", Cell("rate a step", number=True)],
        [
            [r.action, Cell(r.fate.value, _TONES[r.fate]), Cell(digits(r.rate), number=True)]
            for r in result.remedies
        ],
    )


def _standing(result: Diagnosis) -> list[str]:
    survey = result.survey
    lines = []
    if survey.quadratic:
        lines.append("The loss is quadratic: rates at the minimiser hold everywhere.")
    else:
        lines.append(
            "The loss is not quadratic: rates and floors are local, of the quadratic at the "
            "minimiser. The certificate is global, from curvature bounds that hold everywhere."
        )

    what = "rows" if survey.cut.recut else "batches"
    if not survey.complete:
        lines.append(
            f"Second moments are those of the {survey.sure} heaviest and "
            f"{len(survey.sample) - survey.sure} random ones of all {what}."
        )

    if not survey.every_direction:
        lines.append(
            f"Second moments are followed in {survey.moments.dimension} of "
            f"{survey.model.dimension} directions, those of the largest curvature and of the "
            "heaviest rows: mean-square rates are estimates without limits for the rest."
        )

    if all(p.mean_square.exact for p in result.predictions):
        lines.append("Mean-square rates are exact for this order of these batches.")
    else:
        lines.append(
            "Mean-square rates lie between those of exact gradients and of independent draws; "
            "where these differ, they are estimates from randomly drawn epochs."
        )

    lines.append("Losses and distances after the epochs are means over runs on the data.")
    lines += [f"Left out for want of time: {what}." for what in result.left_out]
    if any(p.candidate.certificate is not None for p in result.predictions):
        lines.append("The certificate was verified in exact rational arithmetic.")

    return lines
