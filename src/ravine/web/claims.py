"""The paper's claims with the verdicts of a reproduction that comes with ravine."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import Any

from ravine.claims.catalogue import CLAIMS
from ravine.claims.claim import Judgement
from ravine.figures.catalogue import FIGURES
from ravine.report.formulas import with_formulas

TONES = {Judgement.HOLDS: "good", Judgement.CORRECTED: "unsure", Judgement.FAILS: "bad"}


@cache
def claim_list() -> dict[str, Any]:
    """All claims with their verdicts, and the figures that can be run; formulas are MathML."""
    text = files("ravine.web").joinpath("verdicts.json").read_text(encoding="utf-8")
    known = {one["id"]: one for one in json.loads(text)}
    return {
        "claims": [
            {
                "place": with_formulas(claim.place),
                "statement": with_formulas(claim.statement),
                "needs": claim.needs,
                **typeset(known.get(claim.id, {"id": claim.id})),
            }
            for claim in CLAIMS
        ],
        "figures": [[name, entry.title] for name, entry in FIGURES.items()],
    }


def typeset(judged: dict[str, Any]) -> dict[str, Any]:
    """What was measured of a claim, with its formulas set, and the tone of its verdict."""
    verdict = judged.get("verdict", "")
    return {
        "id": judged["id"],
        "measured": with_formulas(judged.get("measured", "")),
        "exact": with_formulas(judged.get("exact", "")),
        "verdict": verdict,
        "tone": TONES[Judgement(verdict)] if verdict else "",
    }
