"""``ravine rate``: the whole ladder for one method, with a verdict."""

from __future__ import annotations

from dataclasses import replace

from ravine.arguments import Refusal
from ravine.catalogue import named_method
from ravine.cli import options
from ravine.cli.options import curvature_from, curvature_json, method_from, method_json
from ravine.cli.output import (
    coloured,
    digits,
    print_json,
    rate_digits,
    say,
    settings,
    suggest,
    table,
)
from ravine.linear_method import LinearMethod
from ravine.methods import Method
from ravine.theory.bracket import Bracket
from ravine.theory.ladder.batch_noise import batch_noise
from ravine.theory.ladder.ladder import Ladder, ladder
from ravine.theory.ladder.rungs import RUNGS, Rung


def rate_command(
    mu: options.Mu = None,
    L: options.Smoothness = None,
    Q: options.Condition = None,
    alpha: options.Alpha = None,
    beta: options.Beta = None,
    gamma: options.Gamma = None,
    method: options.Named = None,
    L_max: options.LargestTerm = None,
    batch_size: options.BatchSize = None,
    mu_min: options.LeastTerm = None,
    json: options.Json = False,
) -> None:
    """Tell whether a step size and a momentum converge, and how fast.

    Without --alpha or --method the standard Nesterov parameters are judged. Without --L-max every
    sample has the given curvature; with it, the curvature is that of the whole objective.

    For example:

    - `ravine rate --mu 0.05 --L 100`

    - `ravine rate --Q 32 --alpha 0.02 --beta 0.5`

    - `ravine rate --Q 1000 --L-max 10000 --batch-size 64`

    - `ravine rate --Q 1000 --method triple-momentum`
    """
    curvature = curvature_from(mu, L, Q)
    size = 1.0 if batch_size is None else batch_size
    if method is None:
        judged: Method | LinearMethod = method_from(curvature, alpha, beta, gamma)
    elif alpha is not None or beta is not None or gamma is not None:
        remedy = "drop --method, or --alpha, --beta and --gamma"
        raise Refusal("method", "given without parameters", method, remedy)
    else:
        judged = named_method(method)(curvature, L_max=L_max, batch_size=size)

    rungs = ladder(curvature, judged, L_max=L_max, batch_size=size, mu_min=mu_min)
    if method is not None:
        rungs = replace(rungs, called=named_method(method).title)

    if json:
        print_json(rate_json(rungs))
    else:
        _show(rungs)


def rate_json(rungs: Ladder) -> dict[str, object]:
    """The documented keys of ``ravine rate --json``."""
    return {
        "curvature": curvature_json(rungs.curvature),
        "method": {"name": rungs.name, **method_json(rungs.method)},
        **{
            rung.key: _rate_json(rung, rungs.rates[rung.key])
            for rung in RUNGS
            if rung.key in rungs.rates
        },
        "batches": batches_json(rungs),
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


def batches_json(rungs: Ladder) -> dict[str, float]:
    """What the rungs from the second on know of the samples and batches."""
    noise = batch_noise(rungs.curvature, L_max=rungs.batches.L_max, mu_min=rungs.batches.mu_min)
    return {
        "L_max": float(noise.most),
        "mu_min": float(noise.least),
        "batch_size": rungs.batches.batch_size,
    }


def _rate_json(rung: Rung, rate: Bracket) -> object:
    """One number, or both bounds of a rung that has two."""
    if rung.bracketed:
        return {"lower": float(rate.lower), "upper": float(rate.upper)}

    return float(rate.upper)


def _show(rungs: Ladder) -> None:
    c = rungs.curvature
    problem = f"mu = {c.mu:g}, L = {c.L:g}, Q = {c.Q:g}{_samples(rungs)}"
    say(f"{rungs.name}: {parameters_in_words(rungs.method)}", style="bold")
    say(f"on {problem}\n")
    rows = [
        (rung.title, coloured(_digits(rate), bool(rate.upper < 1.0)), rung.holds_for)
        for rung in RUNGS
        if (rate := rungs.rates.get(rung.key)) is not None
    ]
    table(("rung", "rate per step", "holds for"), rows, words=["holds for"])
    say(f"\n{_noise(rungs)}")
    say(f"{_batch(rungs)}\n")
    say(rungs.verdict)
    b = rungs.batches
    words = options.as_words(c, L_max=b.L_max, mu_min=b.mu_min, batch_size=b.batch_size)
    suggest(f"ravine recommend {words}", "settings with a guarantee")


def parameters_in_words(method: Method | LinearMethod) -> str:
    """The parameters in one line: alpha, beta, gamma, or the coefficients of G(z)."""
    if isinstance(method, LinearMethod):
        above, below = (
            ", ".join(f"{v:.6g}" for v in side) for side in (method.numerator, method.denominator)
        )
        return f"G = [{above}] / [{below}] in powers of z"

    return settings(method)


def _samples(rungs: Ladder) -> str:
    """What was said of single samples and batches, if anything was."""
    known = batches_json(rungs)
    words = ""
    if rungs.batches.L_max is not None or rungs.batches.mu_min is not None:
        words += f", samples from {known['mu_min']:g} to {known['L_max']:g}"
    if known["batch_size"] != 1.0:
        words += f", batches of {known['batch_size']:g}"

    return words


def _digits(rate: Bracket) -> str:
    """Both bounds where they differ in the digits shown."""
    low, high = rate_digits(rate.lower), rate_digits(rate.upper)
    return high if low == high else f"{low} to {high}"


def _batch(rungs: Ladder) -> str:
    """One sentence on the batch size that makes these parameters safe."""
    limit = rungs.critical_batch_size
    if limit == float("inf"):
        return "No batch size makes these parameters safe."
    if limit < 1.0:
        return "Drawn independently, single samples are safe in mean square."

    return f"Drawn independently, batches larger than {digits(limit)} are safe in mean square."


def _noise(rungs: Ladder) -> str:
    """One sentence on the error that additive noise leaves."""
    if rungs.noise_coefficient == float("inf"):
        return "Additive noise is amplified without bound."

    ratio = rungs.noise_coefficient / rungs.sgd_noise_coefficient
    return (
        "Additive noise of variance s² leaves E‖y - x*‖² = "
        f"{digits(rungs.noise_coefficient)} s² in the worst direction, {digits(ratio)} times that "
        "of SGD at 2/(mu + L)."
    )
