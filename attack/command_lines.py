"""Every command and option of the command line, with values that nobody should type.

A command line answers (exit code 0), or refuses with one line on stderr and exit code 2. Failures:
a traceback, a warning, a hang, JSON that is none, a file that is there but not whole, a refusal of
several lines.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import shlex
import stat
import subprocess
import sys
import tempfile
import traceback
import warnings
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from attack.cases import ANSWERED, REFUSED, SILENCE, Result

COUNT = 10_000
"""Command lines of a run at length."""
_SAMPLE = 200
"""One command line in so many is run as a process of its own."""

TEMPLATES: dict[str, tuple[str, ...]] = {
    "rate": ("--Q 32", "--mu 0.05 --L 100", "--mu 1 --L 8 --alpha 0.1 --beta 0.9 --gamma 0",
             "--Q 1000 --L-max 10000 --batch-size 64", "--Q 8 --alpha 0.1"),
    "recommend": ("--Q 32", "--Q 32 --beta 0.9", "--Q 1000 --L-max 10000 --batch-size 100",
                  "--Q 32 --setting additive-noise --sigma2 0.01 --steps 20 --distance 10",
                  "--mu 1 --L 32 --setting finite-sum --hessians hessians.npy"),
    "batch": ("--Q 100 --L-max 2000 --batch-size 32", "--Q 10 --batch-size 2 --out out.png"),
    "map": ("--Q 32 --resolution 12 --out out.png", "--Q 8 --resolution 9 --out out.nc",
            "--Q 8 --resolution 5 --out out.csv", "--Q 4 --resolution 8 --out out.svg"),
    "diagnose": ("table.csv --time 1 --epochs 2 --no-remedies",
                 "table.csv --target y --time 1 --epochs 2 --no-remedies --out out.html"),
    "explore": ("--no-browser --port 18077",),
    "reproduce": ("--list", "--list --seed 3", "--list --resolution 50", "nothing --quick"),
    "sweep": ("spec.toml --out out.zarr", "--status store.zarr",
              "spec.toml --out store.zarr --resume", "broken.toml --out out.zarr"),
    "plot": ("store.zarr --out out.png", "store.zarr --measure outcome --out out.svg"),
    "convert": ("--lr 0.1 --momentum 0.9", "--from paper --to qhm --alpha 0.1 --beta 0.9"),
    "": ("--version", "--help", "ratte", ""),
}  # fmt: skip
"""Command lines that are right, and short work; what is not named here starts from nothing."""

WEIGHTS = {"rate": 12, "recommend": 3, "convert": 7, "batch": 1, "map": 3, "sweep": 5, "plot": 2,
           "diagnose": 2, "explore": 1, "reproduce": 1, "": 1}  # fmt: skip
"""How often each command is tried: the quick ones more."""

VALUES: tuple[str, ...] = (
    "0", "-0.0", "1", "-1", "2", "0.5", "-0.5", "3.7", "1e308", "-1e308", "1e-308", "5e-324",
    "1e150", "1e-150", "-1e150", "1e100", "1e-100", "1e50", "1e-50", "1e30", "1e-30", "1e16",
    "nan", "inf", "-inf", "1e999", "NaN", "1,5", "1_000", "0x10", "١٢", "1e", "--", "-", "",
    " ", "abc", "ünïcödé", "名前", "a b\tc", "\n", "%s%n", "$(id)", "'", '"', "true", "None",
    "2147483648", "4294967297", "18446744073709551617", "100000", "1000000000000000000",
    "1" + "0" * 400, "9" * 5000, "x" * 5000, "[bold]", "\x1b[31m", "\udce4",
)  # fmt: skip

PATHS: tuple[str, ...] = (
    "folder", "fifo", "missing", "missing/deep.png", "empty", "junk.bin", "loop", "closed/out.png",
    "/dev/null", "/dev/full", "/proc/out.png", "folder/", "out.png", "out.csv", "out.nc", "out.txt",
    "out.html", "out.svg", "out", "store.zarr", "table.csv", "spec.toml", "hessians.npy", "~",
    "x" * 300 + ".png", "a\nb.png", "ö.png", ".png", "folder.png", "full.png",
)  # fmt: skip

ENVIRONMENTS: tuple[dict[str, str], ...] = (
    {}, {}, {"COLUMNS": "20"}, {"COLUMNS": "1"}, {"COLUMNS": "nonsense"}, {"NO_COLOR": "1"},
    {"LC_ALL": "C"}, {"LC_ALL": "de_DE.UTF-8"}, {"TERM": "dumb"}, {"PYTHONIOENCODING": "ascii"},
)  # fmt: skip

SPEC = """
steps = 20
alphas = [0.1, 0.2]
betas = [0.0, 0.5]
sampling = "iid"

