"""``ravine recommend``: parameters with a reason and a guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.text import Text

from ravine.arguments import FloatArray, Refusal
from ravine.cli.options import as_words
from ravine.cli.output import Answer, settings
from ravine.cli.rate import rate_json
from ravine.curvature import Curvature
from ravine.digits import rate_digits
from ravine.theory.tuning.recommend import recommend

_COPIED = ("setting", "method", "value", "quantity", "reason", "guarantee", "gain")


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
    if hessians is not None:
        options["hessians"] = _read(hessians)

    advice = recommend(curvature, **options)
    data = {name: getattr(advice, name) for name in _COPIED}
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
        Text(settings(m), "bold green"),
        f"{advice.quantity}: {rate_digits(advice.value)}\n",
        f"Why: {advice.reason}.",
        f"Guarantee: {advice.guarantee}.",
        f"Verdict: {advice.ladder.verdict}",
        then=then,
    )


def _read(path: Path) -> FloatArray:
    try:
        loaded = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        remedy = "write one with numpy.save"
        raise Refusal("hessians", "an NPY file of numbers", path, remedy) from None

    return np.asarray(loaded)
