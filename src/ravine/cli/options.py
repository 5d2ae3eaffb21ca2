"""Options of the commands, read from their docstrings; some are shared by several commands."""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ravine.arguments import Refusal
from ravine.catalogue import CATALOGUE
from ravine.cli.output import Answer, print_json
from ravine.curvature import Curvature

_TYPES: dict[str, Any] = {"": bool, "N": int, "NUMBER": float, "FILE": Path}
"""Types of the values of options; any other kind is text."""


class Option(NamedTuple):
    """An option or an argument: its group in the help, its kind of value, its meaning."""

    group: str
    kind: str
    meaning: str


SHARED = {
    "mu": ("NUMBER", "Strong convexity, positive."),
    "L": ("NUMBER", "Smoothness, at least mu."),
    "Q": ("NUMBER", "Condition number; short for --mu 1 --L Q."),
    "L_max": ("NUMBER", "Largest curvature of a sample, at least L."),
    "L_max_ratio": ("NUMBER", "L_max/L, instead of --L-max; at least 1."),
    "mu_min": ("NUMBER", "Smallest curvature of a sample. Default: 0."),
    "batch_size": ("NUMBER", "Samples in a batch, at least 1. Default: 1."),
    "alpha": ("NUMBER", "Step size."),
    "beta": ("NUMBER", "Momentum; may be negative."),
    "gamma": ("NUMBER", "Look-ahead. Default: the same as beta (Nesterov)."),
    "method": ("NAME", f"Published parameters of {', '.join(CATALOGUE)}."),
    "out": ("FILE", "Picture to write: .png, .svg or .pdf."),
    "json": ("", "Print exact values as JSON (docs/json.md)."),
}
"""Options that several commands share; docstrings name them without a description."""


def command_from(function: Callable[..., Answer]) -> tuple[Callable[..., None], str]:
    """Return the command of a function, and the text of its help.

    The sections of the docstring are the groups of options. Types and defaults come from the
    signature; an option that is not in the signature is passed on as a keyword argument if it was
    given, with the type of its kind. A parameter called ``curvature`` stands for --mu, --L and --Q,
    and --L-max-ratio for --L-max. ``--json`` prints the data of the answer instead of the answer.
    """
    signature = inspect.signature(function, eval_str=True)
    own = signature.parameters
    text, options = read_docstring(function.__doc__ or "")

    def run(**values: Any) -> None:
        as_json = values.pop("json", False)
        if "curvature" in own:
            is_needed = own["curvature"].default is own["curvature"].empty
            given = [values.pop(name) for name in ("mu", "L", "Q")]
            if is_needed or any(value is not None for value in given):
                values["curvature"] = curvature_from(*given)
        if "L_max_ratio" not in own and (ratio := values.pop("L_max_ratio", None)) is not None:
            if "curvature" not in values:
                rule, remedy = "given with a curvature", "add --Q, or --mu and --L"
                raise Refusal("L-max-ratio", rule, f"{ratio:g}", remedy)
            largest = ratio * float(values["curvature"].L)
            values["L_max"] = one_of("L-max", values["L_max"], "L-max-ratio", largest)

        kept = {
            name: value
            for name, value in values.items()
            if name in own or (value is not None and value is not False)
        }
        answer = function(**kept)
        if as_json:
            print_json(answer.data)
        else:
            answer.show()

    parameters = [_parameter(name, option, own) for name, option in options.items()]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return run, text


def read_docstring(docstring: str) -> tuple[str, dict[str, Option]]:
    """The text before the first section, and the options in all sections."""
    # A section is its underlined title and its entries: a line, and indented lines below it.
    text, *sections = re.split(r"^(\w.*)\n-+$", inspect.cleandoc(docstring), flags=re.M)
    options: dict[str, Option] = {}
    for group, entries in zip(sections[::2], sections[1::2], strict=True):
        for heading, meaning in re.findall(r"^(\w.*)((?:\n +.*)*)", entries, flags=re.M):
            names, _, kind = heading.partition(" : ")
            for name in names.split(", "):
                described = (kind, " ".join(meaning.split())) if meaning else SHARED[name]
                options[name] = Option(group, *described)

    return text.rstrip("\n"), options


def _parameter(name: str, option: Option, own: Any) -> inspect.Parameter:
    """Convert a parameter to Typer's form."""
    if name in own:
        annotation, default = own[name].annotation, own[name].default
    else:
        annotation = _TYPES.get(option.kind, str)
        default = False if annotation is bool else None

    if default is None:
        annotation = annotation | None

    shown: Any = {"help": option.meaning, "metavar": option.kind, "show_default": False}
    if option.group == "Arguments":
        info = typer.Argument(**shown)
    else:
        flag = f"--{name.rstrip('_').replace('_', '-')}"  # from_ and list_: taken in Python
        info = typer.Option(flag, rich_help_panel=option.group, **shown)

    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=Annotated[annotation, info])


def curvature_from(mu: float | None, L: float | None, Q: float | None) -> Curvature:
    """The curvature given by --mu and --L, or by --Q alone."""
    if Q is not None:
        if mu is not None or L is not None:
            raise ValueError("Q must be given alone, got --Q with --mu or --L: drop one of them")
        if not Q >= 1.0:
            raise ValueError(f"Q must be at least 1, got {Q:g}: it is L/mu")
        return Curvature(1.0, Q)

    if mu is None or L is None:
        missing = "mu" if mu is None else "L"
        raise ValueError(f"{missing} must be given, got none: add --{missing}, or give --Q alone")

    return Curvature(mu, L)


def one_of(first: str, a: float | None, second: str, b: float | None) -> float | None:
    """The value of an option with two names; refuse both together."""
    if a is not None and b is not None:
        raise Refusal(second, f"omitted with {first}", f"{b:g}", "they mean the same")

    return b if a is None else a


def as_words(curvature: Curvature, **samples: float | None) -> str:
    """The options that describe this problem, for the next command to try."""
    words = f"--mu {float(curvature.mu):g} --L {float(curvature.L):g}"
    if curvature.mu == 1.0:
        words = f"--Q {float(curvature.L):g}"

    without = {"mu_min": 0.0, "batch_size": 1.0}
    kept = {name: value for name, value in samples.items() if value != without.get(name)}
    return words + spelled(**kept)


def spelled(**options: Any) -> str:
    """The given options as a user types them, each after a space."""
    words = ""
    for name, given in options.items():
        for value in given if isinstance(given, list) else [given]:
            if value is not None and value is not False:
                text = f"{value:g}" if isinstance(value, float) else str(value)
                typed = "" if value is True else f" {shlex.quote(text)}"
                words += f" --{name.replace('_', '-')}{typed}"

    return words
