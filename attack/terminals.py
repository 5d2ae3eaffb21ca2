"""The command as a process: help at any width, pipes that close, disks that are full, Ctrl-C.

A fixed list of cases. Nothing may print a traceback, and what is refused takes one line.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random

from attack.cases import ANSWERED, REFUSED, Result, Tally

_RAVINE = [sys.executable, "-m", "ravine"]
_INTERRUPTS = 8
"""Moments at which Ctrl-C is tried, over about the time that the command takes."""
_ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {},
    {"COLUMNS": "20", "NO_COLOR": "1"},
    {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
)
_SECONDS = 60.0
"""On the clock, for a process of its own beside others at work."""


def main() -> int:
    """Run every case; print counts by outcome and return the number of failures."""
    tally = Tally()
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(_cases(Path(folder))):
            tally.add(number, case())

    return tally.show("terminals", 0)


def _cases(folder: Path) -> list[Callable[[], Result]]:
    from ravine.cli import COMMANDS

    helps = [["--help"], *([name, "--help"] for name in COMMANDS)]
    made: list[Callable[[], Result]] = [
        partial(_printed, words, environment, folder)
        for words in helps
        for environment in _ENVIRONMENTS
    ]

    rate = ["rate", "--Q", "8"]
    for words in (rate, [*rate, "--json"], ["--help"], ["map", "--help"]):
        made += [
            partial(_into_head, words, folder),
            partial(_into_full, words, folder),
            partial(_closed, words, ">&-", folder),
            partial(_closed, words, "2>&-", folder),
        ]

    rng = Random(0)
    long = ["map", "--Q", "8", "--resolution", "3000", "--out", "interrupted.png"]
    moments = [rng.uniform(0.1, 4.0) for _ in range(_INTERRUPTS)]
    return made + [partial(_interrupted, long, after, folder) for after in moments]


def _run(words: list[str], environment: dict[str, str], folder: Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [*_RAVINE, *words],
        capture_output=True,
        env={**os.environ, **environment},
        cwd=folder,
        check=False,
        timeout=_SECONDS,
    )
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def _verdict(case: str, code: int, err: str, allowed: tuple[int, ...]) -> Result:
    """Whether a process ended as it may."""
    if "Traceback" in err or "Exception ignored" in err:
        return Result("traceback", case, err[-800:])
    if "Warning" in err:
        return Result("warning", case, err[:400])
    if code not in allowed:
        return Result("exit code", case, f"{code}: {err[:300]}")
    if len(err.splitlines()) > 1:
        return Result("long refusal", case, err[:400])

    return Result(ANSWERED if code == 0 else REFUSED, case)


def _printed(words: list[str], environment: dict[str, str], folder: Path) -> Result:
    code, _, err = _run(words, environment, folder)
    return _verdict(f"{environment} {words}", code, err, (0,))


def _shell(line: str, words: list[str], folder: Path, allowed: tuple[int, ...]) -> Result:
    """A line of bash in which "$@" is the command."""
    done = subprocess.run(
        ["bash", "-c", line, "bash", *_RAVINE, *words],
        capture_output=True,
        cwd=folder,
        check=False,
        timeout=_SECONDS,
    )
    return _verdict(f"{line} {words}", done.returncode, done.stderr.decode(), allowed)


def _into_head(words: list[str], folder: Path) -> Result:
    return _shell('"$@" | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}', words, folder, (0, 141))


def _into_full(words: list[str], folder: Path) -> Result:
    return _shell('"$@" >/dev/full', words, folder, (2,))


def _closed(words: list[str], how: str, folder: Path) -> Result:
    return _shell(f'"$@" {how}', words, folder, (0, 2))


def _interrupted(words: list[str], after: float, folder: Path) -> Result:
    """Ctrl-C after some seconds: exit code 130, one line, no file."""
    case = f"{words} interrupted after {after:.2f} s"
    process = subprocess.Popen(
        [*_RAVINE, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        # A job in the background ignores Ctrl-C, and what it starts would, too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    try:
        _, err = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return Result("hang", case, f"still there {_SECONDS:.0f} s after Ctrl-C")

    left = sorted(path.name for path in folder.glob("*interrupted*"))
    if left and process.returncode != 0:
        return Result("half-written file", case, str(left))

    return _verdict(case, process.returncode, err.decode(), (0, 130))
