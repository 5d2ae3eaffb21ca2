"""``ravine rescale``: what to do with lr and momentum when the batch size changes."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ravine.arguments import FloatArray, Refusal
from ravine.cli import options
from ravine.cli.options import METHOD, PROBLEM, curvature_from, option
from ravine.cli.output import digits, print_json, say, suggest, table
from ravine.theory.tuning.rescale import rescale


def rescale_command(
    lr: Annotated[float, option(METHOD, "--lr", "Learning rate at the old batch size.", "N")],
    from_batch: Annotated[float, option(METHOD, "--from-batch", "Old batch size.", "N")],
    to_batch: Annotated[float, option(METHOD, "--to-batch", "New batch size.", "N")],
    momentum: Annotated[
        float, option(METHOD, "--momentum", "Momentum; beta1 for AdamW.", "N")
    ] = 0.0,
    nesterov: Annotated[bool, option(METHOD, "--nesterov", "SGD with nesterov=True.")] = False,
    optimizer: Annotated[str, option(METHOD, "--optimizer", "sgd or adamw.", "NAME")] = "sgd",
    steps: Annotated[
        int | None, option(METHOD, "--steps", "Steps of the run at the new batch size.", "N")
    ] = None,
    data: Annotated[
        str | None, option(PROBLEM, "--data", "Table that the model is trained on.", "FILE")
    ] = None,
    target: Annotated[
        str | None, option(PROBLEM, "--target", "Its column to predict; numbers.", "NAME")
    ] = None,
    raw: Annotated[
        bool, option(PROBLEM, "--raw", "Do not standardise its columns, do not add an intercept.")
    ] = False,
    mu: options.Mu = None,
    L: options.Smoothness = None,
    Q: options.Condition = None,
    L_max: options.LargestTerm = None,
    json: options.Json = False,
) -> None:
    """Say which lr and momentum to use when the batch size changes.

    The progress per sample, lr/((1 - momentum) batch size), stays the same; for a larger batch
    momentum is raised to at most 0.9. With the curvature of the objective (--mu and --L) and of
    single samples (--L-max), lr stays below the largest stable one. With a table (--data and
    --steps), lr is the one with the least expected loss of least squares on it.

    For example:

    - `ravine rescale --lr 0.1 --momentum 0.9 --from-batch 64 --to-batch 512`

    - `ravine rescale --lr 0.1 --from-batch 8 --to-batch 64 --data train.csv --steps 300`

    - `ravine rescale --lr 0.1 --from-batch 64 --to-batch 512 --mu 0.01 --L 1 --L-max 100`

    - `ravine rescale --lr 0.001 --momentum 0.9 --from-batch 256 --to-batch 64 --optimizer adamw`
    """
    known = any(value is not None for value in (mu, L, Q))
    kind: Literal["sgd", "adamw"] = optimizer.lower()  # type: ignore[assignment]
    new = rescale(
        lr, momentum=momentum, nesterov=nesterov, from_batch=from_batch, to_batch=to_batch,
        optimizer=kind, steps=steps,
        data=None if data is None else _table(data, target, raw),
        curvature=curvature_from(mu, L, Q) if known else None, L_max=L_max,
    )  # fmt: skip

    if json:
        print_json(
            {
                "lr": new.lr,
                "momentum": new.momentum,
                "rule": new.rule,
                "share_of_limit": new.share,
                "linear_rule": new.linear,
                "square_root_rule": new.square_root,
            }
        )
        return

    say(f"lr = {digits(new.lr)}, momentum = {new.momentum:.4g}", style="bold green")
    say(f"Rule: {new.rule}.")
    if new.share is not None:
        say(f"lr is {new.share:.0%} of the largest one that is stable in mean square.")
    rows = [
        ("this rule", digits(new.lr), f"{new.momentum:.4g}"),
        ("linear rule", digits(new.linear), f"{momentum:.4g}"),
        ("square-root rule", digits(new.square_root), f"{momentum:.4g}"),
        ("no change", digits(lr), f"{momentum:.4g}"),
    ]
    say()
    table(("", "lr", "momentum"), rows)
    if kind == "sgd":
        values = f"--lr {new.lr:.6g} --momentum {new.momentum:.6g}{' --nesterov' * nesterov}"
        suggest(f"ravine convert {values}", "these settings in the terms of the paper")
    else:
        suggest("ravine batch --Q 100 --L-max 1000", "what larger batches can buy")


def _table(file: str, target: str | None, raw: bool) -> tuple[FloatArray, FloatArray]:
    """The columns as ``ravine diagnose`` would train on them, and the target."""
    from ravine.diagnosis.setup import standardised
    from ravine.tables import read_table

    table = read_table(file, target=target)
    if not isinstance(table.X, np.ndarray):
        raise Refusal("--data", "a dense table", "a sparse one", "use ravine diagnose")
    if raw:
        return table.X, table.y

    return np.column_stack([standardised(table.X), np.ones(len(table.y))]), table.y
