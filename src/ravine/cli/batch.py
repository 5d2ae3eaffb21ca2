"""``ravine batch``: three batch sizes, and what a larger batch buys."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from ravine.arguments import Real
from ravine.cli.options import (
    OUTPUT,
    PROBLEM,
    Condition,
    Json,
    LargestTerm,
    LeastTerm,
    Mu,
    Smoothness,
    curvature_from,
    curvature_json,
    curvature_options,
    method_json,
    option,
)
from ravine.cli.output import digits, print_json, say, suggest, table
from ravine.cli.pictures import check_out, save_picture

if TYPE_CHECKING:
    from ravine.theory.tuning.batch_gain import BatchGain
    from ravine.theory.tuning.useful_batch import BatchSizes


def batch_command(
    mu: Mu = None,
    L: Smoothness = None,
    Q: Condition = None,
    L_max: LargestTerm = None,
    mu_min: LeastTerm = None,
    sizes: Annotated[
        list[float] | None,
        option(PROBLEM, "--batch-size", "Batch size to compute. Can be repeated.", "N"),
    ] = None,
    out: Annotated[
        Path | None, option(OUTPUT, "--out", "Picture to write: .png, .svg or .pdf.", "FILE")
    ] = None,
    json: Json = False,
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

    if out is not None:
        check_out(out)

    curvature = curvature_from(mu, L, Q)
    known = {"L_max": L_max, "mu_min": mu_min}
    result = batch_gain(
        curvature, batch_sizes=list(BATCH_SIZES) if sizes is None else sizes, **known
    )
    three = batch_sizes(curvature, **known)
    if out is not None:
        from ravine.figures.batch_gain import draw_batch_gain

        save_picture(draw_batch_gain(result, three), out)

    if json:
        print_json(batch_json(result, three, out))
    else:
        _show(result, three, out)


def batch_json(result: BatchGain, three: BatchSizes, out: Path | None = None) -> dict[str, object]:
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


def _show(result: BatchGain, three: BatchSizes, out: Path | None) -> None:
    say(f"Smallest stable batch: {digits(three.stable)} (textbook Nesterov, in mean square).")
    say(f"Momentum pays from batch size {digits(three.momentum_pays)}.")
    say(
        f"Largest useful batch: {digits(three.useful.size)} with momentum, "
        f"{digits(three.useful_sgd.size)} with SGD; beyond, half of the samples are wasted."
    )
    c = result.curvature
    say(
        f"\nmu = {c.mu:g}, L = {c.L:g}, Q = {c.Q:g}; "
        f"single samples: {result.mu_min:g} to {result.L_max:g}\n"
    )
    L = float(c.L)
    rows = [
        (
            f"{size:g}",
            _step(plain.method.alpha * L),
            _steps(plain.steps_per_digit),
            _step(fast.method.alpha * L),
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
    if out is not None:
        say(f"Wrote {out}.")

    size = result.batch_sizes[-1]
    options = f"{curvature_options(c)} --L-max {result.L_max:g} --batch-size {size:g}"
    suggest(f"ravine recommend {options}", f"exact settings for batches of {size:g}")


def _step(size: Real) -> str:
    """A step size rounded down: rounded up, it could lose the guarantee."""
    unit = 10.0 ** (np.floor(np.log10(size)) - 2.0)
    return digits(unit * np.floor(size / unit * (1.0 + 1e-12)))


def _steps(count: float) -> str:
    return f"{np.ceil(count):.0f}" if count < 1e6 else f"{count:.3g}"
