"""The Python code and the command line for exactly what is shown."""

from __future__ import annotations

from ravine.web.run_picture import DIMENSION, TURNS
from ravine.web.view import Example, View


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
