"""The pictures of the first view: the plane, and the chosen method at work beside SGD."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ravine.arguments import FloatArray
from ravine.engine.kernels.finite_sum import ensemble
from ravine.engine.run import run
from ravine.figures.plane import Plane, ladder_plane
from ravine.figures.style import METHODS, ink_on
from ravine.methods import Method, sgd
from ravine.problems.counterexample import counterexample, turning_quadratics
from ravine.problems.worst_case import worst_case_quadratic
from ravine.theory.bounds.finite_sum import worst_case
from ravine.theory.bounds.noisy_gradients import additive_noise
from ravine.theory.finite_sums.odd_term import odd_term_moment
from ravine.theory.ladder.worst_case import worst_case_rate
from ravine.theory.noise.moments import noise_floor, second_moment
from ravine.web import view as settings
from ravine.web.picture import (
    Axis,
    Dot,
    Fill,
    Heat,
    Line,
    Picture,
    Words,
    decades,
    drawable,
    joined,
    packed,
)
from ravine.web.quantities import QUANTITIES, Quantity
from ravine.web.view import Example, View

GRID = {False: 48, True: 96}
"""Points of the borders along an axis: while something moves, and at rest."""
HALVINGS = {False: 1, True: 5}
"""How often the border of the costly rung is bisected."""
PIXELS = {False: 64, True: 160}
"""The same for a quantity in colour."""
TURNS = 60
"""Steps on the four quadratics: beyond, the picture would only shrink."""
RUNS = 40
"""Runs with random draws: enough to see their range, few enough to draw at once."""
DIMENSION = 8
"""Of the quadratic with additive noise: a few directions between mu and L."""

_POINTS = 160  # steps at which errors are kept, at most
_DECADES = 4.0  # of a noise floor or error that the colours tell apart
_BORDERS = ("Q", "axis", "gamma", "ratio", "batch")  # what the regions depend on
_TERMS = 4


def plane_key(view: View, *, fine: bool) -> str:
    """What two views with the same picture of the plane have in common, and no others."""
    needs = QUANTITIES[view.colour].needs if view.colour in QUANTITIES else ()
    return f"{'fine' if fine else 'coarse'} {view.only(*_BORDERS, 'colour', *needs).query}"


def plane_picture(view: View, *, fine: bool) -> Picture:
    """The regions of the ladder, or a quantity in colour with the regions as lines."""
    plane = _plane(view.only(*_BORDERS), fine)
    layers: list[Any] = []
    if view.colour == "regions":
        layers += [Fill(plane.borders(one), one.colour, one.label) for one in plane.regions]
        layers += [
            Words(label.lines, label.at, ink_on(label.ground), label.points_at)
            for label in plane.labels()
        ]
    else:
        layers.append(_heat(view, QUANTITIES[view.colour], PIXELS[fine]))
        for one in plane.regions:
            colour, dash = one.contour
            lines = joined(plane.contour(one))
            layers.append(Line(*lines, colour, one.contour_label, 1.6, dash, rim=True))

    layers += [Dot(mark.step, mark.momentum, mark.key, mark.words) for mark in plane.marks]
    ends = float(plane.steps[0]), float(plane.steps[-1])
    return Picture(Axis("step size αL", *ends, log=plane.log), Axis("momentum β", -1, 1), layers)


@lru_cache(maxsize=32)
def _plane(view: View, fine: bool) -> Plane:
    """The regions, kept: a new colour or point does not compute them again."""
    log = view.axis is settings.Axis.LOG
    share = np.linspace(0.0, 1.0, GRID[fine])
    low, high = 1e-3, settings.RIGHT
    steps = low * (high / low) ** share if log else low + (high - low) * share
    momenta = np.linspace(-1.0, 1.0, GRID[fine])
    batches = view.batches
    options: dict[str, Any] = {"gamma": view.gamma, "batches": batches, "log": log}
    options |= {"quick": True, "costly_halvings": HALVINGS[fine]}
    return ladder_plane(view.curvature, steps, momenta, **options)


def methods(view: View, pixels: int) -> Method:
    """The methods at the middles of all pixels, momentum along the first axis."""
    share = (np.arange(pixels) + 0.5) / pixels
    low, high = 1e-3, settings.RIGHT
    log = view.axis is settings.Axis.LOG
    steps = low * (high / low) ** share if log else low + (high - low) * share
    return Method(steps[None, :] / view.Q, (2.0 * share - 1.0)[:, None], view.gamma)


def _heat(view: View, quantity: Quantity, pixels: int) -> Heat:
    """One quantity in colour: rates below 1 as they are, other quantities as powers of ten."""
    values = quantity.values(view, methods(view, pixels))
    if quantity.rate:
        shown = np.where(values < 1.0, values, np.nan)
        low = min(float(np.nanmin(shown)), 0.99) if np.isfinite(shown).any() else 0.0
        return Heat(shown, low, 1.0, quantity.label)

    with np.errstate(divide="ignore", invalid="ignore"):
        shown = np.log10(values)
    shown = np.where(np.isfinite(shown), shown, np.nan)
    low = float(np.nanquantile(shown, 0.02)) if np.isfinite(shown).any() else 0.0
    return Heat(shown, low, low + _DECADES, quantity.label, log=True)


def plane_csv(view: View) -> str:
    """The plane as a table: step, momentum, every rung, and the quantity in colour."""
    pixels = PIXELS[True]
    grid = methods(view, pixels)
    shape = (pixels, pixels)
    plane = ladder_plane(
        view.curvature, grid.alpha[0] * view.Q, grid.beta[:, 0],
        gamma=view.gamma, batches=view.batches,
    )  # fmt: skip
    columns = {"alpha_L": np.broadcast_to(plane.steps, shape)}
    columns["beta"] = np.broadcast_to(plane.momenta[:, None], shape)
    columns |= {region.key: region.rate for region in plane.regions}
    if view.colour in QUANTITIES:
        columns[view.colour] = QUANTITIES[view.colour].values(view, grid)

    rows = np.stack([column.ravel() for column in columns.values()], axis=1)
    lines = [",".join(f"{value:.9g}" for value in row) for row in rows.tolist()]
    return "\n".join([",".join(columns), *lines]) + "\n"


def run_key(view: View, *, fine: bool) -> str:
    """What two views with the same run have in common, and no others."""
    own = [name for name in ("sigma2", "K", "n", "sampling") if name in _acting(view)]
    shown = view.only("Q", "step", "beta", "gamma", "seed", "example", *own)
    return f"{'fine' if fine else 'coarse'} {shown.query}"


def _acting(view: View) -> list[str]:
    return view.only("example").active


def run_picture(view: View, *, bound: bool = True) -> Picture:
    """Errors of the chosen method and of SGD over the steps.

    Without ``bound`` the one for additive noise is left out, which may take longer than all the
    rest. The axes are the same without it.
    """
    make = {
        Example.TURNING: _turning,
        Example.NOISE: _noisy,
        Example.INCONSISTENT: _inconsistent,
    }[view.example]
    # Runs that diverge overflow: they are drawn at the ceiling.
    with np.errstate(over="ignore", invalid="ignore"):
        lines, label = make(view, bound)

    last = TURNS if view.example is Example.TURNING else view.K
    return Picture(Axis("step k", 0, last), decades(lines, label), lines)


def _turning_paths(view: View) -> dict[str, FloatArray]:
    """Points of the chosen method and of SGD on the four quadratics."""
    problem = turning_quadratics(1.0, view.Q, terms=_TERMS)
    both = {"chosen": view.method, "sgd": sgd(view.curvature)}
    return {
        key: np.asarray(run(problem, method, TURNS, sampling="cyclic").y)
        for key, method in both.items()
    }


def _turning(view: View, bound: bool) -> tuple[list[Line], str]:
    """The loss of the whole sum, whose mean is perfectly conditioned."""
    mean = turning_quadratics(1.0, view.Q, terms=_TERMS).hessian()
    lines = []
    for key, path in _turning_paths(view).items():
        loss = drawable(0.5 * np.einsum("ki,ij,kj->k", path, mean, path))
        words = "your method" if key == "chosen" else METHODS["sgd"].words
        lines.append(Line(np.arange(len(path), dtype=np.float64), loss, key, words))

    return lines, "loss f(y) − f*"


def turning_path(view: View) -> dict[str, Any]:
    """Paths in the plane of the two unknowns, and a level line of each quadratic."""
    problem = turning_quadratics(1.0, view.Q, terms=_TERMS)
    turn = np.linspace(0.0, 2.0 * np.pi, 97)
    levels = []
    for term in range(_TERMS):
        values, vectors = np.linalg.eigh(problem.batch_hessian(term))
        # The steepest direction has length 1: the page scales the line to the size of the path.
        ring = vectors @ (
            np.stack([np.cos(turn), np.sin(turn)]) * np.sqrt(view.Q / values)[:, None]
        )
        levels.append(packed(ring.T))

    paths = {key: packed(np.clip(path, -1e30, 1e30)) for key, path in _turning_paths(view).items()}
    return {"paths": paths, "levels": levels}


def _visits(K: int) -> FloatArray:
    """Steps at which errors are taken: all of a short run, evenly spaced over a long one."""
    return np.unique(np.linspace(0, K, min(K + 1, _POINTS)).round().astype(np.int64))


def _noisy(view: View, bound: bool) -> tuple[list[Line], str]:
    """A quadratic with additive noise: runs, their mean, and the exact second moment."""
    problem = worst_case_quadratic(Q=view.Q, d=DIMENSION)
    at = _visits(view.K)
    noise: dict[str, Any] = {"sigma2": view.sigma2}
    runs = ensemble(
        problem, view.method, at, trajectories=RUNS, sampling=None, seed=view.seed, **noise
    )
    away = problem.eigenvectors.T @ (problem.start - problem.minimiser)
    moment: dict[str, Any] = {**noise, "start": np.abs(away), "steps": view.K}
    exact, plain = (
        second_moment(problem.eigenvalues, method, **moment).sum(axis=-1)[at]
        for method in (view.method, sgd(view.curvature))
    )
    lines = [*_fan(at, runs.norms**2), *_means(at, exact, plain)]
    level = noise_floor(problem.eigenvalues, view.method, quantity="distance", **noise)
    if np.isfinite(level) and level > 0.0:
        ends = np.array([0.0, view.K])
        lines.append(Line(ends, np.full(2, level), "good", "noise floor", 1.8, ":"))

    if bound:
        # The bound counts the noise of all coordinates together.
        envelope = additive_noise(view.curvature, view.method).envelope(
            steps=view.K,
            distance=float(np.linalg.norm(away)),
            sigma=float(np.sqrt(DIMENSION * view.sigma2)),
        )
        # It comes later than the rest, and moves no axis then.
        lines += _bound(at, envelope.values[at], extends=False)

    return lines, "‖y − x*‖²"


def _inconsistent(view: View, bound: bool) -> tuple[list[Line], str]:
    """The third coordinate of the sum, in which one term disagrees with all others."""
    problem = counterexample(mu=1.0, L=view.Q, n=view.n)
    at = _visits(view.K)
    order: dict[str, Any] = {"sampling": view.sampling}
    runs = ensemble(problem, view.method, at, trajectories=RUNS, seed=view.seed, **order)
    exact, plain = (
        odd_term_moment(1.0, view.Q, method, n=view.n, steps=view.K, **order)[at]
        for method in (view.method, sgd(view.curvature))
    )
    lines = [*_fan(at, runs.errors[:, :, 2] ** 2), *_means(at, exact, plain)]
    if float(worst_case_rate(view.curvature, view.method)) < 1.0:
        # All terms have their minimum at x*: the bound holds along every path, squared too.
        envelope = worst_case(view.curvature, view.method).envelope(steps=view.K)
        lines += _bound(at, envelope.values[at] ** 2)

    return lines, "(third coordinate)²"


def _fan(at: FloatArray, squares: FloatArray) -> list[Line]:
    """Thin lines for the runs, with a gap after each, and a thick one for their mean."""
    kept = drawable(squares)
    steps = at.astype(np.float64)
    x, y = joined([np.stack([steps, kept[:, one]], axis=1) for one in range(kept.shape[1])])
    fan = Line(x, y, "runs", f"{kept.shape[1]} runs", 0.8, opacity=0.45)
    return [fan, Line(steps, kept.mean(axis=1), "chosen", "their mean")]


def _means(at: FloatArray, exact: FloatArray, plain: FloatArray) -> list[Line]:
    """What is expected of the method, and of SGD."""
    return [
        Line(at, drawable(exact), "exact", "exact mean", 1.8, "--"),
        Line(at, drawable(plain), "sgd", f"{METHODS['sgd'].words}, exact mean", 1.8),
    ]


def _bound(at: FloatArray, values: FloatArray, *, extends: bool = True) -> list[Line]:
    """The bound as a dashed line, where there is one."""
    if not np.isfinite(values).any():
        return []

    return [Line(at, drawable(values), "ink", "proven bound", 1.4, "--", extends=extends)]


def warm_up() -> None:
    """Compile, or load from disk, what the pictures need."""
    usual = Method(0.01, 0.5)
    problem = worst_case_quadratic(Q=4, d=2)
    ensemble(problem, usual, [1], trajectories=1, sampling=None, sigma2=1.0)
    ensemble(problem, usual, [1], trajectories=1, sampling=None)
    inconsistent = counterexample(mu=1.0, L=4.0, n=3)
    for sampling in ("iid", "cyclic", "reshuffle"):
        ensemble(inconsistent, usual, [1], trajectories=1, sampling=sampling)
