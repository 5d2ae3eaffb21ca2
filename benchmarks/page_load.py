"""Many people at once on the page of ``ravine explore``: every answer must be its asker's own."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import Any

import numpy as np

from benchmarks.page import answer
from ravine.web.answers import told

_VIEWS = 4
"""Views of each person, one of them with the fine plane; nobody has one of another's."""


def load(address: str, people: int, seconds: float, pid: int) -> dict[str, Any]:
    """Everybody asks for views of its own, and compares each answer with the library's, in full.

    Words, numbers, both pictures and the address are compared, as they were computed here from the
    same settings: an answer that was another's would differ in all of them.
    """
    questions = [[_question(number, view) for view in range(_VIEWS)] for number in range(people)]
    expected = [[json.loads(json.dumps(told(one))) for one in own] for own in questions]
    counts = {"answers": 0, "errors": 0, "mixed up": 0}
    waits: list[float] = []
    lock = threading.Lock()

    def person(number: int, until: float) -> None:
        rng = np.random.default_rng(number)
        while time.monotonic() < until:
            view = int(rng.integers(_VIEWS))
            began = time.monotonic()
            try:
                got = json.loads(answer(address, questions[number][view]))
            except OSError:
                with lock:
                    counts["errors"] += 1
                continue
            with lock:
                counts["answers"] += 1
                counts["mixed up"] += got != expected[number][view]
                waits.append(time.monotonic() - began)

    def crowd(until: float) -> None:
        everyone = [threading.Thread(target=person, args=(i, until)) for i in range(people)]
        for one in everyone:
            one.start()
        for one in everyone:
            one.join()

    crowd(time.monotonic() + 5.0)  # caches and threads are as they will stay
    before = memory(pid)
    counts |= dict.fromkeys(counts, 0)
    waits.clear()
    crowd(time.monotonic() + seconds)
    return counts | {
        "people": people,
        "seconds": seconds,
        "wait, median ms": round(1e3 * float(np.median(waits))),
        "memory MB": round(memory(pid) / 1e6),
        "memory grown by": f"{memory(pid) / before - 1:.1%}",
    }


def _question(number: int, view: int) -> dict[str, Any]:
    """A view that no other person has: both its pictures depend on Q."""
    settings = {
        "Q": f"{3.0 + number + view / 7.0:.6g}",
        "step": "0.5",
        "beta": f"{0.02 * number:.6g}",
        "colour": ("error", "worst", "floor", "iid")[view],
        "example": ("noise", "odd")[view % 2],
    }

    return {"settings": settings, "theme": "light", "fine": view == 0}


def memory(pid: int) -> float:
    """Resident bytes."""
    with open(f"/proc/{pid}/statm", encoding="ascii") as file:
        return float(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
