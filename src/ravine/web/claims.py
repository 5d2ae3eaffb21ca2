"""The paper's claims with the verdicts of a reproduction that comes with ravine."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Any

from ravine.claims.catalogue import CLAIMS
from ravine.claims.claim import JudgedClaim, Judgement
from ravine.figures.catalogue import FIGURES
from ravine.markup import with_formulas

TONES = {Judgement.FAILS: "bad", Judgement.CORRECTED: "unsure", Judgement.HOLDS: "good"}


@cache
def claim_list() -> dict[str, Any]:
    """All claims as HTML with their verdicts, those that fail first, and the figures.

    ``measurements.json`` has what ``ravine reproduce`` measured, the ``data`` of its claims by id;
    words and verdicts follow from it here.
    """
    text = files("ravine.web").joinpath("measurements.json").read_text(encoding="utf-8")
    known = json.loads(text)
    claims = [
        {
            "place": with_formulas(claim.place),
            "statement": with_formulas(claim.statement),
            **typeset(JudgedClaim(claim, known[claim.id])),
        }
        for claim in CLAIMS
    ]
    order = list(TONES.values())
    counts = Counter(claim["tone"] for claim in claims)
    return {
        "counts": f"Of {len(claims)} claims {counts['good']} hold, {counts['unsure']} hold with a "
        f"correction, {counts['bad']} do not hold.",
        "claims": sorted(claims, key=lambda claim: order.index(claim["tone"])),
        "figures": [[name, entry.title] for name, entry in FIGURES.items()],
    }


def typeset(judged: JudgedClaim) -> dict[str, str]:
    """What was measured of a claim as HTML, and the tone of its verdict."""
    return {
        "id": judged.claim.id,
        "measured": with_formulas(judged.measured),
        "exact": with_formulas(judged.exact),
        "verdict": judged.judgement.value,
        "tone": TONES[judged.judgement],
    }
