"""The report of a reproduction: one page with every picture, every verdict, and what made them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from ravine.claims.claim import Judged, Verdict
from ravine.figures.catalogue import FIGURES
from ravine.report.page import Cell, Page
from ravine.reproduction.run import Reproduction, versions

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_TONES = {Verdict.HOLDS: "good", Verdict.CORRECTED: "unsure", Verdict.FAILS: "bad"}


class _Saved:
    """A picture that was drawn before: gives its file to whoever would draw it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def savefig(self, target: IO[bytes] | io.BytesIO, **_: Any) -> None:
        target.write(self._path.read_bytes())


def reproduction_page(done: Reproduction) -> Page:
    """Make the page from the data, verdicts and pictures of a reproduction."""
    counts = done.counts
    page = Page(
        "Nesterov's method in stochastic settings: a reproduction",
        subtitle="Every figure and every claim of Assran and Rabbat, On the Convergence of "
        "Nesterov's Accelerated Gradient Method in Stochastic Settings (ICML 2020), run and judged",
        footer=f"Made by ravine {versions()['ravine']}. This page needs no other file.",
    )
    page.lead(
        [
            f"Of {len(done.judged)} claims {counts[Verdict.HOLDS]} hold, "
            f"{counts[Verdict.CORRECTED]} hold with a correction, {counts[Verdict.FAILS]} do not "
            "hold.",
            "Each verdict is computed from what was measured in this run. Statements are in our "
            "words; theorems, lemmas and equations are numbered as they appear in the paper.",
        ],
        tone="",
    )
    if done.left_out:
        needed = sorted({name for claim in done.left_out for name in claim.needs} - set(done.data))
        page.paragraph(
            f"{len(done.left_out)} more claims are judged from figures that were not asked for: "
            f"{', '.join(needed)}."
        )
    page.heading("What does not hold, or needs a correction")
    _claims(page, [judged for judged in done.judged if judged.verdict is not Verdict.HOLDS])
    for name, data in done.data.items():
        entry = FIGURES[name]
        page.heading(entry.title)
        picture = cast("Figure", _Saved(done.plan.out / f"{name}.png"))
        page.picture(picture, entry.caption, vector=False)
        page.bullets(entry.findings(data))
    page.heading("What holds")
    _claims(page, [judged for judged in done.judged if judged.verdict is Verdict.HOLDS])
    _made_by(page, done)
    return page


def _claims(page: Page, judged: Sequence[Judged]) -> None:
    page.table(
        ["Where", "Claim", "Measured", "Exact, or what is right", "Verdict"],
        [
            [
                one.claim.place,
                one.claim.statement,
                one.measured,
                one.exact,
                Cell(one.verdict.value, _TONES[one.verdict]),
            ]
            for one in judged
        ],
    )


def _made_by(page: Page, done: Reproduction) -> None:
    page.heading("What made it")
    size = "quick settings" if done.plan.quick else f"{done.plan.resolution} pixels along each axis"
    page.paragraph(
        f"Maps: {size}. Seed {done.plan.seed}. Device: {done.plan.device}. Everything follows from "
        "the seed: the same command gives the same numbers."
    )
    rows: list[list[Cell | str]] = [
        [
            name,
            Cell(f"{done.seconds[name]:.1f}", number=True),
            ", ".join(f"{k} = {v}" for k, v in done.plan.arguments[name].items()) or "none",
            f"{name}.nc",
        ]
        for name in done.data
    ]
    rows.append(["claims", Cell(f"{done.claims_seconds:.1f}", number=True), "", "claims.json"])
    page.table(["Figure", Cell("Seconds", number=True), "Arguments", "Data"], rows)
    page.table(["Package", "Version"], [[name, number] for name, number in versions().items()])
