"""The paper's claims with the verdicts of a reproduction that comes with ravine."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ravine.claims.catalogue import CLAIMS
from ravine.claims.claim import Judgement
from ravine.figures.catalogue import FIGURES
from ravine.markup import with_formulas

TONES = {Judgement.FAILS: "bad", Judgement.CORRECTED: "unsure", Judgement.HOLDS: "good"}


@cache
def claim_list() -> dict[str, Any]:
    """All claims as HTML with their verdicts, those that fail first, and the figures."""
    text = files("ravine.web").joinpath("verdicts.json").read_text(encoding="utf-8")
    known = {one["id"]: one for one in json.loads(text)}
    claims = [
        {
            "place": with_formulas(claim.place),
            "statement": with_formulas(claim.statement),
            **typeset(known.get(claim.id, {"id": claim.id})),
        }
        for claim in CLAIMS
    ]
    order = ["", *TONES.values()]
    return {
        "claims": sorted(claims, key=lambda claim: order.index(claim["tone"])),
        "figures": [[name, entry.title] for name, entry in FIGURES.items()],
    }


def typeset(judged: dict[str, Any]) -> dict[str, str]:
    """What was measured of a claim as HTML, and the tone of its verdict."""
    verdict = judged.get("verdict", "")
    return {
        "id": judged["id"],
        "measured": with_formulas(judged.get("measured", "")),
        "exact": with_formulas(judged.get("exact", "")),
        "verdict": verdict,
        "tone": TONES[Judgement(verdict)] if verdict else "",
    }
