"""``ravine convert``: optimizer settings in the terms of another library."""

from __future__ import annotations

from typing import Annotated

from ravine.cli import options
from ravine.cli.options import METHOD, method_json, option
from ravine.cli.output import copyable, digits, print_json, say, suggest
from ravine.conventions import Conversion, convert

_GROUP = "Libraries"
_NAMES = "paper, torch, optax, keras or qhm"


def convert_command(
    source: Annotated[
        str, option(_GROUP, "--from", f"{_NAMES}. Default: torch.", "WORD")
    ] = "torch",
    target: Annotated[str, option(_GROUP, "--to", f"{_NAMES}. Default: paper.", "WORD")] = "paper",
    lr: Annotated[float | None, option(METHOD, "--lr", "Learning rate.", "N")] = None,
    momentum: Annotated[float | None, option(METHOD, "--momentum", "Momentum.", "N")] = None,
    dampening: Annotated[
        float | None, option(METHOD, "--dampening", "Dampening; torch only.", "N")
    ] = None,
    nesterov: Annotated[bool, option(METHOD, "--nesterov", "Nesterov momentum.")] = False,
    weight_decay: Annotated[
        float | None, option(METHOD, "--weight-decay", "Weight decay.", "N")
    ] = None,
    nu: Annotated[
        float | None, option(METHOD, "--nu", "Weight of the gradient average; qhm only.", "N")
    ] = None,
    alpha: options.Alpha = None,
    beta: options.Beta = None,
    gamma: options.Gamma = None,
    json: options.Json = False,
) -> None:
    """Translate optimizer settings between PyTorch, optax, Keras, QHM and the paper.

    For example:

    - `ravine convert --lr 0.1 --momentum 0.9 --nesterov`

    - `ravine convert --from torch --to optax --lr 0.1 --momentum 0.9`

    - `ravine convert --from paper --to qhm --alpha 0.1 --beta 0.9 --gamma 0.3`
    """
    given = {
        "lr": lr, "momentum": momentum, "dampening": dampening, "nesterov": nesterov or None,
        "weight_decay": weight_decay, "nu": nu, "alpha": alpha, "beta": beta, "gamma": gamma,
    }  # fmt: skip
    settings = {name: value for name, value in given.items() if value is not None}
    same = convert(source, target, **settings)
    if json:
        print_json(_json(same))
    else:
        _show(same)


def _json(same: Conversion) -> dict[str, object]:
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
    m = same.method
    copyable(same.code)
    say(
        f"In the paper's terms: alpha = {digits(m.alpha)}, beta = {digits(m.beta)}, "
        f"gamma = {digits(m.gamma)}."
    )
    for note in same.notes:
        say(f"- {note}", indent="  ")

    values = f"--alpha {m.alpha:.6g} --beta {m.beta:.6g} --gamma {m.gamma:.6g}"
    suggest(f"ravine rate --Q 100 {values}", "its rates at a condition number of 100")
