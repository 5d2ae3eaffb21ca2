"""The paper's claims, with the verdicts of a reproduction that is part of the package."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Any

from ravine.claims import CLAIMS
from ravine.claims.claim import JudgedClaim
from ravine.figures.catalogue import FIGURES

_WORST_FIRST = ("bad", "unsure", "good")


@cache
def claim_list() -> dict[str, Any]:
    """All claims as HTML with their verdicts, those that fail first, and the figures.

    ``measurements.json`` holds the measurements of ``ravine reproduce``: the ``data`` of each claim
    by its id. Texts and verdicts are derived from them here.
    """
    known = json.loads(files("ravine.web").joinpath("measurements.json").read_text("utf-8"))
    claims = [typeset(JudgedClaim(claim, known[claim.id])) for claim in CLAIMS]
    counts = Counter(claim["tone"] for claim in claims)
    return {
        "counts": f"Of {len(claims)} claims, {counts['good']} hold, {counts['unsure']} hold with a "
        f"correction and {counts['bad']} do not hold.",
        "claims": sorted(claims, key=lambda claim: _WORST_FIRST.index(claim["tone"])),
        "figures": [[name, entry.title] for name, entry in FIGURES.items()],
    }


def typeset(judged: JudgedClaim) -> dict[str, str]:
    """A claim with its verdict as a row of a table, and the tone of the verdict."""
    row = "".join(cell.html("td") for cell in judged.cells)
    return {
        "id": judged.claim.id,
        "row": f'<tr id="claim-{judged.claim.id}">{row}</tr>',
        "tone": judged.judgement.tone,
    }
