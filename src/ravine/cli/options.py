"""Options that several commands share, and how they become a curvature and a method."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from ravine.arguments import Refusal
from ravine.curvature import Curvature
from ravine.methods import Method, nesterov

Mu = Annotated[float | None, typer.Option("--mu", help="Strong convexity, positive.")]
Smoothness = Annotated[float | None, typer.Option("--L", help="Smoothness, at least mu.")]
Condition = Annotated[
    float | None, typer.Option("--Q", help="Condition number, instead of --mu and --L: L = Q.")
]
Alpha = Annotated[float | None, typer.Option("--alpha", help="Step size.")]
Beta = Annotated[float | None, typer.Option("--beta", help="Momentum; may be negative.")]
Gamma = Annotated[
    float | None, typer.Option("--gamma", help="Look-ahead; left out: Nesterov's, gamma = beta.")
]
LargestTerm = Annotated[
    float | None,
    typer.Option("--L-max", help="Largest curvature of a single sample, at least L."),
]
LeastTerm = Annotated[
    float | None,
    typer.Option("--mu-min", help="Least curvature of a single sample; 0 unless given."),
]
BatchSize = Annotated[
    float | None, typer.Option("--batch-size", help="Samples in a mini-batch, at least 1.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON with documented keys.")]


def curvature_from(mu: float | None, L: float | None, Q: float | None) -> Curvature:
    """The curvature given by --mu and --L, or by --Q alone."""
    if Q is not None:
        if mu is not None or L is not None:
            raise ValueError("Q must be given alone, got --Q with --mu or --L: drop one of them")
        return Curvature(1.0, Q) if Q >= 1.0 else _refuse_condition(Q)

    if mu is None or L is None:
        missing = "mu" if mu is None else "L"
        raise ValueError(f"{missing} must be given, got none: add --{missing}, or give --Q alone")

    return Curvature(mu, L)


def _refuse_condition(Q: float) -> Curvature:
    raise ValueError(f"Q must be at least 1, got {Q:g}: it is L/mu")


def method_from(
    curvature: Curvature, alpha: float | None, beta: float | None, gamma: float | None
) -> Method:
    """The method given by --alpha, --beta, --gamma; without any, the usual Nesterov parameters."""
    if alpha is None:
        if beta is not None or gamma is not None:
            raise ValueError(
                "alpha must be given with beta or gamma, got none: add --alpha, "
                "or drop the others for the usual Nesterov parameters"
            )

        return nesterov(curvature)

    return Method(alpha, 0.0 if beta is None else beta, gamma)


def one_of(first: str, a: float | None, second: str, b: float | None) -> float | None:
    """The value of an option that has two names; giving both is refused."""
    if a is not None and b is not None:
        raise Refusal(second, f"left out beside {first}", f"{b:g}", "they mean the same")

    return b if a is None else a


def print_json(data: dict[str, Any]) -> None:
    """Print a result as JSON; infinite numbers become null."""
    typer.echo(json.dumps(_finite(data), indent=2, allow_nan=False))


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None

    return value


def method_json(method: Method) -> dict[str, float]:
    """The keys of a method in every JSON output."""
    return {name: float(getattr(method, name)) for name in ("alpha", "beta", "gamma")}


def curvature_json(curvature: Curvature) -> dict[str, float]:
    """The keys of a curvature in every JSON output."""
    return {name: float(getattr(curvature, name)) for name in ("mu", "L", "Q")}
