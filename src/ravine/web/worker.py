"""The process in which long work is done: ``python -m ravine.web.worker MEMORY SECONDS``.

See ``ravine.web.jobs`` for what is said over its standard input and output.
"""

from __future__ import annotations

import json
import sys
from typing import Any, BinaryIO

from ravine.web.tasks import TASKS


def limit(memory: int, seconds: int) -> None:
    """Let the system end this process before it takes more than its share."""
    try:
        import resource
    except ImportError:  # not on this system; the server still ends jobs that are too many
        return

    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


def say(out: BinaryIO, **words: Any) -> None:
    """Write one line."""
    out.write(json.dumps(words, allow_nan=False).encode() + b"\n")
    out.flush()


def main(arguments: list[str]) -> None:
    """Read the request, answer it, then answer what is asked about the answer."""
    limit(int(arguments[0]), int(arguments[1]))
    out = sys.stdout.buffer
    sys.stdout = sys.stderr
    request = json.loads(sys.stdin.buffer.readline())
    content = sys.stdin.buffer.read(int(request["bytes"]))
    task = TASKS[request["task"]]

    try:
        more = task(request, content, lambda **words: say(out, **words))
    except MemoryError:
        say(out, refusal="This needs more memory than the page allows: use ravine diagnose.")
        return
    except (ValueError, TypeError, ImportError, OSError) as error:
        say(out, refusal=" ".join(str(error).split()))
        return

    if more is None:
        return

    for line in sys.stdin.buffer:
        asked = json.loads(line)
        try:
            answer: Any = more(asked)
        except ValueError as error:
            answer = {"refusal": str(error)}

        say(out, number=asked["number"], answer=answer)


if __name__ == "__main__":
    main(sys.argv[1:])
