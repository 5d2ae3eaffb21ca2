"""Answer the page's requests with texts, numbers, and pictures as data.

A request is a small JSON object, and so is an answer. Every move is one request; a picture that the
page shows already is not sent again.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from ravine.figures.style import METHODS, ORANGE
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.tables.source import NAMED
from ravine.theory.ladder.rungs import OUTSIDE, RUNGS
from ravine.theory.ladder.worst_case import worst_case_rate
from ravine.web.plane_picture import plane_key, plane_picture
from ravine.web.run_picture import DIMENSION, TURNS, run_key, run_picture
from ravine.web.view import CHOICES, CONTROLS, PRESETS, QUANTITIES, Example, View, parse, preset_of


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request.

    ``settings`` are those of the page, or of its address. ``first`` means that nothing is shown
    yet, and ``preset`` names a preset; the answers to both contain the resulting settings.
    ``cursor`` requests only the numbers for these settings. ``calm`` tells how long nothing has
    moved: at 0 pictures are coarse, at 1 fine, and at 2 a run with noise has its bound, which may
    take longer than everything else. ``plane`` and ``run`` are the keys of the pictures that the
    page shows.
    """
    given = request.get("settings")
    view = parse(given if isinstance(given, dict) else {})
    if "cursor" in request:
        return {"cursor": {key: digits(rate) for key, rate in rates(view).items()}}

    preset = PRESETS.get(str(request.get("preset")))
    if preset is not None:
        view = preset.applied(view)

    calm = request["calm"] if request.get("calm") in (0, 1, 2) else 0
    reply: dict[str, Any] = {"query": view.query, "active": view.active, "words": readout(view)}
    key = _key(plane_key(view), min(calm, 1), request.get("plane"))
    if key:
        reply["plane"] = {"key": key, "picture": plane_picture(view, fine=calm > 0)}
    with_bound = calm == 2 or view.example is not Example.NOISE
    key = _key(run_key(view), 2 * with_bound, request.get("run"))
    if key:
        reply["run"] = {"key": key, "picture": run_picture(view, bound=with_bound)}
    if calm:
        reply |= {"preset": preset_of(view), "python": python_code(view)}
        reply["command"] = command_line(view)
    if "first" in request or "preset" in request:
        reply["settings"] = view.typed
    if "first" in request:
        reply["controls"] = {key: asdict(one) | {"rule": one.rule} for key, one in CONTROLS.items()}
        # Those of the two methods that run, for the page's style.
        reply["colours"] = {"chosen": ORANGE, "sgd": METHODS["sgd"].colour}

    return reply


def _key(content: str, quality: int, shown: Any) -> str:
    """The key of a picture; empty if the page shows it already, in this quality or a better one."""
    keys = [f"{better} {content}" for better in range(quality, 3)]
    return "" if shown in keys else keys[0]


def page() -> dict[str, Any]:
    """The parts of the page: controls, choices and rungs, with their ranges and texts."""
    choices = {
        name: [(member.value, member.sentence) for member in kind] for name, kind in CHOICES.items()
    }
    choices["sampling"] = [(rule.value, f"batches {rule.traits.phrase}") for rule in Sampling]
    choices["colour"] = [("regions", "where it converges")]
    choices["colour"] += [(key, quantity.name) for key, quantity in QUANTITIES.items()]
    choices["preset"] = [("", "your own settings")]
    choices["preset"] += [(key, preset.name) for key, preset in PRESETS.items()]
    choices["dataset"] = [("", "choose one"), *((name, name) for name in NAMED)]
    return {"controls": CONTROLS, "choices": choices, "rungs": RUNGS}


# --- the method in words and numbers ---


def rates(view: View) -> dict[str, float]:
    """The rate per step on every rung; the upper bound if there are two."""
    given = view.curvature, view.method, view.batches
    return {rung.key: float(rung.rate(*given).upper) for rung in RUNGS}


def readout(view: View) -> dict[str, Any]:
    """The verdict and the number of every rung, each with its tone."""
    known = rates(view)
    text, tone = _verdict(view, known)
    rungs = {key: [digits(rate), "good" if rate < 1.0 else "bad"] for key, rate in known.items()}
    return {"verdict": text, "tone": tone, "rungs": rungs}


def _verdict(view: View, known: dict[str, float]) -> tuple[str, str]:
    """One line: what is guaranteed for the method, and what would make it safe."""
    if next(iter(known.values())) >= 1.0:
        return f"{OUTSIDE[0].upper()}{OUTSIDE[1:]}{_remedy(view)}.", "bad"

    worst = known["worst_case_rate"]
    if worst < 1.0:
        return f"Converges on every finite sum, in any order: error × {worst:.4g} per step.", "good"

    held = [rung for rung in RUNGS if known[rung.key] < 1.0]
    return f"Diverges for some finite sums ({held[-1].region}){_remedy(view)}.", "unsure"


def _remedy(view: View) -> str:
    """The nearest momentum, or otherwise step size, that is safe in any order."""
    alpha = view.step / view.Q
    momenta = np.linspace(view.beta, 0.0, 401)[1:]
    steps = np.geomspace(view.step, 1e-4 * CONTROLS["step"].high, 801)[1:]
    below = "≤" if view.beta > 0.0 else "≥"
    for words, values, methods in (
        (f"momentum {below}", momenta, Method(alpha, momenta, view.gamma)),
        ("step size αL ≤", steps, Method(steps / view.Q, view.beta, view.gamma)),
    ):
        safe = worst_case_rate(view.batches.terms(view.curvature), methods) < 1.0
        if np.any(safe):
            value = float(values[int(np.argmax(safe))])
            # Two digits, rounded towards zero, so that safe values stay safe.
            scale = 10.0 ** np.floor(np.log10(abs(value)) - 1.0) if value else 1.0
            return f"; safe if {words} {np.trunc(value / scale) * scale:.2g}"

    return ""


def digits(value: float) -> str:
    """Format a rate as the page shows it, with six decimals.

    Examples
    --------
    >>> digits(0.8232233), digits(12345.6)
    ('0.823223', '1.235e+04')
    """
    return f"{value:.6f}" if value < 1e4 else f"{value:.4g}"


# --- the same outside the page ---


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
    return f"""\
import ravine

curvature = ravine.Curvature(mu=1.0, L={view.Q!r})
method = ravine.Method({view.step!r} / {view.Q!r}, {view.beta!r}{gamma})

print(ravine.ladder(curvature, method{largest}{size}).verdict)

problem = ravine.problems.{make}
trace = ravine.run(problem, method, {run}, seed={view.seed})
print(trace.outcome.sentence, trace.errors[-1])
"""


def command_line(view: View) -> str:
    """The ``ravine rate`` that prints the same table."""
    given = {"alpha": view.step / view.Q, "beta": view.beta, "gamma": view.gamma}
    given |= {"L-max": view.batches.L_max, "batch-size": None if view.batch == 1 else view.batch}
    options = [f" --{name} {value!r}" for name, value in given.items() if value is not None]
    return f"ravine rate --Q {view.Q!r}{''.join(options)}"
