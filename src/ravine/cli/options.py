"""Options that several commands share, and how they become a curvature and a method."""

from __future__ import annotations

from typing import Annotated

import typer

from ravine.arguments import Refusal
from ravine.curvature import Curvature
from ravine.methods import Method, nesterov

PROBLEM = "Problem"
METHOD = "Method"
OUTPUT = "Output"
"""Groups of options in the help of every command."""

Mu = Annotated[
    float | None,
    typer.Option("--mu", help="Strong convexity, positive.", rich_help_panel=PROBLEM),
]
Smoothness = Annotated[
    float | None, typer.Option("--L", help="Smoothness, at least mu.", rich_help_panel=PROBLEM)
]
Condition = Annotated[
    float | None,
    typer.Option("--Q", help="Condition number; short for --mu 1 --L Q.", rich_help_panel=PROBLEM),
]
LargestTerm = Annotated[
    float | None,
    typer.Option(
        "--L-max",
        help="Largest curvature of a single sample, at least L.",
        rich_help_panel=PROBLEM,
    ),
]
LeastTerm = Annotated[
    float | None,
    typer.Option(
        "--mu-min",
        help="Smallest curvature of a single sample. Default: 0.",
        rich_help_panel=PROBLEM,
    ),
]
BatchSize = Annotated[
    float | None,
    typer.Option("--batch-size", help="Samples in a batch, at least 1.", rich_help_panel=PROBLEM),
]
Alpha = Annotated[float | None, typer.Option("--alpha", help="Step size.", rich_help_panel=METHOD)]
Beta = Annotated[
    float | None,
    typer.Option("--beta", help="Momentum; may be negative.", rich_help_panel=METHOD),
]
Gamma = Annotated[
    float | None,
    typer.Option(
        "--gamma",
        help="Look-ahead. Default: gamma = beta, Nesterov's method.",
        rich_help_panel=METHOD,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print exact values as JSON (docs/json.md).", rich_help_panel=OUTPUT
    ),
]


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


def method_json(method: Method) -> dict[str, float]:
    """The keys of a method in every JSON output."""
    return {name: float(getattr(method, name)) for name in ("alpha", "beta", "gamma")}


def curvature_json(curvature: Curvature) -> dict[str, float]:
    """The keys of a curvature in every JSON output."""
    return {name: float(getattr(curvature, name)) for name in ("mu", "L", "Q")}
