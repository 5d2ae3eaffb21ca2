"""What a worker can do: run a figure of the reproduction, judge claims, diagnose a table."""

from __future__ import annotations

import base64
import io
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from ravine.web.claims import typeset

Say: TypeAlias = Callable[..., None]
More: TypeAlias = Callable[[dict[str, Any]], Any] | None
Task: TypeAlias = Callable[[dict[str, Any], bytes, Say], More]

OPTIONS = (
    "task", "figure", "dataset", "name", "target", "batch_size", "standardise", "intercept",
)  # fmt: skip
"""What a request for a task may say."""

SECONDS = 30.0
"""For a diagnosis on the page: people are waiting."""
LIMITS: dict[str, Any] = {"max_rows": 1_000_000, "max_columns": 5_000, "max_bytes": 256 << 20}
"""What a table on the page may have; larger ones are for the command line."""

_RESOLUTION = 24  # pixels along an axis of a figure that is run live
_DPI = 130
_AGAIN = 4.0  # seconds to judge another point


def make_figure(request: dict[str, Any], content: bytes, say: Say) -> More:
    """Run one figure at low resolution, draw it, and judge the claims that need it alone."""
    from ravine.claims.catalogue import CLAIMS
    from ravine.claims.claim import Evidence, judge, judgeable
    from ravine.figures.catalogue import FIGURES

    name = request["figure"]
    if name not in FIGURES:
        raise ValueError(f"there is no figure {name!r}")

    entry = FIGURES[name]
    options = dict(entry.quick)
    if entry.mapped:
        options["resolution"] = _RESOLUTION

    say(progress=f"running {entry.title}", share=0.1)
    data = entry.compute(**options)
    say(progress="drawing", share=0.7)
    buffer = io.BytesIO()
    entry.draw(data).savefig(buffer, format="png", dpi=_DPI)
    say(progress="judging its claims", share=0.9)
    evidence = Evidence({name: data})
    own = [claim for claim in judgeable(CLAIMS, evidence) if claim.needs]
    for claim in own:
        say(part=typeset(judge(claim, evidence).as_json()))

    picture = base64.b64encode(buffer.getvalue()).decode("ascii")
    say(
        result={
            "title": entry.title,
            "caption": entry.caption,
            "picture": picture,
            "words": entry.findings(data),
        }
    )
    return None


def judge_claims(request: dict[str, Any], content: bytes, say: Say) -> More:
    """Measure every claim that needs no figure, one after the other."""
    from ravine.claims.catalogue import CLAIMS
    from ravine.claims.claim import Evidence, judge

    nothing = Evidence()
    alone = [claim for claim in CLAIMS if not claim.needs]
    for place, claim in enumerate(alone):
        say(progress=f"claim {place + 1} of {len(alone)}", share=place / len(alone))
        say(part=typeset(judge(claim, nothing).as_json()))

    say(result={})
    return None


def diagnose_table(request: dict[str, Any], content: bytes, say: Say) -> More:
    """Read a table, diagnose it, and stay to judge other points of the plane."""
    from ravine.diagnosis import diagnose
    from ravine.tables import read_table
    from ravine.web.data_pictures import diagnosis_result

    say(progress="reading the table", share=0.02)

    with source_of(request, content) as source:
        table = read_table(source, target=request["target"] or None, **LIMITS)

    name = request["name"] or table.name
    options: dict[str, Any] = {
        "name": name,
        "batch_size": int(request["batch_size"]) if request["batch_size"] else None,
        "standardise": bool(request["standardise"]),
        "intercept": bool(request["intercept"]),
    }
    rows, columns = table.X.shape
    say(part={"data": [f"{name}: {rows} rows, {columns} columns; to predict: {table.target}"]})

    def tell(stage: str, share: float) -> None:
        say(progress=stage, share=share)

    result = diagnose(table, time=SECONDS, tell=tell, **options)
    say(progress="drawing", share=0.98)
    say(result=diagnosis_result(result))

    def judge(asked: dict[str, Any]) -> Any:
        again = diagnose(
            table, alpha=float(asked["alpha"]), beta=float(asked["beta"]),
            time=_AGAIN, try_remedies=False, epochs=result.epochs, **options,
        )  # fmt: skip
        return {"verdict": again.verdict}

    return judge


@contextmanager
def source_of(request: dict[str, Any], content: bytes) -> Iterator[str]:
    """What to read: a data set by its name, or the bytes in a file that is gone afterwards."""
    if not content:
        yield request["dataset"]
        return

    with tempfile.TemporaryDirectory(prefix="ravine-") as folder:
        # Readers tell formats apart by the end of the name, among other things.
        path = Path(folder) / ("table" + "".join(Path(request["name"]).suffixes[-2:]))
        path.write_bytes(content)
        yield str(path)


TASKS: dict[str, Task] = {
    "figure": make_figure,
    "claims": judge_claims,
    "diagnose": diagnose_table,
}
