"""``ravine rate``: all rates of one method, with a verdict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rich.text import Text

from ravine.arguments import Refusal
from ravine.catalogue import named_method
from ravine.cli.options import as_words
from ravine.cli.output import Answer, as_json, parameters, stable, table
from ravine.curvature import Curvature
from ravine.digits import at_least, digits, rate_digits
from ravine.methods import Method, nesterov
from ravine.theory.bracket import Bracket
from ravine.theory.ladder.batch_noise import batch_noise
from ravine.theory.ladder.ladder import Ladder, ladder
from ravine.theory.ladder.rungs import RUNGS


def rate_command(
    curvature: Curvature,
    alpha: float | None = None,
    beta: float | None = None,
    gamma: float | None = None,
    method: str | None = None,
    **samples: float,
) -> Answer:
    """Check whether a step size and a momentum converge, and how fast.

    Without --alpha or --method, the standard Nesterov parameters are used. Without --L-max, mu and
    L hold for every sample; with it, they describe the whole objective.

    For example:

    - `ravine rate --mu 0.05 --L 100`

    - `ravine rate --Q 32 --alpha 0.02 --beta 0.5`

    - `ravine rate --Q 1000 --L-max 10000 --batch-size 64 --method triple-momentum`

    Problem
    -------
    mu, L, Q, L_max, L_max_ratio, batch_size, mu_min

    Method
    ------
    alpha, beta, gamma, method

    Output
    ------
    json
    """
    if method is not None:
        if (alpha, beta, gamma) != (None, None, None):
            remedy = "drop --method, or --alpha, --beta and --gamma"
            raise Refusal("method", "given without parameters", method, remedy)
        named = named_method(method)
        without = {name: value for name, value in samples.items() if name != "mu_min"}
        rungs = ladder(curvature, named(curvature, **without), **samples)
        return _answer(replace(rungs, called=named.title))

    if alpha is not None:
        judged = Method(alpha, 0.0 if beta is None else beta, gamma)
    elif (beta, gamma) != (None, None):
        raise ValueError(
            "alpha must be given with beta or gamma, got none: add --alpha, "
            "or drop the others for the standard Nesterov parameters"
        )
    else:
        judged = nesterov(curvature)

    return _answer(ladder(curvature, judged, **samples))


def rate_json(rungs: Ladder) -> dict[str, Any]:
    """The documented keys of ``ravine rate --json``."""
    return {
        "curvature": rungs.curvature,
        "method": {"name": rungs.name, **as_json(rungs.method)},
        **{
            rung.key: {"lower": float(rate.lower), "upper": float(rate.upper)}
            if rung.bracketed
            else float(rate.upper)
            for rung in RUNGS
            if (rate := rungs.rates.get(rung.key)) is not None
        },
        "batches": _samples(rungs),
        "critical_batch_size": rungs.critical_batch_size,
        "noise_coefficient": rungs.noise_coefficient,
        "sgd_noise_coefficient": rungs.sgd_noise_coefficient,
        "converges": {
            "additive_noise": rungs.spectral_radius < 1.0,
            "iid_batches": rungs.iid_rate < 1.0,
            "any_sampling": rungs.worst_case_rate < 1.0,
        },
        "verdict": rungs.verdict,
    }


def _samples(rungs: Ladder) -> dict[str, float]:
    """The curvature of single samples and the batch size, given or assumed."""
    b = rungs.batches
    noise = batch_noise(rungs.curvature, L_max=b.L_max, mu_min=b.mu_min)
    ends = {"L_max": float(noise.most), "mu_min": float(noise.least)}
    return {**ends, "batch_size": b.batch_size}


def _answer(rungs: Ladder) -> Answer:
    c, b = rungs.curvature, rungs.batches
    samples = ""
    if b.L_max is not None or b.mu_min is not None:
        samples = ", samples from {mu_min:g} to {L_max:g}".format(**_samples(rungs))
    batches = f", batches of {b.batch_size:g}" if b.batch_size != 1.0 else ""
    rows = [
        (rung.title, stable(float(rate.upper), _digits(rate)), rung.holds_for)
        for rung in RUNGS
        if (rate := rungs.rates.get(rung.key)) is not None
    ]
    words = as_words(c, L_max=b.L_max, mu_min=b.mu_min, batch_size=b.batch_size)
    then = f"ravine recommend {words}", "settings with a guarantee"
    return Answer(
        rate_json(rungs),
        Text(f"{rungs.name}: {parameters(rungs.method)}", "bold"),
        f"on mu = {c.mu:g}, L = {c.L:g}, Q = {c.Q:g}{samples}{batches}\n",
        table(("rung", "rate per step", "holds for"), rows, words=["holds for"]),
        f"\n{_noise(rungs)}\n{_batch(rungs)}\n{rungs.verdict}",
        then=then,
    )


def _digits(rate: Bracket) -> str:
    """Both bounds, if they differ in the digits shown."""
    low, high = rate_digits(rate.lower), rate_digits(rate.upper)
    return high if low == high else f"{low} to {high}"


def _batch(rungs: Ladder) -> str:
    """One line on the batch size that makes these parameters safe, unless the verdict has it."""
    limit = rungs.critical_batch_size
    if limit == float("inf"):
        return "No batch size makes these parameters stable in mean square.\n"
    if limit < 1.0:
        return "Independent batches of any size are stable in mean square.\n"
    if rungs.iid_rate >= 1.0:
        return ""

    return f"Independent batches of {at_least(limit)} are stable in mean square.\n"


def _noise(rungs: Ladder) -> str:
    """One sentence on the error that remains with additive noise."""
    if rungs.noise_coefficient == float("inf"):
        return "Additive noise is amplified without bound."

    ratio = rungs.noise_coefficient / rungs.sgd_noise_coefficient
    return (
        "With additive noise of variance s², the error settles at E‖y - x*‖² = "
        f"{digits(rungs.noise_coefficient)} s² in the worst direction, {digits(ratio)} times "
        "that of SGD at 2/(mu + L)."
    )
