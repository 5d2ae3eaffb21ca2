"""``ravine recommend``: parameters with a reason and a guarantee."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np

from ravine.arguments import FloatArray, Refusal
from ravine.cli import options
from ravine.cli.options import METHOD, PROBLEM, curvature_from, curvature_json, method_json, option
from ravine.cli.output import print_json, rate_digits, say, settings, suggest
from ravine.cli.rate import rate_json
from ravine.theory.error_quantity import ErrorQuantity
from ravine.theory.tuning.recommend import Recommendation, Setting, recommend

_BUDGET = "Budget of steps"


def recommend_command(
    mu: options.Mu = None,
    L: options.Smoothness = None,
    Q: options.Condition = None,
    setting: Annotated[
        Setting | None,
        option(PROBLEM, "--setting", f"{', '.join(Setting)}. Default: any-sampling.", "WORD"),
    ] = None,
    beta: Annotated[
        float | None, option(METHOD, "--beta", "Momentum to keep; for any sampling.", "N")
    ] = None,
    for_every_mu: Annotated[
        bool, option(METHOD, "--for-every-mu", "With --beta: a step that is safe for every mu.")
    ] = False,
    batch_size: options.BatchSize = None,
    L_max: options.LargestTerm = None,
    mu_min: options.LeastTerm = None,
    sigma2: Annotated[
        float | None, option(PROBLEM, "--sigma2", "Variance of additive noise.", "N")
    ] = None,
    distance: Annotated[
        float, option(_BUDGET, "--distance", "Distance of the start. Default: 1.", "N")
    ] = 1.0,
    steps: Annotated[
        int | None, option(_BUDGET, "--steps", "Number of steps, with noise or batches.", "N")
    ] = None,
    quantity: Annotated[
        ErrorQuantity | None,
        option(_BUDGET, "--quantity", f"Error to make small: {', '.join(ErrorQuantity)}.", "WORD"),
    ] = None,
    hessians: Annotated[
        Path | None,
        option(PROBLEM, "--hessians", "NPY file of batch Hessians, for a finite sum.", "FILE"),
    ] = None,
    json: options.Json = False,
) -> None:
    """Recommend a step size and a momentum, with the reason and the guarantee.

    For example:

    - `ravine recommend --mu 0.05 --L 100`

    - `ravine recommend --Q 1000 --L-max 10000 --batch-size 100`

    - `ravine recommend --Q 32 --setting additive-noise --sigma2 0.01 --steps 200`
    """
    advice = recommend(
        curvature_from(mu, L, Q), setting=setting, beta=beta, for_every_mu=for_every_mu,
        batch_size=batch_size, L_max=L_max, mu_min=mu_min, sigma2=sigma2, distance=distance,
        steps=steps, quantity=quantity, hessians=None if hessians is None else _read(hessians),
    )  # fmt: skip

    if json:
        print_json(_json(advice))
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


def _json(advice: Recommendation) -> dict[str, object]:
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
    c = advice.ladder.curvature
    m = advice.method
    say(settings(m), style="bold green")
    say(f"{advice.quantity}: {rate_digits(advice.value)}\n")
    say(f"Why: {advice.reason}.")
    say(f"Certain: {advice.guarantee}.")
    say(f"Ladder: {advice.ladder.verdict}")
    values = f"--from paper --to torch --alpha {m.alpha:.6g} --beta {m.beta:.6g}"
    if m.beta >= 0.0:
        suggest(f"ravine convert {values}", "the call in PyTorch")
    else:
        words = options.as_words(c, L_max=10.0 * float(c.L))
        suggest(f"ravine batch {words}", "batch sizes")
