"""What a method will do on the batches: growth in every sense, noise floor, error over steps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.diagnosis.batches import Survey
from ravine.diagnosis.candidates import Candidate, typed
from ravine.diagnosis.measurement import follow, on_quadratics
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.growth import Growth
from ravine.theory.finite_sums.interval import interval
from ravine.theory.finite_sums.known_sum import CALM, both_growths
from ravine.theory.finite_sums.moment_curve import constant, moment_curve
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate
from ravine.theory.tuning.fastest import budget_error

_CURVE_WORK = 1e10
_PATHS = 24
_SHORTER = 5
_FLOOR_STEPS = 6000


class Outcome(StrEnum):
    """What becomes of a run."""

    CONVERGES = "converges"
    ERRATIC = "erratic"
    DIVERGES = "diverges"
    UNDECIDED = "undecided"

    @property
    def sentence(self) -> str:
        """What it means, in words."""
        return _SENTENCES[self]


_SENTENCES = {
    Outcome.CONVERGES: "the mean squared error falls to a floor",
    Outcome.ERRATIC: "runs come back, but with bursts: the mean squared error grows without bound",
    Outcome.DIVERGES: "almost every run moves away from the minimiser",
    Outcome.UNDECIDED: "too close to call within the confidence limits",
}


@dataclass(frozen=True)
class Estimate:
    """A number with its 95 % limits, which are equal to it where it is exact."""

    value: float
    low: float
    high: float
    exact: bool


@dataclass(frozen=True, eq=False)
class Prediction:
    """What is known of a candidate before it runs.

    Attributes
    ----------
    candidate
        The method.
    spectral_radius
        Growth per step with exact gradients, at the minimiser.
    mean_square
        Growth of E‖·‖² under the sampling; where only iid sampling could be computed, its
        ``sampling`` says so.
    almost_sure
        Growth of ‖·‖ along almost every run.
    worst_case
        Largest growth over every order of such batches, from their curvature bounds alone; None
        where a batch is not strongly convex.
    floor
        E‖y - x*‖² that is left in the end; None where there is none, or it is not predicted.
    excess
        E f(y) - f* that is left in the end, under iid sampling.
    curve
        Predicted E‖y - x*‖² at the steps of the measurement, or None.
    error_after
        E‖y - x*‖² after all steps, or None.
    """

    candidate: Candidate
    spectral_radius: float
    mean_square: Growth
    almost_sure: Growth
    worst_case: float | None
    floor: Estimate | None
    excess: float | None
    curve: FloatArray | None
    error_after: Estimate | None

    @property
    def rate(self) -> float:
        """Growth of the root-mean-square error per step."""
        return self.mean_square.rate

    @property
    def outcome(self) -> Outcome:
        """What becomes of a run."""
        return outcome(self.mean_square, self.almost_sure)


def outcome(mean_square: Growth, almost_sure: Growth) -> Outcome:
    """Judge by the mean square first: where it falls, so does almost every run."""
    if mean_square.diverges is False:
        return Outcome.CONVERGES
    if almost_sure.diverges is True:
        return Outcome.DIVERGES
    if mean_square.diverges is True and almost_sure.diverges is False:
        return Outcome.ERRATIC
    return Outcome.UNDECIDED


def predict(
    survey: Survey,
    candidates: Sequence[Candidate],
    *,
    sampling: Sampling,
    start: FloatArray,
    marks: npt.NDArray[np.intp],
    seed: int,
) -> list[Prediction]:
    """Predict every candidate; ``marks`` are the steps at which curves are wanted."""
    senses = [both_growths(survey.known_sum, c.method, sampling, seed=seed) for c in candidates]
    paths = None
    if sampling is not Sampling.IID and survey.exact:
        paths = _path_errors(survey, candidates, senses, sampling, start, marks, seed)
    found = []
    for i, (candidate, (mean_square, almost_sure)) in enumerate(
        zip(candidates, senses, strict=True)
    ):
        floor, excess = iid_floor(survey, candidate.method, mean_square)
        if paths is None:
            curve = _iid_curve(survey, candidate.method, mean_square, floor, start, marks)
            after = None
            if curve is not None and math.isfinite(curve[-1]):
                exact = floor is not None and floor.exact and survey.every_direction
                after = Estimate(float(curve[-1]), float(curve[-1]), float(curve[-1]), exact)
        else:
            floor, curve, after = paths[i]
        proven = survey.certified_curvature
        found.append(
            Prediction(
                candidate,
                float(spectral_radius(survey.curvature, candidate.method)),
                mean_square,
                almost_sure,
                None if proven is None else float(worst_case_rate(proven, candidate.method)),
                floor,
                excess,
                curve,
                after,
            )
        )
    return found


def hold(survey: Survey, candidate: Candidate, *, sampling: Sampling, seed: int) -> Candidate:
    """A recommendation, its step shortened until it converges under the sampling as well.

    It was tuned to batches drawn iid, in the directions followed; other orders, and the rest of
    the directions, can be worse.
    """
    tuned_for_it = survey.every_direction and (sampling is Sampling.IID or not survey.exact)
    if tuned_for_it or candidate.certificate is not None:
        return candidate
    for _ in range(_SHORTER):
        if (
            both_growths(survey.known_sum, candidate.method, sampling, seed=seed)[0].diverges
            is False
        ):
            break
        by = candidate.method
        factor = 0.5 if survey.every_direction else 0.25
        candidate = replace(candidate, method=typed(factor * float(by.alpha), float(by.beta)))
    return candidate


def iid_floor(
    survey: Survey, method: Method, mean_square: Growth
) -> tuple[Estimate | None, float | None]:
    """E‖y - x*‖² and E f - f* in the end, under iid sampling."""
    moments = survey.moments
    if not moments.is_stable(method) or (
        mean_square.sampling is Sampling.IID and mean_square.diverges is not False
    ):
        return None, None
    if not survey.every_direction and survey.vectors is None:
        return None, None
    X = moments.stationary(method)
    if X is None:
        return None, None
    total, excess = float(np.trace(X)), float(0.5 * np.diag(X) @ moments.eigenvalues)
    if not survey.every_direction:
        # Directions outside the followed ones feel additive noise alone.
        rest = _additive_rest(survey, method)
        total, excess = total + rest[0], excess + rest[1]
    exact = survey.exact and survey.quadratic
    return Estimate(total, total, total, exact), excess


def _additive_rest(survey: Survey, method: Method) -> tuple[float, float]:
    """Stationary variance, and its part of the objective, in the directions not followed."""
    from ravine.theory.noise.moments import stationary_variance

    assert survey.vectors is not None
    outside = 1.0 - np.minimum(((survey.basis.T @ survey.vectors) ** 2).sum(axis=0), 1.0)
    variance = np.asarray(
        stationary_variance(survey.spectrum, method, sigma2=1.0).y, dtype=np.float64
    )
    parts = outside * survey.noise * variance
    return float(parts.sum()), float(0.5 * parts @ survey.spectrum)


def _iid_curve(
    survey: Survey,
    method: Method,
    mean_square: Growth,
    floor: Estimate | None,
    start: FloatArray,
    marks: npt.NDArray[np.intp],
) -> FloatArray | None:
    """E‖y - x*‖² at the marks: step by step, then at the rate that it settles at."""
    if not survey.every_direction:
        return _additive_curve(survey, method, mean_square, start, marks)
    moments = survey.moments
    work = 4.0 * len(moments.deviations) * moments.dimension**3
    limit = int(max(50, _CURVE_WORK / max(work, 1e5)))
    away = survey.basis.T @ (start - survey.problem.minimiser)
    values = moment_curve(
        moments, constant(method, max(int(marks[-1]), 1)), away, products=limit
    ).distance[: int(marks[-1]) + 1]
    if limit < marks[-1] and np.isfinite(values[limit]):
        later = np.arange(limit, int(marks[-1]) + 1)
        rest = 0.0 if floor is None else floor.value
        with np.errstate(over="ignore"):
            decay = mean_square.value ** (later - limit).astype(np.float64)
            values[limit:] = rest + (values[limit] - rest) * decay
    return np.asarray(values[marks])


def _additive_curve(
    survey: Survey,
    method: Method,
    mean_square: Growth,
    start: FloatArray,
    marks: npt.NDArray[np.intp],
) -> FloatArray | None:
    """E‖y - x*‖² with the gradients at x* as additive noise, where the batches hardly disagree."""
    if survey.vectors is None or mean_square.diverges is not False or not method.is_nesterov:
        return None
    if survey.moments.strain(method) > CALM:
        return None
    away = survey.vectors.T @ (start - survey.problem.minimiser)
    by = np.array([float(method.alpha)]), np.array([float(method.beta)])
    errors = [
        float(budget_error(*by, survey.spectrum, survey.noise, away, int(k)).sum())
        for k in marks[marks > 0]
    ]
    return np.array([float(away @ away)] * int((marks == 0).sum()) + errors)


_PathErrors = tuple[Estimate | None, FloatArray, Estimate | None]


def _path_errors(
    survey: Survey,
    candidates: Sequence[Candidate],
    senses: Sequence[tuple[Growth, Growth]],
    sampling: Sampling,
    start: FloatArray,
    marks: npt.NDArray[np.intp],
    seed: int,
) -> list[_PathErrors]:
    """Floor, curve and last error from paths of the quadratic model, for orders with a memory."""
    methods = [c.method for c in candidates]
    n, d = survey.problem.terms, survey.problem.dimension
    gradient = on_quadratics(survey.hessians, survey.moments.gradients)
    away = survey.basis.T @ (start - survey.problem.minimiser)
    far = float(np.linalg.norm(away))
    run = partial(
        follow, gradient, methods, minimiser=np.zeros(d), batches=n, sampling=sampling,
        seeds=_PATHS, reference=far,
    )  # fmt: skip
    from_start = run(start=away, steps=int(marks[-1]), seed=seed + 1)
    rates = [m.rate for m, _ in senses if m.diverges is False]
    needed = max((6.0 / max(1.0 - r, 1e-9) for r in rates), default=0.0)
    steps = int(np.clip(needed, 20 * n, max(_FLOOR_STEPS, 20 * n)))
    steps = min(steps, 20 * _FLOOR_STEPS // max(1, d // 8))
    long = run(start=np.zeros(d), steps=steps, seed=seed + 2)
    found: list[_PathErrors] = []
    for i, (square, _) in enumerate(senses):
        curve = from_start.squares[:, :, i].mean(axis=1)
        after = _interval(from_start.squares[-1, :, i])
        settled = square.diverges is False and 6.0 / max(1.0 - square.rate, 1e-9) <= steps
        floor = _interval(long.average[:, i]) if settled else None
        found.append((floor, curve, after))
    return found


def _interval(values: FloatArray) -> Estimate | None:
    if not np.isfinite(values).all():
        return None
    mean, low, high = interval(values)
    return Estimate(mean, max(0.0, low), high, False)
