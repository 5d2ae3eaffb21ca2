"""The page of a reproduction: every picture, every judgement, and what made them."""

from __future__ import annotations

from collections.abc import Sequence

from ravine.claims.claim import JudgedClaim, Judgement
from ravine.figures.catalogue import FIGURES
from ravine.markup import Cell
from ravine.report import Page
from ravine.reproduction.run import Reproduction, versions


def reproduction_page(done: Reproduction) -> Page:
    """Make the page from the data, judgements and pictures of a reproduction."""
    page = Page(
        "Nesterov's method in stochastic settings: a reproduction",
        subtitle="Every figure and every claim of Assran and Rabbat, On the Convergence of "
        "Nesterov's Accelerated Gradient Method in Stochastic Settings (ICML 2020), run and judged",
        footer=f"Made by ravine {versions()['ravine']}. This page needs no other file.",
    )

    _lead(page, done)

    page.heading("What does not hold, or needs a correction")
    _claims(page, [one for one in done.judged if one.judgement is not Judgement.HOLDS])

    for name, data in done.data.items():
        figure = FIGURES[name]
        page.heading(figure.title)
        page.picture(done.out / f"{name}.png", figure.caption, formulas=True)
        page.bullets(figure.findings(data), formulas=True)

    page.heading("What holds")
    _claims(page, [one for one in done.judged if one.judgement is Judgement.HOLDS])
    _made_by(page, done)
    return page


def _lead(page: Page, done: Reproduction) -> None:
    """How many claims hold, and which could not be judged."""
    counts = done.counts
    page.lead(
        [
            f"Of {len(done.judged)} claims, {counts[Judgement.HOLDS]} hold, "
            f"{counts[Judgement.CORRECTED]} hold with a correction, {counts[Judgement.FAILS]} do "
            "not hold.",
            "Each verdict is computed from what was measured in this run. Statements are in our "
            "words; theorems, lemmas and equations are numbered as they appear in the paper.",
        ]
    )

    if done.left_out:
        needed = sorted({name for claim in done.left_out for name in claim.needs} - set(done.data))
        page.paragraph(
            f"{len(done.left_out)} more claims are judged from figures that were not asked for: "
            f"{', '.join(needed)}."
        )


def _claims(page: Page, judged: Sequence[JudgedClaim]) -> None:
    """A table of claims."""
    page.table(
        ["Where", "Claim", "Measured", "Exact, or what is right", "Verdict"],
        [one.cells for one in judged],
    )


def _made_by(page: Page, done: Reproduction) -> None:
    """Settings, times and versions."""
    page.heading("How it was made")
    size = "quick settings" if done.quick else f"{done.resolution} pixels along each axis"
    page.paragraph(
        f"Maps: {size}. Seed {done.seed}. Device: {done.device}. Everything follows from "
        "the seed: the same command gives the same numbers."
    )

    rows: list[list[Cell | str]] = []
    for name in done.data:
        arguments = done.arguments[name]
        words = ", ".join(f"{key} = {value}" for key, value in arguments.items()) or "none"
        seconds = Cell(f"{done.seconds[name]:.1f}", number=True)
        rows.append([name, seconds, words, f"{name}.nc"])

    rows.append(["claims", Cell(f"{done.claims_seconds:.1f}", number=True), "", "claims.json"])
    page.table(["Figure", Cell("Seconds", number=True), "Arguments", "Data"], rows)
    page.table(["Package", "Version"], [[name, number] for name, number in versions().items()])
