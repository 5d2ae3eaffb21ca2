"""What a worker can do: make a figure of the reproduction, judge claims, diagnose a table."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from ravine.arguments import Refusal

Say: TypeAlias = Callable[..., None]
More: TypeAlias = Callable[[dict[str, Any]], Any] | None
Task: TypeAlias = Callable[[dict[str, Any], bytes, Say], More]

_RESOLUTION = 24  # pixels along an axis of a figure that is run live
_DPI = 130
_AGAIN = 4.0  # seconds to judge another point
LIMITS: dict[str, Any] = {"max_rows": 1_000_000, "max_columns": 5_000, "max_bytes": 256 << 20}
"""What a table on the page may have; larger ones are for the command line."""


def make_figure(question: dict[str, Any], content: bytes, say: Say) -> More:
    """Run one figure at low resolution, draw it, and judge the claims that need it alone."""
    from ravine.claims.catalogue import CLAIMS
    from ravine.claims.claim import Evidence, judge, judgeable
    from ravine.figures.catalogue import FIGURES

    name = question["figure"]
    entry = FIGURES[name]
    options = dict(entry.quick)
    if entry.mapped:
        options["resolution"] = _RESOLUTION

    say(progress=f"running {entry.title}")
    data = entry.compute(**options)
    say(progress="drawing")
    buffer = io.BytesIO()
    entry.draw(data).savefig(buffer, format="png", dpi=_DPI)
    picture = base64.b64encode(buffer.getvalue()).decode("ascii")
    say(progress="judging its claims")
    evidence = Evidence({name: data})
    own = [claim for claim in judgeable(CLAIMS, evidence) if claim.needs]
    judged = [plain(judge(claim, evidence).as_json()) for claim in own]
    say(
        result={"figure": name, "picture": picture, "words": entry.findings(data), "claims": judged}
    )
    return None


def judge_claims(question: dict[str, Any], content: bytes, say: Say) -> More:
    """Measure every claim that needs no figure, one after the other."""
    from ravine.claims.catalogue import CLAIMS
    from ravine.claims.claim import Evidence, judge

    nothing = Evidence()
    alone = [claim for claim in CLAIMS if not claim.needs]
    for place, claim in enumerate(alone):
        say(progress=f"claim {place + 1} of {len(alone)}: {claim.statement}")
        say(part=plain(judge(claim, nothing).as_json()))

    say(result={})
    return None


def diagnose_table(question: dict[str, Any], content: bytes, say: Say) -> More:
    """Read a table, diagnose it, and stay to judge other points of the plane."""
    from ravine.diagnosis import diagnose
    from ravine.report.diagnosis_pictures import plane
    from ravine.tables import read_table

    say(progress="reading the table")

    with source_of(question, content) as source:
        table = read_table(source, target=question.get("target") or None, **LIMITS)

    wishes: dict[str, Any] = {
        "batch_size": question.get("batch_size"),
        "standardise": bool(question.get("standardise")),
        "intercept": bool(question.get("intercept")),
    }

    def tell(stage: str, share: float) -> None:
        say(progress=f"{stage} ({share:.0%} of the time)")

    result = diagnose(table, name=table.name, time=float(question["seconds"]), tell=tell, **wishes)
    say(progress="drawing the plane")
    regions = plane(result)
    say(
        result={
            "record": plain(result.to_dict()),
            "plane": plain(
                {
                    "steps": regions.steps.tolist(),
                    "momenta": regions.momenta.tolist(),
                    "exact_gradients": regions.exact_gradients.tolist(),
                    "mean_square": regions.mean_square.tolist(),
                }
            ),
        }
    )

    def judge(asked: dict[str, Any]) -> Any:
        again = diagnose(
            table, name=table.name, alpha=float(asked["alpha"]), beta=float(asked["beta"]),
            time=_AGAIN, try_remedies=False, epochs=result.epochs, **wishes,
        )  # fmt: skip
        return {"verdict": again.verdict, "outcome": again.subject.outcome.value}

    return judge


@contextmanager
def source_of(question: dict[str, Any], content: bytes) -> Iterator[str]:
    """What to read: a data set by its name, or the bytes, in a file that is memory alone."""
    if not content:
        yield str(question["dataset"])
        return

    make = getattr(os, "memfd_create", None)
    if make is None:
        # The readers open a file by its name, some of them twice, and nothing may touch the disk.
        rule = "the name of a data set on this system, which has no files in memory"
        remedy = "give the file to the command line: ravine diagnose FILE"
        raise Refusal("the table", rule, "a file", remedy)

    handle = make("table")

    try:
        with open(handle, "wb", closefd=False) as file:
            file.write(content)
        yield f"/proc/self/fd/{handle}"
    finally:
        os.close(handle)


def plain(value: Any) -> Any:
    """A value with numbers that JSON can hold: infinite ones become None."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not abs(value) < float("inf"):
        return None

    return value


TASKS: dict[str, Task] = {
    "figure": make_figure,
    "claims": judge_claims,
    "diagnose": diagnose_table,
}
