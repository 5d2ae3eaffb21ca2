"""Long computations in separate processes: figures, claims, diagnoses.

A job is a child process, ``python -m ravine.web.jobs``, that reads a request from its standard
input and writes a line of JSON for every event. More requests may follow. The system limits its
memory and time. The server's side comes first in this file, then the child's.
"""

from __future__ import annotations

import base64
import io
import json
import secrets
import subprocess
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, TypeAlias

from ravine.web.picture import as_json

Request: TypeAlias = dict[str, Any]
Say: TypeAlias = Callable[..., None]

MOST_JOBS = 8
"""Maximum number of jobs; a further one ends the oldest, so that forgotten tabs do not pile up."""
MEMORY = 4 << 30
"""Bytes of address space of a job."""
SECONDS = 600
"""Seconds of processor time of a job."""
LIMITS: dict[str, Any] = {"max_rows": 1_000_000, "max_columns": 5_000, "max_bytes": 256 << 20}
"""Limits of a table on the page; larger ones are for the command line."""

_AGAIN = 4.0  # seconds to judge another point


class Job:
    """A child process and what it has reported so far, in ``state``."""

    def __init__(self, request: Request, content: bytes) -> None:
        command = [sys.executable, "-m", "ravine.web.jobs"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process: Any = subprocess.Popen(command, stderr=subprocess.DEVNULL, **pipes)
        self.state: dict[str, Any] = {
            "progress": "starting", "share": 0.0, "parts": [], "result": None, "refusal": None,
        }  # fmt: skip
        self._answers: SimpleQueue[str] = SimpleQueue()
        self._asking = threading.Lock()
        head = request | {"bytes": len(content)}
        threading.Thread(target=self._feed, args=(head, content), daemon=True).start()
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def ask(self, request: Request) -> str:
        """Send a further request after the result; the answer is empty if the process has ended."""
        with self._asking:
            if self.process.poll() is not None:
                return ""
            self._feed(request)
            return self._answers.get()

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.listener.join()

    def _feed(self, request: Request, content: bytes = b"") -> None:
        # A job that ends before it has read its input has already reported why.
        with suppress(BrokenPipeError, ValueError):
            self.process.stdin.write(json.dumps(request).encode() + b"\n" + content)
            self.process.stdin.flush()

    def _listen(self) -> None:
        """Read lines until the process ends."""
        with suppress(BrokenPipeError), self.process:  # closes its pipes
            for text in self.process.stdout:
                message = json.loads(text)
                self.state["parts"] += message.pop("parts", [])
                if "answer" in message:
                    self._answers.put(message.pop("answer"))
                self.state |= message

        if self.process.wait() != 0 and not (self.state["result"] or self.state["refusal"]):
            self.state["refusal"] = "This needed more time or memory than the page allows."
        self._answers.put("")  # wakes a waiting caller


class Jobs:
    """All jobs of a server, each with a name that cannot be guessed."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._lock = threading.Lock()

    def start(self, request: Request, content: bytes = b"") -> str:
        """Start a job and return its name."""
        job = Job(request, content)
        name = secrets.token_urlsafe(16)
        with self._lock:
            self._jobs[name] = job
            while len(self._jobs) > MOST_JOBS:
                self._jobs.popitem(last=False)[1].end()

        return name

    def get(self, name: str) -> Job | None:
        """The job of that name, or None."""
        return self._jobs.get(name)

    def cancel(self, name: str) -> None:
        """End a job and remove it."""
        with self._lock:
            job = self._jobs.pop(name, None)

        if job is not None:
            job.end()

    def close(self) -> None:
        """End all jobs."""
        for name in list(self._jobs):
            self.cancel(name)


def make_figure(request: Request, content: bytes, say: Say, questions: Iterator[Request]) -> None:
    """Run one figure at low resolution, draw it, and judge the claims that need it alone."""
    from ravine.figures.catalogue import FIGURES, QUICK_RESOLUTION

    name = request["figure"]
    entry = FIGURES[name]
    options = entry.arguments(resolution=QUICK_RESOLUTION, quick=True, seed=0, device="auto")
    say(progress=f"running {entry.title}", share=0.1)
    data = entry.compute(**options)
    say(progress="drawing", share=0.7)
    buffer = io.BytesIO()
    entry.draw(data).savefig(buffer, format="png", dpi=130)
    _judge(say, (name,), {name: data}, share=0.9)
    picture = base64.b64encode(buffer.getvalue()).decode("ascii")
    words = [entry.title, entry.caption, *entry.findings(data)]
    say(result={"picture": picture, "words": words}, share=1.0)


def judge_claims(request: Request, content: bytes, say: Say, questions: Iterator[Request]) -> None:
    """Measure every claim that needs no figure, one after the other."""
    _judge(say, (), {}, share=0.0)
    say(result={"words": []}, share=1.0)


def _judge(say: Say, needs: tuple[str, ...], figures: dict[str, Any], *, share: float) -> None:
    """Judge the claims that need only these figures; ``share`` of the work is already done."""
    from ravine.claims import CLAIMS
    from ravine.claims.claim import judge
    from ravine.web.claims import typeset

    chosen = [claim for claim in CLAIMS if claim.needs == needs]
    for place, claim in enumerate(chosen):
        done = share + (1.0 - share) * place / len(chosen)
        say(progress=f"claim {place + 1} of {len(chosen)}", share=done)
        say(parts=[typeset(judge(claim, figures))])


def diagnose_table(
    request: Request, content: bytes, say: Say, questions: Iterator[Request]
) -> None:
    """Read a table, diagnose it, and judge other points of its plane on request."""
    from ravine.diagnosis import diagnose
    from ravine.tables import read_table
    from ravine.tables.source import NAMED
    from ravine.web.data import shown

    say(progress="reading the table", share=0.02)
    dataset = request.get("dataset", "")
    if not content and dataset not in NAMED:  # the page must not read files of this machine
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
    """Answer a request, then further requests about the answer."""
    with suppress(ImportError):  # not on this system; the server still limits the number of jobs
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
