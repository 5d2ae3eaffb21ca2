"""The chosen method compared with SGD: errors over the steps, and paths on four quadratics."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from ravine.arguments import FloatArray
from ravine.engine.kernels.finite_sum import ensemble
from ravine.figures.style import METHODS
from ravine.methods import Method, sgd
from ravine.problems import counterexample, turning_quadratics, worst_case_quadratic
from ravine.theory.bounds.theorems import additive_noise, worst_case
from ravine.theory.finite_sums.inconsistent_term import inconsistent_term_moment
from ravine.theory.ladder.worst_case import worst_case_rate
from ravine.theory.noise.moments import noise_floor
from ravine.theory.tuning.budget import moment_after
from ravine.web.picture import Layer, axis, decades, drawable, joined, line
from ravine.web.view import Example, View

Run: TypeAlias = tuple[list[Layer], str, dict[str, Any] | None]
"""Lines of errors, what they show, and, with two unknowns, the paths in the plane."""

TURNS = 60
"""Maximum number of steps on the four quadratics: more would only shrink the picture."""
RUNS = 40
"""Number of runs with random draws: enough to show their range, few enough to draw at once."""
DIMENSION = 8
"""Dimension of the quadratic with additive noise: a few directions between mu and L."""

_POINTS = 160  # maximum number of steps at which errors are stored
_FARTHEST = 1e30  # of a path that diverges


def run_key(view: View) -> str:
    """A key that two views share exactly if their runs are the same."""
    own = {*view.only("example").active} & {"sigma2", "K", "n", "sampling"}
    return view.only("Q", "step", "beta", "gamma", "seed", "example", *sorted(own)).query


def run_picture(view: View, *, bound: bool = True) -> dict[str, Any]:
    """Errors of the chosen method and of SGD over the steps.

    Without ``bound``, the bound for additive noise is skipped: it may take longer than everything
    else. The axes are the same without it.
    """
    make = {
        Example.TURNING: _turning,
        Example.NOISE: _noisy,
        Example.INCONSISTENT: _inconsistent,
    }[view.example]
    # Diverging runs overflow; they are drawn at the upper end of the axis.
    with np.errstate(over="ignore", invalid="ignore"):
        lines, label, path = make(view)
        more = _noise_bound(view) if bound and view.example is Example.NOISE else []

    return {
        "x": axis("step k", 0, TURNS if path else view.K),
        "y": decades(lines, label),
        "layers": [*lines, *more],
        "path": path,
    }


def _turning(view: View) -> Run:
    """The loss on the sum of four quadratics, paths in the plane of its unknowns, and level lines.

    A level line is an ellipse, √Q times as long as it is wide; ``angles`` has its long axis.
    """
    problem = turning_quadratics(1.0, view.Q)
    steps = np.arange(TURNS + 1.0)
    lines = []
    paths = {}
    for key, words, method in (
        ("chosen", "your method", view.method),
        ("sgd", METHODS["sgd"].words, sgd(view.curvature)),
    ):
        away = ensemble(problem, method, steps, trajectories=1, sampling="cyclic").errors[:, 0]
        losses = drawable(0.5 * ((away @ problem.hessian()) * away).sum(axis=1))
        lines.append(line(steps, losses, key, words))
        paths[key] = dict(zip("xy", np.clip(away, -_FARTHEST, _FARTHEST).T, strict=True))

    flat = [np.linalg.eigh(problem.batch_hessian(term))[1][:, 0] for term in range(problem.terms)]
    angles = [float(np.arctan2(y, x)) for x, y in flat]
    plane = {"paths": paths, "angles": angles, "ratio": float(np.sqrt(view.Q))}
    return lines, "loss f(y) − f*", plane


def _visits(K: int) -> FloatArray:
    """Steps at which errors are recorded: all of a short run, evenly spaced ones of a long run."""
    return np.unique(np.linspace(0, K, min(K + 1, _POINTS)).round().astype(np.int64))


def _noisy(view: View) -> Run:
    """A quadratic with additive noise: runs, their mean, and the exact second moment."""
    problem = worst_case_quadratic(Q=view.Q, d=DIMENSION)
    at = _visits(view.K)
    noise: dict[str, Any] = {"sigma2": view.sigma2}
    many: dict[str, Any] = {"trajectories": RUNS, "sampling": None, "seed": view.seed}
    runs = ensemble(problem, view.method, at, **many, **noise)
    away = problem.eigenvectors.T @ (problem.start - problem.minimiser)
    known: dict[str, Any] = {"distance": np.abs(away), "steps": at[:, None], **noise}
    exact, plain = (
        moment_after(problem.eigenvalues, method, **known).sum(axis=-1)
        for method in (view.method, sgd(view.curvature))
    )
    lines = _runs_and_means(at, runs.norms**2, exact, plain)
    level = noise_floor(problem.eigenvalues, view.method, quantity="distance", **noise)
    if np.isfinite(level) and level > 0.0:
        ends = np.array([0.0, view.K])
        lines.append(line(ends, np.full(2, level), "good", "noise floor", 1.8, dash=":"))

    return lines, "‖y − x*‖²", None


def _noise_bound(view: View) -> list[Layer]:
    """The bound for additive noise; it adds up the noise of all coordinates."""
    problem = worst_case_quadratic(Q=view.Q, d=DIMENSION)
    bound = additive_noise(view.curvature, view.method).envelope(
        steps=view.K,
        distance=float(np.linalg.norm(problem.start - problem.minimiser)),
        sigma=float(np.sqrt(DIMENSION * view.sigma2)),
    )
    return _bound(_visits(view.K), bound.values)


def _inconsistent(view: View) -> Run:
    """The third coordinate of the sum, in which one term disagrees with all others."""
    problem = counterexample(mu=1.0, L=view.Q, n=view.n)
    at = _visits(view.K)
    many: dict[str, Any] = {"trajectories": RUNS, "sampling": view.sampling, "seed": view.seed}
    runs = ensemble(problem, view.method, at, **many)
    example = view.only("Q", "n", "K", "sampling")
    exact, plain = (_moment(example, one)[at] for one in (view.method, sgd(view.curvature)))
    lines = _runs_and_means(at, runs.errors[:, :, 2] ** 2, exact, plain)
    if float(worst_case_rate(view.curvature, view.method)) < 1.0:
        # All terms have their minimum at x*: the bound holds along every path, squared too.
        envelope = worst_case(view.curvature, view.method).envelope(steps=view.K)
        lines += _bound(at, envelope.values**2)

    return lines, "(third coordinate)²", None


@lru_cache(maxsize=32)
def _moment(view: View, method: Method) -> FloatArray:
    """Exact second moments of the third coordinate; those of SGD stay while the point moves."""
    return inconsistent_term_moment(
        1.0, view.Q, method, n=view.n, sampling=view.sampling, steps=view.K
    )


def _runs_and_means(
    at: FloatArray, squares: FloatArray, exact: FloatArray, plain: FloatArray
) -> list[Layer]:
    """Thin lines for the runs, thick ones for their mean, the expected mean and SGD's mean."""
    kept = drawable(squares)
    runs = joined(np.stack([at, one], axis=1) for one in kept.T)
    return [
        line(**runs, colour="runs", words=f"{RUNS} runs", width=0.8, opacity=0.45),
        line(at, kept.mean(axis=1), "chosen", "their mean"),
        line(at, drawable(exact), "ink", "exact mean", 1.8, dash="--"),
        line(at, drawable(plain), "sgd", f"{METHODS['sgd'].words}, exact mean", 1.8),
    ]


def _bound(at: FloatArray, values: FloatArray) -> list[Layer]:
    """The bound, if there is one."""
    if not np.isfinite(values).any():
        return []

    return [line(at, drawable(values[at]), "faint", "proven bound", 1.8, dash="-.")]
