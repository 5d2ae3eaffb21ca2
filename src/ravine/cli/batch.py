"""``ravine batch``: the critical batch size, and what a larger batch buys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from ravine.arguments import Refusal
from ravine.cli.options import (
    Condition,
    Json,
    LargestTerm,
    LeastTerm,
    Mu,
    Smoothness,
    curvature_from,
    curvature_json,
    method_json,
)
from ravine.cli.output import print_json
from ravine.cli.pictures import needs_matplotlib

if TYPE_CHECKING:
    from ravine.theory.tuning.batch_gain import BatchGain

_PICTURES = (".png", ".svg", ".pdf")
_DPI = 200
"""Pixels an inch of a written PNG, for print."""


def batch_command(
    mu: Mu = None,
    L: Smoothness = None,
    Q: Condition = None,
    L_max: LargestTerm = None,
    mu_min: LeastTerm = None,
    sizes: Annotated[
        list[float] | None,
        typer.Option("--batch-size", help="Batch size of the table; may be repeated."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Picture to write: .png, .svg or .pdf.")
    ] = None,
    json: Json = False,
) -> None:
    """Say how large a batch has to be, and what a larger one buys.

    For every batch size: the fastest step of SGD and the fastest Nesterov parameters that are
    certain to converge in mean square on every problem with this curvature, and how many times
    fewer steps momentum needs.

    For example:

    - `ravine batch --mu 1 --L 1000 --L-max 10000`

    - `ravine batch --Q 1000 --L-max 10000 --out gain.png`

    - `ravine batch --Q 100 --L-max 2000 --batch-size 32 --batch-size 256 --json`
    """
    from ravine.theory.tuning.batch_gain import BATCH_SIZES, batch_gain

    if out is not None and out.suffix.lower() not in _PICTURES:
        rule = f"a file ending in {', '.join(_PICTURES)}"
        raise Refusal("out", rule, out, "change its ending")
    if out is not None:
        needs_matplotlib("a picture")

    result = batch_gain(
        curvature_from(mu, L, Q),
        L_max=L_max,
        mu_min=mu_min,
        batch_sizes=list(BATCH_SIZES) if sizes is None else sizes,
    )

    if out is not None:
        _draw(result, out)

    if json:
        print_json(batch_json(result, out))
    else:
        _show(result, out)


def batch_json(result: BatchGain, out: Path | None = None) -> dict[str, object]:
    """The documented keys of ``ravine batch --json``."""
    rows = zip(result.batch_sizes, result.sgd, result.momentum, result.gain, strict=True)
    return {
        "curvature": curvature_json(result.curvature),
        "L_max": result.L_max,
        "mu_min": result.mu_min,
        "critical_batch_size": result.critical,
        "batches": [
            {
                "batch_size": size,
                "gain": float(gain),
                "sgd": {"rate": plain.rate, **method_json(plain.method)},
                "momentum": {"rate": fast.rate, **method_json(fast.method)},
            }
            for size, plain, fast, gain in rows
        ],
        "sentence": result.sentence,
        "out": None if out is None else str(out),
    }


def _draw(result: BatchGain, out: Path) -> None:
    """Write the picture beside its name first: an interrupted run leaves no half-written file."""
    from ravine.figures.batch_gain import batch_gain_data, draw_batch_gain

    out.parent.mkdir(parents=True, exist_ok=True)
    part = out.with_name(f".{out.stem}.part{out.suffix}")

    try:
        draw_batch_gain(batch_gain_data(result)).savefig(part, dpi=_DPI)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)


def _show(result: BatchGain, out: Path | None) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(highlight=False)
    c = result.curvature
    console.print(
        f"objective: mu = {c.mu:g}, L = {c.L:g}, Q = {c.Q:g}; "
        f"single samples: {result.mu_min:g} to {result.L_max:g}\n"
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("batch", "SGD alpha L", "steps", "alpha L", "beta", "steps", "gain"):
        table.add_column(title, justify="right")

    L = float(c.L)
    for size, plain, fast, gain in zip(
        result.batch_sizes, result.sgd, result.momentum, result.gain, strict=True
    ):
        table.add_row(
            f"{size:g}",
            f"{float(plain.method.alpha) * L:.4g}",
            _steps(plain.steps_per_digit),
            f"{float(fast.method.alpha) * L:.4g}",
            f"{float(fast.method.beta):.4g}",
            _steps(fast.steps_per_digit),
            f"{gain:.3g}",
        )

    console.print(table)
    console.print("\nSteps take √E‖y - x*‖² down to a tenth, guaranteed for every such problem.")
    console.print(result.sentence)
    if out is not None:
        console.print(f"wrote {out}")


def _steps(count: float) -> str:
    return f"{np.ceil(count):.0f}" if count < 1e6 else f"{count:.3g}"
