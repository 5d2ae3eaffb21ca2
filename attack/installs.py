"""Installations that are not as usual: no extras, read-only, no home, a damaged cache of code.

ravine is installed once into a folder of its own; its dependencies are those of this environment.
Every command must work, or name the extra that it lacks; none may end in a traceback.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from release.wheel import COMMANDS, TABLE, judge
from release.wheel import SPEC as WHEEL_SPEC

from attack.stores import contents
from attack.tiny_sweep import SPEC

_ROOT = Path(__file__).parents[1]
_SECONDS = 600  # that a command may take: the first ones compile, and the machine may be busy

_EXTRAS = (
    "zarr", "matplotlib", "sklearn", "dask", "distributed", "flask", "waitress", "contourpy",
    "torch",
)  # fmt: skip
"""What the extras bring: hidden, as if it had not been installed."""


def main() -> int:
    """Try every installation; print counts by outcome, return the number of failures."""
    outcomes: Counter[str] = Counter()
    failures: list[str] = []

    with tempfile.TemporaryDirectory() as folder:
        place = _Installation(Path(folder))
        for case in (
            place.without_extras,
            place.two_first_runs,
            place.damaged_cache,
            place.nowhere_to_write,
        ):
            for name, complaint in case():
                outcomes["fine" if complaint is None else "FAILED"] += 1
                if complaint is not None:
                    failures.append(name)
                    print(f"FAILED  {name}: {complaint}", flush=True)

    print("installs: without extras, first runs together, damaged caches, nowhere to write")
    for name, count in outcomes.most_common():
        print(f"{count:8d}  {name}")

    return len(failures)


class _Installation:
    """ravine in a folder, and what is tried with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.site = folder / "site"
        self.cache = folder / "cache"
        self.work = folder / "work"
        self.work.mkdir()
        (self.work / "spec.toml").write_text(SPEC, encoding="utf-8")
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        pip += ["--disable-pip-version-check", "--target", str(self.site), str(_ROOT)]
        subprocess.run(pip, check=True)

    def without_extras(self) -> Iterator[tuple[str, str | None]]:
        """Every command that is tried on a built wheel, with the extras hidden."""
        work = self.folder / "without extras"
        work.mkdir()
        (work / "table.csv").write_text(TABLE, encoding="utf-8")
        (work / "spec.toml").write_text(WHEEL_SPEC, encoding="utf-8")
        hidden = self.folder / "hidden"
        hidden.mkdir()
        hide = f"import sys\nsys.modules.update(dict.fromkeys({_EXTRAS!r}))\n"
        (hidden / "sitecustomize.py").write_text(hide, encoding="utf-8")
        binaries = self.folder / "bin"
        binaries.mkdir()
        program = f"#!{sys.executable}\nfrom ravine.cli import main\nmain()\n"
        (binaries / "ravine").write_text(program, encoding="utf-8")
        # A link would leave the environment behind in which Python finds the other packages.
        (binaries / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        for name in ("ravine", "python"):
            (binaries / name).chmod(0o755)

        for command in COMMANDS:
            environment = self._environment(
                PYTHONPATH=f"{hidden}:{self.site}", PATH=f"{binaries}:/usr/bin:/bin"
            )
            done = subprocess.run(
                command, shell=True, cwd=work, env=environment, capture_output=True, text=True,
                check=False, timeout=_SECONDS,
            )  # fmt: skip
            answer = judge(command, done.returncode, done.stdout, done.stderr)
            yield f"without extras, {command}", None if answer.fine else answer.line

    def two_first_runs(self) -> Iterator[tuple[str, str | None]]:
        """Two processes that compile the same kernels at the same time, then one that need not."""
        runs = [self._start(f"first {number}.zarr") for number in (1, 2)]
        for number, run in enumerate(runs, 1):
            yield f"first run {number}", self._complaint(run)

        stores = [self.work / f"first {number}.zarr" for number in (1, 2)]
        same = contents(stores[0]) == contents(stores[1])
        yield "both first runs", None if same else "other bytes"

        later = self._start("later.zarr")
        yield "a later run", self._complaint(later, silent=True)

    def damaged_cache(self) -> Iterator[tuple[str, str | None]]:
        """The files of compiled code, harmed in several ways."""
        harms: dict[str, Callable[[bytes], bytes]] = {
            "cut to half": lambda content: content[: len(content) // 2],
            "emptied": lambda content: b"",
            "changed": lambda content: content[:-9] + b"?" + content[-8:],
            "something else": lambda content: b"hello",
        }
        for name, harm in harms.items():
            files = [file for file in self.cache.rglob("*") if file.is_file()]
            for file in files:
                file.write_bytes(harm(file.read_bytes()))
            run = self._start(f"{name}.zarr")
            complaint = self._complaint(run) if files else "there is no cache to harm"
            yield f"cache {name}", complaint

    def nowhere_to_write(self) -> Iterator[tuple[str, str | None]]:
        """An installation that cannot be written to, for somebody without a home."""
        # A file in the place of each cache keeps even those out who may write everywhere.
        for package in [path.parent for path in self.site.rglob("*.py")]:
            if not (package / "__pycache__").is_file():
                subprocess.run(["rm", "-rf", str(package / "__pycache__")], check=True)
                (package / "__pycache__").touch()

        nowhere = {"NUMBA_CACHE_DIR": "", "HOME": "/dev/null", "XDG_CACHE_HOME": "/dev/null/cache"}
        yield "no home", self._complaint(self._start("no home.zarr", **nowhere))
        file = {"NUMBA_CACHE_DIR": str(self.work / "spec.toml")}
        yield "a file as cache", self._complaint(self._start("file.zarr", **file))

    def _environment(self, **others: str) -> dict[str, str]:
        usual = {
            "PYTHONPATH": str(self.site),
            "NUMBA_CACHE_DIR": str(self.cache),
            "HOME": str(self.work),
        }
        merged = dict(os.environ) | usual | others
        return {name: value for name, value in merged.items() if value}

    def _start(self, store: str, **others: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", "from ravine.cli import main; main()"]
        command += ["sweep", "spec.toml", "--out", store]
        return subprocess.Popen(
            command, cwd=self.work, env=self._environment(**others),
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def _complaint(self, run: subprocess.Popen[str], *, silent: bool = False) -> str | None:
        """What is wrong with how a run ended; None if it worked, with at most one line."""
        _, errors = run.communicate(timeout=_SECONDS)
        lines = errors.splitlines()
        told = all(line.startswith("ravine: compiling") for line in lines)
        if run.returncode == 0 and told and len(lines) <= (0 if silent else 1):
            return None

        return f"exit code {run.returncode}, {errors[-400:]!r}"


if __name__ == "__main__":
    raise SystemExit(main() > 0)
