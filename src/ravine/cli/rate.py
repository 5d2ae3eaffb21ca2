"""``ravine rate``: the whole ladder for one method, with a verdict."""

from __future__ import annotations

from ravine.cli.options import (
    Alpha,
    Beta,
    Condition,
    Gamma,
    Json,
    Mu,
    Smoothness,
    curvature_from,
    curvature_json,
    method_from,
    method_json,
    print_json,
)
from ravine.theory.ladder.ladder import Ladder, ladder


def rate_command(
    mu: Mu = None,
    L: Smoothness = None,
    Q: Condition = None,
    alpha: Alpha = None,
    beta: Beta = None,
    gamma: Gamma = None,
    json: Json = False,
) -> None:
    """Say how fast a method converges, and whether mini-batches can make it diverge.

    Without --alpha the usual Nesterov parameters are judged.

    For example:

    - `ravine rate --mu 0.05 --L 100`

    - `ravine rate --Q 32 --alpha 0.02 --beta 0.5`

    - `ravine rate --mu 1 --L 8 --alpha 0.1 --beta 0.9 --gamma 0 --json`
    """
    curvature = curvature_from(mu, L, Q)
    rungs = ladder(curvature, method_from(curvature, alpha, beta, gamma))
    if json:
        print_json(rate_json(rungs))
    else:
        _show(rungs)


def rate_json(rungs: Ladder) -> dict[str, object]:
    """The documented keys of ``ravine rate --json``."""
    return {
        "curvature": curvature_json(rungs.curvature),
        "method": {"name": rungs.name, **method_json(rungs.method)},
        "spectral_radius": rungs.spectral_radius,
        "commuting_rate": {
            "lower": float(rungs.commuting.lower),
            "upper": float(rungs.commuting.upper),
        },
        "worst_case_rate": rungs.worst_case_rate,
        "contraction": rungs.contraction,
        "noise_coefficient": rungs.noise_coefficient,
        "sgd_noise_coefficient": rungs.sgd_noise_coefficient,
        "converges": {
            "additive_noise": rungs.spectral_radius < 1.0,
            "any_sampling": rungs.worst_case_rate < 1.0,
        },
        "verdict": rungs.verdict,
    }


def _show(rungs: Ladder) -> None:
    from rich.console import Console
    from rich.table import Table

    out = Console(highlight=False)
    c, m = rungs.curvature, rungs.method
    look_ahead = "" if m.is_nesterov else f", gamma = {m.gamma:g}"
    out.print(f"[bold]{rungs.name}[/]: alpha = {m.alpha:g}, beta = {m.beta:g}{look_ahead}")
    out.print(f"on mu = {c.mu:g}, L = {c.L:g}, Q = {c.Q:g}\n")
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column("rung")
    table.add_column("growth a step", justify="right")
    table.add_column("holds for")
    low, high = float(rungs.commuting.lower), float(rungs.commuting.upper)
    same = high - low < 5e-6
    for name, text, value, scope in (
        ("spectral radius", _digits(rungs.spectral_radius), rungs.spectral_radius,
         "exact gradients, or additive noise"),
        ("commuting rate", _digits(high) if same else f"{low:.5f}-{high:.5f}", high,
         "sums with shared eigenvectors, any order"),
        ("worst-case rate", _digits(rungs.worst_case_rate), rungs.worst_case_rate,
         "every finite sum, any order; exact"),
        ("contraction R", _digits(rungs.contraction), rungs.contraction,
         "the same; the paper's sufficient bound"),
    ):  # fmt: skip
        colour = "green" if value < 1.0 else "red"
        table.add_row(name, f"[{colour}]{text}[/]", scope)
    out.print(table)
    out.print(f"\n{_noise(rungs)}\n")
    out.print(rungs.verdict)


def _digits(value: float) -> str:
    return f"{value:.6f}" if value < 1e4 else f"{value:.4g}"


def _noise(rungs: Ladder) -> str:
    """One sentence on the error that additive noise leaves."""
    if rungs.noise_coefficient == float("inf"):
        return "Additive noise is amplified without bound."
    ratio = rungs.noise_coefficient / rungs.sgd_noise_coefficient
    return (
        f"Additive noise of variance s² leaves E‖y - x*‖² = {rungs.noise_coefficient:.4g} s² in "
        f"the worst direction, {ratio:.3g} times that of SGD at 2/(mu + L)."
    )
