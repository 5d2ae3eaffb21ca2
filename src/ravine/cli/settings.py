"""``ravine recommend``, ``convert`` and ``rescale``: which settings to use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from ravine.arguments import FloatArray, Refusal
from ravine.cli.options import as_words, spelled
from ravine.cli.output import Answer, Whole, parameters, table
from ravine.cli.rate import rate_json
from ravine.conventions import convert
from ravine.curvature import Curvature
from ravine.digits import digits, percent, rate_digits, safe_digits
from ravine.theory.tuning.rescale import rescale

_ADVICE = ("setting", "method", "value", "quantity", "reason", "guarantee", "gain")
_COPIED = ("parameters", "method", "sequence", "first_velocity", "code", "notes")


def recommend_command(curvature: Curvature, hessians: Path | None = None, **options: Any) -> Answer:
    """Recommend a step size and a momentum, with the reason and the guarantee.

    For example:

    - `ravine recommend --mu 0.05 --L 100`

    - `ravine recommend --Q 1000 --L-max 10000 --batch-size 100`

    - `ravine recommend --Q 32 --setting additive-noise --sigma2 0.01 --steps 200`

    Problem
    -------
    mu, L, Q
    setting : WORD
        any-sampling, mini-batches, additive-noise or finite-sum. Default: any-sampling, or
        mini-batches with --batch-size.
    batch_size, L_max, L_max_ratio, mu_min
    sigma2 : NUMBER
        Variance of additive noise.
    hessians : FILE
        NPY file of batch Hessians, for a finite sum.

    Method
    ------
    beta : NUMBER
        Momentum to keep; any-sampling only.
    for_every_mu
        With --beta: a step that is safe for every mu.

    Budget of steps
    ---------------
    distance : NUMBER
        Distance from the start to the minimiser. Default: 1.
    steps : N
        Number of steps, with noise or batches.
    quantity : WORD
        Error to minimise: distance or objective.

    Output
    ------
    json
    """
    from ravine.theory.tuning.recommend import recommend

    if hessians is not None:
        try:
            options["hessians"] = np.asarray(np.load(hessians, allow_pickle=False))
        except (OSError, ValueError, EOFError):
            rule, remedy = "an NPY file of numbers", "write one with numpy.save"
            raise Refusal("hessians", rule, hessians, remedy) from None

    advice = recommend(curvature, **options)
    data = {name: getattr(advice, name) for name in _ADVICE}
    data |= {"curvature": curvature, "ladder": rate_json(advice.ladder)}
    m = advice.method
    if m.beta >= 0.0:
        values = f"--alpha {m.alpha:.6g} --beta {m.beta:.6g}"
        then = f"ravine convert --from paper --to torch {values}", "the call in PyTorch"
    else:
        words = as_words(curvature, L_max=10.0 * float(curvature.L))
        then = f"ravine batch {words}", "batch sizes"
    return Answer(
        data,
        Text(parameters(m), "bold green"),
        f"{advice.quantity}: {rate_digits(advice.value)}\n",
        f"Why: {advice.reason}.",
        f"Guarantee: {advice.guarantee}.",
        f"Verdict: {advice.ladder.verdict}",
        then=then,
    )


def convert_command(from_: str = "torch", to: str = "paper", **settings: Any) -> Answer:
    """Translate optimizer settings between PyTorch, optax, Keras, QHM and the paper.

    For example:

    - `ravine convert --lr 0.1 --momentum 0.9 --nesterov`

    - `ravine convert --from torch --to optax --lr 0.1 --momentum 0.9`

    - `ravine convert --from paper --to qhm --alpha 0.1 --beta 0.9 --gamma 0.3`

    Libraries
    ---------
    from_ : WORD
        paper, torch, optax, keras or qhm. Default: torch.
    to : WORD
        paper, torch, optax, keras or qhm. Default: paper.

    Method
    ------
    lr : NUMBER
        Learning rate.
    momentum : NUMBER
        Momentum.
    dampening : NUMBER
        Dampening; torch only.
    nesterov
        Nesterov momentum.
    weight_decay : NUMBER
        Weight decay.
    nu : NUMBER
        Weight of the gradient average; qhm only.
    alpha, beta, gamma

    Output
    ------
    json
    """
    same = convert(from_, to, **settings)
    m = same.method
    values = f"--alpha {m.alpha:.6g} --beta {m.beta:.6g} --gamma {m.gamma:.6g}"
    then = f"ravine rate --Q 100 {values}", "its rates at a condition number of 100"
    data = {name: getattr(same, name) for name in _COPIED}
    return Answer(
        {"from": same.source, "to": same.target, **data},
        Whole(same.code),
        f"In the paper's terms: alpha = {digits(m.alpha)}, beta = {digits(m.beta)}, "
        f"gamma = {digits(m.gamma)}.",
        *(f"- {note}" for note in same.notes),
        then=then,
    )


def rescale_command(
    lr: float,
    from_batch: float,
    to_batch: float,
    data: Path | None = None,
    target: str | None = None,
    raw: bool = False,
    curvature: Curvature | None = None,
    **old: Any,
) -> Answer:
    """Find the lr and momentum to use when the batch size changes.

    The progress per sample, lr/((1 - momentum) batch size), stays the same; for a larger batch
    momentum is raised to at most 0.9. With the curvature of the objective (--mu and --L) and of
    single samples (--L-max), lr stays below the largest stable one. With a table (--data and
    --steps), lr minimises the expected loss of least squares on it.

    For example:

    - `ravine rescale --lr 0.1 --momentum 0.9 --from-batch 64 --to-batch 512`

    - `ravine rescale --lr 0.1 --from-batch 8 --to-batch 64 --data train.csv --steps 300`

    - `ravine rescale --lr 0.001 --momentum 0.9 --from-batch 256 --to-batch 64 --optimizer adamw`

    Method
    ------
    lr : NUMBER
        Learning rate at the old batch size.
    from_batch : NUMBER
        Old batch size.
    to_batch : NUMBER
        New batch size.
    momentum : NUMBER
        Momentum; beta1 for AdamW. Default: 0.
    nesterov
        SGD with nesterov=True.
    optimizer : NAME
        sgd or adamw. Default: sgd.
    steps : N
        Steps of the run at the new batch size.

    Problem
    -------
    data : FILE
        Table on which the model is trained.
    target : NAME
        Numeric column to predict.
    raw
        Do not standardise the columns, do not add an intercept.
    mu, L, Q, L_max, L_max_ratio

    Output
    ------
    json
    """
    if data is not None:
        old["data"] = _table(data, target, raw)
    if "optimizer" in old:
        old["optimizer"] = old["optimizer"].lower()  # PyTorch writes AdamW

    new = rescale(lr, from_batch=from_batch, to_batch=to_batch, curvature=curvature, **old)
    adamw = old.get("optimizer", "sgd") != "sgd"
    momentum = old.get("momentum", 0.0)
    name = "beta1" if adamw else "momentum"
    columns = 2 if adamw and momentum == 0.0 else 3
    setting = f", {name} = {new.momentum:.4g}" if columns == 3 else ""
    stable = ""
    if new.share is not None:
        if "stable" not in new.rule:
            stable = (
                f"\nlr is {percent(new.share)} of the largest one that is stable in mean square."
            )
        if new.share > 1.0:
            stable += f" It can diverge; below {safe_digits(new.lr / new.share)} it is stable."
    rows = [
        ("this rule", digits(new.lr), f"{new.momentum:.4g}"),
        ("linear rule", digits(new.linear), f"{momentum:.4g}"),
        ("square-root rule", digits(new.square_root), f"{momentum:.4g}"),
        ("no change", digits(lr), f"{momentum:.4g}"),
    ]
    then = "ravine batch --Q 100 --L-max 1000", "what larger batches can buy"
    if not adamw:
        values = spelled(lr=new.lr, momentum=new.momentum, nesterov=old.get("nesterov"))
        then = f"ravine convert{values}", "these settings in the paper's terms"
    return Answer(
        {
            "lr": new.lr,
            "momentum": new.momentum,
            "rule": new.rule,
            "share_of_limit": new.share,
            "linear_rule": new.linear,
            "square_root_rule": new.square_root,
        },
        Text(f"lr = {digits(new.lr)}{setting}", "bold green"),
        f"Rule: {new.rule}.{stable}\n",
        table(("", "lr", name)[:columns], [row[:columns] for row in rows]),
        then=then,
    )


def _table(file: Path, target: str | None, raw: bool) -> tuple[FloatArray, FloatArray]:
    """The columns, prepared as in ``ravine diagnose``, and the target."""
    from ravine.diagnosis.setup import standardised
    from ravine.tables import read_table

    table = read_table(file, target=target)
    if not isinstance(table.X, np.ndarray):
        raise Refusal("--data", "a dense table", "a sparse one", "use ravine diagnose")
    if raw:
        return table.X, table.y

    return np.column_stack([standardised(table.X), np.ones(len(table.y))]), table.y