[problem]
kind = "turning_quadratics"
mu = 1.0
L = 8.0
"""

_COMMANDS: dict[str, list[Any]] = {}


def prepare() -> None:
    """Go to a folder with everything that the command lines name."""
    os.chdir(tempfile.mkdtemp(prefix="ravine-lines-"))
    import numpy as np
    import typer

    from ravine.engine.spec_file import read_spec_file

    page = import_module("ravine.web")
    page._serve = lambda app, listener: listener.close()  # type: ignore[attr-defined]
    # The commands are built anew at every call, which takes longer than most of them do.
    typer.main.get_command = lru_cache(typer.main.get_command)  # type: ignore[assignment]
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=(40, 2)), rng.normal(size=40)])
    np.savetxt("table.csv", rows, delimiter=",", header="a,b,y", comments="")
    np.save("hessians.npy", np.stack([np.diag([1.0, 32.0]), np.diag([32.0, 1.0])]))
    Path("spec.toml").write_text(SPEC, encoding="utf-8")
    Path("broken.toml").write_text(SPEC + "\nunknown = 3\n", encoding="utf-8")
    Path("empty").write_bytes(b"")
    Path("junk.bin").write_bytes(bytes(rng.integers(0, 256, 5000, dtype=np.uint8)))
    Path("folder").mkdir()
    Path("folder.png").mkdir()
    Path("closed").mkdir()
    Path("loop").symlink_to("loop")
    Path("full.png").symlink_to("/dev/full")
    os.mkfifo("fifo")
    os.chmod("closed", stat.S_IRUSR | stat.S_IXUSR)
    read_spec_file(Path("spec.toml")).sweep(store=Path("store.zarr"))


def commands() -> dict[str, list[Any]]:
    """The parameters of every command, read from the application itself."""
    if not _COMMANDS:
        import typer

        from ravine.cli import app

        group: Any = typer.main.get_command(app)
        for name in group.list_commands(None):
            _COMMANDS[name] = list(group.get_command(None, name).params)

    return _COMMANDS


def make_line(seed: int, number: int) -> tuple[list[str], dict[str, str]]:
    """The command line of a number, and its environment."""
    rng = Random(f"lines {seed} {number}")
    known = {**commands(), "": []}
    name = rng.choices(sorted(known), [WEIGHTS.get(one, 1) for one in sorted(known)])[0]
    line = shlex.split(rng.choice(TEMPLATES.get(name, ("",))))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        _change(line, known[name], rng)
    if any("--json" in one.opts for one in known[name]) and rng.random() < 0.4:
        line.append("--json")
    if rng.random() < 0.02:
        line.append("--help")

    words = [name, *line] if name else line
    if name == "diagnose":
        # A budget of time that was asked for is no hang.
        words += ["--time", rng.choice(("1", "0.5", "0", "nan", "-1", "abc"))]
    if name == "reproduce":
        # All figures are minutes, as asked for; one that does not exist is refused before.
        words += ["--list"] if "nothing" not in words else ["--quick"]
    if name == "explore":
        words += ["--no-browser"]

    return words, rng.choice(ENVIRONMENTS)


def _change(line: list[str], parameters: list[Any], rng: Random) -> None:
    """Put a nasty value in place of a good one, or add, drop or repeat something."""
    options = [one for one in parameters if one.opts and one.opts[0].startswith("--")]
    values = [k for k, word in enumerate(line) if not word.startswith("--")]
    match rng.choice(("value", "value", "add", "add", "add", "drop", "repeat", "unknown", "bare")):
        case "value" if values:
            line[rng.choice(values)] = _value(rng)
        case "add" if options:
            one = rng.choice(options)
            flag = rng.choice([*one.opts, *one.secondary_opts])
            line.append(flag)
            if not getattr(one, "is_flag", False):
                line += [_value(rng) for _ in range(max(one.nargs, 1))]
        case "drop" if line:
            del line[rng.randrange(len(line))]
        case "repeat" if line:
            line.insert(rng.randrange(len(line)), rng.choice(line))
        case "unknown":
            line.append(rng.choice(("--unknown", "--no-json", "-x", "--Q=", "--=", "--L=1e308")))
        case "bare":
            line.insert(rng.randrange(len(line) + 1), _value(rng))


def _value(rng: Random) -> str:
    return rng.choice(PATHS) if rng.random() < 0.25 else rng.choice(VALUES)


def describe(seed: int, number: int) -> str:
    """The case in words."""
    line, environment = make_line(seed, number)
    before = " ".join(f"{name}={value}" for name, value in environment.items())
    after = " ".join(ascii(word)[:60] for word in line)
    return f"{before} ravine {after}".strip()


def attempt(seed: int, number: int) -> Result:
    """Run the command line and judge how it ended."""
    line, environment = make_line(seed, number)
    case = describe(seed, number)
    _clear()
    if number % _SAMPLE == 0 and not any("\0" in word for word in line):
        return _judged(case, line, *_process(line, environment))

    return _judged(case, line, *_here(line, environment))


def _clear() -> None:
    """Remove what an earlier command line has written."""
    import shutil

    for path in Path().iterdir():
        if path.name.startswith("out") or path.name in ("map.png", "sweep.png", "reproduction"):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()


def _here(line: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command line in this process."""
    from ravine.cli import main

    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    before = dict(os.environ)
    os.environ.update(environment)
    code = -1
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(out):
            warnings.simplefilter("default")
            for quiet in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
                warnings.simplefilter("ignore", quiet)
            with contextlib.redirect_stderr(err):
                try:
                    main(line)
                except SystemExit as stop:
                    code = int(stop.code or 0)
                except Exception:
                    err.write(traceback.format_exc())
    finally:
        os.environ.clear()
        os.environ.update(before)

    return code, _text(out), _text(err)


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    raw = stream.buffer
    assert isinstance(raw, io.BytesIO)
    return raw.getvalue().decode("utf-8", "replace")


