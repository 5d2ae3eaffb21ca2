"""``ravine convert``: a momentum method in the words of another library."""

from __future__ import annotations

from typing import Annotated

import typer

from ravine.cli.options import Alpha, Beta, Gamma, Json, method_json, print_json
from ravine.conventions import Conversion, convert

_NAMES = "paper, torch, optax, keras or qhm"


def convert_command(
    source: Annotated[str, typer.Option("--from", help=f"Its words: {_NAMES}.")] = "torch",
    target: Annotated[str, typer.Option("--to", help=f"Wanted words: {_NAMES}.")] = "paper",
    lr: Annotated[float | None, typer.Option("--lr", help="Learning rate.")] = None,
    momentum: Annotated[float | None, typer.Option("--momentum", help="Momentum.")] = None,
    dampening: Annotated[float | None, typer.Option("--dampening", help="Torch's.")] = None,
    nesterov: Annotated[bool, typer.Option("--nesterov", help="Nesterov's look-ahead.")] = False,
    weight_decay: Annotated[float | None, typer.Option("--weight-decay", help="Decay.")] = None,
    nu: Annotated[float | None, typer.Option("--nu", help="QHM's share of the buffer.")] = None,
    alpha: Alpha = None,
    beta: Beta = None,
    gamma: Gamma = None,
    json: Json = False,
) -> None:
    """Say a method in the words of PyTorch, optax, Keras, QHM or the paper.

    For example:

    - `ravine convert --from torch --to paper --lr 0.1 --momentum 0.9 --nesterov`

    - `ravine convert --from paper --to qhm --alpha 0.1 --beta 0.9 --gamma 0.3`
    """
    given = {
        "lr": lr,
        "momentum": momentum,
        "dampening": dampening,
        "nesterov": nesterov or None,
        "weight_decay": weight_decay,
        "nu": nu,
        "alpha": alpha,
        "beta": beta,
        "gamma": gamma,
    }

    words = {name: value for name, value in given.items() if value is not None}
    same = convert(source, target, **words)
    if json:
        print_json(convert_json(same))
    else:
        _show(same)


def convert_json(same: Conversion) -> dict[str, object]:
    """The documented keys of ``ravine convert --json``."""
    return {
        "from": same.source,
        "to": same.target,
        "parameters": same.parameters,
        "method": method_json(same.method),
        "sequence": same.sequence,
        "first_velocity": same.first_velocity,
        "code": same.code,
        "notes": list(same.notes),
    }


def _show(same: Conversion) -> None:
    from rich.console import Console

    out = Console(highlight=False, soft_wrap=True)
    m = same.method
    out.print(same.code, style="bold", markup=False)
    out.print(
        f"in the paper's family: alpha = {m.alpha:g}, beta = {m.beta:g}, gamma = {m.gamma:g}; "
        f"the parameters are its {same.sequence}",
        markup=False,
    )

    for note in same.notes:
        out.print(f"- {note}", markup=False)
