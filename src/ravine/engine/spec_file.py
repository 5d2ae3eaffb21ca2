"""Sweeps written down in a TOML file.

The keys are the arguments of ``sweep``; the table ``[problem]`` holds the name of a function of
``ravine.problems`` as ``kind``, and its arguments:

.. code-block:: toml

    alphas = {start = 0.0, stop = 0.08, count = 256}
    betas = [0.0, 0.5, 0.9]
    steps = 2000
    sigma2 = 0.01

    [problem]
    kind = "worst_case_quadratic"
    Q = 32
"""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ravine import problems
from ravine.arguments import Refusal, one_number, refuse_too_large, unknown_argument, whole
from ravine.curvature import Curvature
from ravine.engine.kernels.blas import one_blas_thread
from ravine.engine.sweep import sweep

KINDS = tuple(
    name
    for name in problems.__all__
    if name not in ("FunctionSum", "LinearModel", "Problem", "from_functions")
)
"""Problems that plain numbers and files can describe."""

_AXES = ("alphas", "betas", "gammas")
_SPACED = ("start", "stop", "count")


class SpecFileRefusal(Refusal):
    """A refusal that says in which file, and on which line of it, the value stands."""

    def __init__(self, refusal: Refusal, name: str, file: str, line: int | None) -> None:
        super().__init__(name, refusal.rule, refusal.value, refusal.remedy)
        self.place = file if line is None else f"{file}, line {line}"

    def __str__(self) -> str:
        return f"{self.place}: {super().__str__()}"


@dataclass(frozen=True)
class SpecFile:
    """A file that has been read: the arguments of its sweep, and its text to point into."""

    path: Path
    text: str
    arguments: dict[str, Any]

    def sweep(self, **others: Any) -> xr.Dataset:
        """Run the sweep; ``others`` are further arguments, which win over those of the file."""
        with _pointing(self.path, self.text, (), elsewhere=tuple(others)):
            return sweep(**self.arguments | others)


def read_spec_file(path: str | PathLike[str]) -> SpecFile:
    r"""Read the specification of a sweep.

    Parameters
    ----------
    path
        A TOML file. Its keys are the arguments of ``sweep``. An axis is a list, or
        ``{start, stop, count}`` for that many numbers from start to stop. ``[problem]`` has a
        ``kind``, one of ``KINDS``, and the arguments of that function; an argument
        ``{file = "X.npy"}`` is read from a NumPy file beside the specification.

    Returns
    -------
    SpecFile
        Its ``sweep()`` runs it.

    Raises
    ------
    SpecFileRefusal
        In one line with the file, the line and the key that is wrong.

    Examples
    --------
    >>> import tempfile
    >>> plane = ["alphas = [0.1]", "betas = [0.5]", "steps = 0"]
    >>> lines = [*plane, "[problem]", "kind = 'divergent_sum'"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "spec.toml"
    ...     _ = file.write_text("\n".join(lines), encoding="utf-8")
    ...     read_spec_file(file)
    Traceback (most recent call last):
    ...
    ravine.engine.spec_file.SpecFileRefusal: spec.toml, line 5: problem.x0 must be given, got none:
    add it to [problem]
    """
    file = Path(path)
    if file.is_fifo() or file.is_char_device():
        # Nobody may ever write to it: reading would wait for ever.
        raise Refusal("spec", "a specification file", file, "write it to a file first")

    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        rule = "a specification file"
        raise Refusal("spec", rule, file, "there is no such file") from None
    except (IsADirectoryError, UnicodeDecodeError):
        rule = "a specification file"
        raise Refusal("spec", rule, file, "it is no text in UTF-8") from None

    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file.name}: {error}: mend the TOML there") from None

    _check_keys(file, text, table)
    arguments = {
        name: _axis(file, text, name, value) if name in _AXES else value
        for name, value in table.items()
        if name != "problem"
    }

    arguments["problem"] = _problem(file, text, table["problem"])
    return SpecFile(file, text, arguments)


def _check_keys(file: Path, text: str, table: dict[str, Any]) -> None:
    """Refuse misspelt keys and missing ones."""
    accepted = inspect.signature(sweep).parameters
    for key in table:
        if key not in accepted:
            raise _located(file, text, (key,), unknown_argument(key, "sweep", accepted))

    for name, parameter in accepted.items():
        if parameter.default is inspect.Parameter.empty and name not in table:
            missing = Refusal(name, "given", "none", "add it, before any [table]")
            raise SpecFileRefusal(missing, name, file.name, None)

    if not isinstance(table["problem"], dict) or "kind" not in table["problem"]:
        remedy = f"kind = one of {', '.join(KINDS)}"
        no_kind = Refusal("problem", "a table with a kind", "none", remedy)
        raise _located(file, text, ("problem",), no_kind)