def _process(line: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    """The same in a process of its own."""
    command = [sys.executable, "-c", _MAIN, *line]
    done = subprocess.run(
        [word.encode("utf-8", "surrogateescape") for word in command],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
        check=False,
        timeout=0.8 * SILENCE,  # a worker is to say itself that its case hangs
    )
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode()


_MAIN = """
from importlib import import_module
page = import_module("ravine.web")
page._serve = lambda app, listener: listener.close()
from ravine.cli import main
main()
"""


def _judged(case: str, line: list[str], code: int, out: str, err: str) -> Result:
    """What the end of a command line means."""
    if "Traceback (most recent call last)" in err:
        return Result("traceback", case, err[-1500:])
    if "Warning" in err:
        return Result("warning", case, err[:600])
    if code not in (0, 2):
        return Result("exit code", case, f"{code}: {err[-400:]}")
    broken = _broken_files(line, code)
    if broken:
        return Result("half-written file", case, broken)

    if code == 2:
        if len(err.splitlines()) != 1 or err.count("\n") != 1 or not err.startswith("ravine: "):
            return Result("long refusal", case, f"{len(err.splitlines())} lines: {err[:500]!r}")
        if len(err) > 800:
            return Result("long refusal", case, f"{len(err)} characters: {err[:300]!r}")
        return Result(REFUSED, case)

    if "--json" in line and "--help" not in line and "--list" not in line and out:
        flaw = _bad_json(out)
        if flaw:
            return Result("invalid JSON", case, flaw)

    return Result(ANSWERED, case)


def _bad_json(out: str) -> str:
    """What is wrong with JSON, or nothing."""

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is no JSON")

    try:
        json.loads(out, parse_constant=refuse)
    except ValueError as error:
        return f"{error}: {out[:300]!r}"

    return ""


_ENDS = {".png": b"IEND\xaeB`\x82", ".svg": b"</svg>", ".pdf": b"%%EOF", ".html": b"</html>"}
"""The last bytes of a file that is whole."""


def _broken_files(line: list[str], code: int) -> str:
    """Which named output is there, but not whole; or what was left lying about."""
    left = [str(path) for path in Path().rglob("*.part*")]
    if left:
        for path in left:
            Path(path).unlink()
        return f"left over: {left}"

    for path in Path().glob("out*"):
        if path.is_file() and code == 2:
            return f"{path} was written by a command that refused"
        end = _ENDS.get(path.suffix)
        if path.is_file() and end and end not in path.read_bytes()[-64:]:
            return f"{path} does not end as a whole file does"

    return ""
