"""``ravine recommend``: parameters with a reason and a guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from ravine.arguments import FloatArray, Refusal
from ravine.cli.options import (
    BatchSize,
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
from ravine.cli.rate import rate_json
from ravine.theory.noise.error_quantity import ErrorQuantity
from ravine.theory.tuning.recommend import Recommendation, Setting, recommend


def recommend_command(
    mu: Mu = None,
    L: Smoothness = None,
    Q: Condition = None,
    setting: Annotated[
        Setting | None,
        typer.Option(
            "--setting", help="What is known of the gradients; any order, or --batch-size, if none."
        ),
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option("--beta", help="Momentum to keep; with any sampling."),
    ] = None,
    for_every_mu: Annotated[
        bool,
        typer.Option("--for-every-mu", help="With --beta: a step that is safe whatever mu is."),
    ] = False,
    batch_size: BatchSize = None,
    L_max: LargestTerm = None,
    mu_min: LeastTerm = None,
    sigma2: Annotated[
        float | None, typer.Option("--sigma2", help="Variance of additive noise.")
    ] = None,
    distance: Annotated[
        float, typer.Option("--distance", help="Distance of the start; with a budget.")
    ] = 1.0,
    steps: Annotated[
        int | None, typer.Option("--steps", help="Budget of steps; with additive noise or batches.")
    ] = None,
    quantity: Annotated[
        ErrorQuantity | None,
        typer.Option("--quantity", help="What a budget of steps keeps small."),
    ] = None,
    hessians: Annotated[
        Path | None,
        typer.Option("--hessians", help="NPY file of mini-batch Hessians; with a finite sum."),
    ] = None,
    json: Json = False,
) -> None:
    """Recommend a step size and a momentum, with the reason and the guarantee.

    For example:

    - `ravine recommend --mu 0.05 --L 100`

    - `ravine recommend --Q 32 --beta 0.9`

    - `ravine recommend --Q 1000 --L-max 10000 --batch-size 100`

    - `ravine recommend --Q 32 --setting additive-noise --sigma2 0.01 --steps 200 --distance 10`

    - `ravine recommend --mu 1 --L 32 --setting finite-sum --hessians batches.npy`
    """
    curvature = curvature_from(mu, L, Q)
    advice = recommend(
        curvature,
        setting=setting,
        beta=beta,
        for_every_mu=for_every_mu,
        batch_size=batch_size,
        L_max=L_max,
        mu_min=mu_min,
        sigma2=sigma2,
        distance=distance,
        steps=steps,
        quantity=quantity,
        hessians=None if hessians is None else _read(hessians),
    )

    if json:
        print_json(recommend_json(advice))
    else:
        _show(advice)


def _read(path: Path) -> FloatArray:
    try:
        loaded = np.load(path, allow_pickle=False)
    except FileNotFoundError:
        raise ValueError(f"hessians must be a file, got {path}: there is none") from None
    except (OSError, ValueError, EOFError):
        remedy = "write one with numpy.save"
        raise Refusal("hessians", "an NPY file of numbers", path, remedy) from None

    return np.asarray(loaded)


def recommend_json(advice: Recommendation) -> dict[str, object]:
    """The documented keys of ``ravine recommend --json``."""
    return {
        "setting": advice.setting.value,
        "curvature": curvature_json(advice.ladder.curvature),
        "method": method_json(advice.method),
        "value": advice.value,
        "quantity": advice.quantity,
        "reason": advice.reason,
        "guarantee": advice.guarantee,
        "gain": advice.gain,
        "ladder": rate_json(advice.ladder),
    }


def _show(advice: Recommendation) -> None:
    from rich.console import Console

    out = Console(highlight=False)
    m = advice.method
    out.print(f"[bold green]alpha = {m.alpha:.6g}, beta = {m.beta:.6g}[/]")
    out.print(f"{advice.quantity}: {advice.value:.6g}\n")
    out.print(f"Why: {advice.reason}.")
    out.print(f"Certain: {advice.guarantee}.")
    out.print(f"Ladder: {advice.ladder.verdict}")