def _axis(file: Path, text: str, name: str, value: Any) -> Any:
    """A list as it is, or the numbers that {start, stop, count} describes."""
    if not isinstance(value, dict):
        return value

    if set(value) != set(_SPACED):
        rule = "a list, or a table of start, stop and count"
        other = Refusal(name, rule, ", ".join(value) or "nothing", "give those")
        raise _located(file, text, (name,), other)

    with _pointing(file, text, (name,)):
        start = one_number("start", value["start"], remedy="give a number")
        stop = one_number("stop", value["stop"], remedy="give a number")
        count = whole("count", value["count"], 1, remedy="e.g. 64")
        # An axis of a plane, which has at least as many pixels of a few numbers each.
        refuse_too_large("count", 64 * count, count, "take fewer")
        return np.linspace(start, stop, count)


def _problem(file: Path, text: str, table: dict[str, Any]) -> Any:
    """Make the problem that a table describes, with linear algebra that repeats to the bit."""
    kind = table["kind"]
    if kind not in KINDS:
        unknown = Refusal("kind", f"one of {', '.join(KINDS)}", repr(kind), "pick one")
        raise _located(file, text, ("problem", "kind"), unknown)

    make = getattr(problems, kind)
    given = {name: value for name, value in table.items() if name != "kind"}
    accepted = inspect.signature(make).parameters
    for name in given:
        if name not in accepted:
            raise _located(file, text, ("problem", name), unknown_argument(name, kind, accepted))

    for name, parameter in accepted.items():
        if parameter.default is inspect.Parameter.empty and name not in given:
            missing = Refusal(name, "given", "none", "add it to [problem]")
            # There is no line for what is missing: that of the kind asks for it.
            line = line_of(text, ("problem", "kind"))
            raise SpecFileRefusal(missing, f"problem.{name}", file.name, line)

    with _pointing(file, text, ("problem",)), one_blas_thread():
        return make(**{name: _value(file, name, value) for name, value in given.items()})


def _value(file: Path, name: str, value: Any) -> Any:
    """An argument of a problem: as it is, from a file, or a curvature."""
    if not isinstance(value, dict):
        return value

    if set(value) == {"file"}:
        try:
            return np.load(file.parent / value["file"], allow_pickle=False)
        except (OSError, ValueError, EOFError):
            rule = "in an NPY file"
            remedy = "write one with numpy.save"
            raise Refusal(name, rule, repr(value["file"]), remedy) from None

    if name == "curvature" and set(value) == {"mu", "L"}:
        return Curvature(value["mu"], value["L"])

    remedy = "give the value itself, or {file = 'X.npy'}"
    raise Refusal(name, "a value", f"a table of {', '.join(value)}", remedy)


@contextmanager
def _pointing(
    file: Path, text: str, table: tuple[str, ...], *, elsewhere: tuple[str, ...] = ()
) -> Iterator[None]:
    """Add the file, and the line of the key in ``table`` that it is about, to a refusal.

    A refusal of a name from ``elsewhere`` has nothing to do with the file.
    """
    try:
        yield
    except Refusal as refusal:
        if refusal.name in elsewhere:
            raise
        raise _located(file, text, (*table, refusal.name), refusal) from refusal


def _located(file: Path, text: str, key: tuple[str, ...], refusal: Refusal) -> SpecFileRefusal:
    """Point a refusal to the line of its key; to that of the table where the key is not there."""
    line = line_of(text, key)
    if line is None:
        return SpecFileRefusal(refusal, refusal.name, file.name, line_of(text, key[:-1]))

    return SpecFileRefusal(refusal, ".".join(key), file.name, line)


def line_of(text: str, key: tuple[str, ...]) -> int | None:
    r"""Number of the line on which the statement begins that gives ``key`` its value.

    A TOML file can be cut only after a whole statement: the first beginning of the file that can
    be read and has the key ends with that statement, which begins after the longest shorter one.

    Examples
    --------
    >>> line_of("a = [1,\n2]\n[t]\nb = 'c = 1'\nc = [\n3]", ("t", "c"))
    5
    """
    lines = text.split("\n")
    before = 0
    for end in range(len(lines) + 1):
        try:
            table: Any = tomllib.loads("\n".join(lines[:end]))
        except tomllib.TOMLDecodeError:
            continue

        for name in key:
            table = table.get(name) if isinstance(table, dict) else None
        if key and table is not None:
            return before + 1
        before = end

    return None
