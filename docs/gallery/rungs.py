"""Five answers, four problems.

The same curvature (1 to 32) and the same method on four problems, each of which attains the rate of
one rung of the ladder. Dashed: the rate from the theory. The terms of the third and the fourth
problem come in cyclic order, those of the second are drawn at random (root of the mean square of
1000 runs).
"""

import numpy as np

import ravine
from ravine.figures.style import BLUE, GREEN, ORANGE, RED, panels, styled
from ravine.problems import QuadraticSum

STEPS = 60  # long enough to see the slopes, short enough for the mean square to be sampled
RUNS = 1000


def errors_of(problem, method, sampling, runs):
    """Root-mean-square distance over the steps."""
    squares = np.zeros(STEPS + 1)
    for seed in range(runs):
        trace = ravine.run(problem, method, STEPS, sampling=sampling, seed=seed)
        squares += np.asarray(trace.errors) ** 2
    return np.sqrt(squares / runs)


@styled
def draw():
    """Errors over the steps, with the slope of each rung."""
    curvature = ravine.Curvature(mu=1, L=32)
    method = ravine.nesterov(curvature)
    low = [[1.0]]
    high = [[32.0]]

    def line(hessians):
        return QuadraticSum(np.array(hessians), curvature=curvature, start=np.ones(1))

    rungs = ravine.ladder(curvature, method).rates
    cases = [
        ("exact gradients", line([low]), "cyclic", 1, "spectral_radius", GREEN),
        ("five flat terms, one steep, at random", line([low] * 5 + [high]), "iid", RUNS,
         "iid_rate", BLUE),
        ("four flat terms, one steep, in turn", line([low] * 4 + [high]), "cyclic", 1,
         "commuting_rate", ORANGE),
        ("four turning quadratics, in turn", ravine.problems.turning_quadratics(1, 32), "cyclic",
         1, "worst_case_rate", RED),
    ]  # fmt: skip

    figure, axes = panels(1, 1, height=3.6)
    axis = axes[0, 0]
    steps = np.arange(STEPS + 1)
    for label, problem, sampling, runs, rung, colour in cases:
        errors = errors_of(problem, method, sampling, runs)
        rate = float(rungs[rung].upper)
        axis.semilogy(steps, errors, color=colour, label=f"{label}: {rate:.4f} per step")
        axis.semilogy(
            steps, errors[-1] * rate ** (steps - STEPS), "--", color=colour, linewidth=0.8
        )

    axis.set_xlabel("step")
    axis.set_ylabel("distance to the minimiser")
    axis.legend(loc="lower left")
    return figure
