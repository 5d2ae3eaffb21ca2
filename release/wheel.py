"""Build sdist and wheel, install the wheel alone into an empty environment, and try every command.

``make wheel`` runs it. A command must answer, or name the extra that it needs; anything else, such
as a traceback, is a failure. With ``--sdist`` the sdist is installed instead, which builds the
wheel again.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

TABLE = "rooms,area,price\n" + "".join(
    f"{i % 7},{(i * 13) % 29},{3 * (i % 7) - (i * 13) % 29 + (i * 7) % 5}\n" for i in range(60)
)
"""A small table whose price is nearly linear in the rest."""

SPEC = """\
alphas = {start = 0.0, stop = 0.06, count = 4}
betas = {start = 0.0, stop = 0.9, count = 4}
steps = 50
sigma2 = 0.01
[problem]
kind = "worst_case_quadratic"
Q = 32
d = 4
"""

COMMANDS = (
    "ravine --version",
    "ravine --help",
    "ravine rate --mu 0.05 --L 100",
    "ravine rate --Q 32 --json",
    "ravine rate --Q -3",
    "ravine recommend --mu 0.05 --L 100",
    "ravine batch --Q 100 --L-max 1000 --batch-size 8",
    "ravine batch --Q 100 --L-max 1000 --batch-size 8 --out batch.png",
    "ravine compare --Q 100",
    "ravine rescale --lr 0.1 --momentum 0.9 --from-batch 64 --to-batch 512",
    "ravine map --Q 32 --resolution 8 --out map.csv",
    "ravine map --Q 32 --resolution 8 --out map.png",
    "ravine convert --from torch --to paper --lr 0.1 --momentum 0.9 --nesterov",
    "ravine diagnose table.csv --target price --batch-size 8 --epochs 2 --no-remedies",
    "ravine diagnose table.csv --target price --batch-size 8 --epochs 2 --out report.html",
    "ravine diagnose diabetes",
    "ravine sweep spec.toml --out sweep.zarr",
    "ravine plot sweep.zarr --out plot.png",
    "ravine reproduce --list",
    "ravine reproduce --quick --out reproduction",
    "ravine explore --no-browser",
    "python -c 'import ravine.torch'",
    "python -c 'import ravine; ravine.run(ravine.problems.counterexample(1, 9, 3), "
    'ravine.Method(0.1, 0.5), 20, sampling="iid")\'',
)

REFUSED = "ravine rate --Q -3"
"""The one command with bad input: one line, exit code 2."""

SECONDS = 300  # that a command may take; the longest compiles the engine's kernels


@dataclass(frozen=True)
class Answer:
    """What a command did."""

    command: str
    kind: str
    line: str

    @property
    def fine(self) -> bool:
        """Whether that is what it should do."""
        wanted = ("refuses",) if self.command == REFUSED else ("works", "names its extra")
        return self.kind in wanted


def judge(command: str, code: int, out: str, err: str) -> Answer:
    """Sort what a command printed: works, names its extra, refuses, or fails.

    >>> judge("ravine map", 2, "", "ravine: needs matplotlib: pip install 'ravine[plot]'").kind
    'names its extra'
    """
    said = [line for line in err.splitlines() if line.strip()]
    last = said[-1] if said else ""
    extra = re.search(r"pip install '?(?:\.|ravine)\[(\w+)\]", err)

    if code == 0 and "Traceback" not in err:
        lines = [line for line in out.splitlines() if line.strip()]
        return Answer(command, "works", lines[0].strip() if lines else "")
    if extra and (command.startswith("python") or len(said) == 1):
        return Answer(command, "names its extra", extra[1])
    if code == 2 and len(said) == 1:
        return Answer(command, "refuses", last)
    return Answer(command, "FAILS", f"exit code {code}: {last}")


def build(target: Path) -> tuple[Path, Path]:
    """The sdist and the wheel, made into a folder."""
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", str(target), str(ROOT)],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    (sdist,) = target.glob("*.tar.gz")
    (wheel,) = target.glob("*.whl")
    return sdist, wheel


def tried(package: Path, folder: Path) -> list[Answer]:
    """Install a package without extras into an empty environment and run every command."""
    home = folder / "environment"
    venv.create(home, with_pip=True)
    binaries = home / "bin"
    subprocess.run(
        [binaries / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
         "--constraint", str(ROOT / "constraints.txt"), str(package)],
        check=True,
    )  # fmt: skip

    work = folder / "work"
    work.mkdir()
    (work / "table.csv").write_text(TABLE, encoding="utf-8")
    (work / "spec.toml").write_text(SPEC, encoding="utf-8")
    return [_try(command, binaries, work) for command in COMMANDS]


def _try(command: str, binaries: Path, work: Path) -> Answer:
    environment = {"PATH": f"{binaries}:/usr/bin:/bin", "HOME": str(work), "COLUMNS": "80"}
    try:
        done = subprocess.run(
            command, shell=True, cwd=work, env=environment, capture_output=True, text=True,
            check=False, timeout=SECONDS,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Answer(command, "FAILS", f"still running after {SECONDS} s")
    return judge(command, done.returncode, done.stdout, done.stderr)


def main() -> int:
    """Print what each command did; the exit code says whether all did what they should."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--sdist", action="store_true", help="try the sdist, not the wheel")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for both files")
    options = parser.parse_args()

    for old in [*options.out.glob("ravine-*.whl"), *options.out.glob("ravine-*.tar.gz")]:
        old.unlink()
    sdist, wheel = build(options.out)
    package = sdist if options.sdist else wheel
    sizes = [f"{file.name} ({file.stat().st_size // 1024} kB)" for file in (sdist, wheel)]
    print(f"built {' and '.join(sizes)}; trying {package.name} without extras\n")

    with tempfile.TemporaryDirectory() as folder:
        answers = tried(package, Path(folder))
    width = max(len(answer.command[:72]) for answer in answers)
    for answer in answers:
        print(f"{answer.command[:72]:{width}}  {answer.kind:15}  {answer.line[:90]}")
    return int(not all(answer.fine for answer in answers))


if __name__ == "__main__":
    sys.exit(main())
