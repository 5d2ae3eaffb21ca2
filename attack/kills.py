"""Kills at random moments: a sweep that is killed again and again ends with the same bytes.

Each run is killed with SIGKILL after a random time, resumed and killed again until it ends by
itself; then a new one begins. Compared are all files of the store with those of a run that nobody
killed, and beside it nothing may be left.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from attack.stores import contents
from attack.tiny_sweep import SPEC

KILLS = 100

_LONGER = {"steps = 30": "steps = 20000", "count = 6": "count = 40", "count = 5": "count = 24"}
"""Changes to the tiny sweep that make it last a second or two, in 96 tiles."""


def main() -> int:
    """Kill until all kills are spent; print counts by outcome, return the number of failures."""
    dice = random.Random(16)
    outcomes: Counter[str] = Counter()
    failures = 0

    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "spec.toml"
        text = SPEC
        for before, after in _LONGER.items():
            text = text.replace(before, after)
        spec.write_text(text, encoding="utf-8")

        # The first run compiles; how long a sweep takes is measured on the second.
        _start(spec, Path(folder) / "first" / "sweep.zarr").communicate()
        undisturbed = Path(folder) / "whole" / "sweep.zarr"
        began = time.monotonic()
        _start(spec, undisturbed).communicate()
        seconds = time.monotonic() - began
        expected = contents(undisturbed)

        number = 0
        while outcomes["killed"] < KILLS:
            number += 1
            store = Path(folder) / f"run {number}" / "sweep.zarr"
            killed, code, errors = _killed_until_it_ends(
                spec, store, dice, seconds, KILLS - outcomes["killed"]
            )
            outcomes["killed"] += killed

            left = [path.name for path in store.parent.iterdir()]
            same = contents(store) == expected and left == [store.name]
            outcomes["ended with the same bytes" if same else "ended with OTHER BYTES"] += 1
            if not same or code != 0 or "Traceback" in errors:
                failures += 1
                print(f"FAILED  run {number}: exit code {code}, {left}, {errors[-300:]}")

    print(f"kills: runs of {seconds:.1f} s, killed at random moments and resumed")
    for name, count in outcomes.most_common():
        print(f"{count:8d}  {name}")

    return failures


def _start(spec: Path, store: Path) -> subprocess.Popen[str]:
    """Start a sweep, or go on with it."""
    command = [sys.executable, "-c", "from ravine.cli import main; main()"]
    command += ["sweep", str(spec), "--out", str(store), "--resume"]
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, encoding="utf-8"
    )


def _killed_until_it_ends(
    spec: Path, store: Path, dice: random.Random, seconds: float, most: int
) -> tuple[int, int, str]:
    """Kill a sweep at random moments, at most ``most`` times; return kills, exit code, errors."""
    kills = 0
    while True:
        run = _start(spec, store)
        try:
            # Some moments lie before the store is made, some after the sweep has ended.
            _, errors = run.communicate(timeout=dice.uniform(0.2, 1.1) * seconds)
        except subprocess.TimeoutExpired:
            if kills < most:
                run.kill()
                run.communicate()
                kills += 1
                continue
            _, errors = run.communicate()

        return kills, run.returncode, errors


if __name__ == "__main__":
    raise SystemExit(main() > 0)
