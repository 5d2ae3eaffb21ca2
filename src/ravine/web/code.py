"""The Python code and the command line for exactly what is shown."""

from __future__ import annotations

from ravine.web.run_picture import TURNS
from ravine.web.view import Example, View


def python_code(view: View) -> str:
    """A program that prints the rungs of the point and runs the method as the page does."""
    gamma = "" if view.gamma is None else f", {view.gamma!r}"
    lines = [
        "import ravine",
        "",
        f"curvature = ravine.Curvature(mu=1.0, L={view.Q!r})",
        f"method = ravine.Method({view.step!r} / {view.Q!r}, {view.beta!r}{gamma})",
        "",
        f"print(ravine.ladder(curvature, method{_batches(view)}).verdict)",
        "",
        *_problem(view),
        "trace = ravine.run(",
        f"    problem, method, {_steps(view)}, sampling={_sampling(view)}, "
        f"sigma2={_sigma2(view)!r}, seed={view.seed}",
        ")",
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


def _batches(view: View) -> str:
    """The keywords for what the batches are like, where that is not the usual."""
    largest = "" if view.ratio == 1.0 else f", L_max={view.batches.L_max!r}"
    return largest + ("" if view.batch == 1 else f", batch_size={view.batch}")


def _steps(view: View) -> int:
    return TURNS if view.example is Example.TURNING else view.K


def _problem(view: View) -> list[str]:
    if view.example is Example.NOISE:
        return [f"problem = ravine.problems.worst_case_quadratic(Q={view.Q!r}, d=8)"]
    if view.example is Example.INCONSISTENT:
        return [f"problem = ravine.problems.counterexample(mu=1.0, L={view.Q!r}, n={view.n})"]

    return [f"problem = ravine.problems.turning_quadratics(1.0, {view.Q!r})"]


def _sampling(view: View) -> str:
    if view.example is Example.NOISE:
        return "None"
    if view.example is Example.TURNING:
        return repr("cyclic")

    return repr(view.sampling.value)


def _sigma2(view: View) -> float:
    return view.sigma2 if view.example is Example.NOISE else 0.0
