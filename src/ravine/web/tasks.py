"""Long work that the page asks for: run a figure, judge claims, diagnose a table.

``python -m ravine.web.tasks`` does one of them: see ``ravine.web.jobs`` for what is said over its
standard input and output.
"""

from __future__ import annotations

import base64
import io
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, TypeAlias

from ravine.web.picture import as_json

Request: TypeAlias = dict[str, Any]
Say: TypeAlias = Callable[..., None]

MEMORY = 4 << 30
"""Bytes of address space that a job may have."""
SECONDS = 600
"""Processor time that it may take."""
LIMITS: dict[str, Any] = {"max_rows": 1_000_000, "max_columns": 5_000, "max_bytes": 256 << 20}
"""What a table on the page may have; larger ones are for the command line."""

_RESOLUTION = 24  # pixels along an axis of a figure that is run live
_AGAIN = 4.0  # seconds to judge another point


def make_figure(request: Request, content: bytes, say: Say, questions: Iterator[Request]) -> None:
    """Run one figure at low resolution, draw it, and judge the claims that need it alone."""
    from ravine.claims.catalogue import CLAIMS
    from ravine.claims.claim import judge
    from ravine.figures.catalogue import FIGURES
    from ravine.web.claims import typeset

    name = request.get("figure")
    if name not in FIGURES:
        raise ValueError(f"there is no figure {name!r}")

    entry = FIGURES[name]
    options = entry.arguments(resolution=_RESOLUTION, quick=True, seed=0, device="auto")
    say(progress=f"running {entry.title}", share=0.1)
    data = entry.compute(**options)
    say(progress="drawing", share=0.7)
    buffer = io.BytesIO()
    entry.draw(data).savefig(buffer, format="png", dpi=130)
    say(progress="judging its claims", share=0.9)
    for claim in CLAIMS:
        if claim.needs == (name,):
            say(parts=[typeset(judge(claim, {name: data}))])

    picture = base64.b64encode(buffer.getvalue()).decode("ascii")
    words = [entry.title, entry.caption, *entry.findings(data)]
    say(result={"picture": picture, "words": words}, share=1.0)


def judge_claims(request: Request, content: bytes, say: Say, questions: Iterator[Request]) -> None:
    """Measure every claim that needs no figure, one after the other."""
    from ravine.claims.catalogue import CLAIMS
    from ravine.claims.claim import judge
    from ravine.web.claims import typeset

    alone = [claim for claim in CLAIMS if not claim.needs]
    for place, claim in enumerate(alone):
        say(progress=f"claim {place + 1} of {len(alone)}", share=place / len(alone))
        say(parts=[typeset(judge(claim))])

    say(result={"words": []}, share=1.0)


def diagnose_table(
    request: Request, content: bytes, say: Say, questions: Iterator[Request]
) -> None:
    """Read a table, diagnose it, and judge other points of its plane as they are asked for."""
    from ravine.diagnosis import diagnose
    from ravine.tables.reading import NAMED, read_table
    from ravine.web.data import shown

    say(progress="reading the table", share=0.02)
    dataset = request.get("dataset", "")
    if not content and dataset not in NAMED:  # a file of this machine is not for the page to read
        raise ValueError(f"there is no data set {dataset!r}")

    table = read_table(content or dataset, target=request.get("target") or None, **LIMITS)
    options: dict[str, Any] = {
        "name": request.get("name") or table.name,
        "batch_size": int(request["batch_size"]) if request.get("batch_size") else None,
        "standardise": bool(request.get("standardise")),
        "intercept": bool(request.get("intercept")),
    }
    rows, columns = table.X.shape
    say(parts=[f"{options['name']}: {rows} rows, {columns} columns; to predict: {table.target}"])

    def tell(stage: str, share: float) -> None:
        say(progress=stage, share=0.98 * share)

    result = diagnose(table, time=float(request["seconds"]), tell=tell, **options)
    say(result=shown(result), share=1.0)

    short: dict[str, Any] = {"time": _AGAIN, "try_remedies": False, "epochs": result.epochs}
    for asked in questions:
        try:
            point: dict[str, Any] = {name: float(asked[name]) for name in ("alpha", "beta")}
            say(answer=diagnose(table, **point, **short, **options).answer.why)
        except (KeyError, TypeError, ValueError) as error:
            say(answer=str(error))


TASKS = {"figure": make_figure, "claims": judge_claims, "diagnose": diagnose_table}


def main() -> None:
    """Read a request and answer it, then what is asked about the answer."""
    with suppress(ImportError):  # not on this system; the server still ends jobs that are too many
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    given = sys.stdin.buffer
    out = sys.stdout
    sys.stdout = sys.stderr

    def say(**words: Any) -> None:
        print(as_json(words), file=out, flush=True)

    request = json.loads(given.readline())
    content = given.read(request["bytes"])
    try:
        TASKS[request["task"]](request, content, say, map(json.loads, given))
    except MemoryError:
        say(refusal="This needs more memory than the page allows: use ravine diagnose.")
    except (ValueError, TypeError, ImportError, OSError) as error:
        from ravine.web.data import in_page_words

        say(refusal=in_page_words(" ".join(str(error).split())))


if __name__ == "__main__":
    main()
