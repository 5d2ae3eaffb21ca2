"""``ravine rescale``: what to do with lr and momentum when the batch size changes."""

from __future__ import annotations

from typing import Annotated, Literal

from ravine.cli.options import (
    METHOD,
    Condition,
    Json,
    LargestTerm,
    Mu,
    Smoothness,
    curvature_from,
    option,
)
from ravine.cli.output import digits, print_json, say, table
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
    mu: Mu = None,
    L: Smoothness = None,
    Q: Condition = None,
    L_max: LargestTerm = None,
    json: Json = False,
) -> None:
    """Say which lr and momentum to use when the batch size changes.

    With the curvature of the objective (--mu and --L) and of single samples (--L-max) momentum is
    kept, and lr keeps its share of the largest stable lr. Without them lr and momentum both change.

    For example:

    - `ravine rescale --lr 0.1 --momentum 0.9 --from-batch 64 --to-batch 512`

    - `ravine rescale --lr 0.1 --from-batch 64 --to-batch 512 --mu 0.01 --L 1 --L-max 100`

    - `ravine rescale --lr 0.001 --momentum 0.9 --from-batch 256 --to-batch 64 --optimizer adamw`
    """
    known = any(value is not None for value in (mu, L, Q))
    kind: Literal["sgd", "adamw"] = optimizer.lower()  # type: ignore[assignment]
    new = rescale(
        lr,
        momentum=momentum,
        nesterov=nesterov,
        from_batch=from_batch,
        to_batch=to_batch,
        optimizer=kind,
        curvature=curvature_from(mu, L, Q) if known else None,
        L_max=L_max,
    )

    if json:
        print_json(
            {
                "lr": new.lr,
                "momentum": new.momentum,
                "kept": new.rule,
                "share_of_limit": new.share,
                "linear_rule": new.linear,
                "square_root_rule": new.square_root,
            }
        )
        return

    say(f"lr = {digits(new.lr)}, momentum = {new.momentum:.4g}", style="bold green")
    say(f"This keeps {new.rule}.")
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
