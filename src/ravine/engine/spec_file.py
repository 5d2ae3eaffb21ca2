"""Sweeps from a TOML file.

The keys are the arguments of ``sweep``; the table ``[problem]`` contains the name of a function of
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from ravine import problems
from ravine.arguments import Refusal, known_name, one_number, refuse_too_large, whole
from ravine.curvature import Curvature
from ravine.engine.kernels.blas import one_blas_thread
from ravine.engine.sweep import sweep

KINDS = tuple(
    name
    for name in problems.__all__
    if name not in ("FunctionSum", "LinearModel", "Problem", "from_functions")
)
"""Problems that can be given by plain numbers and files."""

_AXES = ("alphas", "betas", "gammas")
_SPACED = ("start", "stop", "count")


@dataclass(frozen=True)
class SpecFile:
    """A specification file, and the arguments of its sweep."""

    path: Path
    arguments: dict[str, Any]

    def sweep(self, **others: Any) -> xr.Dataset:
        """Run the sweep; ``others`` are further arguments, which override those of the file."""
        with _named(f"{self.path.name}: ", elsewhere=tuple(others)):
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
    Refusal
        A line with the file and the wrong key.

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
    ravine.arguments.Refusal: spec.toml: problem.x0 must be given, got none: add it
    """
    file = Path(path)
    if not file.is_file():
        raise Refusal("spec", "a specification file", file, "there is no such file")

    try:
        table = tomllib.loads(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise Refusal("spec", "a specification file", file, "it is not text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file.name}: {error}: correct the TOML there") from None

    with _named(f"{file.name}: "):
        _check_keys(sweep, table)
        arguments = {
            name: _axis(name, value) if name in _AXES else value for name, value in table.items()
        }
        arguments["problem"] = _problem(file.parent, table["problem"])

    return SpecFile(file, arguments)


@contextmanager
def _named(before: str, elsewhere: tuple[str, ...] = ()) -> Iterator[None]:
    """Prefix the name in a refusal with the file or table of the key.

    A refusal of a name from ``elsewhere`` is not about the file.
    """
    try:
        yield
    except Refusal as refusal:
        if refusal.name in elsewhere:
            raise
        name = before + refusal.name
        raise Refusal(name, refusal.rule, refusal.value, refusal.remedy) from refusal


def _check_keys(function: Callable[..., Any], given: dict[str, Any]) -> None:
    """Refuse keys that are not arguments of a function, and arguments that are missing."""
    accepted = inspect.signature(function).parameters
    for name in given:
        known_name(name, name, accepted)

    for name, parameter in accepted.items():
        if parameter.default is inspect.Parameter.empty and name not in given:
            raise Refusal(name, "given", "none", "add it")


def _axis(name: str, value: Any) -> Any:
    """A list, or the numbers given by {start, stop, count}."""
    if not isinstance(value, dict):
        return value

    if set(value) != set(_SPACED):
        rule = "a list, or a table of start, stop and count"
        raise Refusal(name, rule, ", ".join(value) or "nothing", "give those")

    with _named(f"{name}."):
        start = one_number("start", value["start"], remedy="give a number")
        stop = one_number("stop", value["stop"], remedy="give a number")
        count = whole("count", value["count"], 1, remedy="e.g. 64")
        # The plane has at least as many pixels as an axis, with a few numbers each.
        refuse_too_large("count", 64 * count, count, "take fewer")
        return np.linspace(start, stop, count)


def _problem(folder: Path, table: Any) -> Any:
    """Make the problem of a table, with linear algebra that is reproducible to the bit."""
    kind = table.get("kind") if isinstance(table, dict) else None
    if kind not in KINDS:
        remedy = f"kind = one of {', '.join(KINDS)}"
        raise Refusal("problem", "a table with a kind", repr(kind), remedy)

    make = getattr(problems, kind)
    given = {name: value for name, value in table.items() if name != "kind"}
    with _named("problem."), one_blas_thread():
        _check_keys(make, given)
        return make(**{name: _value(folder, name, value) for name, value in given.items()})


def _value(folder: Path, name: str, value: Any) -> Any:
    """An argument of a problem: a value, a file, or a curvature."""
    if not isinstance(value, dict):
        return value

    if set(value) == {"file"}:
        try:
            return np.load(folder / value["file"], allow_pickle=False)
        except (OSError, ValueError, EOFError):
            rule = "in an NPY file"
            remedy = "write one with numpy.save"
            raise Refusal(name, rule, repr(value["file"]), remedy) from None

    if name == "curvature" and set(value) == {"mu", "L"}:
        return Curvature(value["mu"], value["L"])

    remedy = "give the value itself, or {file = 'X.npy'}"
    raise Refusal(name, "a value", f"a table of {', '.join(value)}", remedy)
