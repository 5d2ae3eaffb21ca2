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
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ravine import problems
from ravine.arguments import Refusal, one_number, whole
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


@dataclass(frozen=True)
class Specification:
    """A specification file that has been read: its arguments, and its text to point into."""

    path: Path
    text: str
    arguments: dict[str, Any]

    def sweep(self, **others: Any) -> xr.Dataset:
        """Run the sweep; ``others`` are further arguments, which win over those of the file."""
        own = tuple(name for name in self.arguments if name not in others)
        with _pointing(self.path, self.text, (), own, tuple(others)):
            return sweep(**self.arguments | others)


def read_specification(path: str | PathLike[str]) -> Specification:
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
    Specification
        Its ``sweep()`` runs it.

    Raises
    ------
    ValueError
        In one line with the file, the line and the key that is wrong.

    Examples
    --------
    >>> import tempfile
    >>> lines = 'alphas = [0.1]', 'betas = [0.5]', 'steps = 0', '[problem]', 'kind = "theorem2"'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "spec.toml"
    ...     _ = file.write_text("\n".join(lines), encoding="utf-8")
    ...     read_specification(file)
    Traceback (most recent call last):
    ...
    ValueError: spec.toml, line 5: problem.x0 must be given, got none: add it to [problem]
    """
    file = Path(path)
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
    return Specification(file, text, arguments)


def _check_keys(file: Path, text: str, table: dict[str, Any]) -> None:
    """Refuse misspelt keys and missing ones; options of kernels are the kernels' to refuse."""
    known = [
        parameter
        for parameter in inspect.signature(sweep).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]
    names = [parameter.name for parameter in known]
    for key in table:
        meant = get_close_matches(key, names, 1)
        if key not in names and meant:
            line = _line(key, "an argument of sweep", key, f"did you mean {meant[0]}?")
            raise _located(file, text, (key,), line)
    for parameter in known:
        if parameter.default is inspect.Parameter.empty and parameter.name not in table:
            line = _line(parameter.name, "given", "none", "add it, before any [table]")
            raise ValueError(f"{file.name}: {line}")
    if not isinstance(table["problem"], dict) or "kind" not in table["problem"]:
        line = _line("problem", "a table with a kind", "none", f"kind = one of {_choices()}")
        raise _located(file, text, ("problem",), line)


def _line(name: str, rule: str, value: object, remedy: str) -> str:
    return str(Refusal(name, rule, value, remedy))


def _choices() -> str:
    return ", ".join(KINDS)


def _axis(file: Path, text: str, name: str, value: Any) -> Any:
    """A list as it is, or the numbers that {start, stop, count} describes."""
    if not isinstance(value, dict):
        return value
    if set(value) != set(_SPACED):
        found = ", ".join(value) or "nothing"
        line = _line(name, "a list, or a table of start, stop and count", found, "give those")
        raise _located(file, text, (name,), line)
    with _pointing(file, text, (name,), _SPACED):
        start, stop = (
            one_number(key, value[key], remedy="give a number") for key in ("start", "stop")
        )
        return np.linspace(start, stop, whole("count", value["count"], 1, remedy="e.g. 64"))


def _problem(file: Path, text: str, table: dict[str, Any]) -> Any:
    """Make the problem that a table describes, with linear algebra that repeats to the bit."""
    kind = table["kind"]
    if kind not in KINDS:
        line = _line("problem.kind", f"one of {_choices()}", repr(kind), "pick one")
        raise _located(file, text, ("problem", "kind"), line)
    make = getattr(problems, kind)
    given = {name: value for name, value in table.items() if name != "kind"}
    accepted = inspect.signature(make).parameters
    for name in given:
        if name not in accepted:
            rule = f"an argument of {kind}"
            line = _line(f"problem.{name}", rule, name, f"it takes {', '.join(accepted)}")
            raise _located(file, text, ("problem", name), line)
    for name, parameter in accepted.items():
        if parameter.default is inspect.Parameter.empty and name not in given:
            line = _line(f"problem.{name}", "given", "none", "add it to [problem]")
            raise _located(file, text, ("problem", "kind"), line)
    with _pointing(file, text, ("problem",), tuple(given)), one_blas_thread():
        return make(**{name: _value(file, name, value) for name, value in given.items()})


def _value(file: Path, name: str, value: Any) -> Any:
    """An argument of a problem: as it is, from a file, or a curvature."""
    if not isinstance(value, dict):
        return value
    if set(value) == {"file"}:
        try:
            return np.load(file.parent / value["file"], allow_pickle=False)
        except (OSError, ValueError, EOFError):
            rule, remedy = "in an NPY file", "write one with numpy.save"
            raise Refusal(name, rule, repr(value["file"]), remedy) from None
    if name == "curvature" and set(value) == {"mu", "L"}:
        return Curvature(value["mu"], value["L"])
    remedy = "give the value itself, or {file = 'X.npy'}"
    raise Refusal(name, "a value", f"a table of {', '.join(value)}", remedy)


@contextmanager
def _pointing(
    file: Path,
    text: str,
    table: tuple[str, ...],
    keys: tuple[str, ...],
    elsewhere: tuple[str, ...] = (),
) -> Iterator[None]:
    """Add the file and the line to a complaint about one of ``keys``, the first it mentions.

    A complaint that begins with a name from ``elsewhere`` has nothing to do with the file.
    """
    try:
        yield
    except (ValueError, TypeError) as error:
        line = str(error)
        if line.startswith(tuple(f"{name} " for name in elsewhere)):
            raise
        places = {key: re.search(rf"(?<!\w){re.escape(key)}(?!\w)", line) for key in keys}
        found = sorted((match.start(), key) for key, match in places.items() if match)
        if found and found[0][0] == 0:
            line = ".".join((*table, line))
        where = (*table, found[0][1]) if found else table
        raise _located(file, text, where, line) from error


def _located(file: Path, text: str, key: tuple[str, ...], line: str) -> ValueError:
    number = line_of(text, key)
    return ValueError(f"{file.name}, line {number}: {line}" if number else f"{file.name}: {line}")


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
