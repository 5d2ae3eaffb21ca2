"""``ravine batch`` and ``compare``: methods at one batch size and another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from ravine.arguments import Real
from ravine.cli import options
from ravine.cli.options import PROBLEM, curvature_from, curvature_json, method_json, option
from ravine.cli.output import coloured, digits, print_json, rate_digits, say, suggest, table, wrote
from ravine.cli.pictures import check_out, save_picture

if TYPE_CHECKING:
    from ravine.curvature import Curvature
    from ravine.theory.tuning.batch_gain import BatchGain
    from ravine.theory.tuning.league import Entry, Standing
    from ravine.theory.tuning.useful_batch import BatchSizes


def batch_command(
    mu: options.Mu = None,
    L: options.Smoothness = None,
    Q: options.Condition = None,
    L_max: options.LargestTerm = None,
    mu_min: options.LeastTerm = None,
    sizes: Annotated[
        list[float] | None,
        option(PROBLEM, "--batch-size", "Batch size to compute. Can be repeated.", "N"),
    ] = None,
    out: options.Picture = None,
    json: options.Json = False,
) -> None:
    """Say how large a batch has to be, where momentum pays, and where larger batches stop paying.

    For every batch size of the table: the fastest step of SGD and the fastest Nesterov parameters
    that are certain to converge in mean square on every problem with this curvature, and how many
    times fewer steps momentum needs.

    For example:

    - `ravine batch --mu 1 --L 1000 --L-max 10000`

    - `ravine batch --Q 1000 --L-max 10000 --out batch.png`

    - `ravine batch --Q 100 --L-max 2000 --batch-size 32 --batch-size 256 --json`
    """
    from ravine.theory.tuning.batch_gain import BATCH_SIZES, batch_gain
    from ravine.theory.tuning.useful_batch import batch_sizes

    check_out(out)
    curvature = curvature_from(mu, L, Q)
    samples = {"L_max": L_max, "mu_min": mu_min}
    result = batch_gain(curvature, batch_sizes=sizes or list(BATCH_SIZES), **samples)
    three = batch_sizes(curvature, **samples)
    if out is not None:
        from ravine.figures.batch_gain import draw_batch_gain

        save_picture(draw_batch_gain(result, three), out)

    if json:
        print_json(_batch_json(result, three, out))
    else:
        _show_batch(result, three, out)


def _batch_json(result: BatchGain, three: BatchSizes, out: Path | None) -> dict[str, object]:
    """The documented keys of ``ravine batch --json``."""
    rows = zip(result.batch_sizes, result.sgd, result.momentum, result.gain, strict=True)
    return {
        "curvature": curvature_json(result.curvature),
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
                "sgd": {"rate": plain.rate, **method_json(plain.method)},
                "momentum": {"rate": fast.rate, **method_json(fast.method)},
            }
            for size, plain, fast, gain in rows
        ],
        "sentence": result.sentence,
        "out": None if out is None else str(out),
    }


def _show_batch(result: BatchGain, three: BatchSizes, out: Path | None) -> None:
    c = result.curvature
    say(
        f"Smallest stable batch: {digits(three.stable)} (textbook Nesterov, in mean square).\n"
        f"Momentum pays from batch size {digits(three.momentum_pays)}.\n"
        f"Largest useful batch: {digits(three.useful.size)} with momentum, "
        f"{digits(three.useful_sgd.size)} with SGD; beyond, half of the samples are wasted.\n\n"
        f"mu = {c.mu:g}, L = {c.L:g}, Q = {c.Q:g}; "
        f"single samples: {result.mu_min:g} to {result.L_max:g}\n"
    )
    rows = [
        (
            f"{size:g}",
            _step(plain.method.alpha * c.L),
            _steps(plain.steps_per_digit),
            _step(fast.method.alpha * c.L),
            digits(fast.method.beta),
            _steps(fast.steps_per_digit),
            digits(gain),
        )
        for size, plain, fast, gain in zip(
            result.batch_sizes, result.sgd, result.momentum, result.gain, strict=True
        )
    ]
    table(("batch", "SGD alpha L", "steps", "alpha L", "beta", "steps", "gain"), rows)
    say("\nSteps: to a tenth of √E‖y - x*‖², guaranteed for every such problem.")
    wrote(out)
    size = result.batch_sizes[-1]
    words = options.as_words(c, L_max=result.L_max, mu_min=result.mu_min, batch_size=size)
    suggest(f"ravine recommend {words}", f"exact settings for batches of {size:g}")


def _step(size: Real) -> str:
    """A step size rounded down: rounded up, it could lose the guarantee."""
    unit = 10.0 ** (np.floor(np.log10(size)) - 2.0)
    return digits(unit * np.floor(size / unit * (1.0 + 1e-12)))


def _steps(count: float) -> str:
    return f"{np.ceil(count):.0f}" if count < 1e6 else digits(count)


def compare_command(
    mu: options.Mu = None,
    L: options.Smoothness = None,
    Q: options.Condition = None,
    L_max: options.LargestTerm = None,
    ratio: Annotated[
        float | None,
        option(PROBLEM, "--L-max-ratio", "L_max/L, instead of --L-max; at least 1.", "N"),
    ] = None,
    mu_min: options.LeastTerm = None,
    batch_size: options.BatchSize = None,
    out: options.Picture = None,
    json: options.Json = False,
) -> None:
    """Rank named methods, at their published and at their best parameters.

    Rates are per step and guaranteed for every problem with this curvature: with exact gradients,
    with batches drawn independently (root mean square), and in any order. The best parameters have
    the least rate for independent batches at this batch size.

    For example:

    - `ravine compare --Q 1000 --L-max-ratio 10 --batch-size 64`

    - `ravine compare --mu 0.01 --L 1 --L-max 20`

    - `ravine compare --Q 1000 --L-max-ratio 10 --batch-size 64 --out league.png`
    """
    from ravine.theory.tuning.league import league

    check_out(out)
    curvature = curvature_from(mu, L, Q)
    share = None if ratio is None else ratio * float(curvature.L)
    most = options.one_of("L-max", L_max, "L-max-ratio", share)
    size = 1.0 if batch_size is None else batch_size
    entries = league(curvature, L_max=most, batch_size=size, mu_min=mu_min)
    if out is not None:
        from ravine.figures.league import draw_league, league_curves

        curves = league_curves(curvature, L_max=most, mu_min=mu_min)
        save_picture(draw_league(curves, batch_size=size), out)

    if not json:
        _show_league(entries, curvature, most, size, out)
        return

    methods = [
        {
            "name": one.name,
            "published": _standing_json(one.published),
            "best": _standing_json(one.tuned),
        }
        for one in entries
    ]
    said = {"curvature": curvature_json(curvature), "L_max": most, "batch_size": size}
    print_json({**said, "methods": methods, "out": None if out is None else str(out)})


def _show_league(
    entries: Sequence[Entry],
    curvature: Curvature,
    L_max: float | None,
    size: float,
    out: Path | None,
) -> None:
    where = "" if L_max is None else f", L_max = {L_max:g}"
    say(f"Q = {float(curvature.Q):g}, L = {float(curvature.L):g}{where}, batch size {size:g}\n")
    rows = [
        (
            one.name,
            rate_digits(one.published.exact),
            coloured(rate_digits(one.published.iid), one.published.iid < 1.0),
            coloured(rate_digits(one.published.worst), one.published.worst < 1.0),
            digits(one.published.stable_batch),
            digits(one.published.floor),
            f"{one.tuned.iid:.5f}",
            digits(one.tuned.steps_per_digit),
        )
        for one in entries
    ]
    table(("method", "exact", "iid", "worst", "batch", "noise", "best iid", "steps"), rows)
    say(
        "\nRates per step at the published parameters: exact gradients, independent batches, worst "
        "order. batch: smallest batch that is stable in mean square. noise: worst E‖y - x*‖² per "
        "unit of gradient variance. best iid: rate with the best parameters at this batch size; "
        "steps: to a tenth of the error."
    )
    wrote(out)
    words = options.as_words(curvature, L_max=L_max, batch_size=size)
    suggest(f"ravine rate {words} --method {entries[0].name}", "every rate of the first")


def _standing_json(one: Standing) -> dict[str, object]:
    return {
        **method_json(one.method),
        "spectral_radius": one.exact,
        "iid_rate": one.iid,
        "worst_case_rate": one.worst,
        "smallest_stable_batch": one.stable_batch,
        "noise_floor": one.floor,
    }
