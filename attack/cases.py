"""Generated cases, run in processes of their own, under limits of time and memory.

An attack that is generated has ``attempt(seed, number)``: it makes that case, runs it and returns a
``Result``. A worker takes a stretch of numbers and tells of each before and after, so that one that
hangs or dies is known; the next worker goes on behind it.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import resource
import signal
import subprocess
import sys
import threading
import traceback
from collections import Counter
from dataclasses import asdict, dataclass, field
from importlib import import_module
from types import FrameType, ModuleType
from typing import IO

SECONDS = 20
"""Processor time that one case may take: more is a hang."""
SILENCE = 600.0
"""Seconds on the clock without a word from a worker: it waits for something. Others may be at
work on the machine, so this is far more than ``SECONDS``."""
MEMORY = 6 * 2**30
"""Bytes of address space of a worker; the libraries alone map about a fifth of it."""
WORKERS = 2
SHOWN = 60
"""Failures that are printed in full."""

_NO_WORD = "(before its first word)"
ANSWERED = "answered"
REFUSED = "refused"


@dataclass(frozen=True)
class Result:
    """How a case ended."""

    outcome: str
    """``ANSWERED``, ``REFUSED``, or the kind of failure."""
    case: str
    """What was tried, in words."""
    detail: str = ""

    @property
    def failed(self) -> bool:
        """Whether it ended as no case may."""
        return self.outcome not in (ANSWERED, REFUSED)


class Hang(BaseException):
    """The time of a case is over; no ``except Exception`` may keep it."""


@dataclass
class Tally:
    """Counts by outcome, and the failures themselves."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, Result]] = field(default_factory=list)

    def add(self, number: int, result: Result) -> None:
        """Count one case."""
        self.counts[result.outcome] += 1
        if result.failed:
            self.failures.append((number, result))

    def show(self, name: str, seed: int) -> int:
        """Print the counts and the failures; return how many failed."""
        total = sum(self.counts.values())
        words = ", ".join(f"{count} {outcome}" for outcome, count in self.counts.most_common())
        print(f"{name}: {total} cases with seed {seed}: {words}; {len(self.failures)} failures")
        for number, result in sorted(self.failures)[:SHOWN]:
            print(f"  {number} {result.outcome}: {result.case}\n      {result.detail[-600:]}")
        if len(self.failures) > SHOWN:
            print(f"  and {len(self.failures) - SHOWN} more")

        sys.stdout.flush()
        return len(self.failures)


def run_cases(name: str, count: int, seed: int, workers: int = WORKERS) -> int:
    """Run ``count`` cases of an attack and print the counts; return the number of failures."""
    tally = Tally()
    results: queue.Queue[tuple[int, Result]] = queue.Queue()
    bounds = [round(count * k / workers) for k in range(workers + 1)]
    threads = [
        threading.Thread(target=_stretch, args=(name, seed, first, last, results))
        for first, last in itertools.pairwise(bounds)
    ]
    for thread in threads:
        thread.start()

    for _ in range(count):
        tally.add(*results.get())
    for thread in threads:
        thread.join()

    return tally.show(name, seed)


def _stretch(
    name: str, seed: int, first: int, last: int, results: queue.Queue[tuple[int, Result]]
) -> None:
    """Cases first, ..., last - 1, in as many workers as it takes."""
    while first < last:
        command = [sys.executable, "-m", "attack.cases", name, str(seed), str(first), str(last)]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        assert worker.stdout is not None
        words: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_listen, args=(worker.stdout, words), daemon=True).start()
        doing = first
        case = _NO_WORD
        while True:
            try:
                line = words.get(timeout=SILENCE)
            except queue.Empty:
                worker.kill()
                results.put((doing, Result("hang", case, f"silent for {SILENCE:.0f} s")))
                first = doing + 1
                break
            if line is None:
                code = worker.wait()
                if case == _NO_WORD:
                    # What all cases stand on is broken: the rest of them would end likewise.
                    for number in range(doing, last):
                        results.put((number, Result("death", case, f"it ended with {code}")))
                    return
                if doing < last:
                    results.put((doing, Result("death", case, f"the worker ended with {code}")))
                first = doing + 1
                break

            number, kind, told = json.loads(line)
            if kind == "begun":
                doing = number
                case = told
            else:
                results.put((number, Result(**told)))
                doing = number + 1
                case = "(after its last word)"

        worker.wait()
        worker.stdout.close()


def _listen(stream: IO[str], words: queue.Queue[str | None]) -> None:
    """Hand a worker's lines on, then ``None``."""
    for line in stream:
        words.put(line)

    words.put(None)


def show_case(module: ModuleType, seed: int, number: int) -> None:
    """Run one case here, with the traceback that a worker would keep to itself."""
    module.prepare()
    result = _limited(module, seed, number)
    print(f"{number} {result.outcome}: {result.case}\n{result.detail}")


def _limited(module: ModuleType, seed: int, number: int) -> Result:
    """One case, under the limit of time.

    A case that needs longer may have compiled what later ones find on disk: it gets the time for
    that once, and is then held to the limit.
    """
    signal.signal(signal.SIGPROF, _over)
    try:
        return _within(SECONDS, module, seed, number)
    except Hang:
        pass

    try:
        _within(3 * SECONDS, module, seed, number)
        return _within(SECONDS, module, seed, number)
    except Hang:
        return Result("hang", module.describe(seed, number), traceback.format_exc())


def _within(seconds: float, module: ModuleType, seed: int, number: int) -> Result:
    """One case, or :class:`Hang` after so much processor time."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return module.attempt(seed, number)  # type: ignore[no-any-return]
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def _over(signum: int, frame: FrameType | None) -> None:
    raise Hang


def _work(name: str, seed: int, first: int, last: int) -> None:
    """What a worker does: the cases of its stretch, each told before and after."""
    module = import_module(f"attack.{name}")
    telling = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    module.prepare()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in range(first, last):
        telling.write(json.dumps([number, "begun", module.describe(seed, number)]) + "\n")
        result = _limited(module, seed, number)
        telling.write(json.dumps([number, "ended", asdict(result)]) + "\n")


if __name__ == "__main__":
    _work(sys.argv[1], *(int(word) for word in sys.argv[2:5]))
