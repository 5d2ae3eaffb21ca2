"""Damaged stores: a table of damages, and random flips, against everything that reads a store.

Each reader of a damaged store must refuse it in one line, or work with the values of a whole one.
``--resume`` must bring the values back, or say in one line why it cannot.
"""

from __future__ import annotations

import contextlib
import io
import random
import shutil
import signal
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attack.damages import DAMAGES, Outcome
from attack.tiny_sweep import SPEC, tiny_sweep

FLIPS = 1000
"""Flipped bits, each in a store of its own."""

_RESUMED_OF_FLIPS = 10  # every tenth is resumed too, which takes most of the time
_SECONDS = 20  # of processor time that a reader may take: more is a hang
_SILENCE = 120  # seconds on the clock: others may be at work on the machine
_FIRST = 600  # of both for the first picture, which may import and compile what it needs


class _Hang(BaseException):
    """The time of a reader is over."""


def main() -> int:
    """Try all damages with all readers; print counts by outcome, return the number of failures."""
    outcomes: Counter[str] = Counter()
    failures: list[str] = []

    with tempfile.TemporaryDirectory() as folder:
        arena = _Arena(Path(folder))
        for damage in DAMAGES:
            arena.renew()
            damage.harm(arena.store)
            for outcome in arena.readers(damage.outcome):
                _count(damage.name, outcome, outcomes, failures)

        dice = random.Random(16)
        files = sorted(file for file in arena.pristine.rglob("*") if file.is_file())
        sizes = [file.stat().st_size for file in files]

        for number in range(FLIPS):
            arena.renew()
            file = dice.choices(files, sizes)[0].relative_to(arena.pristine)
            content = bytearray((arena.store / file).read_bytes())
            at = dice.randrange(len(content))
            bit = dice.randrange(8)
            content[at] ^= 1 << bit
            (arena.store / file).write_bytes(content)
            resuming = number % _RESUMED_OF_FLIPS == 0
            expected = Outcome.LOST if file.name == "header.json" else Outcome.RESTORED
            for outcome in arena.readers(expected, resuming=resuming):
                _count(f"bit {bit} of byte {at} of {file}", outcome, outcomes, failures)

    print(f"stores: {len(DAMAGES)} damages and {FLIPS} flipped bits")
    for name, number in outcomes.most_common():
        print(f"{number:8d}  {name}")

    return len(failures)


def _count(case: str, outcome: str, outcomes: Counter[str], failures: list[str]) -> None:
    if "FAILED" in outcome:
        failures.append(case)
        print(f"FAILED  {case}: {outcome}", flush=True)
        outcome = "FAILED"
    outcomes[outcome] += 1


class _Arena:
    """A whole store, a copy of it to be harmed, and the readers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pristine = folder / "pristine.zarr"
        self.store = folder / "harmed" / "sweep.zarr"
        self.spec = folder / "spec.toml"
        self.spec.write_text(SPEC, encoding="utf-8")
        self.values = tiny_sweep(self.pristine).load()
        self.content = contents(self.pristine)
        # Once on the whole store: what is loaded and compiled then is not a reader's time.
        code, _, err = _command(
            ["plot", str(self.pristine), "--out", str(folder / "p.png")], _FIRST
        )
        assert code == 0, err

    def renew(self) -> None:
        """Put a whole copy in the place of the harmed one."""
        shutil.rmtree(self.store.parent, ignore_errors=True)
        self.store.parent.mkdir()
        shutil.copytree(self.pristine, self.store)

    def readers(self, expected: Outcome, *, resuming: bool = True) -> Iterator[str]:
        """Outcome of each reader on the store as it is now; the last of them restores it."""
        picture = self.folder / "picture.png"
        picture.unlink(missing_ok=True)
        yield self._judged("plot", expected, "plot", self.store, "--out", picture)
        yield self._judged("--status", expected, "sweep", "--status", self.store)
        if not resuming:
            return

        yield self._judged("--status --json", expected, "sweep", "--status", self.store, "--json")
        yield self._judged("without --resume", expected, "sweep", self.spec, "--out", self.store)
        yield self._judged(
            "--resume", expected, "sweep", self.spec, "--out", self.store, "--resume"
        )
        yield self._after(expected)

    def _judged(self, reader: str, expected: Outcome, *arguments: Any) -> str:
        """Run a command; say in a few words what came of it, with FAILED if it must not."""
        try:
            code, out, err = _command([str(argument) for argument in arguments])
        except _Hang:
            return f"{reader}: FAILED, hang"
        except Exception as error:  # whatever it is, it would be a traceback
            return f"{reader}: FAILED, traceback of {error!r:.120}"

        if "Traceback" in err or "Warning" in err:
            return f"{reader}: FAILED, says {err!r:.200}"
        if code == 2 and err.count("\n") == 1 and err.startswith("ravine: "):
            unread = expected in (Outcome.RESTORED, Outcome.UNREADABLE) and reader != "--resume"
            allowed = reader == "without --resume" or unread or expected is Outcome.LOST
            return f"{reader}: one line" if allowed else f"{reader}: FAILED, refuses with {err!r}"
        if code != 0:
            return f"{reader}: FAILED, exit code {code}, {err!r:.200}"

        noticed = "damaged" in out and '"damaged": 0' not in out
        if reader.startswith("--status") and expected is Outcome.RESTORED and not noticed:
            return f"{reader}: FAILED, damage unseen"
        if expected is Outcome.LOST or (expected is Outcome.RESTORED and reader == "plot"):
            return f"{reader}: FAILED, takes it for whole"

        return f"{reader}: {'says damaged' if noticed else 'works'}"

    def _after(self, expected: Outcome) -> str:
        """What the store is after --resume."""
        import xarray as xr

        if expected is Outcome.LOST:
            return "after: left as it was"

        data = xr.open_zarr(self.store, chunks=None, zarr_format=3).load()
        for name in self.values.variables:
            if data[name].values.tobytes() != self.values[name].values.tobytes():
                return f"after: FAILED, other values of {name}"
        if expected is not Outcome.HARMLESS and contents(self.store) != self.content:
            return "after: FAILED, other bytes"

        return "after: the values of a whole store"


def contents(store: Path) -> dict[str, bytes]:
    """Every file of a store, except its lock."""
    return {
        file.relative_to(store).as_posix(): file.read_bytes()
        for file in store.rglob("*")
        if file.is_file() and file.name != "lock"
    }


def _command(arguments: list[str], seconds: int | None = None) -> tuple[int, str, str]:
    """Run the command line in this process; return exit code, output and errors."""
    from ravine.cli import main as ravine

    def over(*_: object) -> None:
        raise _Hang

    out = io.StringIO()
    err = io.StringIO()
    code = -1
    signal.signal(signal.SIGPROF, over)
    signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_PROF, seconds or _SECONDS)
    signal.alarm(seconds or _SILENCE)
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            warnings.simplefilter("error")
            ravine(arguments)
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)

    return code, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    raise SystemExit(main() > 0)
