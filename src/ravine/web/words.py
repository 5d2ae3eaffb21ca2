"""What the page says of a method: a line in words, the rate of every rung, and code for it all."""

from __future__ import annotations

from typing import Any

import numpy as np

from ravine.arguments import Refusal
from ravine.methods import Method
from ravine.theory.ladder.rungs import OUTSIDE, RUNGS
from ravine.theory.ladder.worst_case import worst_case_rate
from ravine.web.run_picture import DIMENSION, TURNS
from ravine.web.view import RIGHT, Example, View


def digits(value: float) -> str:
    """A rate as the page shows it, six digits behind the point.

    Examples
    --------
    >>> digits(0.8232233), digits(12345.6)
    ('0.823223', '1.235e+04')
    """
    return f"{value:.6f}" if value < 1e4 else f"{value:.4g}"


def rates(view: View, method: Method) -> dict[str, float]:
    """The rate per step on every rung, the upper bound where two are known."""
    return {
        rung.key: float(rung.rate(view.curvature, method, view.batches).upper) for rung in RUNGS
    }


def readout(view: View) -> dict[str, Any]:
    """The verdict, its tone, and the number of every rung with its tone."""
    known = rates(view, view.method)
    text, tone = _verdict(view, known)
    rungs = {key: [digits(rate), "good" if rate < 1.0 else "bad"] for key, rate in known.items()}
    return {"verdict": text, "tone": tone, "rungs": rungs}


def _verdict(view: View, known: dict[str, float]) -> tuple[str, str]:
    """One line: what is certain of the method, and what would make it safe."""
    if next(iter(known.values())) >= 1.0:
        return f"{OUTSIDE[0].upper()}{OUTSIDE[1:]}{_remedy(view)}.", "bad"

    worst = known["worst_case_rate"]
    if worst < 1.0:
        return f"Converges on every finite sum, in any order: error × {worst:.4g} per step.", "good"

    held = [rung for rung in RUNGS if known[rung.key] < 1.0]
    return f"Diverges for some finite sums ({held[-1].region}){_remedy(view)}.", "unsure"


def _remedy(view: View) -> str:
    """The nearest momentum, or else step size, that is safe in any order."""
    terms = view.batches.terms(view.curvature)
    towards_zero = np.linspace(view.beta, 0.0, 401)[1:]
    try:
        safe = worst_case_rate(terms, Method(view.step / view.Q, towards_zero, view.gamma)) < 1.0
        if np.any(safe):
            first = float(towards_zero[int(np.argmax(safe))])
            return f"; safe if momentum {'≤' if view.beta > 0.0 else '≥'} {_rounded(first)}"

        smaller = np.geomspace(view.step, 1e-4 * RIGHT, 801)[1:]
        safe = worst_case_rate(terms, Method(smaller / view.Q, view.beta, view.gamma)) < 1.0
    except Refusal:  # terms that may be flat: no order is safe then
        return ""
    if not np.any(safe):
        return ""

    return f"; safe if step size αL ≤ {_rounded(float(smaller[int(np.argmax(safe))]))}"


def _rounded(value: float) -> str:
    """Two digits, rounded towards zero: what is safe stays safe."""
    scale = 10.0 ** np.floor(np.log10(abs(value)) - 1.0) if value else 1.0
    return f"{np.trunc(value / scale) * scale:.2g}"


def at_cursor(view: View, step: Any, beta: Any) -> dict[str, str]:
    """Every rung's number under the cursor; a dash where there is no method."""
    try:
        known = rates(view, Method(float(step) / view.Q, float(beta), view.gamma))
    except (Refusal, TypeError, ValueError):
        return {rung.key: "–" for rung in RUNGS}

    return {key: digits(rate) for key, rate in known.items()}


def python_code(view: View) -> str:
    """A program that prints the rungs of the point and runs the method as the page does."""
    gamma = "" if view.gamma is None else f", {view.gamma!r}"
    make, run = {
        Example.TURNING: (f"turning_quadratics(1.0, {view.Q!r})", f'{TURNS}, sampling="cyclic"'),
        Example.NOISE: (
            f"worst_case_quadratic(Q={view.Q!r}, d={DIMENSION})",
            f"{view.K}, sampling=None, sigma2={view.sigma2!r}",
        ),
        Example.INCONSISTENT: (
            f"counterexample(mu=1.0, L={view.Q!r}, n={view.n})",
            f'{view.K}, sampling="{view.sampling.value}"',
        ),
    }[view.example]
    largest = "" if view.ratio == 1.0 else f", L_max={view.batches.L_max!r}"
    size = "" if view.batch == 1 else f", batch_size={view.batch}"
    lines = [
        "import ravine",
        "",
        f"curvature = ravine.Curvature(mu=1.0, L={view.Q!r})",
        f"method = ravine.Method({view.step!r} / {view.Q!r}, {view.beta!r}{gamma})",
        "",
        f"print(ravine.ladder(curvature, method{largest}{size}).verdict)",
        "",
        f"problem = ravine.problems.{make}",
        f"trace = ravine.run(problem, method, {run}, seed={view.seed})",
        "print(trace.outcome.sentence, trace.errors[-1])",
        "",
    ]

    return "\n".join(lines)


def command_line(view: View) -> str:
    """The ``ravine rate`` that prints the same table."""
    gamma = "" if view.gamma is None else f" --gamma {view.gamma!r}"
    largest = "" if view.ratio == 1.0 else f" --L-max {view.batches.L_max!r}"
    size = "" if view.batch == 1 else f" --batch-size {view.batch}"
    alpha = view.step / view.Q
    point = f"--alpha {alpha!r} --beta {view.beta!r}{gamma}"
    return f"ravine rate --Q {view.Q!r} {point}{largest}{size}"
