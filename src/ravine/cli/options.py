"""Options that several commands share, and how they become a curvature and a method."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ravine.arguments import Refusal
from ravine.catalogue import CATALOGUE
from ravine.curvature import Curvature
from ravine.linear_method import LinearMethod
from ravine.methods import Method, nesterov

PROBLEM = "Problem"
METHOD = "Method"
OUTPUT = "Output"
"""Groups of options in the help of every command."""


def option(group: str | None, name: str, words: str, kind: str = "") -> Any:
    """An option in a group of the help; ``kind`` is what it takes, e.g. "N"; nothing for a flag."""
    return typer.Option(name, help=words, rich_help_panel=group, metavar=kind, show_default=False)


Mu = Annotated[float | None, option(PROBLEM, "--mu", "Strong convexity, positive.", "N")]
Smoothness = Annotated[float | None, option(PROBLEM, "--L", "Smoothness, at least mu.", "N")]
Condition = Annotated[
    float | None, option(PROBLEM, "--Q", "Condition number; short for --mu 1 --L Q.", "N")
]
LargestTerm = Annotated[
    float | None,
    option(PROBLEM, "--L-max", "Largest curvature of a sample, at least L.", "N"),
]
LeastTerm = Annotated[
    float | None,
    option(PROBLEM, "--mu-min", "Smallest curvature of a sample. Default: 0.", "N"),
]
BatchSize = Annotated[
    float | None, option(PROBLEM, "--batch-size", "Samples in a batch, at least 1.", "N")
]
Alpha = Annotated[float | None, option(METHOD, "--alpha", "Step size.", "N")]
Beta = Annotated[float | None, option(METHOD, "--beta", "Momentum; may be negative.", "N")]
Named = Annotated[
    str | None,
    option(METHOD, "--method", f"Published parameters of {', '.join(CATALOGUE)}.", "NAME"),
]
Gamma = Annotated[
    float | None, option(METHOD, "--gamma", "Look-ahead. Default: as beta (Nesterov).", "N")
]
Picture = Annotated[
    Path | None, option(OUTPUT, "--out", "Picture to write: .png, .svg or .pdf.", "FILE")
]
Json = Annotated[bool, option(OUTPUT, "--json", "Print exact values as JSON (docs/json.md).")]


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


def method_from(
    curvature: Curvature, alpha: float | None, beta: float | None, gamma: float | None
) -> Method:
    """The method given by --alpha, --beta, --gamma; by default textbook Nesterov."""
    if alpha is None:
        if beta is not None or gamma is not None:
            raise ValueError(
                "alpha must be given with beta or gamma, got none: add --alpha, "
                "or drop the others for the standard Nesterov parameters"
            )

        return nesterov(curvature)

    return Method(alpha, 0.0 if beta is None else beta, gamma)


def one_of(first: str, a: float | None, second: str, b: float | None) -> float | None:
    """The value of an option that has two names; giving both is refused."""
    if a is not None and b is not None:
        raise Refusal(second, f"left out beside {first}", f"{b:g}", "they mean the same")

    return b if a is None else a


def method_json(method: Method | LinearMethod) -> dict[str, Any]:
    """The keys of a method in every JSON output."""
    if isinstance(method, LinearMethod):
        return {"numerator": method.numerator.tolist(), "denominator": method.denominator.tolist()}

    return {name: float(getattr(method, name)) for name in ("alpha", "beta", "gamma")}


def curvature_json(curvature: Curvature) -> dict[str, float]:
    """The keys of a curvature in every JSON output."""
    return {name: float(getattr(curvature, name)) for name in ("mu", "L", "Q")}


def as_words(
    curvature: Curvature,
    *,
    L_max: float | None = None,
    mu_min: float | None = None,
    batch_size: float = 1.0,
) -> str:
    """The options that give this problem, for the next command to try."""
    words = f"--mu {float(curvature.mu):g} --L {float(curvature.L):g}"
    if curvature.mu == 1.0:
        words = f"--Q {float(curvature.L):g}"
    if L_max is not None:
        words += f" --L-max {L_max:g}"
    if mu_min:
        words += f" --mu-min {mu_min:g}"

    return words if batch_size == 1.0 else f"{words} --batch-size {batch_size:g}"
