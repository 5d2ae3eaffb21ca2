"""``ravine batch`` and ``compare``: methods at different batch sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ravine.cli.options import as_words
from ravine.cli.output import Answer, as_json, check_out, stable, table, wrote
from ravine.curvature import Curvature
from ravine.digits import digits, rate_digits, safe_digits
from ravine.figures.batch_curves import draw_batch_gain, draw_league, league_curves
from ravine.figures.style import save_picture
from ravine.theory.tuning.batch_gain import BATCH_SIZES, batch_gain
from ravine.theory.tuning.league import Standing, league
from ravine.theory.tuning.useful_batch import batch_sizes

_LEAGUE_WORDS = (
    "\nRates per step at the published parameters: exact gradients, independent batches, worst "
    "order. batch: smallest batch that is stable in mean square. noise: worst E‖y - x*‖² per unit "
    "of gradient variance. best iid: rate with the best parameters at this batch size; steps: to a "
    "tenth of the error."
)


def batch_command(
    curvature: Curvature,
    batch_size: list[float] | None = None,
    out: Path | None = None,
    **samples: float,
) -> Answer:
    """Find the smallest stable batch size, and where momentum and larger batches pay off.

    The table gives, for each batch size, the fastest step of SGD and the fastest Nesterov
    parameters that are guaranteed to converge in mean square on every problem with this curvature,
    and how many times fewer steps momentum needs.

    For example:

    - `ravine batch --mu 1 --L 1000 --L-max 10000`

    - `ravine batch --Q 1000 --L-max-ratio 10 --out batch.png`

    - `ravine batch --Q 100 --L-max 2000 --batch-size 32 --batch-size 256 --json`

    Problem
    -------
    mu, L, Q, L_max, L_max_ratio, mu_min
    batch_size : NUMBER
        Batch size to compute. Can be repeated.

    Output
    ------
    out, json
    """
    check_out(out)
    result = batch_gain(curvature, batch_sizes=batch_size or BATCH_SIZES, **samples)
    three = batch_sizes(curvature, **samples)
    if out is not None:
        save_picture(draw_batch_gain(result, three), out)

    sizes = result.batch_sizes
    each = list(zip(sizes, result.sgd, result.momentum, result.gain, strict=True))
    data = {
        "curvature": result.curvature,
        "L_max": result.L_max,
        "mu_min": result.mu_min,
        "smallest_stable_batch": three.stable,
        "momentum_pays_from": three.momentum_pays,
        "useful_batch_size": three.useful.size,
        "useful_batch_size_law": three.useful.law,
        "useful_batch_size_sgd": three.useful_sgd.size,
        "batches": [
            {
                "batch_size": size,
                "gain": float(gain),
                "sgd": {"rate": plain.rate, **as_json(plain.method)},
                "momentum": {"rate": fast.rate, **as_json(fast.method)},
            }
            for size, plain, fast, gain in each
        ],
        "sentence": result.sentence,
        "out": out,
    }
    c = result.curvature
    rows = [
        (
            f"{size:g}",
            safe_digits(plain.method.alpha * c.L),
            digits(np.ceil(plain.steps_per_digit)),
            safe_digits(fast.method.alpha * c.L),
            digits(fast.method.beta),
            digits(np.ceil(fast.steps_per_digit)),
            digits(gain),
        )
        for size, plain, fast, gain in each
    ]
    words = as_words(c, L_max=result.L_max, mu_min=result.mu_min, batch_size=sizes[-1])
    return Answer(
        data,
        f"Smallest stable batch: {np.floor(three.stable) + 1:.0f} (textbook Nesterov, in mean "
        f"square; limit {digits(three.stable)}).\nMomentum pays off from batch size "
        f"{digits(three.momentum_pays)}.\nLargest useful batch: {digits(three.useful.size)} with "
        f"momentum, {digits(three.useful_sgd.size)} with SGD; beyond it, more than half of the "
        f"samples are wasted.\n\nmu = {c.mu:g}, L = {c.L:g}, Q = {c.Q:g}; single samples: "
        f"{result.mu_min:g} to {result.L_max:g}\n",
        table(("batch", "SGD alpha L", "steps", "alpha L", "beta", "steps", "gain"), rows),
        "\nSteps until √E‖y - x*‖² falls to a tenth, guaranteed for every such problem.",
        *wrote(out),
        then=(f"ravine recommend {words}", f"the exact settings at batch size {sizes[-1]:g}"),
    )


def compare_command(
    curvature: Curvature,
    batch_size: float = 1.0,
    out: Path | None = None,
    **samples: float,
) -> Answer:
    """Rank named methods, with their published and with their best parameters.

    Rates are per step and guaranteed for every problem with this curvature: with exact gradients,
    with batches drawn independently (root mean square), and in any order. The best parameters have
    the smallest rate for independent batches of this size.

    For example:

    - `ravine compare --Q 1000 --L-max-ratio 10 --batch-size 64`

    - `ravine compare --mu 0.01 --L 1 --L-max 20`

    - `ravine compare --Q 1000 --L-max-ratio 10 --batch-size 64 --out league.png`

    Problem
    -------
    mu, L, Q, L_max, L_max_ratio, mu_min, batch_size

    Output
    ------
    out, json
    """
    check_out(out)
    entries = league(curvature, batch_size=batch_size, **samples)
    if out is not None:
        save_picture(draw_league(league_curves(curvature, **samples), batch_size=batch_size), out)

    head = ("method", "exact", "iid", "worst", "batch", "noise", "best iid", "steps")
    rows = [
        (
            one.name,
            rate_digits(one.published.exact),
            stable(one.published.iid),
            stable(one.published.worst),
            digits(one.published.stable_batch),
            digits(one.published.floor),
            rate_digits(one.tuned.iid),
            digits(one.tuned.steps_per_digit),
        )
        for one in entries
    ]
    methods = [
        {"name": e.name, "published": _standing(e.published), "best": _standing(e.tuned)}
        for e in entries
    ]
    L_max = samples.get("L_max")
    problem = {"curvature": curvature, "L_max": L_max, "batch_size": batch_size}
    where = "" if L_max is None else f", L_max = {L_max:g}"
    words = as_words(curvature, batch_size=batch_size, **samples)
    then = f"ravine rate {words} --method {entries[0].name}", "every rate of the first method"
    return Answer(
        {**problem, "methods": methods, "out": out},
        f"Q = {float(curvature.Q):g}, L = {float(curvature.L):g}{where}, "
        f"batch size {batch_size:g}\n",
        table(head, rows),
        _LEAGUE_WORDS,
        *wrote(out),
        then=then,
    )


def _standing(one: Standing) -> dict[str, Any]:
    return {
        **as_json(one.method),
        "spectral_radius": one.exact,
        "iid_rate": one.iid,
        "worst_case_rate": one.worst,
        "smallest_stable_batch": one.stable_batch,
        "noise_floor": one.floor,
    }
