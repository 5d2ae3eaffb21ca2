"""``ravine rate``: the whole ladder for one method, with a verdict."""

from __future__ import annotations

from ravine.cli.options import (
    Alpha,
    BatchSize,
    Beta,
    Condition,
    Gamma,
    Json,
    LargestTerm,
    LeastTerm,
    Mu,
    Smoothness,
    curvature_from,
    curvature_json,
    method_from,
    method_json,
)
from ravine.cli.output import print_json
from ravine.theory.bracket import Bracket
from ravine.theory.ladder.batch_noise import batch_noise
from ravine.theory.ladder.ladder import Ladder, ladder
from ravine.theory.ladder.rungs import RUNGS, Rung


def rate_command(
    mu: Mu = None,
    L: Smoothness = None,
    Q: Condition = None,
    alpha: Alpha = None,
    beta: Beta = None,
    gamma: Gamma = None,
    L_max: LargestTerm = None,
    batch_size: BatchSize = None,
    mu_min: LeastTerm = None,
    json: Json = False,
) -> None:
    """Say how fast a method converges, and whether mini-batches can make it diverge.

    Without --alpha the usual Nesterov parameters are judged. Without --L-max every sample has the
    given curvature; with it, the curvature is that of the whole objective.

    For example:

    - `ravine rate --mu 0.05 --L 100`

    - `ravine rate --Q 32 --alpha 0.02 --beta 0.5`

    - `ravine rate --Q 1000 --L-max 10000 --batch-size 64`

    - `ravine rate --mu 1 --L 8 --alpha 0.1 --beta 0.9 --gamma 0 --json`
    """
    curvature = curvature_from(mu, L, Q)
    rungs = ladder(
        curvature,
        method_from(curvature, alpha, beta, gamma),
        L_max=L_max,
        batch_size=1.0 if batch_size is None else batch_size,
        mu_min=mu_min,
    )

    if json:
        print_json(rate_json(rungs))
    else:
        _show(rungs)


def rate_json(rungs: Ladder) -> dict[str, object]:
    """The documented keys of ``ravine rate --json``."""
    return {
        "curvature": curvature_json(rungs.curvature),
        "method": {"name": rungs.name, **method_json(rungs.method)},
        **{rung.key: _rate_json(rung, rungs.rates[rung.key]) for rung in RUNGS},
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
    from rich.console import Console
    from rich.table import Table

    out = Console(highlight=False)
    c = rungs.curvature
    m = rungs.method
    look_ahead = "" if m.is_nesterov else f", gamma = {m.gamma:g}"
    out.print(f"[bold]{rungs.name}[/]: alpha = {m.alpha:g}, beta = {m.beta:g}{look_ahead}")
    out.print(f"on mu = {c.mu:g}, L = {c.L:g}, Q = {c.Q:g}{_samples(rungs)}\n")
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("rung")
    table.add_column("growth a step", justify="right")
    table.add_column("holds for")

    for rung in RUNGS:
        rate = rungs.rates[rung.key]
        colour = "green" if rate.upper < 1.0 else "red"
        table.add_row(rung.title, f"[{colour}]{_digits(rate)}[/]", rung.holds_for)

    out.print(table)
    out.print(f"\n{_noise(rungs)}")
    out.print(f"{_batch(rungs)}\n")
    out.print(rungs.verdict)


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
    """Six digits where they are known, else both bounds."""
    value = float(rate.upper)
    # Half a unit of the sixth digit, the last one shown.
    if value - float(rate.lower) >= 5e-6:
        return f"{rate.lower:.5f}-{value:.5f}"

    return f"{value:.6f}" if value < 1e4 else f"{value:.4g}"


def _batch(rungs: Ladder) -> str:
    """One sentence on the batch size that makes these parameters safe."""
    limit = rungs.critical_batch_size
    if limit == float("inf"):
        return "No batch size makes these parameters safe."
    if limit < 1.0:
        return "Drawn independently, single samples are safe in mean square."

    return f"Drawn independently, batches larger than {limit:.4g} are safe in mean square."


def _noise(rungs: Ladder) -> str:
    """One sentence on the error that additive noise leaves."""
    if rungs.noise_coefficient == float("inf"):
        return "Additive noise is amplified without bound."

    ratio = rungs.noise_coefficient / rungs.sgd_noise_coefficient
    return (
        f"Additive noise of variance s² leaves E‖y - x*‖² = {rungs.noise_coefficient:.4g} s² in "
        f"the worst direction, {ratio:.3g} times that of SGD at 2/(mu + L)."
    )
