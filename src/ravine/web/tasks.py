"""Long work that the page asks for: run a figure, judge claims, diagnose a table.

``python -m ravine.web.tasks`` does one of them: see ``ravine.web.jobs`` for what is said over its
standard input and output.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

Say: TypeAlias = Callable[..., None]
More: TypeAlias = Callable[[dict[str, Any]], Any] | None
Task: TypeAlias = Callable[[dict[str, Any], bytes, Say], More]

OPTIONS = (
    "task", "figure", "dataset", "name", "target", "batch_size", "standardise", "intercept",
    "seconds",
)  # fmt: skip
"""What a request for a task may say."""

MEMORY = 4 << 30
"""Bytes of address space that a job may have."""
SECONDS = 600
"""Processor time that it may take."""
LIMITS: dict[str, Any] = {"max_rows": 1_000_000, "max_columns": 5_000, "max_bytes": 256 << 20}
"""What a table on the page may have; larger ones are for the command line."""

_RESOLUTION = 24  # pixels along an axis of a figure that is run live
_AGAIN = 4.0  # seconds to judge another point


def make_figure(request: dict[str, Any], content: bytes, say: Say) -> More:
    """Run one figure at low resolution, draw it, and judge the claims that need it alone."""
    from ravine.claims.catalogue import CLAIMS
    from ravine.claims.claim import judge
    from ravine.figures.catalogue import FIGURES
    from ravine.web.claims import typeset

    name = request["figure"]
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
    return None


def judge_claims(request: dict[str, Any], content: bytes, say: Say) -> More:
    """Measure every claim that needs no figure, one after the other."""
    from ravine.claims.catalogue import CLAIMS
    from ravine.claims.claim import judge
    from ravine.web.claims import typeset

    alone = [claim for claim in CLAIMS if not claim.needs]
    for place, claim in enumerate(alone):
        say(progress=f"claim {place + 1} of {len(alone)}", share=place / len(alone))
        say(parts=[typeset(judge(claim))])

    say(result={"words": []}, share=1.0)
    return None


def diagnose_table(request: dict[str, Any], content: bytes, say: Say) -> More:
    """Read a table, diagnose it, and stay to judge other points of the plane."""
    from ravine.diagnosis import diagnose
    from ravine.tables import read_table
    from ravine.web.data import shown

    say(progress="reading the table", share=0.02)
    with source_of(request, content) as source:
        table = read_table(source, target=request["target"] or None, **LIMITS)

    options: dict[str, Any] = {
        "name": request["name"] or table.name,
        "batch_size": int(request["batch_size"]) if request["batch_size"] else None,
        "standardise": bool(request["standardise"]),
        "intercept": bool(request["intercept"]),
    }
    rows, columns = table.X.shape
    say(parts=[f"{options['name']}: {rows} rows, {columns} columns; to predict: {table.target}"])

    def tell(stage: str, share: float) -> None:
        say(progress=stage, share=0.98 * share)

    result = diagnose(table, time=float(request["seconds"]), tell=tell, **options)
    say(result=shown(result), share=1.0)

    def judge(asked: dict[str, Any]) -> Any:
        short: dict[str, Any] = {"time": _AGAIN, "try_remedies": False, "epochs": result.epochs}
        point = float(asked["alpha"]), float(asked["beta"])
        return diagnose(table, alpha=point[0], beta=point[1], **short, **options).answer.why

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


def main() -> None:
    """Read a request, answer it, then answer what is asked about the answer."""
    import json

    from ravine.web.picture import as_json

    with suppress(ImportError):  # not on this system; the server still ends jobs that are too many
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    out = sys.stdout
    sys.stdout = sys.stderr

    def say(**words: Any) -> None:
        print(as_json(words), file=out, flush=True)

    request = json.loads(sys.stdin.buffer.readline())
    content = sys.stdin.buffer.read(int(request["bytes"]))
    try:
        more = TASKS[request["task"]](request, content, say)
        if more is None:
            return
        for text in sys.stdin.buffer:
            asked = json.loads(text)
            try:
                said = more(asked)
            except ValueError as error:
                said = str(error)
            say(answers={asked["number"]: said})
    except MemoryError:
        say(refusal="This needs more memory than the page allows: use ravine diagnose.")
    except (ValueError, TypeError, ImportError, OSError) as error:
        from ravine.web.data import in_page_words

        say(refusal=in_page_words(" ".join(str(error).split())))


if __name__ == "__main__":
    main()
