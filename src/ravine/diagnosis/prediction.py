"""What becomes of a recipe: growth in every sense, noise floor, error and loss in the end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ravine.arguments import FloatArray
from ravine.choices import Choice
from ravine.diagnosis.candidates import Candidate
from ravine.diagnosis.estimate import Estimate, over_runs
from ravine.diagnosis.floors import Floors
from ravine.diagnosis.measurement import Runs
from ravine.diagnosis.survey import Survey
from ravine.diagnosis.time_budget import TimeBudget
from ravine.methods import Method
from ravine.sampling import Sampling
from ravine.theory.finite_sums.epochs import Growths
from ravine.theory.finite_sums.growth import Growth
from ravine.theory.finite_sums.limits import Deadline
from ravine.theory.finite_sums.moment_curve import Curve, Schedule, moment_curve
from ravine.theory.ladder.rates import spectral_radius
from ravine.theory.ladder.worst_case import worst_case_rate

_CURVE_SHARE = 0.03
"""Of the whole time, for the exact curves of all recipes."""


class Outcome(Choice):
    """What becomes of a method on these batches, predicted and checked by runs."""

    CONVERGES = "converges", "the mean squared error falls to a floor"
    STALLS = "stalls", "the loss stays bounded, but ends no lower than it began"
    ERRATIC = (
        "erratic",
        "the mean squared error grows without bound, in bursts; a single run may recover",
    )
    DIVERGES = "diverges", "almost every run moves away from the minimiser"
    UNDECIDED = "undecided", "too close to call within the confidence limits"

    @property
    def tone(self) -> str:
        """How it is coloured: ``"good"``, ``"bad"`` or ``"unsure"``."""
        return {"converges": "good", "diverges": "bad"}.get(self.value, "unsure")


@dataclass(frozen=True, eq=False)
class Prediction:
    """What is known of a candidate.

    Attributes
    ----------
    candidate
        The recipe.
    spectral_radius
        Growth per step with exact gradients, at the minimiser.
    mean_square
        Growth of E‖·‖² in the order in which the batches come, with the step it begins with.
    almost_sure
        Growth of ‖·‖ along almost every run.
    worst_case
        Largest growth over every order of such batches, from their curvature bounds alone; None
        where a batch may be flat.
    critical_batch
        Batch size from which its mean square converges on this data; None where exact gradients
        diverge.
    floor, floor_excess
        E‖y - x*‖² and E f - f* that are left in the end; None where there is none, or it could not
        be told.
    error_after, excess_after
        The same after all steps.
    curve
        E‖y - x*‖² and E f - f* after every step by exact moments, for independent batches, of the
        point that the recipe reports; None where it was not computed.
    to_near
        Steps to 1 % of the excess loss at the start; infinite if that was not reached.
    held_out
        Mean loss of the rows that were set aside, in the end.
    outcome
        What becomes of a run.
    """

    candidate: Candidate
    spectral_radius: float
    mean_square: Growth
    almost_sure: Growth
    worst_case: float | None
    critical_batch: int | None
    floor: Estimate | None
    floor_excess: Estimate | None
    error_after: Estimate | None
    excess_after: Estimate | None
    curve: Curve | None
    to_near: float
    held_out: float | None
    outcome: Outcome

    @property
    def rate(self) -> float:
        """Growth of the root-mean-square error per step."""
        return self.mean_square.rate

    @property
    def loss(self) -> float:
        """What recipes are ranked by: E f - f* in the end, infinite where a run diverged."""
        return math.inf if self.excess_after is None else self.excess_after.value


def judge_outcome(growths: Growths) -> Outcome:
    """Judge by the mean square first: where it falls, so does almost every run."""
    if growths.mean_square.diverges is False:
        return Outcome.CONVERGES
    if growths.almost_sure.diverges is True:
        return Outcome.DIVERGES
    if growths.mean_square.diverges is True:
        return Outcome.ERRATIC

    return Outcome.UNDECIDED


def critical_batch(survey: Survey, method: Method) -> int | None:
    """Batch size from which the mean square converges on this data, independent draws.

    The strain, the spectral radius that must stay below 1, is proportional to the variance of a
    batch, (n - m)/(m (n - 1)).
    """
    if float(spectral_radius(survey.curvature, method)) >= 1.0 or not survey.cut.recut:
        return None

    factor = survey.cut.variance_factor
    if factor <= 0.0:
        return survey.cut.rows

    allowed = factor / max(survey.moments.strain(method), 1e-300)
    n = survey.cut.rows
    if survey.cut.sampling is Sampling.IID:
        return max(1, math.ceil(1.0 / allowed))

    return int(np.clip(math.ceil(n / (1.0 + allowed * (n - 1))), 1, n))


def predict(
    survey: Survey,
    judged: Sequence[Candidate],
    growth: Sequence[Growths],
    left: Sequence[Floors],
    runs: Runs,
    near: FloatArray,
    held_out: FloatArray | None,
    *,
    budget: TimeBudget,
) -> list[Prediction]:
    """Put together what theory says and what the runs did, and judge."""
    curves = moment_curves(survey, judged, int(runs.steps[-1]), budget=budget)
    exact = survey.exact and survey.quadratic and survey.cut.sampling is Sampling.IID
    squares = runs.squares[-1]
    excess = runs.excess[-1]
    proven = survey.certified_curvature
    out = []

    for i, candidate in enumerate(judged):
        curve = curves[i]
        after = over_runs(squares[:, i])
        loss = over_runs(excess[:, i])
        if curve is not None and exact and loss is not None:
            after, loss = _last(curve, after, loss)

        square = growth[i].mean_square
        critical = critical_batch(survey, candidate.method)
        out.append(
            Prediction(
                candidate=candidate,
                spectral_radius=float(spectral_radius(survey.curvature, candidate.method)),
                mean_square=square,
                almost_sure=growth[i].almost_sure,
                worst_case=None if proven is None else float(
                    worst_case_rate(proven, candidate.method)
                ),
                critical_batch=critical,
                floor=left[i].square,
                floor_excess=left[i].excess,
                error_after=after,
                excess_after=loss,
                curve=curve,
                to_near=float(near[i]),
                held_out=None if held_out is None else float(held_out[i]),
                outcome=_outcome(
                    survey, candidate, growth[i], left[i], loss, runs.diverged_at[:, i]
                ),
            )
        )  # fmt: skip

    return out


def _last(curve: Curve, after: Estimate | None, loss: Estimate) -> tuple[Estimate | None, Estimate]:
    """What exact moments say of the end, in place of what the runs do."""
    square = float(curve.distance[-1])
    excess = float(curve.excess[-1])
    if not (math.isfinite(square) and math.isfinite(excess)):
        return after, loss

    return (
        Estimate(square, square, square, True, "moments"),
        Estimate(excess, excess, excess, True, "moments"),
    )


def _outcome(
    survey: Survey, candidate: Candidate, growth: Growths, left: Floors, loss: Estimate | None,
    diverged_at: npt.NDArray[np.intp],
) -> Outcome:  # fmt: skip
    """What theory says, corrected by what the runs did where theory is local or silent."""
    outcome = judge_outcome(growth)
    gone = float((diverged_at >= 0).mean())
    if gone == 1.0 and outcome is not Outcome.ERRATIC:
        return Outcome.DIVERGES

    if outcome is Outcome.DIVERGES and not survey.quadratic and gone == 0.0:
        # The slopes of these losses are bounded: far away a run no longer grows.
        return Outcome.STALLS if loss is None or loss.value >= survey.start_excess else outcome
    if outcome is Outcome.UNDECIDED and loss is not None and loss.value >= survey.start_excess:
        return Outcome.STALLS
    if outcome is not Outcome.CONVERGES:
        return outcome
    if gone > 0.0:
        return Outcome.ERRATIC

    floor = left.excess
    if floor is not None and floor.value >= survey.start_excess:
        return Outcome.STALLS
    # What ends above its start after all these steps is no use, whatever its rate.
    if loss is not None and loss.value >= survey.start_excess:
        return Outcome.STALLS

    return outcome


def moment_curves(
    survey: Survey, judged: Sequence[Candidate], steps: int, *, budget: TimeBudget
) -> list[Curve | None]:
    """Exact E‖y - x*‖² and E f - f* of every recipe, for independent draws of the batches.

    None where the loss is not quadratic, not every direction is followed, or the time is short.
    """
    none: list[Curve | None] = [None] * len(judged)
    if not survey.quadratic or not survey.every_direction:
        return none

    d = survey.moments.dimension
    # About 1e-9 s a multiplication and 100 µs a step beside them; a table serves small d.
    each = min(len(survey.sample) * d * d, 0.5 * d**4)
    seconds = steps * (1e-4 + len(judged) * 2e-9 * (each + 20.0 * d * d))
    if seconds > _CURVE_SHARE * budget.seconds:
        budget.leave_out("exact curves for independent batches")
        return none

    factors = np.stack([c.recipe.schedule.factors(steps) for c in judged])
    schedule = Schedule(
        _each(judged, "alpha") * factors,
        _each(judged, "beta") * np.ones(steps),
        _each(judged, "gamma") * np.ones(steps),
        lr_outside=True,
    )

    curve = moment_curve(
        survey.moments, schedule, survey.away, average_from=steps // 2,
        deadline=Deadline(max(budget.left, _CURVE_SHARE * budget.seconds)),
    )  # fmt: skip
    if np.isnan(curve.excess[:, -1]).any():
        budget.leave_out("exact curves for independent batches")
        return none

    return [_reported(curve, i, c.recipe.averaged, steps // 2) for i, c in enumerate(judged)]


def _reported(curve: Curve, i: int, averaged: bool, half: int) -> Curve:
    """The curve of one recipe; of an averaged one, from the middle on, that of the average."""
    distance, excess = curve.distance[i].copy(), curve.excess[i].copy()
    if averaged:
        distance[half:] = curve.average_distance[i][half:]
        excess[half:] = curve.average_excess[i][half:]

    return Curve(distance, excess, curve.average_distance[i], curve.average_excess[i])


def _each(judged: Sequence[Candidate], name: str) -> FloatArray:
    return np.array([float(getattr(c.method, name)) for c in judged])[:, None]
