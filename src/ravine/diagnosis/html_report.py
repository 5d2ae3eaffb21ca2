"""The HTML report of a diagnosis."""

from __future__ import annotations

from ravine.diagnosis.answer import MethodTable
from ravine.diagnosis.diagnosis import Diagnosis
from ravine.diagnosis.pictures import draw_batches, draw_curves, draw_plane
from ravine.diagnosis.verdict import digits
from ravine.markup import Cell
from ravine.report.page import Page

_FRAMEWORKS = {"torch": "PyTorch", "sklearn": "scikit-learn", "numpy": "NumPy"}


def diagnosis_page(result: Diagnosis) -> Page:
    """The report: the answer, the code, the methods, causes, remedies, pictures, data."""
    from ravine import __version__

    answer = result.answer
    survey = result.survey
    page = Page(
        f"Diagnosis of {result.name}",
        subtitle=answer.data[0].removeprefix(f"{result.name}: "),
        footer=f"ravine {__version__}, seed {result.seed}, {result.seconds:.1f} s",
    )

    page.lead(answer.lines, tone="" if answer.tone == "good" else answer.tone)
    if answer.notes:
        page.bullets(answer.notes)
    for framework, name in _FRAMEWORKS.items() if result.recommendation is not None else ():
        page.code(result.code(framework), f"Training loop in {name}")
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
    page.bullets(result.answer.data)
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
    methods = result.answer.methods
    _table(page, methods.short())
    page.paragraph(methods.caption)
    page.heading("Rates and noise floors")
    _table(page, methods.detail())
    page.paragraph(
        "Distance left: root-mean-square distance to the minimiser, as a share of the start's. "
        "Rates per step, at the first step size: below 1 the error falls; ± gives "
        "95 % limits of an estimate. Smallest stable batch: the size from which the mean square "
        "converges on this data with independent batches."
    )

    page.bullets(
        [
            f"{p.candidate.name}: {p.candidate.recipe.words}; {p.candidate.reason}"
            for p in result.predictions
        ]
    )


def _table(page: Page, methods: MethodTable) -> None:
    page.table(
        [Cell(column.title, number=column.number) for column in methods.columns],
        [
            [
                Cell(text, row.tone if column.key == "outcome" else "", column.number)
                for text, column in zip(row.cells, methods.columns, strict=True)
            ]
            for row in methods.rows
        ],
    )


def _causes(page: Page, result: Diagnosis) -> None:
    why = result.disagreement
    directions = ", ".join(f"{name} ({weight:+.2f})" for name, weight in why.columns)
    page.paragraph(
        f"The batch Hessians differ from their mean by {100 * why.size:.0f} % of its size (root "
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
        ["change that was tried", "outcome", Cell("rate per step", number=True)],
        [
            [r.action, Cell(r.outcome.value, r.outcome.tone), Cell(digits(r.rate), number=True)]
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

    what = "batches" if survey.batching.fixed else "rows"
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
    lines += [f"Not computed within the time: {what}." for what in result.left_out]
    if any(p.candidate.certificate is not None for p in result.predictions):
        lines.append("The certificate was verified in exact rational arithmetic.")

    return lines
